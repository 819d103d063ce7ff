//! The card slot: from the controller to a model file.
//!
//! On a board the slot is EMMC2's, whatever its detect bit says. QEMU's raspi4b plugs its card into
//! the legacy controller; only there is that one looked at.

mod controller;
mod error;
mod file;
mod report;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use drivers::mmio::Mmio;
use drivers::property::ClockId;
use drivers::sd::adma::Table;
use drivers::sd::card::{Counters, PioReason};
use drivers::sd::host::Transfer;
use drivers::sd::registers::Block;
use drivers::sd::{CardError, Modes, SdCard, Sdhci};
use llm::checked::parse_checksum;
use storage::{Entry, Layout, Volume};

use crate::clock::Clock;
use controller::{CardBlocks, Controller, Supply, TestMemory, Ways, start};
pub use error::Error;
pub use file::CardFile;

/// Longest checksum file: digits, two blanks, and the longest name.
const CHECKSUM_FILE_BYTES: usize = 1024;

/// The slot. One of its parts is in use: the controller alone, a card on it, or a mounted volume on that.
pub struct Slot {
    legacy: bool,
    idle: Option<Controller>,
    card: Option<SdCard<Controller>>,
    volume: Option<Volume<CardBlocks>>,
    ways: Ways,
    test: TestMemory,
    /// Whether DMA has brought in a block wrongly: no card is read so any more.
    is_dma_wrong: bool,
    /// Of the cards that are no longer mounted.
    counters: Counters,
}

impl Slot {
    /// Decides which controller has the slot. Touches neither card nor clock.
    pub fn new(emmc2: Mmio<Block>, legacy: Mmio<Block>) -> Self {
        let clock = Some(ClockId::Emmc2);
        let table = || Box::leak(Box::new(Table::new()));
        let emmc2 = Sdhci::new(emmc2, Clock, Supply { clock }, table());
        let is_legacy = emmc2.is_empty_in_qemu();
        let controller = if is_legacy {
            // QEMU divides no clock.
            Sdhci::new(legacy, Clock, Supply { clock: None }, table())
        } else {
            emmc2
        };
        Self {
            legacy: is_legacy,
            idle: Some(controller),
            card: None,
            volume: None,
            ways: Ways::default(),
            test: TestMemory::new(),
            is_dma_wrong: false,
            counters: Counters::default(),
        }
    }

    /// What the next mount may use, and the first bus address of EMMC2 in the device tree.
    pub fn set_ways(&mut self, modes: Modes, bus_base: Option<u64>) {
        self.ways = Ways { modes, bus_base };
    }

