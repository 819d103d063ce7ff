//! What an exception looks like on the console.

use core::fmt;

use crate::esr::Esr;
use crate::layout::StackPart;

/// Everything a core was working with when an exception took it; `vectors.s` builds it.
#[repr(C, align(16))]
#[derive(Clone, Debug)]
pub struct Frame {
    /// x0–x30.
    pub x: [u64; 31],
    /// Stack pointer of the code that was interrupted.
    pub sp_el0: u64,
    /// Where it was interrupted.
    pub elr: u64,
    /// Its processor state.
    pub spsr: u64,
    /// Why.
    pub esr: u64,
    /// Which address it was about.
    pub far: u64,
    /// Floating-point status.
    pub fpsr: u64,
    /// Floating-point control.
    pub fpcr: u64,
    /// q0–q31.
    pub q: [u128; 32],
}

const _: () = assert!(size_of::<Frame>() == 816);
const _: () = assert!(core::mem::offset_of!(Frame, sp_el0) == 248);
const _: () = assert!(core::mem::offset_of!(Frame, elr) == 256);
const _: () = assert!(core::mem::offset_of!(Frame, esr) == 272);
const _: () = assert!(core::mem::offset_of!(Frame, fpsr) == 288);
const _: () = assert!(core::mem::offset_of!(Frame, q) == 304);

/// The kind of exception, from the number of its vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Caused by the instruction at ELR.
    Synchronous,
    /// An interrupt.
    Irq,
    /// A fast interrupt.
    Fiq,
    /// An asynchronous error.
    SError,
}

/// A vector's number, 0–15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vector(pub u64);

impl Vector {
    /// What happened.
    pub const fn kind(self) -> Kind {
        match self.0 % 4 {
            0 => Kind::Synchronous,
            1 => Kind::Irq,
            2 => Kind::Fiq,
            _ => Kind::SError,
        }
    }

    /// Whether it happened inside an exception handler.
    pub const fn is_nested(self) -> bool {
        self.0 / 4 == 1
    }
}

/// An exception that ends the program.
#[derive(Debug)]
pub struct Report<'a> {
    /// The core that took it.
    pub core: usize,
    /// The vector it came through.
    pub vector: Vector,
    /// What the core was working with.
    pub frame: &'a Frame,
    /// The stack that the address is about, if it is about one: core and part.
    pub stack: Option<(usize, StackPart)>,
}

impl Report<'_> {
    /// Whether a stack ran into its guard page.
    pub fn is_stack_overflow(&self) -> bool {
        Esr(self.frame.esr).has_address()
            && matches!(
                self.stack,
                Some((_, StackPart::MainGuard | StackPart::ExceptionGuard))
            )
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = self.frame;
        let esr = Esr(frame.esr);
        let where_from = if self.vector.is_nested() {
            " inside an exception handler"
        } else {
            ""
        };
        writeln!(f, "exception on core {}{where_from}: ", self.core)?;
        match self.vector.kind() {
            Kind::Synchronous | Kind::SError => writeln!(f, "  {esr}")?,
            // An interrupt comes back; a fast one is what nothing here enables.
            Kind::Irq | Kind::Fiq => writeln!(f, "  fast interrupt, which nothing here enables")?,
        }
        if self.is_stack_overflow() {
            let name = match self.stack {
                Some((_, StackPart::MainGuard)) => "main",
                _ => "exception",
            };
            let core = self.stack.map_or(self.core, |(core, _)| core);
            writeln!(
                f,
                "  stack overflow: the {name} stack of core {core} is full"
            )?;
        } else if esr.has_address() && frame.far < 4096 {
            writeln!(f, "  null pointer")?;
        }
        let [elr, far, esr] = [frame.elr, frame.far, frame.esr];
        writeln!(f, "  ELR {elr:#018x}  FAR {far:#018x}  ESR {esr:#010x}")?;
        let [spsr, sp] = [frame.spsr, frame.sp_el0];
        writeln!(f, "  SPSR {spsr:#010x}  SP {sp:#018x}")?;
        for (row, values) in frame.x.chunks(4).enumerate() {
            for (column, value) in values.iter().enumerate() {
                write!(f, "  x{:<2} {value:016x}", 4 * row + column)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(esr: u64, far: u64) -> Frame {
        Frame {
            x: core::array::from_fn(|i| i as u64),
            sp_el0: 0x9_0000,
            elr: 0x8_1234,
            spsr: 0x6000_0304,
            esr,
            far,
            fpsr: 0,
            fpcr: 0,
            q: [0; 32],
        }
    }

    #[test]
    fn a_report_names_core_cause_address_and_registers() {
        let frame = frame(0x9600_0047, 0xDEAD_0000);
        let report = Report {
            core: 2,
            vector: Vector(0),
            frame: &frame,
            stack: None,
        };
        let text = report.to_string();
        assert!(text.starts_with("exception on core 2: \n"), "{text}");
        assert!(text.contains("data write failed: nothing is mapped there (level 3)"));
        assert!(text.contains("ELR 0x0000000000081234  FAR 0x00000000dead0000  ESR 0x96000047"));
        assert!(text.contains("x30 000000000000001e"));
        assert!(!text.contains("overflow"));
    }

    #[test]
    fn guard_pages_and_null_are_named() {
        let overflow = frame(0x9600_0047, 0x10_0000);
        let report = |stack| Report {
            core: 0,
            vector: Vector(0),
            frame: &overflow,
            stack,
        };
        let text = report(Some((0, StackPart::MainGuard))).to_string();
        assert!(text.contains("stack overflow: the main stack of core 0 is full"));
        let text = report(Some((0, StackPart::Main))).to_string();
        assert!(!text.contains("overflow"));

        let null = frame(0x9600_0007, 8);
        let report = Report {
            core: 1,
            vector: Vector(4),
            frame: &null,
            stack: None,
        };
        let text = report.to_string();
        assert!(text.contains("core 1 inside an exception handler"));
        assert!(text.contains("null pointer"));
    }

    #[test]
    fn vectors_are_numbered_as_in_the_manual() {
        let kinds = [0, 1, 2, 3].map(|vector| Vector(vector).kind());
        assert_eq!(
            kinds,
            [Kind::Synchronous, Kind::Irq, Kind::Fiq, Kind::SError]
        );
        assert!(!Vector(3).is_nested());
        assert!(Vector(4).is_nested() && Vector(7).is_nested());
        assert!(!Vector(8).is_nested());
    }
}
