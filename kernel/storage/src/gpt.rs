//! GUID partition tables: where the partitions are that may be FAT.
//!
//! Pure. The board's boot loader boots from such a card. The header has a checksum and a copy in the card's
//! last block, for when it is damaged; a boot sector has the last word on what begins at a partition.
//!
//! Resources: UEFI Specification 2.10, §5.3.

use crate::device::{Block, u32_at};

/// Where the table's header is.
pub const HEADER_BLOCK: u64 = 1;
/// What the specification reserves for entries.
const MAX_ENTRIES_BYTES: u64 = 16 << 10;
const MIN_ENTRY_BYTES: u64 = 128;

/// "Basic data", EBD0A0A2-B9E5-4433-87C0-68B6B72699C7.
const BASIC_DATA: [u8; 16] = [
    0xA2, 0xA0, 0xD0, 0xEB, 0xE5, 0xB9, 0x33, 0x44, 0x87, 0xC0, 0x68, 0xB6, 0xB7, 0x26, 0x99, 0xC7,
];
/// EFI system partition, C12A7328-F81F-11D2-BA4B-00A0C93EC93B.
const EFI_SYSTEM: [u8; 16] = [
    0x28, 0x73, 0x2A, 0xC1, 0x1F, 0xF8, 0xD2, 0x11, 0xBA, 0x4B, 0x00, 0xA0, 0xC9, 0x3E, 0xC9, 0x3B,
];

/// Bytes of the header that version 1.0 has.
const HEADER_BYTES: usize = 92;
const CHECKSUM: core::ops::Range<usize> = 16..20;

/// Where the entries are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its checksum and its place are right.
    pub is_intact: bool,
    /// Block of the other copy of the header.
    pub other_block: u64,
    /// First block of the entries.
    pub first_block: u64,
    /// Blocks of entries worth a look.
    pub n_blocks: u64,
    entry_bytes: usize,
}

impl Header {
    /// The header, if the block, the card's block `at`, is one; it may be damaged.
    pub fn parse(block: &Block, at: u64) -> Option<Self> {
        let entry_bytes = u64::from(u32_at(block, 84));
        let n_entries = u64::from(u32_at(block, 80));
        // Entries of 512 bytes and less lie within blocks.
        let is_known =
            entry_bytes.is_power_of_two() && (MIN_ENTRY_BYTES..=512).contains(&entry_bytes);
        let is_one = block.starts_with(b"EFI PART") && is_known;
        is_one.then(|| Self {
            is_intact: has_right_checksum(block) && u64_at(block, 24) == at,
            other_block: u64_at(block, 32),
            first_block: u64_at(block, 72),
            n_blocks: (n_entries * entry_bytes)
                .min(MAX_ENTRIES_BYTES)
                .div_ceil(512),
            entry_bytes: entry_bytes as usize,
        })
    }

    /// First blocks of the partitions in a block of entries that may be FAT.
    pub fn first_blocks(self, entries: &Block) -> impl Iterator<Item = u64> {
        let entries = entries.chunks_exact(self.entry_bytes);
        let may_be_fat = |entry: &&[u8]| [BASIC_DATA, EFI_SYSTEM].iter().any(|t| t == &entry[..16]);
        entries.filter(may_be_fat).map(|entry| u64_at(entry, 32))
    }
}

fn has_right_checksum(block: &Block) -> bool {
    let Some(header) = block.get(..u32_at(block, 12) as usize) else {
        return false;
    };
    if header.len() < HEADER_BYTES {
        return false;
    }
    // The checksum itself counts as zeros.
    let (before, after) = (&header[..CHECKSUM.start], &header[CHECKSUM.end..]);
    let bytes = before.iter().chain(&[0; 4]).chain(after);
    crc32(bytes.copied()) == u32_at(block, CHECKSUM.start)
}

/// CRC-32 (ISO 3309), bit by bit: a header is short.
pub fn crc32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    let next = |crc: u32, byte: u8| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ if crc & 1 != 0 { POLYNOMIAL } else { 0 }
        })
    };
    !bytes.into_iter().fold(!0, next)
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from(u32_at(bytes, offset + 4)) << 32 | u64::from(u32_at(bytes, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(entries_at: u64, n_entries: u32, entry_bytes: u32) -> Block {
        let mut block = [0; 512];
        block[..8].copy_from_slice(b"EFI PART");
        block[72..80].copy_from_slice(&entries_at.to_le_bytes());
        block[80..84].copy_from_slice(&n_entries.to_le_bytes());
        block[84..88].copy_from_slice(&entry_bytes.to_le_bytes());
        block
    }

    #[test]
    fn headers_and_what_is_none() {
        let parsed = Header::parse(&header(2, 128, 128), 1).unwrap();
        assert_eq!((parsed.first_block, parsed.n_blocks), (2, 32));
        let endless = Header::parse(&header(2, u32::MAX, 512), 1).unwrap();
        assert_eq!(endless.n_blocks, 32);
        for entry_bytes in [0, 64, 127, 129, 1024, u32::MAX] {
            assert_eq!(Header::parse(&header(2, 128, entry_bytes), 1), None);
        }
        assert_eq!(Header::parse(&[0; 512], 1), None);
    }

    #[test]
    fn an_intact_header_has_its_checksum_and_its_place() {
        assert_eq!(crc32(*b"123456789"), 0xCBF4_3926);
        let with_checksum = |len: u32| {
            let mut block = header(2, 128, 128);
            block[12..16].copy_from_slice(&len.to_le_bytes());
            block[24] = 1;
            let crc = crc32(block.iter().copied().take(len as usize));
            block[CHECKSUM].copy_from_slice(&crc.to_le_bytes());
            block
        };
        let is_intact = |block, at| Header::parse(&block, at).unwrap().is_intact;
        assert!(is_intact(with_checksum(92), 1));
        assert!(is_intact(with_checksum(512), 1));
        assert!(!is_intact(with_checksum(92), 2));
        for len in [0, 91, 513, u32::MAX] {
            assert!(!is_intact(with_checksum(len), 1), "{len}");
        }
        for i in (12..92).filter(|i| !(80..88).contains(i)) {
            let mut block = with_checksum(92);
            block[i] ^= 0x10;
            assert!(!is_intact(block, 1), "byte {i}");
        }
    }

    #[test]
    fn partitions_of_the_types_that_windows_and_firmware_give() {
        let parsed = Header::parse(&header(2, 128, 128), 1).unwrap();
        let mut entries = [0; 512];
        for (i, (kind, first)) in [(EFI_SYSTEM, 2048_u64), ([7; 16], 5), (BASIC_DATA, 1 << 33)]
            .into_iter()
            .enumerate()
        {
            entries[i * 128..][..16].copy_from_slice(&kind);
            entries[i * 128 + 32..][..8].copy_from_slice(&first.to_le_bytes());
        }
        let firsts: Vec<u64> = parsed.first_blocks(&entries).collect();
        assert_eq!(firsts, [2048, 1 << 33]);
    }
}
