//! Transfers on a memory that lies as hardware does: a missing clean or invalidate shows.

use super::chip::card::byte;
use super::chip::rig::{lines, memory, start};
use super::chip::{Chip, card::Card};
use crate::sd::adma::DmaMap;
use crate::sd::card::{Counters, Modes};
use crate::sd::host::{Notice, Transfer};

/// Reads of many lengths into lines that the cores have just written.
fn read_all(map: DmaMap, seed: u64) {
    let memory = memory(seed);
    let chip = Chip::new(&memory, map);
    let mut card = start(&chip, Modes::default(), &[map]).unwrap();
    let buf = lines(3 << 16);
    memory.map(buf, 0x0200_0000);
    let lens = [512, 1024, 65_024, 65_536, 66_048, 131_072, 192 << 10];
    for (turn, len) in lens.into_iter().cycle().take(3 * lens.len()).enumerate() {
        let (buf, n_before) = (&mut buf[..len], chip.n_by_engine.get());
        buf.fill(turn as u8);
        let first = 7 * turn;
        card.read_blocks(first as u64, buf).unwrap();
        let wrong = (0..len).find(|&i| buf[i] != byte(first * 512 + i));
        assert_eq!(wrong, None, "{len} bytes in turn {turn} of {map:?}");
        assert_eq!(chip.n_by_engine.get() - n_before, len, "all by DMA");
    }
    assert_eq!(card.counters(), Counters::default());
    assert_eq!(chip.told.take(), []);
    assert_eq!(chip.n_lost.get(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn right_bytes_come_in_whatever_the_caches_do() {
    for seed in 1..=4 {
        read_all(DmaMap::Identity, seed);
        read_all(DmaMap::Alias, seed);
    }
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn the_longest_command_has_all_descriptors() {
    let memory = memory(1);
    let chip = Chip::new(&memory, DmaMap::Identity);
    let mut card = start(&chip, Modes::default(), &[DmaMap::Identity]).unwrap();
    // The end of what the engine reaches.
    let buf = lines(4 << 20);
    memory.map(buf, 0xFC00_0000 - buf.len());
    card.read_blocks(3, buf).unwrap();
    assert!(buf.iter().enumerate().all(|(i, b)| *b == byte(3 * 512 + i)));
    assert_eq!(card.counters(), Counters::default());
    let n_commands = chip.card.borrow().log.iter().filter(|l| *l == "18").count();
    // Both reads of the trial, and one of 4 MiB.
    assert_eq!(n_commands, 3);
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn a_wrong_map_ends_in_pio() {
    use DmaMap::{Alias, Identity};
    for (map, believed, transfer) in [
        (Identity, &[Alias][..], Transfer::Pio),
        (Alias, &[Identity], Transfer::Pio),
        (Alias, &[Identity, Alias], Transfer::Adma2),
    ] {
        let memory = memory(1);
        let chip = Chip::new(&memory, map);
        let mut card = start(&chip, Modes::default(), believed).unwrap();
        assert_eq!(card.transfer(), transfer);
        let buf = lines(1 << 16);
        memory.map(buf, 0x0200_0000);
        card.read_blocks(5, buf).unwrap();
        assert!(buf.iter().enumerate().all(|(i, b)| *b == byte(5 * 512 + i)));
        let told = chip.told.take();
        assert_eq!(
            told.contains(&Notice::WithoutDma),
            transfer == Transfer::Pio
        );
        // The card at the other end is the same one.
        assert!(chip.card.borrow().four_lines && !Card::sdhc().four_lines);
    }
}
