//! Board or emulator? Pure: the evidence is collected elsewhere.
//!
//! Only what must differ may depend on the answer: whether a speed is called one, and whether the
//! emulator's own exit may be used (docs/hardware.md QEMU-12).

/// Three things that differ between a Raspberry Pi 4 and QEMU's `raspi4b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// `CNTFRQ_EL0`: 54 MHz on the board.
    pub counter_hz: u64,
    /// Capabilities of EMMC2, if read.
    pub emmc2_capabilities: Option<u32>,
    /// Firmware revision by mailbox: a time stamp on the board.
    pub firmware_revision: Option<u32>,
}

const QEMU_COUNTER_HZ: u64 = 62_500_000;
/// Capabilities of both of QEMU's SDHCI controllers.
pub const QEMU_SDHCI_CAPABILITIES: u32 = 0x0521_34B4;
const QEMU_FIRMWARE: u32 = 346_337;

impl Evidence {
    /// Whether at least two of the three say that this is QEMU.
    pub fn is_emulated(&self) -> bool {
        let signs = [
            self.counter_hz == QEMU_COUNTER_HZ,
            self.emmc2_capabilities == Some(QEMU_SDHCI_CAPABILITIES),
            self.firmware_revision == Some(QEMU_FIRMWARE),
        ];
        signs.into_iter().filter(|&sign| sign).count() >= 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sign_alone_is_not_enough() {
        let board = Evidence {
            counter_hz: 54_000_000,
            emmc2_capabilities: Some(0x45EE_6432),
            firmware_revision: Some(0x6797_3A1C),
        };
        assert!(!board.is_emulated());
        let odd_counter = Evidence {
            counter_hz: QEMU_COUNTER_HZ,
            ..board
        };
        assert!(!odd_counter.is_emulated());
        let qemu = Evidence {
            counter_hz: 62_500_000,
            emmc2_capabilities: Some(0x0521_34B4),
            firmware_revision: Some(346_337),
        };
        assert!(qemu.is_emulated());
        assert!(
            Evidence {
                emmc2_capabilities: None,
                ..qemu
            }
            .is_emulated()
        );
    }
}
