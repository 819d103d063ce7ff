//! Sector 0: partition tables that lead nowhere.

use crate::cards::fault;
use tests::card::Card;
use tests::layout::Layout;
use xtask::card::{MIN_BYTES, SECTOR};

const FORMAT: &str = "format it as FAT32 with an MBR partition table";
/// Of the first entry of a partition table.
const STATUS: u64 = 446;
const KIND: u64 = 450;
const FIRST_SECTOR: u64 = 454;

fn no_table(card: &Card, what: &str) {
    fault(card, &format!("{what}: {FORMAT}"));
}

#[test]
fn a_blank_card() {
    no_table(&Card::blank(), "the card is empty");
}

#[test]
fn an_erased_card() {
    let card = Card::blank().patched(0, &[0xFF; 512]);
    no_table(&card, "the card is empty");
}

#[test]
fn junk_in_sector_0() {
    let junk: Vec<u8> = (0..512).map(|i| (i * 7) as u8).collect();
    let card = Card::with(&[]).patched(0, &junk);
    no_table(&card, "the card has no partition table");
}

#[test]
fn a_table_without_its_signature() {
    let card = Card::with(&[]).patched(510, &[0, 0]);
    no_table(&card, "the card has no partition table");
}

#[test]
fn a_status_that_no_partition_has() {
    let card = Card::with(&[]).patched(STATUS, &[0x7F]);
    no_table(&card, "the card has no partition table");
}

#[test]
fn an_empty_table() {
    let card = Card::with(&[]).patched(KIND, &[0]);
    no_table(&card, "the card's partition table is empty");
}

#[test]
fn a_card_of_another_system() {
    let card = Card::with(&[]).patched(KIND, &[0x83]);
    no_table(&card, "the card has no FAT partition (found type 0x83)");
}

#[test]
fn a_partition_inside_an_extended_one() {
    let card = Card::with(&[]).patched(KIND, &[0x0F]);
    no_table(&card, "the card has no FAT partition (found type 0x0f)");
}

#[test]
fn a_partition_at_sector_0() {
    let card = Card::with(&[]).patched(FIRST_SECTOR, &[0; 4]);
    no_table(&card, "the card has no FAT partition (found type 0x0c)");
}

#[test]
fn a_partition_behind_the_end_of_the_card() {
    let sectors = (MIN_BYTES / SECTOR) as u32;
    let card = Card::with(&[]).patched(FIRST_SECTOR, &sectors.to_le_bytes());
    no_table(
        &card,
        "the FAT volume ends at block 131073 but the card has 131072",
    );
}

#[test]
fn a_partition_that_begins_elsewhere() {
    let card = Card::with(&[]).patched(FIRST_SECTOR, &64u32.to_le_bytes());
    no_table(&card, "the FAT partition is not formatted");
}

#[test]
fn a_gpt_that_is_gone() {
    let card = Card::with(&[]).patched(KIND, &[0xEE]);
    no_table(
        &card,
        "the card's partition table (GPT) has no FAT partition",
    );
}

/// Both copies of the entries, so that neither header finds a partition.
#[test]
fn a_gpt_without_entries() {
    let zeros = [0; 32 * 512];
    let card = Layout::Gpt.card(&[]).patched(2 * SECTOR, &zeros);
    let card = card.patched(MIN_BYTES - 33 * SECTOR, &zeros);
    no_table(
        &card,
        "the card's partition table (GPT) has no FAT partition",
    );
}

#[test]
fn a_gpt_whose_partition_lies_behind_the_end_of_the_card() {
    let first = (MIN_BYTES / SECTOR + 5).to_le_bytes();
    let card = Layout::Gpt.card(&[]).patched(2 * SECTOR + 32, &first);
    let card = card.patched(MIN_BYTES - 33 * SECTOR + 32, &first);
    no_table(
        &card,
        "the FAT volume ends at block 131078 but the card has 131072",
    );
}
