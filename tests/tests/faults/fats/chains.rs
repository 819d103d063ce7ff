//! Chains of clusters, and directories.

use super::BOOT_SECTOR;
use crate::board::{card_with, tiny, with_board};
use crate::cards::fault;
use std::fs;
use tests::card::Card;
use xtask::card::{CardFile, SECTOR};

/// The tables and clusters of a card.
struct Volume {
    table: u64,
    data: u64,
    cluster_bytes: u64,
    image: Vec<u8>,
}

impl Volume {
    fn of(card: &Card) -> Volume {
        let image = fs::read(card.path()).unwrap();
        let boot = &image[BOOT_SECTOR as usize..];
        let number = |at: usize, len: usize| {
            let bytes = boot[at..at + len].iter().rev();
            bytes.fold(0u64, |number, &byte| number << 8 | u64::from(byte))
        };
        let table = BOOT_SECTOR + number(14, 2) * SECTOR;
        Volume {
            table,
            data: table + number(16, 1) * number(36, 4) * SECTOR,
            cluster_bytes: number(13, 1) * SECTOR,
            image,
        }
    }

    /// Where the table has the entry of `cluster`.
    fn entry(&self, cluster: u32) -> u64 {
        self.table + u64::from(cluster) * 4
    }

    /// Where the root directory has the entry of the short name `name`; its first cluster.
    fn file(&self, name: &[u8; 11]) -> (u64, u32) {
        let root = &self.image[self.data as usize..][..4 * self.cluster_bytes as usize];
        let at = root.chunks(32).position(|entry| entry.starts_with(name));
        let at = at.expect("the file is there") * 32;
        let half = |offset: usize| {
            u32::from(u16::from_le_bytes([
                root[at + offset],
                root[at + offset + 1],
            ]))
        };
        (self.data + at as u64, half(20) << 16 | half(26))
    }
}

/// A card with a second model, in one piece, and where it is.
fn with_copy() -> (Card, Volume) {
    let card = card_with(&[CardFile::bytes("COPY.GGUF", tiny())]);
    let volume = Volume::of(&card);
    (card, volume)
}

const COPY: &[u8; 11] = b"COPY~1  GGU";

