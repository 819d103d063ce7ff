//! Board or emulator? Pure: the evidence is collected elsewhere.
//!
//! Only what must differ may depend on the answer: whether a speed is called one, and whether the
//! emulator's own exit may be used (docs/hardware.md QEMU-12).

const QEMU_COUNTER_HZ: u64 = 62_500_000;
/// Capabilities of both of QEMU's SDHCI controllers.
pub const QEMU_SDHCI_CAPABILITIES: u32 = 0x0521_34B4;
const QEMU_FIRMWARE: u32 = 346_337;

/// Whether `CNTFRQ_EL0` is not the emulator's: there a watchdog may be armed before anything is asked.
pub const fn has_board_counter(counter_hz: u64) -> bool {
    counter_hz != QEMU_COUNTER_HZ
}

/// Whether this is QEMU: two of three signs. EMMC2, whose clock may be off and whose access then hangs,
/// is read only if the two others disagree.
pub fn is_emulated(
    counter_hz: u64,
    firmware_revision: Option<u32>,
    emmc2_capabilities: impl FnOnce() -> Option<u32>,
) -> bool {
    let by_counter = !has_board_counter(counter_hz);
    let by_firmware = firmware_revision == Some(QEMU_FIRMWARE);
    if by_counter == by_firmware {
        return by_counter;
    }
    emmc2_capabilities() == Some(QEMU_SDHCI_CAPABILITIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOARD_HZ: u64 = 54_000_000;
    const BOARD_FIRMWARE: Option<u32> = Some(0x6797_3A1C);

    #[test]
    fn two_signs_that_agree_leave_emmc2_alone() {
        let never = || -> Option<u32> { panic!("EMMC2 is read") };
        assert!(!is_emulated(BOARD_HZ, BOARD_FIRMWARE, never));
        assert!(!is_emulated(BOARD_HZ, None, never));
        assert!(is_emulated(62_500_000, Some(346_337), never));
    }

    #[test]
    fn a_third_sign_decides_between_two_that_disagree() {
        let board = || Some(0x45EE_6432);
        let qemu = || Some(QEMU_SDHCI_CAPABILITIES);
        assert!(!is_emulated(62_500_000, BOARD_FIRMWARE, board));
        assert!(is_emulated(62_500_000, None, qemu));
        assert!(is_emulated(BOARD_HZ, Some(346_337), qemu));
    }
}
