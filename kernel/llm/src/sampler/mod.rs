//! Logits to a token.
//!
//! Greedy at temperature 0. Otherwise, in this order: repeat penalty, temperature, top-k, top-p,
//! min-p, draw. The vocabulary is walked once, nothing is allocated per token, and the arithmetic
//! is plain IEEE with `libm`'s exponential, so that a seed gives the same tokens on every machine.

mod pcg;
mod settings;

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

pub use pcg::Pcg32;
pub use settings::{Settings, SettingsError};

use crate::tokenizer::TokenId;

/// A token that may be drawn; the greater one is the more likely, on a tie the lower id.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    logit: f32,
    id: u32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.logit
            .total_cmp(&other.logit)
            .then(other.id.cmp(&self.id))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// Tokens less likely than the most likely one by more than this factor are never drawn:
/// ln(2^30). A vocabulary of 2^17 such tokens has less than 2^-13 of the probability.
const FLOOR_NATS: f32 = 20.794_415;

/// Chooses tokens. Its scratch is allocated when it is made.
#[derive(Debug)]
pub struct Sampler {
    settings: Settings,
    rng: Pcg32,
    /// Scratch for all candidates, used without top-k.
    all: BinaryHeap<Candidate>,
    /// Scratch for the best candidates, used with top-k: the least likely one on top.
    best: BinaryHeap<Reverse<Candidate>>,
    /// Scratch for what is left after top-p and min-p, with weights.
    kept: Vec<(TokenId, f32)>,
    /// The last tokens, a ring that `next` walks.
    recent: Vec<TokenId>,
    next: usize,
    /// Scratch: `recent` in the order of the ids, each once.
    penalised: Vec<TokenId>,
}

impl Sampler {
    /// A sampler for logits of `vocab_size` tokens.
    pub fn new(vocab_size: usize, settings: Settings) -> Self {
        Sampler {
            settings,
            rng: Pcg32::new(settings.seed, 0),
            all: BinaryHeap::with_capacity(vocab_size),
            best: BinaryHeap::with_capacity(vocab_size.min(settings.top_k)),
            kept: Vec::with_capacity(vocab_size),
            recent: Vec::with_capacity(settings.repeat_last_n),
            next: 0,
            penalised: Vec::with_capacity(settings.repeat_last_n),
        }
    }

    /// The settings in use.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Starts over: the seed's first number is next, and no token was seen.
    pub fn reset(&mut self) {
        self.rng = Pcg32::new(self.settings.seed, 0);
        self.recent.clear();
        self.next = 0;
    }

    /// Notes a token of the context, of the prompt or of the answer, for the repeat penalty.
    pub fn accept(&mut self, id: TokenId) {
        if self.recent.len() < self.settings.repeat_last_n {
            self.recent.push(id);
        } else if let Some(oldest) = self.recent.get_mut(self.next) {
            *oldest = id;
            self.next = (self.next + 1) % self.settings.repeat_last_n;
        }
    }

    /// Chooses the next token from `logits` (vocab_size). `None` when none of them is a finite
    /// number, as a damaged model gives.
    pub fn sample(&mut self, logits: &[f32]) -> Option<TokenId> {
        self.penalised.clear();
        if self.settings.repeat_penalty != 1.0 {
            self.penalised.extend_from_slice(&self.recent);
            self.penalised.sort_unstable();
            self.penalised.dedup();
        }
        if self.settings.temperature == 0.0 {
            self.argmax(logits)
        } else {
            self.draw(logits)
        }
    }

    /// Calls `f` with every token in the order of the ids, penalty applied.
    fn for_each(
        logits: &[f32],
        penalised: &[TokenId],
        repeat_penalty: f32,
        mut f: impl FnMut(Candidate),
    ) {
        let mut start = 0;
        let here = penalised
            .iter()
            .map(|id| id.index())
            .take_while(|&i| i < logits.len());
        for stop in here.chain([logits.len()]) {
            for (id, &logit) in (start as u32..).zip(&logits[start..stop]) {
                f(Candidate { logit, id });
            }
            if let Some(&logit) = logits.get(stop) {
                // A penalty above 1 makes a token less likely, whatever its sign.
                let logit = if logit > 0.0 {
                    logit / repeat_penalty
                } else {
                    logit * repeat_penalty
                };
                f(Candidate {
                    logit,
                    id: stop as u32,
                });
            }
            start = stop + 1;
        }
    }

