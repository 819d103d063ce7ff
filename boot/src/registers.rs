//! The values that system registers get on the way from the firmware to EL1.
//!
//! Plain numbers with their arithmetic, so that the assembly can take them as constants and a host
//! test can compare them with the field definitions of `aarch64-cpu`.
//!
//! **Resources**: Arm Architecture Reference Manual, chapter D; the Cortex-A72 manual (100095), §4.3;
//! `VPIDR_EL2` and its neighbours are copied from what they shadow, see `start.s`.

/// The pins' block, which the first instructions switch the LED by.
pub const GPIO_ADDR: u64 = 0xFE20_0000;

/// `SCR_EL3` when an emulator starts us in EL3: `EL2` is 64-bit and non-secure, `HVC` on, `SMC` off.
pub const SCR_EL3: u64 = RW | HCE | SMD | RES1 | NS;
const RW: u64 = 1 << 10;
const HCE: u64 = 1 << 8;
const SMD: u64 = 1 << 7;
const RES1: u64 = 0b11 << 4;
const NS: u64 = 1;

/// `SCTLR_EL2` with MMU, caches and alignment checks off: the bits that are always one.
pub const SCTLR_EL2: u64 = 0x30C5_0830;

/// `HCR_EL2`: `EL1` is 64-bit, nothing is trapped or routed to EL2.
pub const HCR_EL2: u64 = 1 << 31;

/// `CPTR_EL2`: floating point, SIMD and the trace registers are not trapped; the rest is one by rule.
pub const CPTR_EL2: u64 = 0x33FF;

/// Bits set in `CNTHCTL_EL2`: EL1 reads the physical counter (`EL1PCTEN`) and timer (`EL1PCEN`).
pub const CNTHCTL_EL2_OR: u64 = 0b11;

/// `ACTLR_EL2`: EL1 may write `CPUACTLR`, `CPUECTLR`, `L2CTLR`, `L2ECTLR` and `L2ACTLR`, where the
/// firmware's stub has allowed it to EL2.
pub const ACTLR_EL2: u64 = 0x73;

/// `SCTLR_EL1` with MMU and caches off: the bits that are always one.
pub const SCTLR_EL1_OFF: u64 = 0x30D0_0800;

/// `SCTLR_EL1` with MMU (`M`), data cache (`C`) and instruction cache (`I`) on; no `A`, no `WXN`.
pub const SCTLR_EL1_ON: u64 = SCTLR_EL1_OFF | 1 | 1 << 2 | 1 << 12;

/// `SPSR_EL3` to reach EL2h with D, A, I, F masked.
pub const SPSR_EL2H: u64 = 0x3C9;

/// `SPSR_EL2` to reach EL1h with D, A, I, F masked.
pub const SPSR_EL1H: u64 = 0x3C5;

/// `CPACR_EL1.FPEN`: no trap of floating point and SIMD at EL1 and EL0.
pub const CPACR_EL1: u64 = 0b11 << 20;

/// Index of Normal, inner and outer write-back, read- and write-allocate memory in `MAIR_EL1`.
pub const ATTR_NORMAL: u64 = 0;
/// Index of Device-nGnRnE memory in `MAIR_EL1`.
pub const ATTR_DEVICE: u64 = 1;
/// Index of Normal, non-cacheable memory in `MAIR_EL1`.
pub const ATTR_NON_CACHED: u64 = 2;

/// `MAIR_EL1`: what the three indices mean.
pub const MAIR_EL1: u64 = 0xFF << (8 * ATTR_NORMAL) | 0x44 << (8 * ATTR_NON_CACHED);

/// Bits of an address that the tables translate: 64 GiB, RAM of every model and the peripherals.
pub const VA_BITS: u64 = 36;

/// `TCR_EL1` but for `IPS`, which each core takes from its own `ID_AA64MMFR0_EL1.PARange`:
/// 4 KiB granules, walks inner shareable and write-back, no upper half.
pub const TCR_EL1: u64 = (64 - VA_BITS)         // T0SZ
    | 0b01 << 8                                 // IRGN0: write-back, allocate
    | 0b01 << 10                                // ORGN0: the same
    | 0b11 << 12                                // SH0: inner shareable
    | 1 << 23                                   // EPD1: no walks through TTBR1
    | 0b10 << 30; // TG1: 4 KiB, a legal value though unused

