//! Where an instruction leads, from its bits: DDI 0487, C4.1 "Branches, exception generating and system instructions".

use super::text::Text;
use anyhow::Result;

/// What runs after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The next instruction.
    Next,
    /// B.
    Jump(u64),
    /// A conditional branch: this address, or the next instruction.
    Either(u64),
    /// BL.
    Call(u64),
    /// RET to X30.
    Return,
    /// BR, or RET to another register.
    Indirect,
    /// BLR.
    IndirectCall,
    /// ERET.
    ExceptionReturn,
    /// Nothing: UDF or BRK, which are exceptions.
    Stop,
    /// A branch or an exception that this kernel has no use for.
    Unknown,
}

/// Where `word` at `addr` leads.
pub fn flow(addr: u64, word: u32) -> Flow {
    let is = |mask: u32, bits: u32| word & mask == bits;
    // Unconditional branch (immediate)
    if is(0xFC00_0000, 0x1400_0000) {
        return Flow::Jump(relative(addr, word, 0, 26));
    }
    if is(0xFC00_0000, 0x9400_0000) {
        return Flow::Call(relative(addr, word, 0, 26));
    }
    // Conditional branch (immediate); compare and branch (immediate)
    if is(0xFF00_0000, 0x5400_0000) || is(0x7E00_0000, 0x3400_0000) {
        return Flow::Either(relative(addr, word, 5, 19));
    }
    // Test and branch (immediate)
    if is(0x7E00_0000, 0x3600_0000) {
        return Flow::Either(relative(addr, word, 5, 14));
    }
    match word {
        // Unconditional branch (register)
        0xD65F_03C0 => Flow::Return,
        0xD69F_03E0 => Flow::ExceptionReturn,
        _ if is(0xFFFF_FC1F, 0xD61F_0000) || is(0xFFFF_FC1F, 0xD65F_0000) => Flow::Indirect,
        _ if is(0xFFFF_FC1F, 0xD63F_0000) => Flow::IndirectCall,
        _ if is(0xFE00_0000, 0xD600_0000) => Flow::Unknown,
        // Exception generation: BRK; the others
        _ if is(0xFFE0_001F, 0xD420_0000) => Flow::Stop,
        _ if is(0xFF00_0000, 0xD400_0000) => Flow::Unknown,
        // Reserved: UDF
        _ if is(0xFFFF_0000, 0) => Flow::Stop,
        _ => Flow::Next,
    }
}

/// `addr` plus the signed number of words in the `n_bits` of `word` from `low` on.
fn relative(addr: u64, word: u32, low: u32, n_bits: u32) -> u64 {
    let words = ((word << (32 - low - n_bits)) as i32 >> (32 - n_bits)) as i64;
    addr.wrapping_add_signed(4 * words)
}

/// The value that `register` has at `addr`, where the instructions straight before it load a constant. None of them may
/// be one that `is_target` says is branched to, so that there is one way to `addr`.
///
/// # Errors
/// The constant is outside of `.text`.
pub fn constant_before(
    text: &Text,
    is_target: impl Fn(u64) -> bool,
    mut addr: u64,
    register: u32,
) -> Result<Option<u64>> {
    while !is_target(addr) && addr >= 4 && text.is_code(addr - 4) {
        addr -= 4;
        let word = text.word(addr)?;
        if flow(addr, word) != Flow::Next {
            break;
        }
        if word & 0x1F == register {
            let literal = || relative(addr, word, 5, 19);
            let immediate = u64::from(word >> 5 & 0xFFFF) << (16 * (word >> 21 & 3));
            // Load register (literal); PC-relative addressing: ADR; move wide (immediate): MOVZ
            match word {
                _ if word & 0xFF00_0000 == 0x5800_0000 => {
                    return Ok(Some(u64::from_le_bytes(text.constant(literal())?)));
                }
                _ if word & 0x9F00_0000 == 0x1000_0000 => {
                    let high = relative(0, word, 5, 19);
                    return Ok(Some(addr.wrapping_add(high | u64::from(word >> 29 & 3))));
                }
                _ if word & 0x7F80_0000 == 0x5280_0000 => return Ok(Some(immediate)),
                _ => {}
            }
        }
        // anything else that names the register may write it
        let fields = [word, word >> 5, word >> 10, word >> 16];
        if fields.iter().any(|field| field & 0x1F == register) {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_told_by_their_bits() {
        const AT: u64 = 0x8_1000;
        for (word, expected, mnemonic) in [
            (0x1400_0010, Flow::Jump(AT + 0x40), "b .+64"),
            (0x17FF_FFFF, Flow::Jump(AT - 4), "b .-4"),
            (0x9400_0002, Flow::Call(AT + 8), "bl .+8"),
            (0x97FF_FFF0, Flow::Call(AT - 0x40), "bl .-64"),
            (0x5400_0081, Flow::Either(AT + 16), "b.ne .+16"),
            (0x54FF_FFA3, Flow::Either(AT - 12), "b.lo .-12"),
            (0xB500_0B73, Flow::Either(AT + 0x16C), "cbnz x19, .+364"),
            (0x3400_0040, Flow::Either(AT + 8), "cbz w0, .+8"),
            (0x3600_0060, Flow::Either(AT + 12), "tbz w0, #0, .+12"),
            (0xB707_FFE0, Flow::Either(AT - 4), "tbnz x0, #32, .-4"),
            (0xD65F_03C0, Flow::Return, "ret"),
            (0xD65F_0240, Flow::Indirect, "ret x18"),
            (0xD61F_0100, Flow::Indirect, "br x8"),
            (0xD63F_0100, Flow::IndirectCall, "blr x8"),
            (0xD69F_03E0, Flow::ExceptionReturn, "eret"),
            (0xD71F_0801, Flow::Unknown, "braa x0, x1"),
            (0xD6BF_03E0, Flow::Unknown, "drps"),
            (0xD420_0020, Flow::Stop, "brk #1"),
            (0x0000_C11F, Flow::Stop, "udf #49439"),
            (0xD400_0003, Flow::Unknown, "smc #0"),
            (0xD45E_0000, Flow::Unknown, "hlt #0xf000"),
            (0xD503_201F, Flow::Next, "nop"),
            (0xD518_1009, Flow::Next, "msr sctlr_el1, x9"),
            (0x1000_0189, Flow::Next, "adr x9, .+48"),
        ] {
            assert_eq!(flow(AT, word), expected, "{mnemonic}");
        }
    }
}
