//! `ESR_EL1` in words.
//!
//! **Resources**: Arm Architecture Reference Manual, D17.2.37.

use core::fmt;

/// A syndrome as the core reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Esr(pub u64);

/// The class of an exception, as far as this firmware can meet it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// An undefined instruction, or one whose reason is not given.
    Unknown,
    /// A trapped `wfi` or `wfe`.
    TrappedWait,
    /// Floating point or SIMD while it is off.
    FloatingPointOff,
    /// A jump into an illegal execution state.
    IllegalState,
    /// `svc`.
    SupervisorCall,
    /// `hvc`.
    HypervisorCall,
    /// `smc`.
    SecureMonitorCall,
    /// A system register or instruction that is not allowed here.
    SystemRegister,
    /// A fetch that failed.
    InstructionAbort,
    /// A program counter that is not a multiple of 4.
    PcAlignment,
    /// A load or store that failed.
    DataAbort,
    /// A stack pointer that is not a multiple of 16.
    SpAlignment,
    /// A trapped floating-point exception.
    FloatingPoint,
    /// An asynchronous error: a write or a prefetch that went wrong some time ago.
    SError,
    /// Breakpoint, watchpoint or single step.
    Debug,
    /// `brk`.
    Breakpoint,
    /// Any other class, by its number.
    Other(u8),
}

impl Esr {
    /// The exception class, bits 31:26.
    pub const fn class(self) -> Class {
        match (self.0 >> 26 & 0x3F) as u8 {
            0x00 => Class::Unknown,
            0x01 => Class::TrappedWait,
            0x07 => Class::FloatingPointOff,
            0x0E => Class::IllegalState,
            0x15 => Class::SupervisorCall,
            0x16 => Class::HypervisorCall,
            0x17 => Class::SecureMonitorCall,
            0x18 => Class::SystemRegister,
            0x20 | 0x21 => Class::InstructionAbort,
            0x22 => Class::PcAlignment,
            0x24 | 0x25 => Class::DataAbort,
            0x26 => Class::SpAlignment,
            0x2C => Class::FloatingPoint,
            0x2F => Class::SError,
            0x30..=0x35 => Class::Debug,
            0x3C => Class::Breakpoint,
            other => Class::Other(other),
        }
    }

    /// Whether FAR holds the address that the exception is about.
    pub const fn has_address(self) -> bool {
        match self.class() {
            // FnV (bit 10): FAR is not valid, for external aborts only.
            Class::DataAbort | Class::InstructionAbort => self.0 & (1 << 10) == 0,
            Class::PcAlignment => true,
            _ => false,
        }
    }

    /// Whether a data abort was a write (WnR).
    pub const fn is_write(self) -> bool {
        self.0 & (1 << 6) != 0
    }

    /// The fault status of an abort in words, and the table level where there is one.
    pub const fn fault(self) -> (&'static str, Option<u8>) {
        let status = self.0 & 0x3F;
        let level = Some((status & 0b11) as u8);
        match status {
            0x00..=0x03 => ("address size fault", level),
            0x04..=0x07 => ("nothing is mapped there", level),
            0x08..=0x0B => ("access flag fault", level),
            0x0C..=0x0F => ("not permitted there", level),
            0x10 => ("external abort: nothing answered on the bus", None),
            0x14..=0x17 => ("external abort while walking the tables", level),
            0x18 => ("parity or ECC error", None),
            0x1C..=0x1F => ("parity or ECC error while walking the tables", level),
            0x21 => ("not aligned", None),
            0x30 => ("TLB conflict", None),
            0x35 => ("unsupported exclusive or atomic access", None),
            _ => ("unlisted fault status", None),
        }
    }
}

impl fmt::Display for Esr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class() {
            Class::Unknown => f.write_str("undefined instruction"),
            Class::TrappedWait => f.write_str("trapped wfi or wfe"),
            Class::FloatingPointOff => f.write_str("floating point or SIMD is off"),
            Class::IllegalState => f.write_str("illegal execution state"),
            Class::SupervisorCall => f.write_str("supervisor call"),
            Class::HypervisorCall => f.write_str("hypervisor call"),
            Class::SecureMonitorCall => f.write_str("secure monitor call"),
            Class::SystemRegister => f.write_str("system register access is not allowed"),
            Class::PcAlignment => f.write_str("program counter is not aligned"),
            Class::SpAlignment => f.write_str("stack pointer is not aligned"),
            Class::FloatingPoint => f.write_str("floating-point exception"),
            Class::SError => f.write_str("SError (asynchronous bus error)"),
            Class::Debug => f.write_str("debug exception"),
            Class::Breakpoint => f.write_str("brk instruction"),
            Class::Other(class) => write!(f, "exception class {class:#04x}"),
            Class::InstructionAbort => {
                f.write_str("instruction fetch failed: ")?;
                write_fault(f, self.fault())
            }
            Class::DataAbort => {
                f.write_str(if self.is_write() {
                    "data write failed: "
                } else {
                    "data read failed: "
                })?;
                write_fault(f, self.fault())
            }
        }
    }
}

fn write_fault(
    f: &mut fmt::Formatter<'_>,
    (fault, level): (&'static str, Option<u8>),
) -> fmt::Result {
    f.write_str(fault)?;
    match level {
        Some(level) => write!(f, " (level {level})"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syndromes_read_as_sentences() {
        let cases = [
            // QEMU on an address without a device
            (
                0x9600_0010,
                "data read failed: external abort: nothing answered on the bus",
            ),
            (
                0x9600_0047,
                "data write failed: nothing is mapped there (level 3)",
            ),
            (
                0x9600_004F,
                "data write failed: not permitted there (level 3)",
            ),
            (0x9600_0021, "data read failed: not aligned"),
            (
                0x8600_000F,
                "instruction fetch failed: not permitted there (level 3)",
            ),
            (
                0x9600_0035,
                "data read failed: unsupported exclusive or atomic access",
            ),
            (0x0200_0000, "undefined instruction"),
            (0xF200_0001, "brk instruction"),
            (0xBE00_0000, "SError (asynchronous bus error)"),
            (0x1FE0_0000, "floating point or SIMD is off"),
            (0x6232_C000, "system register access is not allowed"),
            (0x0C00_0000, "exception class 0x03"),
        ];
        for (esr, words) in cases {
            assert_eq!(Esr(esr).to_string(), words, "{esr:#x}");
        }
    }

    #[test]
    fn an_address_is_claimed_only_where_far_is_valid() {
        assert!(Esr(0x9600_0047).has_address());
        assert!(!Esr(0x9600_0410).has_address(), "FnV");
        assert!(!Esr(0x0200_0000).has_address());
        assert!(!Esr(0xBE00_0000).has_address());
    }
}
