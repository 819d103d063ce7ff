//! From a file to an engine.

use alloc::vec::Vec;

use ops::GgmlType;
use ops::arena::Arena;
use parallel::Cores;

use super::{Engine, LoadError, LoadOptions};
use crate::chat::ChatTemplate;
use crate::config::Config;
use crate::gguf::Gguf;
use crate::kv_cache::{KvCache, KvType};
use crate::model_file::ModelFile;
use crate::run_state::RunState;
use crate::source::ModelSource;
use crate::tokenizer::Tokenizer;
use crate::weights;

impl<'a> Engine<'a> {
    /// Loads the model of `file`, all of it into `arena`.
    ///
    /// The calling core reads; the others pack what has come in. `progress` hears how many bytes of
    /// the weights, of how many, are done.
    ///
    /// # Errors
    /// Whatever is wrong with the file, the source or the room: see [`LoadError`].
    pub fn load<S: ModelSource>(
        file: &mut ModelFile<S>,
        mut arena: Arena<'a>,
        options: &LoadOptions,
        cores: &dyn Cores,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, LoadError<S::Error>> {
        let (gguf, config) = (&file.gguf, &file.config);
        let tokenizer = Tokenizer::from_gguf(gguf)?;
        let chat = ChatTemplate::from_gguf(gguf)?;
        let before = arena.free_bytes();
        let loader = weights::Loader {
            source: &mut file.source,
            cores,
            chunk_bytes: options.chunk_bytes,
            timer: options.timer,
            progress,
        };
        let (mut tensors, load_times) = loader.load(&file.tensors, &mut arena)?;
        let weight_bytes = before - arena.free_bytes();

        let kv_type = options.kv_type.unwrap_or_else(|| default_kv_type(gguf));
        let context_len = match options.context_len {
            Some(len) => len.clamp(1, config.max_seq_len),
            None => default_context_len(config, kv_type, arena.free_bytes()),
        };
        let batch = options.batch.clamp(1, context_len);
        let n_logits = options.n_logits.clamp(1, batch);
        let model = (file.architecture.decoder)(config, &mut tensors, &mut arena, context_len)?;
        let kv = KvCache::new(&mut arena, config, kv_type, context_len)?;
        let n_cores = options.n_cores.unwrap_or(cores.n_cores());
        let state = RunState::new(&mut arena, config, batch, n_logits, context_len, n_cores)?;
        let row = arena.slice(if n_logits > 1 { config.vocab_size } else { 0 })?;
        let held = Vec::with_capacity(context_len);
        Ok(Engine {
            config: config.clone(),
            tokenizer,
            chat,
            model,
            kv,
            state,
            held,
            context_len,
            batch,
            n_logits,
            weight_bytes,
            load_times,
            row,
            ahead: Vec::with_capacity(n_logits),
            n_ahead_held: 0,
        })
    }
}

/// An f32 cache keeps an F32 model's logits; everything else is coarser than f16.
fn default_kv_type(gguf: &Gguf<'_>) -> KvType {
    match gguf.tensor("blk.0.attn_k.weight") {
        Some(tensor) if tensor.ggml_type == GgmlType::F32 => KvType::F32,
        _ => KvType::F16,
    }
}

/// The model's own length, at most 4096 and what half of the free memory holds.
fn default_context_len(config: &Config, kv_type: KvType, free_bytes: u64) -> usize {
    let block = ops::scalar::attention::BLOCK;
    let per_block = KvCache::bytes_for(config, kv_type, block).max(1);
    let fits = (free_bytes / 2 / per_block) as usize * block;
    config.max_seq_len.min(4096).min(fits.max(block))
}
