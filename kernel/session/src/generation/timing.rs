//! Times of a generation.

use protocol::event::{Finish, Timing, Usage};

/// When its parts began, and how long they took.
#[derive(Default)]
pub(super) struct Times {
    pub started_us: u64,
    pub prefill_us: u64,
    pub first_token_us: u64,
    pub decode_started_us: u64,
    pub decode_us: u64,
    /// Tokens worked in after the prompt.
    pub decode_steps: usize,
}

impl Times {
    /// The prompt is worked in, or given up.
    pub fn end_prefill(&mut self, now_us: u64) {
        self.prefill_us = now_us.saturating_sub(self.started_us);
    }

    /// No token comes any more.
    pub fn end_decode(&mut self, now_us: u64) {
        self.decode_us = now_us.saturating_sub(self.decode_started_us);
    }

    /// What is reported. An emulator's times are no speeds, and neither are those of a prompt that was
    /// stopped half-way.
    pub fn record(&self, finish: Finish, usage: &Usage, emulated: bool) -> Timing {
        let stopped_in_prompt = finish == Finish::Abort && usage.completion_tokens == 0;
        let speed = |tokens: usize, us: u64| match us {
            _ if emulated || stopped_in_prompt => None,
            0 => Some(0.0),
            us => Some(tokens as f64 * 1e6 / us as f64),
        };
        let decode_passes = self.decode_steps as u64 - usage.accepted_tokens;
        Timing {
            emulated,
            prefill_s: self.prefill_us as f64 / 1e6,
            first_token_s: self.first_token_us as f64 / 1e6,
            decode_s: self.decode_us as f64 / 1e6,
            decode_steps: self.decode_steps,
            decode_passes,
            tokens_per_pass: (decode_passes > 0)
                .then(|| self.decode_steps as f64 / decode_passes as f64),
            prefill_tokens_per_s: speed(usage.prefilled(), self.prefill_us),
            decode_tokens_per_s: speed(self.decode_steps, self.decode_us),
        }
    }
}
