//! `/selftest`: is every kernel right on this machine, is the card read right, do all cores work alike?
//!
//! Kernels are compared with the scalar definition, to the bit, and with the same formulas in f64. With a
//! model loaded, pieces of its file are read twice, and the work of each core is counted.

use super::events::Events;
use super::platform::{Concern, Platform};
use super::screen::say;
use super::seat::Seat;
use super::shell::Shell;
use crate::json::Id;
use alloc::vec::Vec;
use llm::engine::EngineError;
use llm::tokenizer::TokenId;
use ops::arena::{Arena, Line, OutOfMemory};
use ops::crc32c::Crc32c;
use ops::selftest::{self, accuracy};
use parallel::Cores;

/// Pieces of the model file that are read twice, and their size: larger than any read-ahead.
const PIECES: u64 = 4;
const PIECE_BYTES: usize = 2 << 20;
/// Tokens whose work is counted: a prompt, then single ones.
const PROMPT_TOKENS: usize = 24;
const TOKENS: usize = 4;
/// How far the busiest core may be from the idlest, relative to the mean.
const BALANCE_LIMIT: f64 = 0.03;
/// Layers times KV heads below which a model has too few pieces to share them out evenly.
const FEW_PIECES: usize = 32;

/// What one check came to: an error and the largest that is right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Check {
    pub kind: &'static str,
    pub name: &'static str,
    pub values: u64,
    pub error: f64,
    pub limit: f64,
}

impl Check {
    fn is_right(&self) -> bool {
        self.error <= self.limit && self.values > 0
    }
}

/// Why a check could not be made.
enum Trouble {
    Memory(OutOfMemory),
    Model(EngineError),
}

impl<P: Platform> Shell<'_, P> {
    /// `/selftest`.
    pub(super) fn selftest(&mut self, scratch: &mut [Line], seat: Option<&mut Seat<'_>>) {
        let screen = self.screen;
        if seat.is_none() {
            say!(
                screen,
                "no model is loaded: the card and the cores' shares are not checked"
            );
        }
        let (failed, stopped) = self.run_selftest(&Id::None, scratch, seat, &mut |check| {
            let verdict = if check.is_right() { "ok" } else { "WRONG" };
            say!(
                screen,
                "{:<9} {:<24} {:>8} values  error {:8.1e}  limit {:8.1e}  {verdict}",
                check.kind,
                check.name,
                check.values,
                check.error,
                check.limit
            );
        });
        match failed {
            0 if stopped => say!(screen, "stopped; what was checked is right"),
            0 => say!(screen, "everything is right"),
            n => say!(
                screen,
                "{n} checks are WRONG: do not trust this machine's answers"
            ),
        }
    }

    /// The op `selftest`.
    pub(super) fn selftest_events(
        &mut self,
        events: &Events<'_>,
        id: &Id,
        scratch: &mut [Line],
        seat: Option<&mut Seat<'_>>,
    ) {
        let (failed, stopped) = self.run_selftest(id, scratch, seat, &mut |check| {
            events.event("selftest", |event| {
                event
                    .field("kind", check.kind)
                    .field("check", check.name)
                    .field("values", check.values)
                    .field("error", check.error)
                    .field("limit", check.limit)
                    .field("right", check.is_right());
            });
        });
        events.event("done", |event| {
            event
                .field("finish_reason", if stopped { "abort" } else { "stop" })
                .field("right", failed == 0 && !stopped)
                .field("failed", failed);
        });
    }

    /// Runs all checks; how many failed, and whether it was stopped before the last.
    fn run_selftest(
        &self,
        id: &Id,
        scratch: &mut [Line],
        seat: Option<&mut Seat<'_>>,
        report: &mut dyn FnMut(Check),
    ) -> (usize, bool) {
        let mut failed = 0;
        let mut count = |check: Check| {
            failed += usize::from(!check.is_right());
            report(check);
        };
        let stop = || self.inbox.borrow_mut().poll();
        self.inbox.borrow_mut().begin(id.clone());
        let done = kernels(scratch, &mut count).map_err(Trouble::Memory);
        let done = match seat {
            Some(seat) if done.is_ok() && !stop() => {
                if let Some(check) = self.card(scratch, &seat.facts.file) {
                    count(check);
                }
                let cores = self.platform.cores(None);
                let checks = balance(cores, self.platform.facts().cores, seat, &stop);
                checks
                    .map(|checks| checks.into_iter().for_each(&mut count))
                    .map_err(Trouble::Model)
            }
            _ => done,
        };
        let stopped = self.inbox.borrow_mut().end().is_some();
        match done {
            Ok(()) | Err(Trouble::Model(EngineError::Stopped)) => {}
            Err(Trouble::Model(error)) => {
                say!(self.screen, "{error}");
                failed += 1;
            }
            Err(Trouble::Memory(error)) => {
                say!(self.screen, "the selftest has too little memory: {error}");
                failed += 1;
            }
        }
        (failed, stopped)
    }

    /// Reads pieces of the model file twice; what differs is the error.
    fn card(&self, scratch: &mut [Line], file: &str) -> Option<Check> {
        let buffer = Arena::new(scratch).slice::<u8>(PIECE_BYTES).ok()?;
        let mut check = Check {
            kind: "card",
            name: "read twice",
            values: 0,
            error: 0.0,
            limit: 0.0,
        };
        let read = self.platform.read_model(file, &mut |source| {
            let len = source.len_bytes();
            let piece = (PIECE_BYTES as u64).min(len);
            let places: Vec<u64> = (0..PIECES)
                .map(|i| (len - piece) * i / (PIECES - 1))
                .collect();
            let mut sums = [[0u32; PIECES as usize]; 2];
            // All pieces once, then all again: nothing of a piece is left in a window by then.
            for sums in &mut sums {
                for (sum, &place) in sums.iter_mut().zip(&places) {
                    let bytes = &mut buffer[..piece as usize];
                    bytes.fill(0);
                    if source.read_at(place, bytes).is_err() {
                        check.error += 1.0;
                    }
                    let mut crc = Crc32c::new();
                    crc.update(bytes);
                    *sum = crc.value();
                    check.values += piece;
                }
            }
            let [first, second] = sums;
            check.error += first.iter().zip(second).filter(|&(a, b)| *a != b).count() as f64;
            Concern::Pieces
        });
        match read {
            Ok(()) => Some(check),
            Err(error) => {
                say!(self.screen, "{error}");
                Some(Check {
                    error: 1.0,
                    values: 1,
                    ..check
                })
            }
        }
    }
}

