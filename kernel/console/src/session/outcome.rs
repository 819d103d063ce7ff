//! How a generation ended, for people and for programs.

use super::platform::BoardFacts;
use crate::json::Object;
use core::fmt;
use llm::lookup::Lookup;

/// Why no more tokens came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model ended its answer.
    Stop,
    /// The most tokens that were asked for.
    Length,
    /// The context has no room left.
    ContextFull,
    /// Ctrl-C or the op `abort`.
    Abort,
}

impl Finish {
    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContextFull => "context_full",
            Self::Abort => "abort",
        }
    }
}

/// A finished generation in numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of the prompt, with those that were known already.
    pub prompt_tokens: usize,
    /// Tokens at the start of the prompt whose keys and values were kept from before.
    pub reused_tokens: usize,
    /// Tokens generated, without the one that ended the answer.
    pub completion_tokens: usize,
    /// Tokens worked in after the prompt.
    pub decode_steps: usize,
    /// How they were guessed, and how many guesses were right.
    pub lookup: Lookup,
    /// Time of the prompt's new tokens.
    pub prefill_us: u64,
    /// From the start to the first token.
    pub first_token_us: u64,
    /// Time of all decode steps, with sampling and output.
    pub decode_us: u64,
    /// The seed that the sampler had.
    pub seed: u64,
    /// Tokens in the context now.
    pub context_used: usize,
    /// Tokens that the context takes.
    pub context_len: usize,
    /// What the heap grew by while tokens were generated; nothing when all is well.
    pub heap_growth_bytes: Option<i64>,
}

fn rate(tokens: usize, us: u64) -> f64 {
    if us == 0 {
        0.0
    } else {
        tokens as f64 * 1e6 / us as f64
    }
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

impl Outcome {
    fn prefilled(&self) -> usize {
        self.prompt_tokens - self.reused_tokens
    }

    /// Passes over the weights after the prompt.
    fn decode_passes(&self) -> u64 {
        self.decode_steps as u64 - self.lookup.n_confirmed
    }

    /// What guessing is for: 1 without it.
    fn tokens_per_pass(&self) -> Option<f64> {
        let passes = self.decode_passes();
        (passes > 0).then(|| self.decode_steps as f64 / passes as f64)
    }

    /// Whether times are speeds: not in an emulator, and not of a prompt that was stopped half-way.
    fn has_speeds(&self, facts: &BoardFacts) -> bool {
        let stopped_in_prompt = self.finish == Finish::Abort && self.completion_tokens == 0;
        !facts.emulated && !stopped_in_prompt
    }

    /// Adds `finish_reason`, `usage` and `timing`. An emulator's times are no speeds: there are none then.
    pub fn write_fields(&self, object: &mut Object<'_>, facts: &BoardFacts) {
        object.field("finish_reason", self.finish.word());
        object.object("usage", |usage| {
            usage
                .field("prompt_tokens", self.prompt_tokens)
                .field("completion_tokens", self.completion_tokens)
                .field("total_tokens", self.prompt_tokens + self.completion_tokens)
                .field("reused_tokens", self.reused_tokens)
                .field("guesses", self.lookup.n_guesses)
                .field("guessed_tokens", self.lookup.n_guessed)
                .field("confirmed_tokens", self.lookup.n_confirmed)
                .field("context_used", self.context_used)
                .field("context_len", self.context_len);
        });
        object.object("timing", |timing| {
            timing
                .field("emulated", facts.emulated)
                .field("prefill_s", seconds(self.prefill_us))
                .field("first_token_s", seconds(self.first_token_us))
                .field("decode_s", seconds(self.decode_us))
                .field("decode_steps", self.decode_steps)
                .field("decode_passes", self.decode_passes())
                .field("tokens_per_pass", self.tokens_per_pass());
            if self.has_speeds(facts) {
                timing
                    .field(
                        "prefill_tokens_per_s",
                        rate(self.prefilled(), self.prefill_us),
                    )
                    .field(
                        "decode_tokens_per_s",
                        rate(self.decode_steps, self.decode_us),
                    );
            }
        });
        object.field("seed", self.seed);
        object.field("heap_growth_bytes", self.heap_growth_bytes);
    }

    /// The line after an answer.
    pub fn status<'a>(&'a self, facts: &'a BoardFacts) -> impl fmt::Display + 'a {
        Status {
            outcome: self,
            facts,
        }
    }
}

struct Status<'a> {
    outcome: &'a Outcome,
    facts: &'a BoardFacts,
}

