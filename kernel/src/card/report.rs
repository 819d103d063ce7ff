//! The slot below its files: what controller and card say, and how fast the card is read.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};

use drivers::sd::adma::DmaMap;
use drivers::sd::base_clock::Question;
use drivers::sd::card::{Counters, Measured, Reading, Registers};
use drivers::sd::host::Transfer;
use drivers::sd::protocol::BLOCK_BYTES;
use drivers::sd::sdhci::State;
use drivers::sd::{CardError, SdCard};
use protocol::event::{BaseClock, Sd, SdErrors, SdTransfer, SdWords};
use session::machine::{SdPiece, SdReading, SdSlot};

use super::controller::{Controller, Lines};
use super::{Error, Slot};

fn word(value: u32) -> String {
    format!("{value:08x}")
}

fn words(state: State) -> SdWords {
    SdWords {
        present: word(state.present),
        host_power: word(state.host_power),
        clock_reset: word(state.clock_reset),
        auto_host2: word(state.auto_host2),
    }
}

fn errors(counters: Counters) -> SdErrors {
    SdErrors {
        retries: counters.retries,
        crc_errors: counters.crc_errors,
        timeouts: counters.timeouts,
        mismatches: counters.mismatches,
    }
}

fn controller_facts(name: &str, controller: &Controller) -> Sd {
    let answers = controller.clock_answers();
    let clock = controller.base_clock();
    let rails = controller.rails();
    Sd {
        controller: name.into(),
        controller_version: format!("{:04x}", controller.version()),
        capabilities: [
            word(controller.capabilities()),
            word(controller.capabilities_high()),
        ],
        words_as_left: controller.state_as_left().map(words),
        words: words(controller.state()),
        base_clock: BaseClock {
            measured_hz: answers[Question::Measured as usize],
            rate_hz: answers[Question::Rate as usize],
            highest_hz: answers[Question::Highest as usize],
            hz: clock.hz,
            source: Cow::Borrowed(clock.source()),
        },
        io_3v3: rails.io_3v3,
        card_power: rails.card_power,
        card: None,
    }
}

fn card_facts(card: &SdCard<Controller>, before: Counters) -> protocol::event::SdCard {
    let registers = card.registers();
    let map = card.host().dma_map().map(|map| match map {
        DmaMap::Alias => "alias",
        DmaMap::Identity => "identity",
    });
    protocol::event::SdCard {
        ocr: word(registers.ocr),
        cid: format!("{:032x}", registers.cid),
        csd: format!("{:032x}", registers.csd),
        scr: registers.scr.map(|scr| Registers::hex(&scr).to_string()),
        switch_status: registers
            .switch_status
            .map(|status| Registers::hex(&status).to_string()),
        bytes: card.n_blocks() * BLOCK_BYTES as u64,
        clock_hz: card.clock_hz(),
        data_lines: card.n_data_lines(),
        high_speed: card.high_speed(),
        transfer: match card.transfer() {
            Transfer::Pio => SdTransfer::Pio,
            Transfer::Adma2 => SdTransfer::Dma,
        },
        dma_map: map.map(Cow::Borrowed),
        pio_reason: card.pio_reason().map(|reason| Cow::Borrowed(reason.name())),
        errors: errors(before + card.counters()),
    }
}

fn reading(reading: Reading) -> SdReading {
    SdReading {
        us: reading.us,
        errors: errors(reading.counters),
    }
}

impl Slot {
    fn measure(&mut self, first: u64, len_bytes: usize, by_pio: bool) -> Result<Measured, Error> {
        let no_memory = || Error::NoMemory { len_bytes };
        let mut lines = Lines::try_new(len_bytes).ok_or_else(no_memory)?;
        let mut port = if by_pio {
            Some(Lines::try_new(len_bytes).ok_or_else(no_memory)?)
        } else {
            None
        };
        let mut card = self.start().map_err(storage::Error::Device)?;
        let port = port.as_mut().map(Lines::bytes);
        let measured = card.measure(first, lines.bytes(), port);
        self.card = Some(card);
        Ok(measured.map_err(storage::Error::Device)?)
    }
}

impl SdSlot for Slot {
    type Error = Error;

    fn look(&mut self) -> (Sd, Result<(), Error>) {
        // Another card may be in the slot by now.
        self.unmount();
        let name = self.controller();
        match self.start() {
            Ok(card) => {
                let mut sd = controller_facts(name, card.host());
                sd.card = Some(card_facts(&card, self.counters));
                self.card = Some(card);
                (sd, Ok(()))
            }
            Err(error) => {
                let idle = self.idle.as_ref().expect("given back with the error");
                let failed: storage::Error<CardError> = storage::Error::Device(error);
                (controller_facts(name, idle), Err(failed.into()))
            }
        }
    }

    fn read(&mut self, offset: u64, len_bytes: usize, by_pio: bool) -> Result<SdPiece, Error> {
        let measured = self.measure(offset / BLOCK_BYTES as u64, len_bytes, by_pio);
        let measured = self.unless_it_failed(measured)?;
        Ok(SdPiece {
            dma: measured.dma.map(reading),
            pio: measured.pio.map(reading),
            compared_bytes: measured.compared_bytes,
            differing_bytes: measured.differing_bytes,
            first_difference: measured.first_difference,
        })
    }
}
