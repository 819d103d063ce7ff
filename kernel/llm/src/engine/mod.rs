//! The engine: a loaded model, its cache, and the tokens in it.

mod error;
mod options;

use alloc::vec::Vec;

use ops::GgmlType;
use ops::arena::{Arena, OutOfMemory};
use ops::lanes::flat;
use ops::parallel::Cores;

use crate::chat::ChatTemplate;
use crate::config::{Architecture, Config};
use crate::gguf::{Gguf, read_header};
use crate::kv_cache::{KvCache, KvType};
use crate::models::{Logits, Model, Step, llama::Llama, qwen2::Qwen2};
use crate::run_state::{CoreCounts, RunState};
use crate::source::ModelSource;
use crate::tokenizer::{TokenId, Tokenizer};
use crate::weights;

pub use error::{EngineError, LoadError};
pub use options::LoadOptions;

/// A model that is ready to run.
///
/// It remembers the tokens whose keys and values it holds; [`Engine::prefill`] and
/// [`Engine::decode`] append to them, [`Engine::truncate`] goes back.
pub struct Engine<'a> {
    config: Config,
    tokenizer: Tokenizer,
    chat: ChatTemplate,
    model: Model<'a>,
    kv: KvCache<'a>,
    state: RunState<'a>,
    held: Vec<TokenId>,
    context_len: usize,
    batch: usize,
    n_logits: usize,
    weight_bytes: u64,
    type_mix: Vec<(GgmlType, u64)>,
    row: &'a mut [f32],
    /// Room for a token and its guess.
    tokens: Vec<TokenId>,
}

