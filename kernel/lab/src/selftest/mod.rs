//! Is every kernel right on this machine, is the card read right, do all cores work alike?
//!
//! Kernels are compared with the scalar definition, to the bit, and with the same formulas in f64. With a
//! model loaded, pieces of its file are read twice, and the work of each core is counted.

mod balance;
mod card;

use crate::experiment::{Experiment, Lab, model_failed};
use crate::machine::Machine;
use balance::Balance;
use ops::arena::Arena;
use ops::selftest::{self, accuracy};
use protocol::event::{Check, CheckKind, Done, Error, Event};

/// What comes next.
enum Stage {
    Bits,
    Accuracy,
    Card,
    Balance(Balance),
    End,
}

/// The selftest under way.
pub struct Selftest {
    stage: Stage,
    failed: usize,
}

impl Selftest {
    /// Nothing is checked yet.
    pub fn new() -> Self {
        Self {
            stage: Stage::Bits,
            failed: 0,
        }
    }

    fn check<M>(&mut self, check: Check, lab: &mut Lab<'_, '_, M>) {
        self.failed += usize::from(!check.right);
        lab.report.event(Event::Selftest(check));
    }

    /// Makes the checks of `stage`; what comes next.
    fn run<M: Machine>(
        &mut self,
        stage: Stage,
        lab: &mut Lab<'_, '_, M>,
    ) -> Result<Stage, Error<'static>> {
        let (failed, report) = (&mut self.failed, &mut *lab.report);
        let mut check = |kind, name, values, error: f64, limit| {
            let check = Check::new(kind, name, values, error, limit);
            *failed += usize::from(!check.right);
            report.event(Event::Selftest(check));
        };
        let done = match stage {
            Stage::Bits => selftest::run(Arena::new(lab.scratch), &mut |outcome| {
                let differing = outcome.differing as f64;
                check(
                    CheckKind::Bits,
                    outcome.kernel,
                    outcome.values,
                    differing,
                    0.0,
                );
            })
            .map(|()| Stage::Accuracy),
            Stage::Accuracy => accuracy::run(lab.scratch, &mut |_, _| {}, &mut |accuracy| {
                let values = accuracy.values as u64;
                check(
                    CheckKind::Accuracy,
                    accuracy.check,
                    values,
                    accuracy.error,
                    accuracy.limit,
                );
            })
            .map(|()| match lab.subject {
                Some(_) => Stage::Card,
                None => Stage::End,
            }),
            Stage::Card => {
                let balance = lab.subject().map(|subject| Balance::new(subject))?;
                if let Some(check) = card::read_twice(lab) {
                    self.check(check, lab);
                }
                return Ok(Stage::Balance(balance));
            }
            Stage::Balance(mut balance) => match balance.step(lab).map_err(model_failed) {
                Ok(None) => return Ok(Stage::Balance(balance)),
                Ok(Some(checks)) => {
                    checks.into_iter().for_each(|check| self.check(check, lab));
                    return Ok(Stage::End);
                }
                Err(error) => {
                    self.failed += 1;
                    lab.report.event(Event::Notice(error.message.into_owned()));
                    return Ok(Stage::End);
                }
            },
            Stage::End => return Ok(Stage::End),
        };
        Ok(done.unwrap_or_else(|error| {
            self.failed += 1;
            let notice = alloc::format!("the selftest has too little memory: {error}");
            lab.report.event(Event::Notice(notice));
            Stage::End
        }))
    }

    fn end(&self, stopped: bool) -> Done {
        Done {
            right: Some(self.failed == 0 && !stopped),
            failed: Some(self.failed),
            ..Done::measured(stopped)
        }
    }
}

impl Default for Selftest {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Machine> Experiment<M> for Selftest {
    /// The checks of one stage, or one token of the last.
    fn step(&mut self, lab: &mut Lab<'_, '_, M>) -> Result<Option<Done>, Error<'static>> {
        let stage = core::mem::replace(&mut self.stage, Stage::End);
        self.stage = self.run(stage, lab)?;
        Ok(matches!(self.stage, Stage::End).then(|| self.end(false)))
    }

    fn stop(&mut self, _: &mut Lab<'_, '_, M>) -> Done {
        self.end(true)
    }
}
