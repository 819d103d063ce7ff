//! An answer on its way out: as text for a person, as events for a program.

use super::events::Events;
use super::generate::Sink;
use super::platform::Phase;
use super::screen::Screen;
use crate::json::LogitsRequest;
use alloc::vec::Vec;
use llm::run_state::CoreCounts;
use llm::tokenizer::TokenId;
use ops::crc32c::crc32c_f32;

/// Streams text to a person, and remembers the tokens.
pub(super) struct ToPerson<'s> {
    pub screen: Screen<'s>,
    /// Has room for all of them from the start.
    pub ids: Vec<TokenId>,
}

impl Sink for ToPerson<'_> {
    fn token(&mut self, id: TokenId, text: &str) {
        self.ids.push(id);
        self.screen.put_untrusted(text);
    }

    fn rest(&mut self, text: &str) {
        self.screen.put_untrusted(text);
    }

    fn logits(&mut self, _position: usize, _logits: &[f32]) {}

    fn counts(&mut self, _phase: Phase, _core: usize, _counts: CoreCounts) {}
}

/// Streams events to a program.
pub(super) struct ToProgram<'s> {
    pub events: Events<'s>,
    pub wanted: LogitsRequest,
}

impl Sink for ToProgram<'_> {
    fn token(&mut self, id: TokenId, text: &str) {
        self.events.event("token", |event| {
            event.field("token", id.0).field("text", text);
        });
    }

    fn rest(&mut self, text: &str) {
        self.events.event("text", |event| {
            event.field("text", text);
        });
    }

    fn logits(&mut self, position: usize, logits: &[f32]) {
        self.events.event("logits", |event| {
            event.field("position", position);
            if self.wanted.crc {
                event.field("crc32c", format_args!("{:08x}", crc32c_f32(logits)));
            }
            if self.wanted.top > 0 {
                let mut top = Top::new(self.wanted.top);
                logits
                    .iter()
                    .enumerate()
                    .for_each(|(id, &logit)| top.offer(id, logit));
                event.array("top", |array| {
                    for &(id, logit) in top.best() {
                        array.array(|pair| {
                            pair.push(id).push(logit);
                        });
                    }
                });
            }
        });
    }

    fn counts(&mut self, phase: Phase, core: usize, counts: CoreCounts) {
        let phase = match phase {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
            Phase::Other => "other",
        };
        self.events.event("counts", |event| {
            event
                .field("phase", phase)
                .field("core", core)
                .field("gemv_rows", counts.gemv_rows)
                .field("attention_blocks", counts.attention_blocks)
                .field("barriers", counts.barriers)
                .field("tensor_bytes", counts.tensor_bytes);
        });
    }
}

/// The largest logits, largest first; of equal ones the lower id. A logit that is no number is none of them.
struct Top {
    best: [(usize, f32); LogitsRequest::MAX_TOP],
    len: usize,
    max_len: usize,
}

impl Top {
    fn new(max_len: usize) -> Self {
        Self {
            best: [(0, 0.0); LogitsRequest::MAX_TOP],
            len: 0,
            max_len: max_len.min(LogitsRequest::MAX_TOP),
        }
    }

    fn best(&self) -> &[(usize, f32)] {
        &self.best[..self.len]
    }

    fn offer(&mut self, id: usize, logit: f32) {
        let is_full = self.len == self.max_len;
        let least = self.best().last().filter(|_| is_full);
        if logit.is_nan() || least.is_some_and(|&(_, least)| logit <= least) {
            return;
        }
        let at = self
            .best()
            .iter()
            .position(|&(_, other)| logit > other)
            .unwrap_or(self.len);
        self.len = (self.len + 1).min(self.max_len);
        self.best.copy_within(at..self.len - 1, at + 1);
        self.best[at] = (id, logit);
    }
}

#[cfg(test)]
mod tests {
    use super::Top;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_largest_in_order(logits in prop::collection::vec(-4i8..4, 0..40), k in 1usize..12) {
            let mut top = Top::new(k);
            let mut sorted: Vec<(usize, f32)> = logits.iter().map(|&l| f32::from(l)).enumerate().collect();
            sorted.iter().for_each(|&(id, logit)| top.offer(id, logit));
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            sorted.truncate(k);
            prop_assert_eq!(top.best(), sorted.as_slice());
        }
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        for max_len in 1..=4 {
            let mut top = Top::new(max_len);
            let logits = [f32::NAN, 1.0, f32::NAN, 3.0, f32::INFINITY, f32::NAN, 2.0];
            logits
                .iter()
                .enumerate()
                .for_each(|(id, &logit)| top.offer(id, logit));
            let sorted = [(4, f32::INFINITY), (3, 3.0), (6, 2.0), (1, 1.0)];
            assert_eq!(top.best(), &sorted[..max_len]);
        }
        let mut top = Top::new(3);
        top.offer(0, f32::NAN);
        assert!(top.best().is_empty());
    }
}
