//! A card of more models than memory holds.

mod images;

use std::io::Cursor;

use images::{Card, FAT32, Format, MIB, ram_card, write};
use storage::Volume;

/// A directory with a long name and its short one for each of `names`.
fn directory(names: impl Iterator<Item = String>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for name in names {
        let mut short = [0; 32];
        short[..11].copy_from_slice(b"MODEL~1 GGU");
        let checksum = short[..11].iter();
        let checksum = checksum.fold(0_u8, |sum, &b| sum.rotate_right(1).wrapping_add(b));
        let mut units: Vec<u16> = name.encode_utf16().chain([0]).collect();
        units.resize(13, 0xFFFF);
        let mut long = [0; 32];
        (long[0], long[11], long[13]) = (0x41, 0x0F, checksum);
        let offsets = (1..11).step_by(2).chain((14..26).step_by(2));
        for (unit, offset) in units.iter().zip(offsets.chain([28, 30])) {
            long[offset..offset + 2].copy_from_slice(&unit.to_le_bytes());
        }
        bytes.extend(long);
        bytes.extend(short);
    }
    bytes
}

/// A card whose root directory these bytes are.
fn card_of(directory: &[u8]) -> Card<Cursor<Vec<u8>>> {
    let superfloppy = Format {
        first_block: 0,
        ..FAT32
    };
    let card = ram_card(40 * MIB, superfloppy, |fs| {
        write(fs, "directory", directory)
    });
    let mut bytes = card.medium.into_inner();
    // The file follows the root directory, which has one cluster.
    bytes[44..48].copy_from_slice(&3_u32.to_le_bytes());
    Card::new(Cursor::new(bytes))
}

#[test]
fn a_thousand_models_are_listed_and_no_more() {
    for (n, expected) in [(999, 999), (1000, 1000), (1500, 1000)] {
        let directory = directory((0..n).map(|i| format!("{i:04}.gguf")));
        let mut volume = Volume::mount(card_of(&directory)).unwrap();
        assert_eq!(volume.list_models().unwrap().len(), expected);
    }
}