/// `CPUECTLR_EL1` as the A72 leaves reset, plus `SMPEN`: L2 instruction prefetch distance 3, L2 load
/// prefetch distance 3. The firmware's stub writes `SMPEN` alone, which shortens both (MMU-11).
pub const CPUECTLR_EL1_PREFETCH: u64 = 0b11 << 35 | 0b11 << 32 | 1 << 6;

/// The board's counter, where no stub of the firmware has said so in `CNTFRQ_EL0`.
pub const DEFAULT_COUNTER_HZ: u64 = 54_000_000;

/// What `CNTFRQ_EL0` says; times are divided by it.
pub const fn counter_hz(cntfrq: u64) -> u64 {
    match cntfrq {
        0 => DEFAULT_COUNTER_HZ,
        hz => hz,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aarch64_cpu::registers as cpu;

    #[test]
    fn a_counter_without_a_frequency_is_the_boards() {
        assert_eq!(counter_hz(0), 54_000_000);
        assert_eq!(counter_hz(62_500_000), 62_500_000);
    }

    #[test]
    fn exception_level_registers_match_their_fields() {
        let scr = cpu::SCR_EL3::RW::NextELIsAarch64
            + cpu::SCR_EL3::HCE::HvcEnabled
            + cpu::SCR_EL3::SMD::SmcDisabled
            + cpu::SCR_EL3::NS::NonSecure;
        assert_eq!(SCR_EL3, scr.value | 0x30);
        assert_eq!(HCR_EL2, cpu::HCR_EL2::RW::EL1IsAarch64.value);
        let masked = cpu::SPSR_EL2::D::Masked
            + cpu::SPSR_EL2::A::Masked
            + cpu::SPSR_EL2::I::Masked
            + cpu::SPSR_EL2::F::Masked;
        assert_eq!(SPSR_EL1H, masked.value | cpu::SPSR_EL2::M::EL1h.value);
        assert_eq!(SPSR_EL2H, masked.value | cpu::SPSR_EL3::M::EL2h.value);
        let counters = cpu::CNTHCTL_EL2::EL1PCTEN::SET + cpu::CNTHCTL_EL2::EL1PCEN::SET;
        assert_eq!(CNTHCTL_EL2_OR, counters.value);
        assert_eq!(CPACR_EL1, cpu::CPACR_EL1::FPEN::TrapNothing.value);
    }

    #[test]
    fn floating_point_is_not_trapped_at_el2() {
        assert_eq!(CPTR_EL2 & (1 << 10), 0, "TFP");
        assert_eq!(CPTR_EL2 & (1 << 20), 0, "TTA");
        assert_eq!(CPTR_EL2 & (1 << 31), 0, "TCPAC");
    }

    #[test]
    fn translation_control_matches_its_fields() {
        let tcr = cpu::TCR_EL1::T0SZ.val(28)
            + cpu::TCR_EL1::IRGN0::WriteBack_ReadAlloc_WriteAlloc_Cacheable
            + cpu::TCR_EL1::ORGN0::WriteBack_ReadAlloc_WriteAlloc_Cacheable
            + cpu::TCR_EL1::SH0::Inner
            + cpu::TCR_EL1::TG0::KiB_4
            + cpu::TCR_EL1::EPD1::DisableTTBR1Walks
            + cpu::TCR_EL1::TG1::KiB_4;
        assert_eq!(TCR_EL1, tcr.value);
        let on =
            cpu::SCTLR_EL1::M::Enable + cpu::SCTLR_EL1::C::Cacheable + cpu::SCTLR_EL1::I::Cacheable;
        assert_eq!(SCTLR_EL1_ON, SCTLR_EL1_OFF | on.value);
        assert_eq!(SCTLR_EL1_OFF & 0b1111, 0, "M, A, C, SA are off");
    }

    #[test]
    fn memory_attributes_match_their_fields() {
        let mair = cpu::MAIR_EL1::Attr0_Normal_Outer::WriteBack_NonTransient_ReadWriteAlloc
            + cpu::MAIR_EL1::Attr0_Normal_Inner::WriteBack_NonTransient_ReadWriteAlloc
            + cpu::MAIR_EL1::Attr1_Device::nonGathering_nonReordering_noEarlyWriteAck
            + cpu::MAIR_EL1::Attr2_Normal_Outer::NonCacheable
            + cpu::MAIR_EL1::Attr2_Normal_Inner::NonCacheable;
        assert_eq!(MAIR_EL1, mair.value);
    }
}