/// What is said of a file of `card` whose chain is damaged. The model before stays.
fn chain(card: &Card, cause: &str) {
    let line = format!("COPY.GGUF is damaged: {cause}: copy the file again");
    with_board(|board| {
        board.insert(card);
        assert_eq!(board.types_line("/load copy"), [line.as_str()]);
        board.refuses(r#"{"op":"load","name":"copy","id":1}"#, 1, "card", &line);
    });
}

fn n_clusters(volume: &Volume) -> u64 {
    (tiny().len() as u64).div_ceil(volume.cluster_bytes)
}

#[test]
fn a_chain_that_ends_early() {
    let (card, volume) = with_copy();
    let (_, first) = volume.file(COPY);
    let card = card.patched(volume.entry(first + 9), &0x0FFF_FFFFu32.to_le_bytes());
    let need = n_clusters(&volume);
    chain(
        &card,
        &format!("only 10 of its {need} clusters are on the card"),
    );
}

#[test]
fn a_chain_in_a_circle() {
    let (card, volume) = with_copy();
    let (_, first) = volume.file(COPY);
    let card = card.patched(volume.entry(first + 9), &(first + 3).to_le_bytes());
    chain(&card, "its cluster chain runs in a circle");
}

#[test]
fn a_chain_that_leads_out_of_the_volume() {
    let (card, volume) = with_copy();
    let (_, first) = volume.file(COPY);
    let card = card.patched(volume.entry(first), &0x0FFF_0000u32.to_le_bytes());
    let need = n_clusters(&volume);
    chain(
        &card,
        &format!("only 1 of its {need} clusters are on the card"),
    );
}

#[test]
fn a_bad_cluster_in_a_chain() {
    let (card, volume) = with_copy();
    let (_, first) = volume.file(COPY);
    let card = card.patched(volume.entry(first + 4), &0x0FFF_FFF7u32.to_le_bytes());
    let need = n_clusters(&volume);
    chain(
        &card,
        &format!("only 5 of its {need} clusters are on the card"),
    );
}

#[test]
fn a_file_without_a_first_cluster() {
    let (card, volume) = with_copy();
    let (at, _) = volume.file(COPY);
    let card = card.patched(at + 20, &[0; 2]).patched(at + 26, &[0; 2]);
    let need = n_clusters(&volume);
    chain(
        &card,
        &format!("only 0 of its {need} clusters are on the card"),
    );
}

#[test]
fn a_length_that_the_chain_does_not_have() {
    let (card, volume) = with_copy();
    let (at, _) = volume.file(COPY);
    let card = card.patched(at + 28, &0x7FFF_FFFFu32.to_le_bytes());
    let (have, need) = (n_clusters(&volume), 0x8000_0000 / volume.cluster_bytes);
    chain(
        &card,
        &format!("only {have} of its {need} clusters are on the card"),
    );
}

/// A chain backwards through the volume: each cluster is a piece of its own.
#[test]
fn a_file_in_too_many_pieces() {
    let (card, volume) = with_copy();
    let (at, first) = volume.file(COPY);
    let n = 66_000;
    let last = first + n - 1;
    let before = (first - 1..last).map(|before| match before {
        _ if before < first => 0x0FFF_FFFF,
        _ => before,
    });
    let entries: Vec<u8> = before.flat_map(u32::to_le_bytes).collect();
    let len = n * volume.cluster_bytes as u32;
    let [low0, low1, high0, high1] = last.to_le_bytes();
    let card = card
        .patched(volume.entry(first), &entries)
        .patched(at + 20, &[high0, high1])
        .patched(at + 26, &[low0, low1])
        .patched(at + 28, &len.to_le_bytes());
    chain(&card, "it lies in more than 65536 pieces");
}

#[test]
fn a_root_directory_in_a_circle() {
    let (card, volume) = with_copy();
    let card = card.patched(volume.entry(2), &2u32.to_le_bytes());
    // no end among its entries either
    let label = [b"A          \x08".as_slice(), &[0; 20]].concat();
    let full = label.repeat(volume.cluster_bytes as usize / 32);
    let card = card.patched(volume.data, &full);
    fault(
        &card,
        "the card's root directory is damaged (its cluster chain runs in a circle): repair the card or format it anew",
    );
}

#[test]
fn a_root_directory_of_deleted_files() {
    let (card, volume) = with_copy();
    let root = &volume.image[volume.data as usize..][..volume.cluster_bytes as usize];
    let entries = root.chunks(32).take_while(|entry| entry[0] != 0).count();
    let card =
        (0..entries as u64).fold(card, |card, i| card.patched(volume.data + 32 * i, &[0xE5]));
    fault(
        &card,
        "no *.gguf file in the card's root directory (files there: 0): copy a model to it",
    );
}

/// The short name stands where the long one is not of this file, and it ends in `.GGU`.
#[test]
fn long_names_that_are_not_their_files() {
    let (card, volume) = with_copy();
    let root = &volume.image[volume.data as usize..][..volume.cluster_bytes as usize];
    let is_long = |entry: &[u8]| entry[0] != 0 && entry[11] == 0x0F;
    let entries = root.chunks(32).enumerate();
    let long: Vec<_> = entries.filter(|(_, entry)| is_long(entry)).collect();
    assert!(long.len() >= 3, "{long:?}");
    let card = long.iter().fold(card, |card, (i, entry)| {
        card.patched(volume.data + 32 * *i as u64 + 13, &[!entry[13]])
    });
    fault(
        &card,
        "no *.gguf file in the card's root directory (files there: 2): copy a model to it",
    );
}