impl<'a> Engine<'a> {
    /// Loads a model from `source`, all of it into `arena`.
    ///
    /// `progress` hears how many bytes of the weights, of how many, are done. The engine then runs
    /// on as many cores as `cores` has, or fewer.
    ///
    /// # Errors
    /// Whatever is wrong with the file, the source or the room: see [`LoadError`].
    pub fn load(
        source: &mut dyn ModelSource,
        mut arena: Arena<'a>,
        options: &LoadOptions,
        cores: &dyn Cores,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, LoadError> {
        let header = read_header(source)?;
        let gguf = Gguf::parse(&header, source.len_bytes())?;
        let config = Config::from_gguf(&gguf)?;
        check_shapes(&config)?;
        let tokenizer = Tokenizer::from_gguf(&gguf)?;
        let type_mix = type_mix(&gguf);
        let chat = ChatTemplate::from_gguf(&gguf)?;
        let before = arena.free_bytes();
        let mut tensors = weights::load(&gguf, &config, source, &mut arena, cores, progress)?;
        let weight_bytes = before - arena.free_bytes();

        let kv_type = options.kv_type.unwrap_or_else(|| default_kv_type(&gguf));
        let context_len = match options.context_len {
            Some(len) => len.clamp(1, config.max_seq_len),
            None => default_context_len(&config, kv_type, arena.free_bytes()),
        };
        let batch = options.batch.clamp(1, context_len);
        let n_logits = options.n_logits.clamp(1, batch);
        let model = match config.architecture {
            Architecture::Llama => {
                Model::Llama(Llama::new(&config, &mut tensors, &mut arena, context_len)?)
            }
            Architecture::Qwen2 => {
                Model::Qwen2(Qwen2::new(&config, &mut tensors, &mut arena, context_len)?)
            }
        };
        let kv = KvCache::new(&mut arena, &config, kv_type, context_len)?;
        let n_cores = cores.n_cores();
        let state = RunState::new(&mut arena, &config, batch, n_logits, context_len, n_cores)?;
        let row = arena.slice(if n_logits > 1 { config.vocab_size } else { 0 })?;
        let held = Vec::with_capacity(context_len);
        Ok(Engine {
            config,
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
            type_mix,
            row,
            tokens: Vec::with_capacity(n_logits),
        })
    }

    /// Appends `ids` in batches and returns the logits of the last.
    ///
    /// `stop` is asked between batches.
    ///
    /// # Errors
    /// [`EngineError::ContextFull`] and [`EngineError::BadToken`] before anything is done,
    /// [`EngineError::Nothing`] for no ids, [`EngineError::Stopped`] with the batches done so far
    /// in the cache.
    pub fn prefill(
        &mut self,
        ids: &[TokenId],
        cores: &dyn Cores,
        stop: &dyn Fn() -> bool,
    ) -> Result<&[f32], EngineError> {
        self.check(ids)?;
        let n_batches = ids.len().div_ceil(self.batch);
        for (i, batch) in ids.chunks(self.batch).enumerate() {
            if stop() {
                return Err(EngineError::Stopped);
            }
            let last = i + 1 == n_batches;
            self.run(batch, if last { Logits::Last } else { Logits::None }, cores);
        }
        Ok(self.logits())
    }

    /// Appends one token and returns its logits.
    ///
    /// # Errors
    /// [`EngineError::ContextFull`], [`EngineError::BadToken`].
    pub fn decode(&mut self, id: TokenId, cores: &dyn Cores) -> Result<&[f32], EngineError> {
        self.check(&[id])?;
        self.run(&[id], Logits::Last, cores);
        Ok(self.logits())
    }

    /// Appends `ids` and hands the logits of every position to `sink`, ascending.
    ///
    /// Fastest with [`LoadOptions::n_logits`] as large as the batch.
    ///
    /// # Errors
    /// As [`Engine::prefill`].
    pub fn logits_of_all(
        &mut self,
        ids: &[TokenId],
        cores: &dyn Cores,
        sink: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), EngineError> {
        self.check(ids)?;
        for batch in ids.chunks(self.n_logits) {
            let first = self.pos();
            self.run(batch, Logits::All, cores);
            if batch.len() == 1 {
                sink(first, self.logits());
                continue;
            }
            for t in 0..batch.len() {
                gather(self.state.logits.get_mut(), batch.len(), t, self.row);
                sink(first + t, self.row);
            }
        }
        Ok(())
    }

    /// Appends one token and checks a guess of what comes after it, all in one batch.
    ///
    /// `next` gets the logits after `id`, and then after each guessed token for as long as it returns
    /// what was guessed; it sees exactly what [`Engine::decode`] would have shown it, token by token.
    /// Guesses that were not confirmed are forgotten. Returns how many were confirmed.
    ///
    /// At most [`LoadOptions::n_logits`]` − 1` guesses are tried, and fewer at the context's end.
    ///
    /// # Errors
    /// As [`Engine::decode`].
    pub fn decode_with_guess(
        &mut self,
        id: TokenId,
        guess: &[TokenId],
        cores: &dyn Cores,
        next: &mut dyn FnMut(&[f32]) -> Option<TokenId>,
    ) -> Result<usize, EngineError> {
        self.check(&[id])?;
        let room = (self.n_logits - 1).min(self.context_len - self.pos() - 1);
        let guess = &guess[..guess.len().min(room)];
        if guess.is_empty() {
            next(self.decode(id, cores)?);
            return Ok(0);
        }
        self.check(guess)?;
        let first = self.pos();
        self.tokens.clear();
        self.tokens.push(id);
        self.tokens.extend_from_slice(guess);
        let n = self.tokens.len();
        self.run_all(cores);
        let mut confirmed = 0;
        loop {
            gather(self.state.logits.get_mut(), n, confirmed, self.row);
            let chosen = next(self.row);
            if confirmed == guess.len() || chosen != Some(guess[confirmed]) {
                break;
            }
            confirmed += 1;
        }
        self.truncate(first + confirmed + 1);
        Ok(confirmed)
    }

    /// How many positions hold tokens: where the next one goes.
    pub fn pos(&self) -> usize {
        self.held.len()
    }

    /// The tokens whose keys and values are held.
    pub fn held(&self) -> &[TokenId] {
        &self.held
    }

    /// Forgets all positions from `pos` on.
    pub fn truncate(&mut self, pos: usize) {
        self.held.truncate(pos);
    }

    /// Keeps the longest held prefix that `ids` share, but always leaves at least the last of `ids`
    /// to run, and returns its length.
    pub fn reuse(&mut self, ids: &[TokenId]) -> usize {
        let shared = self
            .held
            .iter()
            .zip(ids)
            .take_while(|(a, b)| a == b)
            .count();
        let kept = shared.min(ids.len().saturating_sub(1));
        self.truncate(kept);
        kept
    }

    /// Most positions.
    pub fn context_len(&self) -> usize {
        self.context_len
    }

    /// Most tokens in one batch of a prefill.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// The model's shapes.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The model's chat format.
    pub fn chat(&self) -> &ChatTemplate {
        &self.chat
    }

    /// The types of the file's tensors and how many bytes each has, most first.
    pub fn type_mix(&self) -> &[(GgmlType, u64)] {
        &self.type_mix
    }

    /// How keys and values are stored.
    pub fn kv_type(&self) -> KvType {
        self.kv.kv_type()
    }

    /// Memory of the cache.
    pub fn kv_bytes(&self) -> u64 {
        self.kv.bytes()
    }

    /// Memory of the packed weights.
    pub fn weight_bytes(&self) -> u64 {
        self.weight_bytes
    }

    /// What each core has done since [`Engine::clear_counts`].
    pub fn counts(&mut self, core: usize) -> CoreCounts {
        self.state.counts(core)
    }

    /// Starts counting anew.
    pub fn clear_counts(&mut self) {
        self.state.clear_counts();
    }

    fn check(&self, ids: &[TokenId]) -> Result<(), EngineError> {
        if ids.is_empty() {
            return Err(EngineError::Nothing);
        }
        let free = self.context_len - self.pos();
        if ids.len() > free {
            return Err(EngineError::ContextFull {
                context_len: self.context_len,
                pos: self.pos(),
                wanted: ids.len(),
            });
        }
        match ids
            .iter()
            .find(|id| id.0 as usize >= self.config.vocab_size)
        {
            Some(&id) => Err(EngineError::BadToken {
                id,
                vocab_size: self.config.vocab_size,
            }),
            None => Ok(()),
        }
    }

    /// Runs `self.tokens` for the logits of all.
    fn run_all(&mut self, cores: &dyn Cores) {
        let tokens = core::mem::take(&mut self.tokens);
        self.run(&tokens, Logits::All, cores);
        self.tokens = tokens;
    }

    fn run(&mut self, tokens: &[TokenId], logits: Logits, cores: &dyn Cores) {
        let step = Step {
            tokens,
            pos: self.held.len(),
            logits,
            state: &self.state,
            kv: &self.kv,
        };
        cores.run(&|core| self.model.forward(core, &step));
        self.held.extend_from_slice(tokens);
    }

    fn logits(&mut self) -> &[f32] {
        &flat(self.state.logits.get_mut())[..self.config.vocab_size]
    }
}

/// Token `t` of a panel of `n` tokens as a plain vector.
fn gather(panel: &[ops::lanes::F32x4], n: usize, t: usize, out: &mut [f32]) {
    for (out, lanes) in out.chunks_mut(4).zip(panel[t..].iter().step_by(n)) {
        out.copy_from_slice(&lanes.0[..out.len()]);
    }
}

fn type_mix(gguf: &Gguf<'_>) -> Vec<(GgmlType, u64)> {
    let mut mix: Vec<(GgmlType, u64)> = Vec::new();
    for tensor in gguf.tensors() {
        match mix
            .iter_mut()
            .find(|(ggml_type, _)| *ggml_type == tensor.ggml_type)
        {
            Some((_, bytes)) => *bytes += tensor.len_bytes,
            None => mix.push((tensor.ggml_type, tensor.len_bytes)),
        }
    }
    mix.sort_by_key(|(_, bytes)| core::cmp::Reverse(*bytes));
    mix
}

/// Floats keep a float model's logits; everything else is coarser than halves.
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

/// Refuses shapes that the kernels' lanes cannot hold.
fn check_shapes(config: &Config) -> Result<(), LoadError> {
    for (what, value, multiple) in [("width", config.dim, 4), ("head width", config.head_dim, 8)] {
        if !value.is_multiple_of(multiple) {
            return Err(LoadError::UnsupportedShape {
                what,
                value,
                multiple,
            });
        }
    }
    Ok(())
}

impl From<OutOfMemory> for LoadError {
    fn from(error: OutOfMemory) -> Self {
        LoadError::OutOfMemory(error)
    }
}
