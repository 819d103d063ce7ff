//! Blocks that cannot be read: what is not needed of them refuses no card, and what is needed is called by its name.

mod images;

use std::io::Cursor;
use std::ops::Range;

use images::tables::{
    CARD_BYTES, FIRST, N_BLOCKS, PARTITIONS, SECOND, gpt_table, mbr, two_volumes,
};
use images::{BadBlock, Card, FAT32, names, ram_card, write};
use images::{MIB, pattern};
use storage::{Error, Volume};

const HEADER: Range<usize> = 512..1024;

type RamVolume = Volume<Card<Cursor<Vec<u8>>>>;

fn mount(bytes: &[u8], bad: Range<u64>) -> Result<RamVolume, Error<BadBlock>> {
    let mut card = Card::new(Cursor::new(bytes.to_vec()));
    card.bad = bad;
    Volume::mount(card)
}

/// A header that is whole is believed without its copy, which may lie where the card has a bad block.
#[test]
fn the_copy_of_a_table_is_not_read_without_need() {
    let mut bytes = two_volumes();
    gpt_table(&mut bytes, N_BLOCKS, &PARTITIONS);
    let with_bad_end = |bytes: &[u8]| {
        let mut card = Card::new(Cursor::new(bytes.to_vec()));
        card.bad = N_BLOCKS - 1..N_BLOCKS;
        Volume::mount(card)
    };
    let volume = with_bad_end(&bytes).unwrap();
    assert!(!volume.device().reads.iter().any(|r| r.0 == N_BLOCKS - 1));
    // Where the header is damaged, the copy is looked for and cannot be read: what there is must do.
    bytes[HEADER][16] ^= 1;
    let volume = with_bad_end(&bytes).unwrap();
    assert!(volume.device().reads.iter().any(|r| r.0 == N_BLOCKS - 1));
    assert_eq!(volume.n_volumes(), 2);
}

#[test]
fn hints_of_a_volume_are_not_needed() {
    let card = ram_card(64 * MIB, FAT32, |fs| write(fs, "a.gguf", &pattern(1, MIB)));
    let bytes = card.medium.into_inner();
    let boot = *mount(&bytes, 0..0).unwrap().geometry();
    let fs_info = boot.fs_info_block.unwrap();
    let mut volume = mount(&bytes, fs_info..fs_info + 1).unwrap();
    assert_eq!(volume.free_bytes(), None);
    assert_eq!(names(&volume.list_models().unwrap()), ["a.gguf"]);
    // The bit of the last writer is in the table's first block, which the root directory's chain needs too.
    let table = boot.fat_first_block;
    let mut volume = mount(&bytes, table..table + 1).unwrap();
    assert!(volume.was_ejected_cleanly());
    let error = volume.list_models().unwrap_err();
    assert_eq!(error, Error::Device(BadBlock(table)));
}

#[test]
fn a_bad_block_in_the_table_of_files_is_no_damage_of_the_file() {
    let card = ram_card(64 * MIB, FAT32, |fs| {
        write(fs, "before", &pattern(1, 16 * MIB));
        write(fs, "a.gguf", &pattern(2, MIB));
    });
    let bytes = card.medium.into_inner();
    let table = mount(&bytes, 0..0).unwrap().geometry().fat_first_block;
    // 16 MiB of clusters of 512 bytes: 256 blocks of the table.
    let bad = table + 256..table + 260;
    let error = mount(&bytes, bad.clone()).unwrap().open("a.gguf").err();
    let error = error.expect("the chain cannot be read");
    assert!(error.is_device(), "{error:?}");
    assert!(matches!(error, Error::Device(BadBlock(block)) if bad.contains(&block)));
}

#[test]
fn a_volume_that_cannot_be_read_leaves_the_others() {
    let mut bytes = two_volumes();
    mbr(&mut bytes, &[(0x0C, FIRST), (0x0C, SECOND)]);
    for (bad, left) in [(FIRST, "second.gguf"), (SECOND, "first.gguf")] {
        let mut volume = mount(&bytes, bad..bad + 1).unwrap();
        assert_eq!(volume.n_volumes(), 1);
        assert!(names(&volume.list_models().unwrap()).contains(&left));
    }
    // With none left the block that cannot be read is what there is to say.
    let mut bytes = vec![0; CARD_BYTES];
    mbr(&mut bytes, &[(0x0C, FIRST), (0x0C, SECOND)]);
    for bad in [SECOND..SECOND + 1, FIRST..N_BLOCKS] {
        let first = bad.start;
        let error = mount(&bytes, bad).err();
        assert_eq!(error, Some(Error::Device(BadBlock(first))));
    }
}

#[test]
fn a_header_or_entries_that_cannot_be_read_have_a_copy() {
    let mut bytes = two_volumes();
    gpt_table(&mut bytes, N_BLOCKS, &PARTITIONS);
    for bad in [1..2, 2..3, 1..34] {
        let mut volume =
            mount(&bytes, bad.clone()).unwrap_or_else(|error| panic!("{bad:?}: {error}"));
        assert_eq!(volume.n_volumes(), 2, "{bad:?}");
        assert_eq!(volume.list_models().unwrap().len(), 3);
    }
    // Without the copy it is the block that is named.
    bytes.truncate(CARD_BYTES - 512);
    let error = mount(&bytes, 1..2).err();
    assert_eq!(error, Some(Error::Device(BadBlock(1))));
}

/// The volume that a card was before it got its GPT is not taken for what is on it now.
#[test]
fn a_table_that_cannot_be_read_does_not_bring_back_the_volume_before_it() {
    let superfloppy = images::Format {
        first_block: 0,
        ..FAT32
    };
    let card = ram_card(40 * MIB, superfloppy, |fs| write(fs, "stale.gguf", b"x"));
    let mut bytes = card.medium.into_inner();
    mbr(&mut bytes, &[(0xEE, 1)]);
    let error = mount(&bytes, 1..2).err();
    assert_eq!(error, Some(Error::Device(BadBlock(1))));
}

/// What is listed is what is opened.
#[test]
fn of_names_that_differ_in_case_the_first_is_meant() {
    let superfloppy = images::Format {
        first_block: 0,
        ..FAT32
    };
    let volume = |name: &'static str, len| {
        let card = ram_card(40 * MIB, superfloppy, move |fs| {
            write(fs, name, &pattern(3, len))
        });
        card.medium.into_inner()
    };
    let mut bytes = vec![0; MIB];
    bytes.extend(volume("Model.gguf", 5000));
    bytes.extend(volume("model.GGUF", 7000));
    mbr(&mut bytes, &[(0x0C, FIRST), (0x0C, SECOND)]);
    let mut volume = mount(&bytes, 0..0).unwrap();
    let models = volume.list_models().unwrap();
    assert_eq!(names(&models), ["Model.gguf"]);
    assert_eq!(models[0].len_bytes, 5000);
    for name in ["Model.gguf", "model.GGUF", "MODEL.gguf"] {
        assert_eq!(volume.open(name).unwrap().len_bytes(), 5000);
    }
}
