//! What a card says about itself: CID, CSD, SCR and the status of the switch function.
//!
//! Pure. Resources: SD Physical Layer Simplified Specification 6.00, §4.3.10 (switch function),
//! §5.2 (CID), §5.3 (CSD), §5.6 (SCR).

/// Bits `high..=low` of a 128-bit register with the specification's numbering.
fn bits(register: u128, high: u32, low: u32) -> u32 {
    (register >> low) as u32 & ((1u64 << (high - low + 1)) - 1) as u32
}

/// Card identification register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cid {
    /// Manufacturer, assigned by the SD association.
    pub manufacturer: u8,
    /// Two ASCII characters.
    pub oem: [u8; 2],
    /// Product name, five ASCII characters.
    pub name: [u8; 5],
    /// Product revision, one BCD digit each side of the point.
    pub revision: u8,
    /// Serial number.
    pub serial: u32,
    /// Year of manufacture.
    pub year: u16,
    /// Month of manufacture, 1..=12.
    pub month: u8,
}

impl Cid {
    /// Splits the register.
    pub fn parse(cid: u128) -> Self {
        let byte = |low| bits(cid, low + 7, low) as u8;
        Self {
            manufacturer: byte(120),
            oem: [byte(112), byte(104)],
            name: [byte(96), byte(88), byte(80), byte(72), byte(64)],
            revision: byte(56),
            serial: bits(cid, 55, 24),
            year: 2000 + bits(cid, 19, 12) as u16,
            month: bits(cid, 11, 8) as u8,
        }
    }
}

/// Card-specific data: what this driver needs of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csd {
    /// Capacity in blocks of 512 bytes.
    pub n_blocks: u64,
    /// Command classes; class 10 is the switch function.
    pub command_classes: u16,
}

/// A CSD structure that this driver does not know (the number in bits 127:126).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCsd(pub u8);

impl Csd {
    /// Reads version 1.0 (byte-addressed cards) and 2.0 (high and extended capacity).
    pub fn parse(csd: u128) -> Result<Self, UnknownCsd> {
        let n_blocks = match bits(csd, 127, 126) {
            0 => {
                // Capacity = (C_SIZE + 1) · 2^(C_SIZE_MULT + 2) · 2^READ_BL_LEN bytes.
                let c_size = u64::from(bits(csd, 73, 62));
                let shift = bits(csd, 49, 47) + 2 + bits(csd, 83, 80);
                ((c_size + 1) << shift) / 512
            }
            // Capacity = (C_SIZE + 1) · 512 KiB.
            1 => (u64::from(bits(csd, 69, 48)) + 1) * 1024,
            other => return Err(UnknownCsd(other as u8)),
        };
        Ok(Self {
            n_blocks,
            command_classes: bits(csd, 95, 84) as u16,
        })
    }

    /// Whether CMD6 exists on this card.
    pub fn has_switch(&self) -> bool {
        self.command_classes & 1 << 10 != 0
    }
}

/// SD configuration register: what this driver needs of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scr {
    /// Version of the physical layer: 0 is 1.0, 1 is 1.10, 2 is 2.00 and later.
    pub spec: u8,
    /// The card has four data lines.
    pub four_lines: bool,
}

impl Scr {
    /// Bytes of the register as ACMD51 sends it, most significant first.
    pub const BYTES: usize = 8;

    /// Splits the register.
    pub fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        Self {
            spec: bytes[0] & 0xF,
            four_lines: bytes[1] & 0b100 != 0,
        }
    }
}

/// The 64 bytes that CMD6 sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchStatus {
    /// Functions of group 1 that the card has, as a bit set.
    pub access_modes: u16,
    /// The function of group 1 that is, or would be, in force; 0xF means refused.
    pub selected: u8,
}

impl SwitchStatus {
    /// Bytes of the status, most significant first.
    pub const BYTES: usize = 64;
    /// Access mode 1: high speed, 50 MHz at 3.3 V.
    pub const HIGH_SPEED: u8 = 1;

    /// Splits the status: bits 415:400 and 379:376 of 511:0.
    pub fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        Self {
            access_modes: u16::from_be_bytes([bytes[12], bytes[13]]),
            selected: bytes[16] & 0xF,
        }
    }

    /// The card offers high speed.
    pub fn offers_high_speed(&self) -> bool {
        self.access_modes & 1 << Self::HIGH_SPEED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts `value` at bit `low` of a register.
    fn at(low: u32, value: u128) -> u128 {
        value << low
    }

    #[test]
    fn cid_fields() {
        let cid = at(120, 0x03)
            | at(104, 0x5344)
            | at(64, 0x53_55_33_32_47)
            | at(56, 0x80)
            | at(24, 0x1234_5678)
            | at(12, 21)
            | at(8, 7);
        assert_eq!(
            Cid::parse(cid),
            Cid {
                manufacturer: 3,
                oem: *b"SD",
                name: *b"SU32G",
                revision: 0x80,
                serial: 0x1234_5678,
                year: 2021,
                month: 7,
            }
        );
    }

    #[test]
    fn capacity_of_byte_addressed_cards() {
        // 64 MiB: 2048 · 2^(4+2) · 512 = 2^(11+6+9).
        let csd = at(84, 0x5B5) | at(80, 9) | at(62, 2047) | at(47, 4);
        let csd = Csd::parse(csd).unwrap();
        assert_eq!(csd.n_blocks, (64 << 20) / 512);
        assert!(csd.has_switch());
        // 2 GiB cards say so with blocks of 1024 bytes.
        let csd = at(84, 0x1B5) | at(80, 10) | at(62, 4095) | at(47, 7);
        let csd = Csd::parse(csd).unwrap();
        assert_eq!(csd.n_blocks, (2 << 30) / 512);
        assert!(!csd.has_switch());
        // The largest fields do not overflow.
        assert!(Csd::parse((1 << 126) - 1).unwrap().n_blocks > 0);
    }

    #[test]
    fn capacity_of_block_addressed_cards() {
        let csd = at(126, 1) | at(84, 0x5B5) | at(48, 8191);
        assert_eq!(Csd::parse(csd).unwrap().n_blocks, (4 << 30) / 512);
        let csd = at(126, 1) | at(48, 0x3F_FFFF);
        assert_eq!(Csd::parse(csd).unwrap().n_blocks, 1 << 32);
    }

    #[test]
    fn ultra_capacity_is_not_known() {
        assert_eq!(Csd::parse(at(126, 2)), Err(UnknownCsd(2)));
        assert_eq!(Csd::parse(at(126, 3)), Err(UnknownCsd(3)));
    }

    #[test]
    fn scr_fields() {
        let scr = Scr::parse(&[0x02, 0x35, 0x80, 0x43, 0, 0, 0, 0]);
        assert_eq!(
            scr,
            Scr {
                spec: 2,
                four_lines: true
            }
        );
        let scr = Scr::parse(&[0x00, 0xA1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            scr,
            Scr {
                spec: 0,
                four_lines: false
            }
        );
    }

    #[test]
    fn switch_status_fields() {
        let mut bytes = [0u8; 64];
        bytes[12] = 0x80;
        bytes[13] = 0x03;
        bytes[16] = 0x21;
        let status = SwitchStatus::parse(&bytes);
        assert!(status.offers_high_speed());
        assert_eq!((status.access_modes, status.selected), (0x8003, 1));
        bytes[13] = 0x01;
        bytes[16] = 0x0F;
        let status = SwitchStatus::parse(&bytes);
        assert!(!status.offers_high_speed());
        assert_eq!(status.selected, 0xF);
    }
}
