//! Cache maintenance by address, for memory that someone without our caches reads or writes.
//!
//! The SD controller, the VideoCore and a core whose MMU is still off all look past the caches. QEMU
//! has none, so that nothing here can be seen to be missing there (docs/hardware.md MMU-6, MMU-7, SMP-2).

use core::arch::asm;

/// Bytes of a cache line of the A72 (`CTR_EL0`).
pub const LINE_BYTES: usize = 64;

fn each_line(addr: usize, len_bytes: usize, operation: impl Fn(usize)) {
    // SAFETY: a barrier: without it an operation may overtake the read of a device's register that
    // says that the device has finished (Arm ARM, ordering of cache maintenance by address), and drop
    // a line that is fetched again before the device's last write.
    unsafe { asm!("dsb sy", options(nostack)) };
    let end = addr + len_bytes;
    let mut line = addr & !(LINE_BYTES - 1);
    while line < end {
        operation(line);
        line += LINE_BYTES;
    }
    // SAFETY: a barrier: without it the operations may still be under way when the caller tells the
    // other side to look.
    unsafe { asm!("dsb sy", options(nostack)) };
}

/// Writes dirty lines of the range to memory. Do this before someone reads memory past the caches.
pub fn clean(addr: usize, len_bytes: usize) {
    each_line(addr, len_bytes, |line| {
        // SAFETY: cleaning changes no value that any core can see.
        unsafe { asm!("dc cvac, {}", in(reg) line, options(nostack)) }
    });
}

/// Writes dirty lines of the range to memory and drops them. Do this before a device writes memory,
/// and again before reading what it wrote: a prefetch may have brought old lines back meanwhile.
pub fn clean_and_invalidate(addr: usize, len_bytes: usize) {
    each_line(addr, len_bytes, |line| {
        // SAFETY: as `clean`; a dropped line is read again from memory, which holds the same.
        unsafe { asm!("dc civac, {}", in(reg) line, options(nostack)) }
    });
}
