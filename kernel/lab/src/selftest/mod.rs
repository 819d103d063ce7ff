//! Is every kernel right on this machine, is the card read right, do all cores work alike?
//!
//! Kernels are compared with the scalar definition, to the bit, and with the same formulas in f64. With a
//! model loaded, pieces of its file are read twice, and the work of each core is counted.

mod balance;
mod card;

use crate::experiment::{Experiment, Lab, Report, model_failed};
use crate::machine::Machine;
use alloc::string::String;
use balance::Balance;
use ops::arena::Arena;
use ops::selftest::{self, Outcome, accuracy};
use protocol::event::{Check, CheckKind, Done, Error, Event};

/// What comes next.
#[derive(Default)]
enum Stage {
    #[default]
    Bits,
    Accuracy,
    Card,
    Balance(Balance),
    End,
}

/// The selftest under way.
#[derive(Default)]
pub struct Selftest {
    stage: Stage,
    failed: usize,
}

impl Selftest {
    fn check(&mut self, check: Check, report: &mut dyn Report) {
        self.failed += usize::from(!check.right);
        report.event(Event::Selftest(check));
    }

    fn kernel(&mut self, kind: CheckKind, outcome: Outcome, report: &mut dyn Report) {
        let (name, values) = (outcome.check, outcome.values);
        let check = Check::new(kind, name, values, outcome.error, outcome.limit);
        self.check(check, report);
    }

    /// A check that could not be made.
    fn failure(&mut self, notice: String, report: &mut dyn Report) -> Stage {
        self.failed += 1;
        report.event(Event::Notice(notice));
        Stage::End
    }

    /// Makes the checks of `stage`; what comes next.
    fn run<M: Machine>(
        &mut self,
        stage: Stage,
        lab: &mut Lab<'_, '_, M>,
    ) -> Result<Stage, Error<'static>> {
        let done = match stage {
            Stage::Bits => selftest::run(Arena::new(lab.scratch), &mut |outcome| {
                self.kernel(CheckKind::Bits, outcome, lab.report);
            })
            .map(|()| Stage::Accuracy),
            Stage::Accuracy => accuracy::run(lab.scratch, &mut |_, _| {}, &mut |outcome| {
                self.kernel(CheckKind::Accuracy, outcome, lab.report);
            })
            .map(|()| match lab.subject {
                Some(_) => Stage::Card,
                None => Stage::End,
            }),
            Stage::Card => {
                let balance = Balance::new(lab.subject()?);
                if let Some(check) = card::read_twice(lab) {
                    self.check(check, lab.report);
                }
                Ok(Stage::Balance(balance))
            }
            Stage::Balance(mut balance) => Ok(match balance.step(lab).map_err(model_failed) {
                Ok(None) => Stage::Balance(balance),
                Ok(Some(checks)) => {
                    for check in checks {
                        self.check(check, lab.report);
                    }
                    Stage::End
                }
                Err(error) => self.failure(error.message.into_owned(), lab.report),
            }),
            Stage::End => Ok(Stage::End),
        };
        Ok(done.unwrap_or_else(|error| {
            let notice = alloc::format!("the selftest has too little memory: {error}");
            self.failure(notice, lab.report)
        }))
    }
}

impl<M: Machine> Experiment<M> for Selftest {
    /// The checks of one stage, or one token of the last.
    fn step(&mut self, lab: &mut Lab<'_, '_, M>) -> Result<bool, Error<'static>> {
        let stage = core::mem::replace(&mut self.stage, Stage::End);
        self.stage = self.run(stage, lab)?;
        Ok(matches!(self.stage, Stage::End))
    }

    fn end(&mut self, stopped: bool, _: &mut Lab<'_, '_, M>) -> Done {
        Done {
            right: Some(self.failed == 0 && !stopped),
            failed: Some(self.failed),
            ..Done::measured(stopped)
        }
    }
}
