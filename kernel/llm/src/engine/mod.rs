//! The engine: a loaded model, its cache, and the tokens in it.

mod error;
mod load;
mod options;
mod speculate;

use alloc::boxed::Box;
use alloc::vec::Vec;

use ops::Matrix;
use ops::lanes::flat;
use ops::matrix::Kernels;
use parallel::Cores;

use crate::batch::{Batch, Logits};
use crate::chat::ChatTemplate;
use crate::config::Config;
use crate::kv_cache::{KvCache, KvType};
use crate::models::Model;
use crate::run_state::{CoreCounts, RunState};
use crate::tokenizer::{TokenId, Tokenizer};

pub use crate::load_error::LoadError;
pub use crate::weights::{LoadTimes, Timer};
pub use error::EngineError;
pub use options::LoadOptions;

/// A model that is ready to run.
///
/// It remembers the tokens whose keys and values it holds; [`Engine::prefill`] and
/// [`Engine::decode`] append to them, [`Engine::truncate`] goes back.
pub struct Engine<'a> {
    config: Config,
    tokenizer: Tokenizer,
    chat: ChatTemplate,
    model: Box<dyn Model<'a> + 'a>,
    kv: KvCache<'a>,
    state: RunState<'a>,
    held: Vec<TokenId>,
    context_len: usize,
    batch: usize,
    n_logits: usize,
    weight_bytes: u64,
    load_times: LoadTimes,
    row: &'a mut [f32],
    /// The last token that was decoded with a draft, and the draft.
    ahead: Vec<TokenId>,
    /// How many of them are held; none when something else was run since.
    n_ahead_held: usize,
}

impl<'a> Engine<'a> {
    /// Appends `ids` in batches and returns the logits of the last.
    ///
    /// # Errors
    /// [`EngineError::ContextFull`] and [`EngineError::BadToken`] before anything is done,
    /// [`EngineError::Nothing`] for no ids.
    pub fn prefill(&mut self, ids: &[TokenId], cores: &dyn Cores) -> Result<&[f32], EngineError> {
        self.run_all(ids, Logits::Last, cores)?;
        Ok(self.logits())
    }

    /// Appends `ids` in batches, without logits.
    ///
    /// # Errors
    /// [`EngineError::ContextFull`] and [`EngineError::BadToken`] before anything is done.
    pub fn feed(&mut self, ids: &[TokenId], cores: &dyn Cores) -> Result<(), EngineError> {
        self.run_all(ids, Logits::None, cores)
    }

    /// Appends one token and returns its logits.
    ///
    /// # Errors
    /// [`EngineError::ContextFull`], [`EngineError::BadToken`].
    pub fn decode(&mut self, id: TokenId, cores: &dyn Cores) -> Result<&[f32], EngineError> {
        self.prefill(&[id], cores)
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
        self.n_ahead_held = 0;
    }

    /// Keeps the longest held prefix that `ids` share, but always leaves at least the last of `ids`
    /// to run, and returns its length.
    pub fn reuse(&mut self, ids: &[TokenId]) -> usize {
        let pairs = self.held.iter().zip(ids);
        let shared = pairs.take_while(|(a, b)| a == b).count();
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

    /// How keys and values are stored.
    pub fn kv_type(&self) -> KvType {
        self.kv.kv_type()
    }

    /// What multiplies.
    pub fn kernels(&self) -> Kernels {
        self.state.kernels
    }

    /// Chooses what multiplies. What is held is forgotten when it would have other bits.
    pub fn set_kernels(&mut self, kernels: Kernels) {
        if !kernels.agree_with(self.state.kernels) {
            self.truncate(0);
        }
        self.state.kernels = kernels;
    }

    /// The largest matrix of each weight type, and its tensor's name.
    pub fn largest_matrices(&self) -> Vec<(&'static str, &Matrix<'a>)> {
        let mut largest: Vec<(&'static str, &Matrix<'a>)> = Vec::new();
        let size = |matrix: &Matrix<'_>| matrix.rows() * matrix.cols();
        for (name, matrix) in self.model.matrices() {
            let mut known = largest.iter_mut();
            match known.find(|(_, known)| known.ggml_type() == matrix.ggml_type()) {
                Some(known) if size(matrix) > size(known.1) => *known = (name, matrix),
                Some(_) => {}
                None => largest.push((name, matrix)),
            }
        }
        largest
    }

    /// Memory of the packed weights.
    pub fn weight_bytes(&self) -> u64 {
        self.weight_bytes
    }

    /// What the parts of the load took, by [`LoadOptions::timer`].
    pub fn load_times(&self) -> LoadTimes {
        self.load_times
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
        let (context_len, pos, wanted) = (self.context_len, self.pos(), ids.len());
        if wanted > context_len - pos {
            return Err(EngineError::ContextFull {
                context_len,
                pos,
                wanted,
            });
        }
        let vocab_size = self.config.vocab_size;
        match ids.iter().find(|id| id.index() >= vocab_size) {
            Some(&id) => Err(EngineError::BadToken { id, vocab_size }),
            None => Ok(()),
        }
    }

    /// Runs `ids` in batches; only the last can have logits.
    fn run_all(
        &mut self,
        ids: &[TokenId],
        logits: Logits,
        cores: &dyn Cores,
    ) -> Result<(), EngineError> {
        self.check(ids)?;
        let (before, last) = ids.split_at((ids.len() - 1) / self.batch * self.batch);
        for batch in before.chunks(self.batch) {
            self.run(batch, Logits::None, cores);
        }
        self.run(last, logits, cores);
        Ok(())
    }

    fn run(&mut self, tokens: &[TokenId], logits: Logits, cores: &dyn Cores) {
        let batch = Batch {
            tokens,
            pos: self.held.len(),
            logits,
            state: &self.state,
            kv: &self.kv,
        };
        cores.run(&|core| self.model.forward(core, &batch));
        self.held.extend_from_slice(tokens);
        self.n_ahead_held = 0;
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
