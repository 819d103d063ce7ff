//! Who called whom, from the chain of frame pointers.
//!
//! Everything is built with `force-frame-pointers`: x29 points at a pair on the stack, the caller's
//! x29 and the address to return to (Procedure Call Standard AAPCS64, §6.4.6). `start.s` and
//! `vectors.s` end the chain with a zero.

use core::ops::Range;

/// Frames that are followed at most: a damaged chain may be a circle.
pub const MAX_FRAMES: usize = 32;

/// The return addresses behind frame pointer `x29`, innermost first.
///
/// `read` gives the word at an address inside the stack `stack`; a frame pointer that is outside, not
/// aligned, or does not climb ends the walk.
pub fn return_addresses(
    x29: u64,
    stack: Range<u64>,
    read: impl Fn(u64) -> u64,
) -> impl Iterator<Item = u64> {
    let pair_is_inside = move |at: u64| {
        at.is_multiple_of(8)
            && at >= stack.start
            && at.checked_add(16).is_some_and(|end| end <= stack.end)
    };
    let mut frame = x29;
    core::iter::from_fn(move || {
        if !pair_is_inside(frame) {
            return None;
        }
        let (caller, back_to) = (read(frame), read(frame + 8));
        // the caller's frame lies higher up; anything else is no chain
        frame = if caller > frame { caller } else { 0 };
        (back_to != 0).then_some(back_to)
    })
    .take(MAX_FRAMES)
}

#[cfg(target_os = "none")]
pub use target::{of_caller, of_frame};

#[cfg(target_os = "none")]
mod target {
    use super::return_addresses;
    use crate::layout;

    /// The return addresses on the stack that holds `x29`, which the code at an exception used.
    pub fn of_frame(x29: u64) -> impl Iterator<Item = u64> {
        let stack = layout::mapped_stack_around(x29).unwrap_or(0..0);
        return_addresses(x29, stack, |addr| {
            let word: *const u64 = core::ptr::with_exposed_provenance(addr as usize);
            // SAFETY: `return_addresses` asks for aligned words inside the mapped stack only.
            unsafe { word.read_volatile() }
        })
    }

    /// The return addresses of the code that calls this. Inlined, because a frame of its own would be gone, and
    /// overwritten, by the time that they are read.
    #[inline(always)]
    pub fn of_caller() -> impl Iterator<Item = u64> {
        let x29: u64;
        // SAFETY: reads a register.
        unsafe { core::arch::asm!("mov {}, x29", out(reg) x29, options(nomem, nostack)) };
        of_frame(x29)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x1000;

    fn walk(words: &[u64], x29: u64) -> Vec<u64> {
        let stack = BASE..BASE + 8 * words.len() as u64;
        return_addresses(x29, stack, |addr| words[((addr - BASE) / 8) as usize]).collect()
    }

    #[test]
    fn the_chain_is_followed_to_its_end() {
        let mut words = [0; 16];
        words[2..4].copy_from_slice(&[BASE + 8 * 6, 0x8_0010]);
        words[6..8].copy_from_slice(&[BASE + 8 * 12, 0x8_0020]);
        words[12..14].copy_from_slice(&[0, 0x8_0030]);
        assert_eq!(walk(&words, BASE + 16), [0x8_0010, 0x8_0020, 0x8_0030]);
        // what `start.s` leaves: no return address
        words[13] = 0;
        assert_eq!(walk(&words, BASE + 16), [0x8_0010, 0x8_0020]);
    }

    #[test]
    fn damaged_chains_end() {
        let mut words = [0; 8];
        words[0..2].copy_from_slice(&[BASE, 1]);
        assert_eq!(walk(&words, BASE), [1], "a circle");
        words[0] = BASE + 8 * 7;
        assert_eq!(walk(&words, BASE), [1], "a pair that is half outside");
        words[0] = u64::MAX - 7;
        assert_eq!(walk(&words, BASE), [1]);
        assert_eq!(walk(&words, BASE + 4), [0; 0], "not aligned");
        assert_eq!(walk(&words, 0), [0; 0]);
    }
}
