//! What a report about a board says of controller and card.

use super::chip::Chip;
use super::chip::card::{CID, CSD, Effect, Fault, SCR};
use super::chip::rig::{host, lines, memory, start};
use crate::sd::adma::DmaMap;
use crate::sd::base_clock::{BaseClock, Question};
use crate::sd::card::{CardError, Modes, PioReason, Registers, SdCard};
use crate::sd::host::{HostError, SdHost};
use crate::sd::registers::Word;
use crate::sd::sdhci::State;

/// What the board's firmware leaves after it has read a card.
const AS_LEFT: State = State {
    present: 0,
    host_power: 0x0080_0F06,
    clock_reset: 0x000E_0107,
    auto_host2: 0x0008_0000,
};

fn chip_as_left(memory: &crate::dma::shadow::ShadowMemory) -> Chip<'_> {
    let chip = Chip::new(memory, DmaMap::Identity);
    chip.set_register(Word::HostPower, AS_LEFT.host_power);
    chip.set_register(Word::ClockReset, AS_LEFT.clock_reset);
    chip.set_register(Word::AutoHost2, AS_LEFT.auto_host2);
    chip
}

#[test]
fn the_words_that_the_firmware_left_are_kept_over_resets() {
    let memory = memory(1);
    let chip = chip_as_left(&memory);
    let mut host = host(&chip);
    assert_eq!(host.state_as_left(), None);
    for _ in 0..2 {
        host.reset().unwrap();
        assert_eq!(host.state_as_left(), Some(AS_LEFT));
        let now = host.state();
        assert_eq!((now.host_power, now.auto_host2), (0x0F00, 0));
        assert_ne!(now.clock_reset, AS_LEFT.clock_reset);
    }
}

#[test]
fn a_slot_without_a_card_still_tells_what_the_firmware_left() {
    let memory = memory(1);
    let chip = chip_as_left(&memory);
    chip.card.borrow_mut().is_absent = true;
    let started = SdCard::init_patiently(host(&chip), Modes::default());
    let (error, host) = started.err().expect("no card");
    assert_eq!(error, CardError::NoCard);
    assert_eq!(host.state_as_left(), Some(AS_LEFT));
}

#[test]
fn every_answer_about_the_clock_is_kept_beside_the_believed_one() {
    let memory = memory(1);
    let mut chip = Chip::new(&memory, DmaMap::Identity);
    chip.answers = [None, Some(1), Some(200_000_992)];
    let mut host = host(&chip);
    assert_eq!(host.clock_answers(), [None; 3]);
    host.reset().unwrap();
    assert_eq!(host.clock_answers(), chip.answers);
    let believed = BaseClock {
        hz: 200_000_000,
        answered: Some(Question::Highest),
    };
    assert_eq!(host.base_clock(), believed);
    assert_eq!(believed.source(), "highest");
}

#[test]
fn registers_are_as_the_card_has_sent_them() {
    let memory = memory(1);
    let chip = Chip::new(&memory, DmaMap::Identity);
    let card = start(&chip, Modes::default(), &[DmaMap::Identity]).unwrap();
    let mut status = [0; 64];
    (status[13], status[16]) = (3, 1);
    // The controller keeps no CRC of a long answer.
    let expected = Registers {
        ocr: 0xC0FF_8000,
        cid: CID & !0xFF,
        csd: CSD,
        scr: Some(SCR),
        switch_status: Some(status),
    };
    assert_eq!(*card.registers(), expected);
    assert_eq!(Registers::hex(&SCR).to_string(), "0235800000000000");
    assert_eq!(card.host().dma_map(), Some(DmaMap::Identity));
}

#[test]
fn registers_that_could_not_be_read_are_missing() {
    let memory = memory(1);
    let chip = Chip::new(&memory, DmaMap::Identity);
    chip.card.borrow_mut().faults = vec![fault("A51", Effect::NoData, 9)];
    let modes = Modes {
        high_speed: false,
        ..Modes::default()
    };
    let card = start(&chip, modes, &[DmaMap::Identity]).unwrap();
    let registers = card.registers();
    assert_eq!((registers.scr, registers.switch_status), (None, None));
}

fn fault(command: &'static str, effect: Effect, times: usize) -> Fault {
    Fault {
        command,
        skip: 0,
        times,
        effect,
    }
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn pio_has_a_reason() {
    let memory = memory(1);
    let chip = Chip::new(&memory, DmaMap::Identity);
    let reason = |modes, maps: &[DmaMap]| start(&chip, modes, maps).unwrap().pio_reason();
    assert_eq!(reason(Modes::default(), &[DmaMap::Identity]), None);
    let failed = Some(PioReason::TrialFailed);
    assert_eq!(reason(Modes::default(), &[DmaMap::Alias]), failed);
    let without = Modes {
        dma: false,
        ..Modes::default()
    };
    let left_out = Some(PioReason::LeftOut);
    assert_eq!(reason(without, &[DmaMap::Identity]), left_out);
    // Nobody has asked for DMA.
    let card = SdCard::init(host(&chip)).map_err(|(error, _)| error);
    let mut card = card.unwrap();
    assert_eq!(card.pio_reason(), Some(PioReason::NoEngine));
    card.note_pio(PioReason::TrialFailed);
    assert_eq!(card.pio_reason(), failed);

    let mut card = start(&chip, Modes::default(), &[DmaMap::Identity]).unwrap();
    chip.card.borrow_mut().faults = vec![fault("18", Effect::Adma, 3)];
    let buf = lines(4096);
    memory.map(buf, 0x0200_0000);
    card.read_blocks(0, buf).unwrap();
    assert_eq!(card.pio_reason(), Some(PioReason::GivenUp));
}

/// What a controller in a bad state says is no reason to say nothing.
#[test]
fn a_controller_that_does_not_reset_still_tells_what_the_firmware_left() {
    let memory = memory(1);
    let mut chip = chip_as_left(&memory);
    chip.is_stuck = true;
    let mut host = host(&chip);
    let stuck = host.reset();
    assert!(
        matches!(stuck, Err(HostError::ResetStuck { .. })),
        "{stuck:?}"
    );
    assert_eq!(host.state_as_left(), Some(AS_LEFT));
    assert_eq!(host.clock_answers(), chip.answers);
}
