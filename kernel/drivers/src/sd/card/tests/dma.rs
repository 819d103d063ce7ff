//! The change to DMA, and back.

use super::fake_host::{FakeHost, Fault};
use super::{CRC, init, read, with_dma};
use crate::sd::adma::DmaMap;
use crate::sd::card::reads::PIECE_BLOCKS;
use crate::sd::card::{CardError, DEFAULT_SPEED_HZ, PioReason};
use crate::sd::host::{HostError, Transfer};

#[test]
fn after_dma_comes_pio() {
    let mut host = FakeHost::sdhc();
    host.transfer = Transfer::Adma2;
    (host.map, host.map_in_use) = (Some(DmaMap::Identity), Some(DmaMap::Identity));
    let mut card = init(host);
    card.host.faults = [Fault::Host(HostError::Dma { status: 1 }); 3].into();
    let (blocks, log) = read(&mut card, 5, 2);
    assert_eq!(blocks, [5, 6]);
    assert!(log.contains(&"pio".to_string()));
    let told = "the SD card is read without DMA: loading takes longer".to_string();
    assert_eq!(log.iter().filter(|line| **line == told).count(), 1);
    assert!(!log.iter().any(|l| l.starts_with("clock")));
    assert_eq!(card.transfer(), Transfer::Pio);
}

#[test]
fn crc_errors_slow_the_clock_and_leave_dma() {
    let mut card = init(with_dma());
    card.host.faults = [CRC; 3].into();
    let (_, log) = read(&mut card, 5, 2);
    assert!(log.contains(&"clock 25000000".to_string()));
    assert_eq!(card.transfer(), Transfer::Adma2);
    // The card stays slow when it is started again.
    card.host.has_reset_itself = true;
    card.host.faults = [CRC].into();
    read(&mut card, 5, 2);
    assert_eq!(card.clock_hz(), DEFAULT_SPEED_HZ);
}

#[test]
fn a_block_that_dma_brought_in_wrongly_is_found_and_dma_given_up() {
    let n = 64;
    let mut card = init(with_dma());
    let (_, log) = read(&mut card, 0, n);
    let samples = log.iter().filter(|l| l.contains("by port")).count();
    assert_eq!(samples, 1);
    // Of cards that start at other times chance chooses other blocks; what it does not choose is not seen.
    let mut n_found = 0;
    for bent in 0..n as u32 {
        let mut card = init(with_dma());
        card.host.time_us.set(u64::from(bent) << 20);
        card.host.bent_block = Some(bent);
        card.host.log.clear();
        let mut buf = vec![0; n * 512];
        let read = card.read_blocks(0, &mut buf);
        let is_right = |buf: &[u8]| {
            (0..)
                .zip(buf.chunks(512))
                .all(|(i, block)| block == [i; 512])
        };
        let told = "the SD card is read without DMA: loading takes longer";
        let is_told = card.host.log.iter().any(|line| line == told);
        match read {
            Ok(()) => {
                assert!(!is_right(&buf) && !is_told, "block {bent} is one of {n}");
                assert_eq!(
                    (card.transfer(), card.counters().mismatches),
                    (Transfer::Adma2, 0)
                );
            }
            Err(error) => {
                n_found += 1;
                let block = u64::from(bent);
                assert_eq!(error, CardError::WrongByDma { block });
                assert!(is_told);
                assert_eq!(card.pio_reason(), Some(PioReason::WrongBytes));
                let counters = card.counters();
                assert_eq!((counters.mismatches, counters.retries), (1, 0));
                card.read_blocks(0, &mut buf).unwrap();
                assert!(is_right(&buf));
            }
        }
    }
    assert!(n_found > 0, "chance never chose the block in {n} cards");
    // Two in one piece of 4 MiB.
    let mut card = init(with_dma());
    let (_, log) = read(&mut card, 0, PIECE_BLOCKS);
    let samples = log.iter().filter(|l| l.contains("by port")).count();
    assert_eq!(samples, 2);
}

#[test]
fn one_bad_read_does_not_cost_dma() {
    let mut card = init(FakeHost::sdhc());
    card.host.map = Some(DmaMap::Identity);
    card.host.faults = [Fault::None, Fault::Host(HostError::Dma { status: 1 })].into();
    let (mut by_pio, mut by_dma) = ([0; 1024], [0; 1024]);
    let maps = [DmaMap::Identity];
    let adopted = card.adopt_dma(&maps, &mut by_pio, &mut by_dma);
    assert_eq!(adopted, Ok(Some(DmaMap::Identity)));
    // Two do, and it is said.
    card.host.log.clear();
    let fault = Fault::Host(HostError::Dma { status: 1 });
    card.host.faults = [Fault::None, fault, fault].into();
    let adopted = card.adopt_dma(&maps, &mut by_pio, &mut by_dma);
    assert_eq!(adopted, Ok(None));
    let told = "the SD card is read without DMA: loading takes longer".to_string();
    assert_eq!(card.host.log.last(), Some(&told));
}

#[test]
fn dma_is_adopted_only_where_it_brings_in_what_pio_does() {
    use DmaMap::{Alias, Identity};
    for (map, maps, expected) in [
        (Some(Identity), &[Identity][..], Some(Identity)),
        (Some(Alias), &[Identity, Alias], Some(Alias)),
        (Some(Alias), &[Identity], None),
        (None, &[Identity, Alias], None),
        (Some(Identity), &[], None),
    ] {
        let mut card = init(FakeHost::sdhc());
        card.host.map = map;
        let (mut by_pio, mut by_dma) = ([0; 1024], [0; 1024]);
        let adopted = card.adopt_dma(maps, &mut by_pio, &mut by_dma).unwrap();
        assert_eq!(adopted, expected);
        let transfer = if expected.is_some() {
            Transfer::Adma2
        } else {
            Transfer::Pio
        };
        assert_eq!(card.transfer(), transfer);
        assert_eq!(read(&mut card, 5, 2).0, [5, 6]);
        assert_eq!(card.counters().retries, 0);
    }
}

#[test]
fn dma_that_goes_elsewhere_without_an_error_is_not_adopted() {
    let mut card = init(FakeHost::sdhc());
    (card.host.map, card.host.loses_data) = (Some(DmaMap::Alias), true);
    // What is in the buffer already is what the card holds.
    let (mut by_pio, mut by_dma) = ([0; 1024], [0; 1024]);
    by_dma[512..].fill(1);
    let maps = [DmaMap::Identity];
    let adopted = card.adopt_dma(&maps, &mut by_pio, &mut by_dma);
    assert_eq!(adopted, Ok(None));
    assert_eq!(card.transfer(), Transfer::Pio);
}
