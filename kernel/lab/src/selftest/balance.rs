//! How evenly the cores share rows and attention.

use crate::bench::ordinary_ids;
use crate::experiment::{Lab, Subject};
use crate::machine::Machine;
use alloc::vec::Vec;
use llm::engine::EngineError;
use llm::tokenizer::TokenId;
use protocol::event::{Check, CheckKind};

/// Tokens whose work is counted: a prompt, then single ones.
const PROMPT_TOKENS: usize = 24;
const TOKENS: usize = 4;
/// How far the busiest core may be from the idlest, relative to the mean.
const BALANCE_LIMIT: f64 = 0.03;
/// Layers times KV heads below which a model has too few pieces to share them out evenly.
const FEW_PIECES: usize = 32;

/// The count under way. The context is forgotten.
pub(super) struct Balance {
    ids: Vec<TokenId>,
    prompt_tokens: usize,
    done: usize,
    limit: f64,
}

impl Balance {
    pub fn new(subject: &Subject<'_, '_>) -> Self {
        let engine = &subject.engine;
        let wanted = (PROMPT_TOKENS + TOKENS).min(engine.context_len());
        Self {
            ids: ordinary_ids(wanted, engine.tokenizer().vocab_size()),
            prompt_tokens: wanted - TOKENS.min(wanted - 1),
            done: 0,
            limit: match subject.facts.attention_pieces < FEW_PIECES {
                true => 1.0,
                false => BALANCE_LIMIT,
            },
        }
    }

    /// Works in the prompt or one token; the checks after the last.
    pub fn step<M: Machine>(
        &mut self,
        lab: &mut Lab<'_, '_, M>,
    ) -> Result<Option<[Check; 2]>, EngineError> {
        let cores = lab.machine.cores(None);
        let n_cores = lab.machine.facts().cores;
        let Some(Subject { engine, .. }) = &mut lab.subject else {
            return Err(EngineError::Nothing);
        };
        match self.ids.get(self.done) {
            Some(_) if self.done == 0 => {
                engine.truncate(0);
                engine.clear_counts();
                engine.prefill(&self.ids[..self.prompt_tokens], cores)?;
                self.done = self.prompt_tokens;
                Ok(None)
            }
            Some(&id) => {
                engine.decode(id, cores)?;
                self.done += 1;
                Ok(None)
            }
            None => {
                engine.truncate(0);
                let counts: Vec<_> = (0..n_cores).map(|core| engine.counts(core)).collect();
                let rows = counts.iter().map(|count| count.gemv_rows);
                let blocks = counts.iter().map(|count| count.attention_blocks);
                Ok(Some([
                    spread("rows per core", self.limit, rows),
                    spread("attention per core", self.limit, blocks),
                ]))
            }
        }
    }
}

/// The busiest core's lead over the idlest, relative to the mean.
fn spread(name: &'static str, limit: f64, counts: impl Iterator<Item = u64> + Clone) -> Check {
    let total: u64 = counts.clone().sum();
    let mean = total as f64 / counts.clone().count().max(1) as f64;
    let lead = counts.clone().max().unwrap_or(0) - counts.min().unwrap_or(0);
    let error = lead as f64 / mean.max(1.0);
    Check::new(CheckKind::Balance, name, total, error, limit)
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn an_idle_core_is_seen() {
        assert!(spread("x", 0.03, [100, 101, 100, 99].into_iter()).right);
        assert!(!spread("x", 0.03, [100, 100, 100, 90].into_iter()).right);
        assert!(!spread("x", 0.03, [0, 0].into_iter()).right);
    }
}
