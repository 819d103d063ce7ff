//! One firmware and one context that grows from position to position, with signs of life.

use super::work::CoreWork;
use crate::session::Session;
use crate::voice::Voice;
use anyhow::{Context, Result, ensure};
use qemu::Machine;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Decoded tokens whose instructions are averaged.
pub const STEPS: usize = 4;
/// Prompt tokens that are worked in between two signs of life: two batches of the engine.
const PIECE: usize = 64;
/// Length of the prompt after which a pass with a guess is counted, and of the piece that it repeats.
const REPEATING: usize = 64;
const PERIOD: usize = 16;
const SIGN_OF_LIFE: Duration = Duration::from_secs(60);

/// A booted firmware and what it has in its context.
pub struct Conversation<'v> {
    voice: Voice,
    name: &'v str,
    pub(super) session: Session,
    held: usize,
    progress: Progress,
}

/// What decoding at one position took.
pub struct Decoded {
    /// Instructions of one token.
    pub instructions: u64,
    /// What each core did for all of the tokens.
    pub cores: Vec<CoreWork>,
}

impl<'v> Conversation<'v> {
    /// Boots `machine`.
    pub fn start(voice: Voice, name: &'v str, machine: &Machine) -> Result<Self> {
        let session = Session::boot(machine)?;
        voice.say(format!("{name}: loaded"));
        Ok(Conversation {
            voice,
            name,
            session,
            held: 0,
            progress: Progress::new(0),
        })
    }

    /// Takes note of how much there is to do.
    pub fn plan(&mut self, positions: &BTreeSet<usize>, prompt: usize) {
        let short = positions.range(..prompt).next_back().copied().unwrap_or(0);
        let long = positions.last().copied().unwrap_or(0).max(prompt);
        self.progress = Progress::new(short + long);
    }

    /// Works the first `n_ids` ids into an empty context in one go; instructions per token.
    pub fn restart(&mut self, n_ids: usize) -> Result<u64> {
        self.session.ask(json!({"op": "reset"}))?;
        self.held = 0;
        let done = self.work_in(n_ids)?;
        instructions(&done, "prefill_s", n_ids as f64)
    }

    /// Decodes `steps` tokens from `position` on; what is missing before it is worked in first.
    pub fn decode(&mut self, position: usize, steps: usize) -> Result<Decoded> {
        while self.held + PIECE < position {
            self.work_in(self.held + PIECE)?;
        }
        let mut counts = Vec::new();
        let request = request(position, steps + 1, true);
        let done = self.session.ask_with(request, &mut |event| {
            if event["event"] == "counts" && event["phase"] == "decode" {
                counts.push(CoreWork::deserialize(event)?);
            }
            Ok(())
        })?;
        self.progress
            .pass(position.saturating_sub(self.held), Instant::now());
        self.held = position;
        let n_steps = number(&done, "timing", "decode_steps")?;
        ensure!(
            n_steps == steps as f64,
            "{steps} tokens were wanted, {n_steps} came"
        );
        Ok(Decoded {
            instructions: instructions(&done, "decode_s", n_steps)?,
            cores: counts,
        })
    }

    /// Instructions of one pass that works in a token and `guess` guessed ones, behind a prompt that
    /// repeats itself; the context is empty then.
    pub fn pass(&mut self, guess: usize) -> Result<u64> {
        self.session.ask(json!({"op": "reset"}))?;
        self.held = 0;
        let ids: Vec<usize> = (0..REPEATING).map(|i| ordinary_id(i % PERIOD)).collect();
        let done = self
            .session
            .ask(json!({"op": "complete", "ids": ids, "max_tokens": 2,
            "ignore_eos": true, "temperature": 0, "speculate": guess}))?;
        let guessed = number(&done, "usage", "draft_tokens")?;
        ensure!(
            guessed == guess as f64,
            "a pass with {guess} guessed tokens was wanted, not with {guessed}"
        );
        self.session.ask(json!({"op": "reset"}))?;
        instructions(&done, "decode_s", 1.0)
    }

