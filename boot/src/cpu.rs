//! Switches of one core: interrupts, prefetch distance, its identity.

use aarch64_cpu::registers::{DAIF, ID_AA64ISAR0_EL1, MIDR_EL1, Readable, Writeable};

use crate::registers::CPUECTLR_EL1_PREFETCH;
use crate::vectors;

/// Lets interrupts of this core through.
pub fn enable_irqs() {
    // SAFETY: vectors and stacks of this core have been set up by `start.s`.
    unsafe { core::arch::asm!("msr daifclr, #2", options(nostack)) };
}

/// Runs `critical` with this core's interrupts masked.
pub fn without_irqs<R>(critical: impl FnOnce() -> R) -> R {
    let before = DAIF.get();
    // SAFETY: masks interrupts. Not `nomem`: nothing of `critical` may move across it.
    unsafe { core::arch::asm!("msr daifset, #2", options(nostack)) };
    let result = critical();
    // SAFETY: as above; `DAIF` gets back what was there.
    unsafe { core::arch::asm!("msr daif, {}", in(reg) before, options(nostack)) };
    result
}

/// What the core says it is: `0x410F_D083` for the Cortex-A72 r0p3 of a BCM2711.
pub fn midr() -> u64 {
    MIDR_EL1.get()
}

/// Whether the core has AES instructions. QEMU's A72 has, the BCM2711 has not.
pub fn has_aes() -> bool {
    ID_AA64ISAR0_EL1.get() >> 4 & 0xF != 0
}

/// Sets the prefetch distances of this core to what the A72 leaves reset with (the firmware's stub
/// shortens them) and returns `CPUECTLR_EL1` read back; nothing if the firmware does not allow it.
pub fn set_far_prefetch() -> Option<u64> {
    // SAFETY: the value has `SMPEN`: the caches stay coherent.
    unsafe { vectors::set_cpuectlr(CPUECTLR_EL1_PREFETCH) }
}

/// Masks every exception of this core, for good: the last thing before a reset.
pub fn mask_all() {
    DAIF.write(
        aarch64_cpu::registers::DAIF::D::Masked
            + aarch64_cpu::registers::DAIF::A::Masked
            + aarch64_cpu::registers::DAIF::I::Masked
            + aarch64_cpu::registers::DAIF::F::Masked,
    );
}

/// Reads address 0, which takes an exception once page 0 is unmapped: to show what that looks like.
pub fn read_null() {
    // SAFETY: nothing is there to be disturbed, and the access does not return.
    unsafe {
        core::arch::asm!("ldr {0}, [{0}]", inout(reg) 0_u64 => _, options(nostack, readonly))
    };
}