    /// The controller's name.
    pub fn controller(&self) -> &'static str {
        if self.legacy { "EMMC" } else { "EMMC2" }
    }

    /// The mounted volume; mounts it if it is not.
    pub fn volume(&mut self) -> Result<&mut Volume<CardBlocks>, Error> {
        if self.volume.is_none() {
            self.mount()?;
        }
        Ok(self.volume.as_mut().expect("mounted above"))
    }

    /// Forgets the volume and the card: the next access finds out anew what is in the slot.
    pub fn unmount(&mut self) {
        let mounted = self.volume.take().map(|volume| volume.unmount().card);
        if let Some(card) = mounted.or_else(|| self.card.take()) {
            self.counters = self.counters + card.counters();
            self.is_dma_wrong |= card.pio_reason() == Some(PioReason::WrongBytes);
            self.idle = Some(card.release());
        }
    }

    /// Starts the card, unless it is started.
    fn start(&mut self) -> Result<SdCard<Controller>, CardError> {
        if let Some(card) = self.card.take() {
            return Ok(card);
        }
        if self.idle.is_none() {
            self.unmount();
        }
        let controller = self.idle.take().expect("idle while nothing is started");
        let mut ways = self.ways;
        ways.modes.dma &= !self.is_dma_wrong;
        let started = start(controller, ways, &mut self.test);
        let mut card = started.map_err(|(error, controller)| {
            self.idle = Some(controller);
            error
        })?;
        if self.is_dma_wrong {
            card.note_pio(PioReason::WrongBytes);
        }
        Ok(card)
    }

    fn mount(&mut self) -> Result<(), Error> {
        let card = self.start().map_err(storage::Error::Device)?;
        let mut blocks = CardBlocks { card };
        match Layout::read_all(&mut blocks) {
            Ok(layouts) => {
                self.volume = Some(Volume::new(blocks, layouts));
                Ok(())
            }
            Err(error) => {
                self.card = Some(blocks.card);
                self.unmount();
                Err(error.into())
            }
        }
    }

    /// After a card that failed, the next access finds out anew what is in the slot.
    fn unless_it_failed<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Storage(error)) = &result
            && error.is_device()
        {
            self.unmount();
        }
        result
    }

    /// The card's models.
    pub fn models(&mut self) -> Result<Vec<Entry>, Error> {
        let models = self.volume()?.list_models().map_err(Error::from);
        self.unless_it_failed(models)
    }

    /// What `<name>.crc32c` says, if it is there.
    fn checksum_of(&mut self, name: &str) -> Result<Option<u32>, Error> {
        let name = alloc::format!("{name}.crc32c");
        match self.read(&name, CHECKSUM_FILE_BYTES) {
            Ok(bytes) => match parse_checksum(&bytes) {
                Some(checksum) => Ok(Some(checksum)),
                None => Err(Error::NoChecksum { name }),
            },
            Err(Error::Storage(storage::Error::NotFound { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a whole file of at most `limit_bytes`.
    pub fn read(&mut self, name: &str, limit_bytes: usize) -> Result<Vec<u8>, Error> {
        let result = self.read_short(name, limit_bytes);
        self.unless_it_failed(result)
    }

    fn read_short(&mut self, name: &str, limit_bytes: usize) -> Result<Vec<u8>, Error> {
        let volume = self.volume()?;
        let file = volume.open(name)?;
        if file.len_bytes() > limit_bytes as u64 {
            return Err(Error::TooLong {
                name: name.into(),
                len_bytes: file.len_bytes(),
                limit_bytes,
            });
        }
        let mut bytes = alloc::vec![0; file.len_bytes() as usize];
        volume.read_at(&file, 0, &mut bytes)?;
        Ok(bytes)
    }
}

/// The card in one line: controller, card, mode, volume.
impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(volume) = &self.volume else {
            return write!(f, "{}: nothing mounted", self.controller());
        };
        let card = &volume.device().card;
        // The name comes from the card: nothing in it may steer the terminal.
        let name = card
            .cid()
            .name
            .map(|b| if b.is_ascii_graphic() { b } else { b' ' });
        let name = core::str::from_utf8(&name).unwrap_or_default().trim();
        write!(
            f,
            "{}: {name} of {} MiB, {} line{} at {} MHz{} out of {}, {}; {} of {} MiB",
            self.controller(),
            card.n_blocks() >> 11,
            card.n_data_lines(),
            if card.n_data_lines() == 1 { "" } else { "s" },
            card.clock_hz() / 1_000_000,
            if card.high_speed() {
                " (high speed)"
            } else {
                ""
            },
            card.host().base_clock(),
            match card.transfer() {
                Transfer::Pio => "PIO",
                Transfer::Adma2 => "DMA",
            },
            volume.geometry().fat_type,
            volume.len_bytes() >> 20,
        )?;
        if let Some(free) = volume.free_bytes() {
            write!(f, ", {} MiB free", free >> 20)?;
        }
        let counters = self.counters + card.counters();
        if counters.retries > 0 {
            write!(
                f,
                "; {} reads repeated ({} for CRC errors, {} for time-outs)",
                counters.retries, counters.crc_errors, counters.timeouts
            )?;
        }
        if !volume.was_ejected_cleanly() {
            f.write_str("; not ejected cleanly by its last writer: files may be damaged")?;
        }
        Ok(())
    }
}
