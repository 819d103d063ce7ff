//! Any answers of an SD card.
//!
//! The input is what happens to one command after the other: a byte below 0x80 is what a sound card answers, others
//! say which failure it is, or that the answer is in the bytes that follow. After the last byte nobody answers.

mod host;

use drivers::sd::adma::DmaMap;
use drivers::sd::card::{HIGH_SPEED_HZ, Modes};
use drivers::sd::protocol::BLOCK_BYTES;
use drivers::sd::{CardError, SdCard};
use host::Host;

/// No start takes longer, whatever the card does.
const START_LIMIT_US: u64 = 120_000_000;
/// Nor a read of one piece: the budget, its last attempt, and a start in between.
const READ_LIMIT_US: u64 = 30_000_000;

/// A card comes up or is refused in one line, and a read ends in the card's bytes or one line, all of it in bounded
/// time; nothing beyond what is asked for is read.
pub fn check(data: &[u8]) {
    let started = SdCard::init_patiently(Host::new(data), Modes::default());
    let mut card = match started {
        Ok(card) => card,
        Err((error, host)) => {
            assert!(host.now_us.get() < START_LIMIT_US);
            return check_sentence(&error);
        }
    };
    assert!(card.host().now_us.get() < START_LIMIT_US);
    assert!(card.n_blocks() <= 1 << 32 && card.clock_hz() <= HIGH_SPEED_HZ);
    assert!(matches!(card.n_data_lines(), 1 | 4));
    let n = 40;
    if card.n_blocks() < n {
        return;
    }
    let (mut by_pio, mut by_dma) = ([0; BLOCK_BYTES], [0; BLOCK_BYTES]);
    let maps = [DmaMap::Identity];
    card.host().allowed.set((0, 1));
    if let Err(error) = card.adopt_dma(&maps, &mut by_pio, &mut by_dma) {
        check_sentence(&error);
    }
    for first in [0, 3, card.n_blocks() - n] {
        let mut bytes = vec![0; n as usize * BLOCK_BYTES];
        card.host().allowed.set((first, first + n));
        let before_us = card.host().now_us.get();
        if let Err(error) = card.read_blocks(first, &mut bytes) {
            check_sentence(&error);
        } else if !card.host().lied {
            let expected = (first..).flat_map(|block| [block as u8; BLOCK_BYTES]);
            assert!(
                bytes.iter().copied().eq(expected.take(bytes.len())),
                "blocks {first}…"
            );
        }
        assert!(card.host().now_us.get() - before_us < READ_LIMIT_US);
    }
    let end = card.n_blocks();
    let beyond = card.read_blocks(end, &mut [0; BLOCK_BYTES]);
    assert!(matches!(beyond, Err(CardError::OutOfRange { .. })));
}

fn check_sentence(error: &CardError) {
    let sentence = error.to_string();
    assert!(
        !sentence.is_empty() && !sentence.contains(char::is_control),
        "{sentence:?}"
    );
}

/// Commands of a sound card's start.
const START: usize = 15;
/// With the trial of DMA, which reads once each way.
const TRIAL: usize = START + 2;

/// The seeds, by name.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let sound = |n: usize| vec![0; n];
    let after = |n: usize, fates: &[u8]| [sound(n), fates.to_vec(), sound(100)].concat();
    let (crc, late, dma) = (0xE0, 0xD0, 0xF4);
    // R1 with an error of the card's memory, and data that are not the card's.
    let ecc_failed = [0x80, 0, 0x20, 9, 0, 0x55];
    let each_block_at_its_third_try = [[late, 0].repeat(9), [late, 0, late, 0, 0].repeat(40)];
    // 64 GiB; silent before the last read, and then with another way of addressing.
    let large: u128 = 1 << 126 | 0x5B5 << 84 | 131_071 << 48;
    let large = [&[0x80], &large.to_be_bytes()[..]].concat();
    let by_bytes = [0x80, 0x80, 0xFF, 0x80, 0];
    let otherwise = [&[late, 0xF8, 0, 0, 0], &by_bytes[..], &[0, 0], &large].concat();
    let other_addresses = [sound(6), large, sound(TRIAL - 7 + 4), otherwise, sound(100)];
    vec![
        ("sound", sound(100)),
        ("silent", Vec::new()),
        ("no-cmd8", after(1, &[0xFF])),
        ("garbled-start", after(4, &[0xC0])),
        ("raw-answers", after(3, &[0x80, 0xC0, 0xFF, 0x80, 0])),
        ("no-scr", after(10, &[late, 0, 0, late, 0, 0, late])),
        ("crc-errors", after(TRIAL, &[crc, 0, crc, 0, crc, 0, crc])),
        ("dma-errors", after(TRIAL, &[dma, 0, dma, 0, dma])),
        ("no-dma", after(START + 1, &[dma, 0, dma])),
        (
            "card-errors",
            after(TRIAL, &[ecc_failed, ecc_failed].concat()),
        ),
        (
            "card-errors-by-port",
            after(
                START + 1,
                &[&[dma, 0, dma, 0], &ecc_failed[..], &ecc_failed].concat(),
            ),
        ),
        ("slow", after(TRIAL, &each_block_at_its_third_try.concat())),
        ("pulled-out", sound(TRIAL + 1)),
        ("other-addresses", other_addresses.concat()),
        ("bent-data", after(TRIAL, &[0x80, 0, 0, 9, 0, 0x55])),
    ]
}
