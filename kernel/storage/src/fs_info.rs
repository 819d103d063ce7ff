//! The FSInfo sector of FAT32: a hint about free space.
//!
//! Pure. Formatters write it, drivers update it when they feel like it; it is believed only where
//! its three signatures and its number make sense. Offsets: `fatgen103`, page 21.

use crate::device::{Block, u32_at};

/// Free clusters of a volume of `n_clusters`, if the sector can be believed.
pub fn free_clusters(sector: &Block, n_clusters: u32) -> Option<u32> {
    let signatures = [u32_at(sector, 0), u32_at(sector, 484), u32_at(sector, 508)];
    let free = u32_at(sector, 488);
    (signatures == [0x4161_5252, 0x6141_7272, 0xAA55_0000] && free <= n_clusters).then_some(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn believed_only_with_signatures_and_a_possible_number() {
        let mut sector = [0; 512];
        sector[0..4].copy_from_slice(b"RRaA");
        sector[484..488].copy_from_slice(b"rrAa");
        sector[488..492].copy_from_slice(&77u32.to_le_bytes());
        sector[508..].copy_from_slice(&[0, 0, 0x55, 0xAA]);
        assert_eq!(free_clusters(&sector, 77), Some(77));
        assert_eq!(free_clusters(&sector, 76), None);
        for damaged in [0, 485, 510] {
            let mut sector = sector;
            sector[damaged] ^= 1;
            assert_eq!(free_clusters(&sector, 77), None);
        }
        // "Unknown", as fresh volumes may say.
        sector[488..492].fill(0xFF);
        assert_eq!(free_clusters(&sector, u32::MAX - 1), None);
    }
}