    /// The token with the highest logit, the lowest id on a tie.
    fn argmax(&self, logits: &[f32]) -> Option<TokenId> {
        let mut best = Candidate {
            logit: f32::NEG_INFINITY,
            id: 0,
        };
        let penalty = self.settings.repeat_penalty;
        Self::for_each(logits, &self.penalised, penalty, |candidate| {
            if candidate.logit > best.logit && candidate.logit.is_finite() {
                best = candidate;
            }
        });
        best.logit.is_finite().then_some(TokenId(best.id))
    }

    fn draw(&mut self, logits: &[f32]) -> Option<TokenId> {
        let max = self.collect(logits)?;
        let settings = self.settings;
        let (top_p, min_p) = (settings.top_p, settings.min_p);
        let weight =
            |candidate: &Candidate| libm::expf((candidate.logit - max) / settings.temperature);
        let weights = self
            .all
            .iter()
            .map(|candidate| f64::from(weight(candidate)));
        let total: f64 = weights.sum();
        let uniform = self.rng.uniform();

        // From the most likely down: first what may be drawn, then which one it is.
        let mut kept_total = 0.0;
        self.kept.clear();
        let is_cut = top_p < 1.0 || min_p > 0.0;
        let enough = if is_cut {
            f64::from(top_p) * total
        } else {
            uniform * total
        };
        while let Some(candidate) = self.all.pop() {
            let weight = weight(&candidate);
            if weight < min_p {
                break;
            }
            kept_total += f64::from(weight);
            self.kept.push((TokenId(candidate.id), weight));
            if kept_total > enough || (is_cut && kept_total == enough) {
                break;
            }
        }
        if !is_cut {
            return self.kept.last().map(|&(id, _)| id);
        }
        let target = uniform * kept_total;
        let mut sum = 0.0;
        let drawn = self.kept.iter().find(|&&(_, weight)| {
            sum += f64::from(weight);
            sum > target
        });
        drawn.or(self.kept.last()).map(|&(id, _)| id)
    }

    /// Fills `all` with the candidates and returns the highest logit.
    fn collect(&mut self, logits: &[f32]) -> Option<f32> {
        let (best, top_k) = (&mut self.best, self.settings.top_k);
        let reach = FLOOR_NATS * self.settings.temperature;
        let mut max = f32::NEG_INFINITY;
        let mut floor = f32::NEG_INFINITY;
        // A heap that is emptied and filled as a vector keeps its memory.
        let mut candidates = core::mem::take(&mut self.all).into_vec();
        candidates.clear();
        best.clear();
        let penalty = self.settings.repeat_penalty;
        Self::for_each(logits, &self.penalised, penalty, |candidate| {
            if !(candidate.logit >= floor && candidate.logit.is_finite()) {
                return;
            }
            if candidate.logit > max {
                max = candidate.logit;
                floor = max - reach;
            }
            if top_k == 0 {
                candidates.push(candidate);
            } else if best.len() < top_k {
                best.push(Reverse(candidate));
            } else if let Some(mut least) = best.peek_mut()
                && candidate > least.0
            {
                least.0 = candidate;
            }
        });
        candidates.extend(best.drain().map(|Reverse(candidate)| candidate));
        // What was kept before a higher maximum came may lie below the floor now.
        candidates.retain(|candidate| candidate.logit >= floor);
        // The sum of the weights must not depend on a heap's inner order.
        candidates.sort_unstable_by_key(|candidate| candidate.id);
        self.all = BinaryHeap::from(candidates);
        (!self.all.is_empty()).then_some(max)
    }
}

#[cfg(test)]
mod tests;
