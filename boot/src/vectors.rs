//! Pulls in `vectors.s` and decides what becomes of an exception.
//!
//! An interrupt goes to the kernel and comes back. A fault inside a window of [`Windows`] comes back
//! as its answer, unless a handler was running. Anything else is reported by the kernel and ends the program.

use core::arch::global_asm;
use core::ops::Range;

use crate::esr::Esr;
use crate::expected::{self, Look, Windows};
use crate::layout::{self, CoreStacks, STACKS};
use crate::report::{Frame, Kind, Report, Vector};

global_asm!(
    include_str!("vectors.s"),
    boot_exception = sym boot_exception,
    stacks = sym STACKS,
    core_stack_bytes = const size_of::<CoreStacks>(),
    exception_stack_top = const CoreStacks::EXCEPTION_TOP,
);

unsafe extern "C" {
    static __probe_window: u8;
    static __probe_failed: u8;
    static __probe_disturbed: u8;
    static __cpuectlr_window: u8;
    static __cpuectlr_failed: u8;
    static __unmask_window: u8;
    static __unmask_taken: u8;
    fn __probe32(addr: usize) -> u64;
    fn __set_cpuectlr(value: u64) -> u64;
    fn __unmask_serror() -> u64;
}

unsafe extern "Rust" {
    // SAFETY (of both): `entry!` defines them with these signatures.
    safe fn __boot_exception(report: &Report<'_>) -> !;
    safe fn __boot_irq();
}

/// Reads the register at `addr`, or nothing where no device answers. Asynchronous errors that come in between go to
/// `note`, and are no answer.
///
/// # Safety
/// `addr` is a multiple of 4 inside the peripherals' window, and reading it has no side effect that
/// matters.
pub unsafe fn probe32(addr: usize, note: impl FnMut(Esr)) -> Option<u32> {
    // SAFETY: the caller's; a fault comes back through `__probe_failed` or `__probe_disturbed`.
    let look = || Look::from_answer(unsafe { __probe32(addr) });
    expected::settle(look, note)
}

/// Writes `CPUECTLR_EL1` and reads it back; nothing where that is not allowed.
///
/// # Safety
/// `value` keeps `SMPEN` (bit 6): without it the caches of the cores drift apart.
pub(crate) unsafe fn set_cpuectlr(value: u64) -> Option<u64> {
    // SAFETY: the caller's; a trap comes back through `__cpuectlr_failed`.
    let answer = unsafe { __set_cpuectlr(value) };
    (answer != 0).then_some(answer & !(1 << 63))
}

/// Lets asynchronous errors through; returns the ESR of one that was pending, and is dropped.
pub(crate) fn unmask_serror() -> Option<u64> {
    // SAFETY: clears one mask bit; an SError inside the window comes back through `__unmask_taken`.
    let esr = unsafe { __unmask_serror() };
    (esr != 0).then_some(esr)
}

extern "C" fn boot_exception(frame: &mut Frame, vector: u64) {
    let vector = Vector(vector);
    match vector.kind() {
        Kind::Irq => return __boot_irq(),
        Kind::Synchronous | Kind::SError => {
            let windows = live_windows();
            if let Some(resume) = windows.resume_at(frame.elr, vector, Esr(frame.esr)) {
                frame.elr = resume;
                return;
            }
        }
        Kind::Fiq => {}
    }
    __boot_exception(&Report {
        core: layout::core_id(),
        vector,
        frame,
        stack: layout::stack_at(frame.far),
    })
}

fn live_windows() -> Windows {
    let addr = |label: *const u8| label.addr() as u64;
    let window = |start: *const u8, end: *const u8| -> Range<u64> { addr(start)..addr(end) };
    Windows {
        probe: window(&raw const __probe_window, &raw const __probe_failed),
        probe_disturbed: addr(&raw const __probe_disturbed),
        cpuectlr: window(&raw const __cpuectlr_window, &raw const __cpuectlr_failed),
        unmask: window(&raw const __unmask_window, &raw const __unmask_taken),
    }
}
