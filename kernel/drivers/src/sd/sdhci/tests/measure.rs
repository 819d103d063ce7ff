//! The same blocks by DMA and by the data port: times, differences, and that nothing is written.

use super::chip::Chip;
use super::chip::card::{Effect, Fault, byte};
use super::chip::rig::{lines, memory, start};
use crate::dma::shadow::ShadowMemory;
use crate::sd::adma::DmaMap;
use crate::sd::card::{CardError, Counters, Measured, Modes, PioReason};
use crate::sd::host::Transfer;

const LEN_BYTES: usize = 256 << 10;

/// Commands that change nothing on a card: CMD6 and ACMD6 set its bus until its power goes.
const CHANGE_NOTHING: [&str; 17] = [
    "0", "2", "3", "6 check", "6 switch", "7", "8", "9", "12", "13", "16", "17", "18", "55", "A6",
    "A41", "A51",
];

fn buffers(memory: &ShadowMemory) -> [&'static mut [u8]; 2] {
    let buffers = [lines(LEN_BYTES), lines(LEN_BYTES)];
    memory.map(buffers[0], 0x0200_0000);
    memory.map(buffers[1], 0x0300_0000);
    buffers
}

fn faults(effect: Effect, times: usize) -> Vec<Fault> {
    let skip = 0;
    let command = "18";
    vec![Fault {
        command,
        skip,
        times,
        effect,
    }]
}

fn is_right(buf: &[u8], first: usize) -> bool {
    let mut bytes = buf.iter().enumerate();
    bytes.all(|(i, b)| *b == byte(first * 512 + i))
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn both_ways_are_timed_and_compared_and_no_command_writes() {
    let memory = memory(1);
    let chip = Chip::new(&memory, DmaMap::Identity);
    let mut card = start(&chip, Modes::default(), &[DmaMap::Identity]).unwrap();
    let [by_dma, by_pio] = buffers(&memory);
    let n_before = chip.n_by_engine.get();
    let measured = card.measure(9, by_dma, Some(by_pio)).unwrap();
    assert!(is_right(by_dma, 9) && is_right(by_pio, 9));
    assert_eq!(chip.n_by_engine.get() - n_before, LEN_BYTES);
    for reading in [measured.dma, measured.pio] {
        let reading = reading.expect("both ways");
        assert!(reading.us > 0 && reading.counters == Counters::default());
    }
    let expected = Measured {
        compared_bytes: LEN_BYTES,
        ..measured
    };
    assert_eq!(measured, expected);
    assert_eq!(
        (measured.differing_bytes, measured.first_difference),
        (0, None)
    );

    let measured = card.measure(9, by_dma, None).unwrap();
    assert!(measured.dma.is_some() && measured.pio.is_none());
    assert_eq!(measured.compared_bytes, 0);

    let log = &chip.card.borrow().log;
    let writes: Vec<_> = log
        .iter()
        .filter(|name| !CHANGE_NOTHING.contains(&&***name))
        .collect();
    assert!(writes.is_empty() && log.len() > 20, "{writes:?}");
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn a_byte_that_dma_brings_in_wrongly_is_said() {
    let memory = memory(1);
    let chip = Chip::new(&memory, DmaMap::Identity);
    let mut card = start(&chip, Modes::default(), &[DmaMap::Identity]).unwrap();
    let [by_dma, by_pio] = buffers(&memory);
    chip.card.borrow_mut().faults = faults(Effect::Bent, 1);
    let measured = card.measure(3, by_dma, Some(by_pio)).unwrap();
    // One sample of 512 blocks has not met it.
    assert_eq!(measured.dma.unwrap().counters, Counters::default());
    assert_eq!(measured.compared_bytes, LEN_BYTES);
    let difference = (measured.differing_bytes, measured.first_difference);
    assert_eq!(difference, (1, Some(LEN_BYTES / 2)));
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn failures_are_counted_and_what_ends_by_pio_is_none_by_dma() {
    let memory = memory(1);
    let chip = Chip::new(&memory, DmaMap::Identity);
    let mut card = start(&chip, Modes::default(), &[DmaMap::Identity]).unwrap();
    let [by_dma, by_pio] = buffers(&memory);
    chip.card.borrow_mut().faults = faults(Effect::Crc, 1);
    let measured = card.measure(3, by_dma, Some(by_pio)).unwrap();
    let once = Counters {
        retries: 1,
        crc_errors: 1,
        timeouts: 0,
        mismatches: 0,
    };
    assert_eq!(measured.dma.unwrap().counters, once);
    assert_eq!(measured.pio.unwrap().counters, Counters::default());
    assert_eq!(measured.differing_bytes, 0);

    chip.card.borrow_mut().faults = faults(Effect::Adma, 3);
    let measured = card.measure(3, by_dma, Some(by_pio)).unwrap();
    assert_eq!((measured.dma, measured.compared_bytes), (None, 0));
    assert_eq!(card.pio_reason(), Some(PioReason::GivenUp));
    assert!(measured.pio.is_some() && is_right(by_pio, 3));
    let measured = card.measure(3, by_dma, None).unwrap();
    assert_eq!(measured, Measured::default());
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn a_buffer_out_of_reach_is_not_measured_as_dma() {
    let memory = memory(1);
    let chip = Chip::new(&memory, DmaMap::Identity);
    let mut card = start(&chip, Modes::default(), &[DmaMap::Identity]).unwrap();
    let buf = lines(LEN_BYTES);
    memory.map(buf, 0x1_0000_0000);
    let measured = card.measure(3, buf, None).unwrap();
    assert_eq!(measured, Measured::default());
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn bytes_of_an_earlier_read_do_not_pass_for_those_of_this_one() {
    let memory = memory(1);
    let chip = Chip::new(&memory, DmaMap::Identity);
    let mut card = start(&chip, Modes::default(), &[DmaMap::Identity]).unwrap();
    let [by_dma, _] = buffers(&memory);
    card.measure(3, by_dma, None).unwrap();
    chip.card.borrow_mut().faults = faults(Effect::Lost, 1);
    let error = card.measure(3, by_dma, None).unwrap_err();
    assert!(matches!(error, CardError::WrongByDma { .. }), "{error}");
    assert_eq!(card.pio_reason(), Some(PioReason::WrongBytes));
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn failures_of_the_data_port_do_not_cost_dma_and_its_blocks_are_not_sampled() {
    let memory = memory(1);
    let chip = Chip::new(&memory, DmaMap::Identity);
    let mut card = start(&chip, Modes::default(), &[DmaMap::Identity]).unwrap();
    let [by_dma, by_pio] = buffers(&memory);
    chip.card.borrow_mut().log.clear();
    // The first one is that by DMA.
    chip.card.borrow_mut().faults = faults(Effect::NoData, 3);
    chip.card.borrow_mut().faults[0].skip = 1;
    let measured = card.measure(3, by_dma, Some(by_pio)).unwrap();
    assert_eq!(measured.pio.unwrap().counters.timeouts, 3);
    assert_eq!(measured.differing_bytes, 0);
    assert_eq!(card.transfer(), Transfer::Adma2);
    let log = &chip.card.borrow().log;
    let n_single = log.iter().filter(|name| *name == "17").count();
    assert_eq!(n_single, 1, "the sample of what came in by DMA");
}