/// Every kernel, to the bit and against f64.
fn kernels(scratch: &mut [Line], count: &mut dyn FnMut(Check)) -> Result<(), OutOfMemory> {
    selftest::run(Arena::new(scratch), &mut |outcome| {
        count(Check {
            kind: "bits",
            name: outcome.kernel,
            values: outcome.values,
            error: outcome.differing as f64,
            limit: 0.0,
        });
    })?;
    accuracy::run(scratch, &mut |_, _| {}, &mut |accuracy| {
        count(Check {
            kind: "accuracy",
            name: accuracy.check,
            values: accuracy.values as u64,
            error: accuracy.error,
            limit: accuracy.limit,
        });
    })
}

/// How evenly the cores share rows and attention. The conversation is forgotten.
fn balance(
    cores: &dyn Cores,
    n_cores: usize,
    seat: &mut Seat<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<Check>, EngineError> {
    let vocab_size = seat.model.tokenizer().vocab_size();
    let wanted = (PROMPT_TOKENS + TOKENS).min(seat.model.context_len());
    let ids: Vec<TokenId> = (0..wanted)
        .map(|i| TokenId((i * 7919 % vocab_size) as u32))
        .collect();
    let (prompt, answer) = ids.split_at(wanted - TOKENS.min(wanted - 1));
    seat.forget();
    seat.model.clear_counts();
    seat.model.prefill(prompt, cores, stop)?;
    for &id in answer {
        if stop() {
            return Err(EngineError::Stopped);
        }
        seat.model.decode(id, cores)?;
    }
    seat.forget();
    let counts: Vec<_> = (0..n_cores).map(|core| seat.model.counts(core)).collect();
    let limit = if seat.facts.attention_pieces < FEW_PIECES {
        1.0
    } else {
        BALANCE_LIMIT
    };
    Ok(Vec::from([
        spread(
            "rows per core",
            limit,
            counts.iter().map(|count| count.gemv_rows),
        ),
        spread(
            "attention per core",
            limit,
            counts.iter().map(|count| count.attention_blocks),
        ),
    ]))
}

/// The busiest core's lead over the idlest, relative to the mean.
fn spread(name: &'static str, limit: f64, counts: impl Iterator<Item = u64> + Clone) -> Check {
    let total: u64 = counts.clone().sum();
    let mean = total as f64 / counts.clone().count().max(1) as f64;
    let lead = counts.clone().max().unwrap_or(0) - counts.min().unwrap_or(0);
    Check {
        kind: "balance",
        name,
        values: total,
        error: lead as f64 / mean.max(1.0),
        limit,
    }
}

#[cfg(test)]
mod tests {
    use super::{Check, kernels, spread};
    use ops::arena::Line;

    #[test]
    fn every_kernel_is_right_on_the_host() {
        let mut scratch = vec![Line::ZERO; (32 << 20) / Line::BYTES];
        let mut checks: Vec<Check> = Vec::new();
        kernels(&mut scratch, &mut |check| checks.push(check)).expect("enough memory");
        assert!(checks.len() > 30, "{checks:?}");
        for check in checks {
            assert!(check.is_right(), "{check:?}");
        }
    }

    #[test]
    fn an_idle_core_is_seen() {
        assert!(spread("x", 0.03, [100, 101, 100, 99].into_iter()).is_right());
        assert!(!spread("x", 0.03, [100, 100, 100, 90].into_iter()).is_right());
        assert!(!spread("x", 0.03, [0, 0].into_iter()).is_right());
    }
}