impl fmt::Display for Status<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = self.outcome;
        match outcome.finish {
            Finish::Stop => f.write_str("[")?,
            Finish::Length => f.write_str("[cut at max_tokens | ")?,
            Finish::ContextFull => f.write_str("[cut: the context is full | ")?,
            Finish::Abort => f.write_str("[stopped | ")?,
        }
        write!(
            f,
            "{} prompt + {} answer tokens",
            outcome.prefilled(),
            outcome.completion_tokens
        )?;
        if outcome.reused_tokens > 0 {
            write!(f, " ({} kept)", outcome.reused_tokens)?;
        }
        let first = seconds(outcome.first_token_us);
        if self.facts.emulated {
            let all = seconds(outcome.prefill_us + outcome.decode_us);
            write!(f, " | emulated: first token {first:.1} s, all {all:.1} s")?;
        } else if outcome.has_speeds(self.facts) {
            let prefill = rate(outcome.prefilled(), outcome.prefill_us);
            let decode = rate(outcome.decode_steps, outcome.decode_us);
            write!(
                f,
                " | prefill {prefill:.1} tok/s, decode {decode:.1} tok/s | first token {first:.2} s"
            )?;
        }
        if let Some(per_pass) = outcome.tokens_per_pass()
            && outcome.lookup.guess > 0
        {
            let Lookup {
                n_guessed,
                n_confirmed,
                ..
            } = outcome.lookup;
            write!(
                f,
                " | {per_pass:.2} tokens per pass, {n_confirmed} of {n_guessed} guessed right"
            )?;
        }
        write!(
            f,
            " | context {}/{}]",
            outcome.context_used, outcome.context_len
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Finish, Outcome};
    use crate::json::Object;
    use crate::session::platform::BoardFacts;
    use llm::lookup::Lookup;

    const OUTCOME: Outcome = Outcome {
        finish: Finish::Stop,
        prompt_tokens: 31,
        reused_tokens: 1,
        completion_tokens: 9,
        decode_steps: 9,
        lookup: Lookup {
            longest: 4,
            shortest: 2,
            guess: 0,
            n_guesses: 0,
            n_guessed: 0,
            n_confirmed: 0,
        },
        prefill_us: 400_000,
        first_token_us: 450_000,
        decode_us: 300_000,
        seed: 1,
        context_used: 40,
        context_len: 2048,
        heap_growth_bytes: Some(0),
    };

    fn json(facts: &BoardFacts) -> String {
        let mut text = String::new();
        Object::write(&mut text, |object| OUTCOME.write_fields(object, facts))
            .expect("a String takes everything");
        text
    }

    #[test]
    fn a_board_has_speeds() {
        let board = BoardFacts::default();
        assert_eq!(
            OUTCOME.status(&board).to_string(),
            "[30 prompt + 9 answer tokens (1 kept) | prefill 75.0 tok/s, decode 30.0 tok/s | first token 0.45 s \
             | context 40/2048]"
        );
        assert!(
            json(&board).contains(r#""decode_tokens_per_s":30"#),
            "{}",
            json(&board)
        );
    }

    #[test]
    fn a_prompt_that_was_stopped_has_none() {
        let board = BoardFacts::default();
        let stopped = Outcome {
            finish: Finish::Abort,
            completion_tokens: 0,
            ..OUTCOME
        };
        assert_eq!(
            stopped.status(&board).to_string(),
            "[stopped | 30 prompt + 0 answer tokens (1 kept) | context 40/2048]"
        );
        let mut text = String::new();
        Object::write(&mut text, |object| stopped.write_fields(object, &board))
            .expect("a String takes everything");
        assert!(!text.contains("per_s"), "{text}");
    }

    #[test]
    fn guesses_are_shown_when_there_were_any() {
        let board = BoardFacts::default();
        let mut guessed = OUTCOME;
        guessed.lookup.guess = 7;
        assert!(
            guessed
                .status(&board)
                .to_string()
                .contains(" | 1.00 tokens per pass, 0 of 0 guessed right | context")
        );
        guessed.lookup.n_guesses = 2;
        guessed.lookup.n_guessed = 14;
        guessed.lookup.n_confirmed = 5;
        assert_eq!(
            guessed.status(&board).to_string(),
            "[30 prompt + 9 answer tokens (1 kept) | prefill 75.0 tok/s, decode 30.0 tok/s | first token 0.45 s \
             | 2.25 tokens per pass, 5 of 14 guessed right | context 40/2048]"
        );
        let mut text = String::new();
        Object::write(&mut text, |object| guessed.write_fields(object, &board))
            .expect("a String takes everything");
        assert!(
            text.contains(r#""guesses":2,"guessed_tokens":14,"confirmed_tokens":5"#),
            "{text}"
        );
        assert!(
            text.contains(r#""decode_steps":9,"decode_passes":4,"tokens_per_pass":2.25"#),
            "{text}"
        );
    }

    #[test]
    fn an_emulator_has_none() {
        let emulator = BoardFacts {
            emulated: true,
            ..BoardFacts::default()
        };
        let status = OUTCOME.status(&emulator).to_string();
        assert!(
            status.contains("emulated") && !status.contains("tok/s"),
            "{status}"
        );
        let json = json(&emulator);
        assert!(
            json.contains(r#""emulated":true"#) && !json.contains("per_s"),
            "{json}"
        );
    }
}
