//! A model loaded into the host's memory, run by the firmware's own engine.

use llm::engine::{Engine, EngineError, LoadError, LoadOptions};
use llm::kv_cache::{KvCache, KvType};
use llm::model_file::ModelFile;
use llm::source::ModelSource;
use llm::tokenizer::TokenId;
use ops::arena::{Arena, Line};
use parallel::Cores;

use crate::decoder::Decoder;
use crate::threads::Threads;

/// Positions of the cache when the options name no length.
pub const DEFAULT_CONTEXT_LEN: usize = 4096;

/// The room that one model lives in.
pub struct Memory {
    lines: Vec<Line>,
}

impl Memory {
    /// Room for the model of `file`, its cache and its buffers.
    pub fn for_model<S: ModelSource>(
        file: &ModelFile<S>,
        options: &LoadOptions,
        threads: &Threads,
    ) -> Memory {
        let (config, weights) = (file.config(), file.facts().tensor_bytes);
        let context_len = options
            .context_len
            .unwrap_or(DEFAULT_CONTEXT_LEN)
            .min(config.max_seq_len);
        let kv = KvCache::bytes_for(config, KvType::F32, context_len);
        // Vectors per token: residual stream, branches, heads, and each core's own copies. Packed
        // rows and tiles are padded, hence the factors.
        let widest = config.dim.max(config.hidden_dim).max(config.q_dim()) as u64;
        let per_token = 4 * widest * (8 + 4 * threads.n_cores() as u64);
        let partials = 4 * (config.q_dim() + 4 * config.n_heads) * context_len.div_ceil(64) * 2;
        let batch = options.batch as u64 + 4;
        let logits = 4 * config.vocab_size * (options.n_logits + 2);
        let bytes = weights * 5 / 4
            + 2 * kv
            + batch * (per_token + partials as u64)
            + logits as u64
            + (4 * context_len * config.head_dim) as u64
            + (16 << 20);
        Memory {
            lines: vec![Line::ZERO; bytes.div_ceil(Line::BYTES as u64) as usize],
        }
    }
}

/// An engine with the threads that it runs on.
pub struct Session<'a> {
    /// The engine.
    pub engine: Engine<'a>,
    /// Its cores.
    pub threads: Threads,
}

impl<'a> Session<'a> {
    /// Loads the model of `file` into `memory`; `progress` gets weight bytes done and in all.
    ///
    /// # Errors
    /// Those of [`Engine::load`].
    pub fn load<S: ModelSource>(
        file: &mut ModelFile<S>,
        memory: &'a mut Memory,
        options: &LoadOptions,
        threads: Threads,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Session<'a>, LoadError<S::Error>> {
        let options = LoadOptions {
            context_len: options.context_len.or(Some(DEFAULT_CONTEXT_LEN)),
            ..options.clone()
        };
        let arena = Arena::new(&mut memory.lines);
        let engine = Engine::load(file, arena, &options, &threads, progress)?;
        Ok(Session { engine, threads })
    }
}

impl Decoder for Session<'_> {
    type Error = EngineError;

    fn prefill(
        &mut self,
        ids: &[u32],
        from: usize,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), EngineError> {
        let ids: Vec<TokenId> = ids.iter().map(|id| TokenId(*id)).collect();
        let (unseen, seen) = ids.split_at(from.min(ids.len()));
        self.engine.truncate(0);
        if !unseen.is_empty() {
            self.engine.prefill(unseen, &self.threads)?;
        }
        self.engine.logits_of_all(seen, &self.threads, each)
    }

    fn decode(&mut self, id: u32) -> Result<Vec<f32>, EngineError> {
        Ok(self.engine.decode(TokenId(id), &self.threads)?.to_vec())
    }
}
