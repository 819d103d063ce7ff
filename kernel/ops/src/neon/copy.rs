//! Copies between places of any alignment.
//!
//! `ld1` and `st1` of bytes have no alignment to respect. The compiler has no such thing: told that there
//! is no unaligned access it copies byte by byte or calls `memcpy`.

/// Copies sixteen bytes, in a load and a store.
#[inline(always)] // Two instructions.
pub fn copy16(from: &[u8; 16], to: &mut [u8; 16]) {
    // SAFETY: reads and writes the sixteen bytes of each reference and no others.
    unsafe {
        core::arch::asm!(
            "ld1 {{{v}.16b}}, [{from}]",
            "st1 {{{v}.16b}}, [{to}]",
            v = out(vreg) _,
            from = in(reg) from.as_ptr(),
            to = in(reg) to.as_mut_ptr(),
            options(nostack, preserves_flags),
        );
    }
}

/// Copies thirty-two bytes, in a load and a store.
#[inline(always)] // Two instructions.
pub fn copy32(from: &[u8; 32], to: &mut [u8; 32]) {
    // SAFETY: reads and writes the thirty-two bytes of each reference and no others.
    unsafe {
        core::arch::asm!(
            "ld1 {{v16.16b, v17.16b}}, [{from}]",
            "st1 {{v16.16b, v17.16b}}, [{to}]",
            out("v16") _,
            out("v17") _,
            from = in(reg) from.as_ptr(),
            to = in(reg) to.as_mut_ptr(),
            options(nostack, preserves_flags),
        );
    }
}
