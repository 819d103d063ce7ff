//! Exceptions that are expected: what a look for a register makes of them, and where the program goes on.
//! Pure; `vectors` has the live windows.

use core::ops::Range;

use crate::esr::{Class, Esr};
use crate::report::{Kind, Vector};

/// Looks for one register before it counts as absent: an asynchronous error may be anybody's.
const LOOKS: usize = 3;

/// The code in which an exception is no end, and where each window is left.
#[derive(Clone, Debug)]
pub struct Windows {
    /// A read of a register that may not be there; its end is where an abort of the read goes.
    pub probe: Range<u64>,
    /// Where an asynchronous error during such a read goes.
    pub probe_disturbed: u64,
    /// A write to `CPUECTLR_EL1`, which may be trapped.
    pub cpuectlr: Range<u64>,
    /// The first unmask of asynchronous errors.
    pub unmask: Range<u64>,
}

impl Windows {
    /// Where to go on after an exception at `elr`; nothing where it was not to be expected, or came inside a handler,
    /// whose stack is lost by then.
    pub fn resume_at(&self, elr: u64, vector: Vector, esr: Esr) -> Option<u64> {
        if vector.is_nested() {
            return None;
        }
        let kind = vector.kind();
        let is_serror = kind == Kind::SError;
        let class = (kind == Kind::Synchronous).then(|| esr.class());
        if self.probe.contains(&elr) {
            match class {
                Some(Class::DataAbort) => Some(self.probe.end),
                _ => is_serror.then_some(self.probe_disturbed),
            }
        } else if self.cpuectlr.contains(&elr) {
            let is_refused = matches!(class, Some(Class::Unknown | Class::SystemRegister));
            is_refused.then_some(self.cpuectlr.end)
        } else {
            (is_serror && self.unmask.contains(&elr)).then_some(self.unmask.end)
        }
    }
}

/// What became of one read of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// What it holds.
    Word(u32),
    /// The read was aborted: nothing answers there.
    Absent,
    /// An asynchronous error came in between: the read's own, or of something before it.
    Disturbed(Esr),
}

const WORD: u64 = 1 << 32;
const DISTURBED: u64 = 1 << 33;

impl Look {
    /// The answer of `__probe32`.
    pub const fn from_answer(answer: u64) -> Self {
        if answer & DISTURBED != 0 {
            Self::Disturbed(Esr(answer & 0xFFFF_FFFF))
        } else if answer & WORD != 0 {
            Self::Word(answer as u32)
        } else {
            Self::Absent
        }
    }
}

/// The register that `look` reads; nothing where none is. An asynchronous error goes to `note` and the register is
/// read again, so that an error of another's does not make it absent.
pub fn settle(mut look: impl FnMut() -> Look, mut note: impl FnMut(Esr)) -> Option<u32> {
    for _ in 0..LOOKS {
        match look() {
            Look::Word(word) => return Some(word),
            Look::Absent => return None,
            Look::Disturbed(esr) => note(esr),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABORT: Esr = Esr(0x9600_0010);
    const SERROR: Esr = Esr(0xBE00_0000);
    const UNDEFINED: Esr = Esr(0x0200_0000);
    const TRAPPED: Esr = Esr(0x6232_C000);
    const SYNCHRONOUS: Vector = Vector(0);
    const ASYNCHRONOUS: Vector = Vector(3);

    fn windows() -> Windows {
        Windows {
            probe: 0x100..0x110,
            probe_disturbed: 0x118,
            cpuectlr: 0x200..0x210,
            unmask: 0x300..0x30C,
        }
    }

    #[test]
    fn an_asynchronous_error_is_not_an_abort_of_the_read() {
        let at = |elr, vector, esr| windows().resume_at(elr, vector, esr);
        assert_eq!(at(0x100, SYNCHRONOUS, ABORT), Some(0x110));
        assert_eq!(at(0x104, ASYNCHRONOUS, SERROR), Some(0x118));
        // an SError's syndrome is no class of a synchronous exception
        assert_eq!(at(0x104, ASYNCHRONOUS, Esr(0x0200_0000)), Some(0x118));
        // what no read of a register can cause
        assert_eq!(at(0x100, SYNCHRONOUS, UNDEFINED), None);
        assert_eq!(at(0x110, SYNCHRONOUS, ABORT), None);
        assert_eq!(at(0x0FC, ASYNCHRONOUS, SERROR), None);
    }

    #[test]
    fn what_comes_inside_a_handler_is_the_end() {
        let at = |elr, vector, esr| windows().resume_at(elr, Vector(vector), esr);
        assert_eq!(at(0x100, 4, ABORT), None);
        assert_eq!(at(0x104, 7, SERROR), None);
        assert_eq!(at(0x200, 4, UNDEFINED), None);
        assert_eq!(at(0x304, 7, SERROR), None);
    }

    #[test]
    fn only_a_refusal_leaves_the_window_of_cpuectlr() {
        let at = |vector, esr| windows().resume_at(0x200, vector, esr);
        assert_eq!(at(SYNCHRONOUS, UNDEFINED), Some(0x210));
        assert_eq!(at(SYNCHRONOUS, TRAPPED), Some(0x210));
        assert_eq!(at(SYNCHRONOUS, ABORT), None);
        assert_eq!(at(ASYNCHRONOUS, SERROR), None);
    }

    #[test]
    fn only_an_asynchronous_error_leaves_the_window_of_the_unmask() {
        let at = |vector, esr| windows().resume_at(0x304, vector, esr);
        assert_eq!(at(ASYNCHRONOUS, SERROR), Some(0x30C));
        assert_eq!(at(SYNCHRONOUS, ABORT), None);
    }

    #[test]
    fn answers_of_the_assembly() {
        assert_eq!(Look::from_answer(0), Look::Absent);
        assert_eq!(Look::from_answer(WORD), Look::Word(0));
        assert_eq!(
            Look::from_answer(WORD | 0xFFFF_FFFF),
            Look::Word(0xFFFF_FFFF)
        );
        let disturbed = DISTURBED | 0xBE00_0000;
        assert_eq!(Look::from_answer(disturbed), Look::Disturbed(SERROR));
    }

    fn settled(looks: &[Look]) -> (Option<u32>, usize, usize) {
        let (mut n_looks, mut n_notes) = (0, 0);
        let word = settle(
            || {
                n_looks += 1;
                looks[n_looks - 1]
            },
            |esr| {
                assert_eq!(esr, SERROR);
                n_notes += 1;
            },
        );
        (word, n_looks, n_notes)
    }

    #[test]
    fn a_disturbed_look_is_noted_and_repeated() {
        let disturbed = Look::Disturbed(SERROR);
        assert_eq!(settled(&[Look::Word(7)]), (Some(7), 1, 0));
        assert_eq!(settled(&[Look::Absent]), (None, 1, 0));
        assert_eq!(settled(&[disturbed, Look::Word(7)]), (Some(7), 2, 1));
        assert_eq!(settled(&[disturbed, Look::Absent]), (None, 2, 1));
        assert_eq!(settled(&[disturbed; LOOKS]), (None, LOOKS, LOOKS));
    }
}
