//! One firmware and one context that grows from position to position, with signs of life.

use super::figures::Load;
use crate::session::Session;
use crate::voice::Voice;
use anyhow::{Context, Result, ensure};
use protocol::event::{Counts, Generated, Phase};
use protocol::request::{Complete, Logits, Reset, Sampling, Set};
use protocol::scalar::Scalar;
use protocol::{Event, Op, Setting, request};
use qemu::Machine;
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
    session: Session,
    held: usize,
    progress: Progress,
}

/// A completion in numbers, and what each core did for its tokens if that was asked for.
type Completion = (Generated, Vec<Counts>);

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

    /// Loads the card's model once more: its parts, one after the other on one core.
    pub fn load(&mut self) -> Result<Load> {
        let mut timing = None;
        let op = Op::Load(request::Load { name: "1".into() });
        self.session.ask_with(op, &mut |event| {
            if let Event::Loaded(loaded) = event {
                timing = Some(loaded.timing);
            }
            Ok(())
        })?;
        let timing = timing.context("the firmware reports no load")?;
        Ok(Load {
            read: instructions(timing.read_s, 1),
            pack: instructions(timing.pack_s, 1),
            checksum: instructions(timing.checksum_s, 1),
            total: instructions(timing.total_s, 1),
        })
    }

    /// Works the first `n_ids` ids into an empty context in one go; instructions per token.
    pub fn restart(&mut self, n_ids: usize) -> Result<u64> {
        self.empty()?;
        Ok(instructions(self.work_in(n_ids)?.timing.prefill_s, n_ids))
    }

    /// Decodes `steps` tokens from `position` on; what is missing before it is worked in first. Instructions of
    /// one token, and what each core did for all of them.
    pub fn decode(&mut self, position: usize, steps: usize) -> Result<(u64, Vec<Counts>)> {
        while self.held + PIECE < position {
            self.work_in(self.held + PIECE)?;
        }
        let (Generated { timing, .. }, cores) = self.work(prompt(position), steps + 1, 0, true)?;
        self.progress
            .pass(position.saturating_sub(self.held), Instant::now());
        self.held = position;
        ensure!(
            timing.decode_steps == steps,
            "{steps} tokens were wanted, {} came",
            timing.decode_steps
        );
        Ok((instructions(timing.decode_s, steps), cores))
    }

    /// The instructions of [`Conversation::decode`] where each event has a number and a checksum.
    pub fn decode_checked(&mut self, position: usize, steps: usize) -> Result<u64> {
        self.session.use_checksums(true);
        let decoded = self.decode(position, steps);
        // a reset gives the line back
        self.empty()?;
        self.session.use_checksums(false);
        Ok(decoded?.0)
    }

    /// Instructions of one pass that works in a token and `guess` guessed ones, behind a prompt that
    /// repeats itself; the context is empty then.
    pub fn pass(&mut self, guess: usize) -> Result<u64> {
        self.empty()?;
        let ids = (0..REPEATING).map(|i| ordinary_id(i % PERIOD)).collect();
        let (Generated { usage, timing, .. }, _) = self.work(ids, 2, guess, false)?;
        let guessed = usage.draft_tokens;
        ensure!(
            guessed == guess as u64,
            "a pass with {guess} guessed tokens was wanted, not with {guessed}"
        );
        self.empty()?;
        Ok(instructions(timing.decode_s, 1))
    }

    /// Lets `n` cores compute from now on.
    pub fn use_cores(&mut self, n: usize) -> Result<()> {
        let key = Setting::Cores.key().to_owned();
        let value = Scalar::of(&n);
        self.session.ask(Op::Set(Set { key, value })).map(drop)
    }

    fn empty(&mut self) -> Result<()> {
        self.held = 0;
        self.session.ask(Op::Reset(Reset {})).map(drop)
    }

    fn work_in(&mut self, n_ids: usize) -> Result<Generated> {
        let (generated, _) = self.work(prompt(n_ids), 0, 0, false)?;
        let reused = generated.usage.reused_tokens;
        ensure!(
            reused >= self.held,
            "{} positions were worked in, and only {reused} kept",
            self.held
        );
        if let Some(line) = self.progress.advance(n_ids - self.held, Instant::now()) {
            self.voice.say(format!("{}: {line}", self.name));
        }
        self.held = n_ids;
        Ok(generated)
    }

    /// Continues `ids` with `n` likeliest tokens. The events of `counts` take instructions too.
    fn work(&mut self, ids: Vec<u32>, n: usize, guess: usize, counts: bool) -> Result<Completion> {
        let prompt = Complete {
            ids: Some(ids),
            ..Complete::default()
        };
        let sampling = Sampling {
            max_tokens: Some(n),
            temperature: Some(0.0),
            speculate: Some(Scalar::of(&guess)),
            ignore_eos: true,
            counts,
            ..Sampling::default()
        };
        let mut cores = Vec::new();
        let op = Op::Complete(prompt, sampling, Logits::default());
        let done = self.session.ask_with(op, &mut |event| {
            if let Event::Counts(core) = event
                && core.phase == Phase::Decode
            {
                cores.push(core);
            }
            Ok(())
        })?;
        Ok((done.generated.context("an answer without numbers")?, cores))
    }
}

/// A prompt of `n_ids` tokens that begins as every shorter one does.
fn prompt(n_ids: usize) -> Vec<u32> {
    (0..n_ids).map(ordinary_id).collect()
}

/// An id that no tokenizer treats specially; which one does not matter to the count.
fn ordinary_id(i: usize) -> u32 {
    (1000 + (i * 7919) % 40_000) as u32
}

/// One of `n` parts of a time: a nanosecond is an instruction.
fn instructions(seconds: f64, n: usize) -> u64 {
    (seconds * 1e9 / n as f64).round() as u64
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
        assert_eq!(prompt(256)[..16], prompt(16));
    }
}