    /// Lets `n` cores compute from now on.
    pub fn use_cores(&mut self, n: usize) -> Result<()> {
        self.session
            .ask(json!({"op": "set", "key": "cores", "value": n}))?;
        Ok(())
    }

    fn work_in(&mut self, n_ids: usize) -> Result<Value> {
        let done = self.session.ask(request(n_ids, 0, false))?;
        let reused = number(&done, "usage", "reused_tokens")?;
        ensure!(
            reused >= self.held as f64,
            "{} positions were worked in, and only {reused} kept",
            self.held
        );
        if let Some(line) = self.progress.advance(n_ids - self.held, Instant::now()) {
            self.voice.say(format!("{}: {line}", self.name));
        }
        self.held = n_ids;
        Ok(done)
    }
}

/// A prompt of `n_ids` tokens that begins as every shorter one does, and `n_tokens` of an answer.
fn request(n_ids: usize, n_tokens: usize, counts: bool) -> Value {
    let ids: Vec<usize> = (0..n_ids).map(ordinary_id).collect();
    json!({"op": "complete", "ids": ids, "max_tokens": n_tokens, "counts": counts,
        "ignore_eos": true, "temperature": 0})
}

/// An id that no tokenizer treats specially; which one does not matter to the count.
fn ordinary_id(i: usize) -> usize {
    1000 + (i * 7919) % 40_000
}

/// One of `n` parts of a time: a nanosecond is an instruction.
pub(super) fn instructions(done: &Value, time: &str, n: f64) -> Result<u64> {
    Ok((number(done, "timing", time)? * 1e9 / n).round() as u64)
}

fn number(done: &Value, part: &str, field: &str) -> Result<f64> {
    done[part][field]
        .as_f64()
        .with_context(|| format!("the answer has no {part}.{field}: {done}"))
}

/// Prompt tokens worked in so far, and when that was last said.
struct Progress {
    total: usize,
    done: usize,
    /// When the last piece was done, or the start.
    last_piece: Instant,
    last_said: Instant,
}

impl Progress {
    fn new(total: usize) -> Progress {
        let now = Instant::now();
        Progress {
            total,
            done: 0,
            last_piece: now,
            last_said: now,
        }
    }

    /// `new` tokens have been worked in, among other things: they tell nothing about the pace.
    fn pass(&mut self, new: usize, now: Instant) {
        self.last_piece = now;
        self.done = (self.done + new).min(self.total);
    }

    /// `new` tokens have been worked in: what to say about it, if anything.
    fn advance(&mut self, new: usize, now: Instant) -> Option<String> {
        let took = now.duration_since(self.last_piece);
        self.pass(new, now);
        let left = self.total - self.done;
        if new == 0 || left == 0 || now.duration_since(self.last_said) < SIGN_OF_LIFE {
            return None;
        }
        self.last_said = now;
        let minutes = took.as_secs_f64() * left as f64 / new as f64 / 60.0;
        Some(format!(
            "{} of {} prompt tokens, {:.0} minutes to go at this pace",
            self.done,
            self.total,
            minutes.ceil()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_once_a_minute_with_the_time_left() {
        let mut progress = Progress::new(1024);
        let start = progress.last_said;
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(progress.advance(64, after(40)), None);
        assert_eq!(
            progress.advance(64, after(80)).unwrap(),
            "128 of 1024 prompt tokens, 10 minutes to go at this pace"
        );
        assert_eq!(progress.advance(64, after(120)), None);
        progress.pass(16, after(800));
        assert_eq!(
            progress.advance(64, after(830)).unwrap(),
            "272 of 1024 prompt tokens, 6 minutes to go at this pace"
        );
        assert_eq!(progress.advance(752, after(1900)), None);
    }

    #[test]
    fn a_longer_prompt_begins_as_the_shorter_one() {
        let ids = |n| request(n, 0, false)["ids"].as_array().unwrap().clone();
        assert_eq!(ids(256)[..16], ids(16)[..]);
    }
}
