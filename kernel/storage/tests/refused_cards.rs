//! Cards and files that are refused, and the sentence that says why.

mod images;

use std::io::Cursor;

use images::{BadBlock, Card, FAT16, FAT32, PARTITION, pattern, ram_card, write};
use storage::boot_sector::{self, Other};
use storage::{Error, Volume, mbr};

const MIB: usize = 1 << 20;

fn mount_error(bytes: Vec<u8>) -> Error<BadBlock> {
    Volume::mount(Card::new(Cursor::new(bytes))).unwrap_err()
}

#[test]
fn a_card_without_a_model_says_so() {
    let card = ram_card(64 * MIB, FAT32, |fs| {
        write(fs, "config.txt", b"arm_64bit=1");
        write(fs, "._model.gguf", b"");
    });
    let error = Volume::mount(card).unwrap().list_models().unwrap_err();
    assert_eq!(error, Error::NoModel { n_files: 2 });
    assert!(!error.is_device());
    assert_eq!(
        error.to_string(),
        "no *.gguf file in the card's root directory (files there: 2): copy a model to it"
    );
}

#[test]
fn cards_that_are_no_fat_volume_are_named() {
    let with_type = |partition_type: u8, oem: &[u8; 8]| {
        let mut bytes = vec![0; 4 * MIB];
        bytes[446 + 4] = partition_type;
        bytes[446 + 8] = 8;
        bytes[510..512].copy_from_slice(&[0x55, 0xAA]);
        bytes[8 * 512 + 3..][..8].copy_from_slice(oem);
        mount_error(bytes).to_string()
    };
    let format = ": format it as FAT32 with an MBR partition table";
    let cases = [
        (mount_error(vec![0; MIB]).to_string(), "the card is empty"),
        (mount_error(Vec::new()).to_string(), "the card is empty"),
        (
            mount_error(vec![9; MIB]).to_string(),
            "the card has no partition table",
        ),
        (
            with_type(0, b"        "),
            "the card's partition table is empty",
        ),
        (
            with_type(0xEE, b"        "),
            "the card's partition table (GPT) has no FAT partition",
        ),
        (
            with_type(0x83, b"        "),
            "the card has no FAT partition (found type 0x83)",
        ),
        (
            with_type(0x07, b"NTFS    "),
            "the card is formatted as NTFS",
        ),
        (
            with_type(0x0C, b"        "),
            "the FAT partition is not formatted",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(line, format!("{expected}{format}"));
    }
    let exfat =
        format!("the card is formatted as exFAT{format} (cards above 32 GB come with exFAT)");
    assert_eq!(with_type(0x07, b"EXFAT   "), exfat);
    assert_eq!(with_type(0x0C, b"EXFAT   "), exfat);
    assert_eq!(
        mount_error({
            let mut bytes = vec![0; MIB];
            bytes[3..11].copy_from_slice(b"EXFAT   ");
            bytes
        }),
        Error::Partition(mbr::Error::Other(Other::ExFat))
    );
}

#[test]
fn of_a_volume_larger_than_its_card_the_files_beyond_the_end_are_lost() {
    let card = ram_card(64 * MIB, FAT32, |fs| {
        write(fs, "here.gguf", &pattern(1, MIB));
        write(fs, "beyond.gguf", &pattern(2, 48 * MIB));
    });
    let mut bytes = card.medium.into_inner();
    bytes.truncate(48 * MIB);
    let mut volume = Volume::mount(Card::new(Cursor::new(bytes.clone()))).unwrap();
    assert_eq!(volume.list_models().unwrap().len(), 2);
    let here = volume.open("here.gguf").unwrap();
    let mut read = vec![0; MIB];
    volume.read_at(&here, 0, &mut read).unwrap();
    assert!(read == pattern(1, MIB));
    let error = volume.open("beyond.gguf").unwrap_err();
    assert!(
        error.to_string().contains("clusters are on the card"),
        "{error}"
    );

    bytes.truncate(4 * MIB + MIB / 4);
    let n_blocks = bytes.len() as u64 / 512;
    let error = mount_error(bytes);
    assert_eq!(
        error,
        Error::Format(boot_sector::Error::BeyondCard {
            end: 131_072,
            n_blocks
        })
    );
}

#[test]
fn damage_is_found_when_a_file_is_opened() {
    let card = ram_card(64 * MIB, FAT32, |fs| write(fs, "a.gguf", &pattern(8, MIB)));
    let geometry = *Volume::mount(card).unwrap().geometry();
    let table = geometry.fat_first_block as usize * 512;
    let open = |change: &dyn Fn(&mut [u8])| {
        let card = ram_card(64 * MIB, FAT32, |fs| write(fs, "a.gguf", &pattern(8, MIB)));
        let mut bytes = card.medium.into_inner();
        change(&mut bytes);
        let mut volume = Volume::mount(Card::new(Cursor::new(bytes))).unwrap();
        volume.open("a.gguf").map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(open(&|_| {}), Ok(()));
    let damaged = "a.gguf is damaged: ";
    let cut = open(&|bytes| bytes[table + 100 * 4..][..4].fill(0));
    let cause = "only 98 of its 2048 clusters are on the card";
    assert_eq!(cut, Err(format!("{damaged}{cause}: copy the file again")));
    let circle = open(&|bytes| bytes[table + 100 * 4..][..4].copy_from_slice(&[50, 0, 0, 0]));
    let cause = "its cluster chain runs in a circle";
    assert_eq!(
        circle,
        Err(format!("{damaged}{cause}: copy the file again"))
    );
}

#[test]
fn an_unclean_card_is_noticed() {
    let card = ram_card(64 * MIB, FAT32, |_| {});
    let geometry = *Volume::mount(card).unwrap().geometry();
    let mut bytes = ram_card(64 * MIB, FAT32, |_| {}).medium.into_inner();
    bytes[geometry.fat_first_block as usize * 512 + 7] &= !0x08;
    let volume = Volume::mount(Card::new(Cursor::new(bytes))).unwrap();
    assert!(!volume.was_ejected_cleanly());
    let mut bytes = ram_card(64 * MIB, FAT16, |_| {}).medium.into_inner();
    bytes[PARTITION as usize * 512 + 37] = 1;
    let volume = Volume::mount(Card::new(Cursor::new(bytes))).unwrap();
    assert!(!volume.was_ejected_cleanly());
}

#[test]
fn a_block_that_cannot_be_read_is_reported_and_can_be_retried() {
    let bytes = pattern(9, 3 * MIB);
    let mut card = ram_card(64 * MIB, FAT32, |fs| write(fs, "a.gguf", &bytes));
    card.bad = 0..1;
    assert_eq!(
        Volume::mount(&mut card).unwrap_err(),
        Error::Device(BadBlock(0))
    );
    card.bad = 0..0;
    let mut volume = Volume::mount(card).unwrap();
    let file = volume.open("a.gguf").unwrap();
    let mut card = volume.unmount();
    let last = card.reads.last().unwrap().0;
    card.bad = last + 2000..last + 2001;
    let mut volume = Volume::mount(card).unwrap();
    let mut buf = vec![0; bytes.len()];
    let error = volume.read_at(&file, 0, &mut buf).unwrap_err();
    assert_eq!(error, Error::Device(BadBlock(last + 2000)));
    assert!(error.is_device());
    let mut card = volume.unmount();
    card.bad = 0..0;
    let mut volume = Volume::mount(card).unwrap();
    volume.read_at(&file, 0, &mut buf).unwrap();
    assert!(buf == bytes);
}
