//! Phase markers for counting instructions from outside.
//!
//! A hint that no Armv8.0 core knows is a `nop`; a counting plugin of QEMU sees it and closes the
//! phase that ran until then.

use core::arch::asm;

/// From here on: neither of the others.
pub fn idle() {
    // SAFETY: an unallocated hint does nothing.
    unsafe { asm!("hint #0x60", options(nomem, nostack)) };
}

/// From here on: the prompt is processed.
pub fn prefill() {
    // SAFETY: an unallocated hint does nothing.
    unsafe { asm!("hint #0x61", options(nomem, nostack)) };
}

/// From here on: one token is generated.
pub fn decode() {
    // SAFETY: an unallocated hint does nothing.
    unsafe { asm!("hint #0x62", options(nomem, nostack)) };
}
