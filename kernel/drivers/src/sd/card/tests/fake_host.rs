//! A host with a model of a card: logs every command and fails on demand.

mod answers;

use std::cell::Cell;
use std::collections::VecDeque;

use crate::clock::Clock;
use crate::sd::adma::DmaMap;
use crate::sd::host::{HostError, Notice, SdHost, Transfer};
use crate::sd::protocol::{Command, Response, ResponseKind};

/// What the host does with one read command of data blocks.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    None,
    Host(HostError),
    Status(u32),
    /// The R1 of the automatic CMD12.
    Stop(u32),
}

pub(super) struct FakeHost {
    pub(super) time_us: Cell<u64>,
    pub(super) log: Vec<String>,
    pub(super) present: bool,
    pub(super) version_2: bool,
    pub(super) high_capacity: bool,
    pub(super) ocr_voltages: u32,
    pub(super) polls_until_ready: u32,
    pub(super) csd: u128,
    pub(super) scr: [u8; 8],
    pub(super) offers_high_speed: bool,
    pub(super) accepts_high_speed: bool,
    pub(super) locked: bool,
    /// How often each of these commands fails, by its name in the log, before it works.
    pub(super) refusals: Vec<(&'static str, usize)>,
    /// The card is silent until its power has been cycled this often.
    pub(super) wedged: usize,
    /// The card has forgotten its address until it is identified again.
    pub(super) has_reset_itself: bool,
    /// What a failing read takes.
    pub(super) fault_us: u64,
    pub(super) serial: u128,
    /// How long after CMD0 the card is deaf.
    pub(super) needs_us: u64,
    idle_since_us: u64,
    /// This block comes in wrongly by DMA.
    pub(super) bent_block: Option<u32>,
    /// One entry per data read; afterwards all succeed.
    pub(super) faults: VecDeque<Fault>,
    /// Card states that CMD13 reports, then `Transfer` for ever.
    pub(super) states: VecDeque<u32>,
    pub(super) transfer: Transfer,
    /// The map under which DMA brings in the card's bytes; under the other one nothing arrives.
    pub(super) map: Option<DmaMap>,
    pub(super) map_in_use: Option<DmaMap>,
    /// What DMA under the other map brings in goes elsewhere, and nobody says so.
    pub(super) loses_data: bool,
    pub(super) max_blocks: usize,
    pub(super) app: bool,
}

pub(super) const TRAN: u32 = 0x900;

impl FakeHost {
    /// A card of 4 GiB as the shops have them.
    pub(super) fn sdhc() -> Self {
        Self {
            time_us: Cell::new(0),
            log: Vec::new(),
            present: true,
            version_2: true,
            high_capacity: true,
            ocr_voltages: 0x00FF_8000,
            polls_until_ready: 0,
            csd: 1 << 126 | 0x5B5 << 84 | 8191 << 48,
            scr: [2, 0x35, 0x80, 0, 0, 0, 0, 0],
            offers_high_speed: true,
            accepts_high_speed: true,
            locked: false,
            refusals: Vec::new(),
            wedged: 0,
            has_reset_itself: false,
            fault_us: 0,
            serial: 0,
            needs_us: 0,
            idle_since_us: 0,
            bent_block: None,
            faults: VecDeque::new(),
            states: VecDeque::new(),
            transfer: Transfer::Pio,
            map: None,
            map_in_use: None,
            loses_data: false,
            max_blocks: 65_535,
            app: false,
        }
    }

    /// A byte-addressed card of 64 MiB.
    pub(super) fn sdsc() -> Self {
        Self {
            high_capacity: false,
            csd: 0x5B5 << 84 | 9 << 80 | 2047 << 62 | 4 << 47,
            ..Self::sdhc()
        }
    }

    fn note(&mut self, command: Command) {
        let prefix = if self.app { "A" } else { "" };
        self.log
            .push(format!("{prefix}{} {:x}", command.index, command.argument));
    }
}

impl Clock for FakeHost {
    fn now_us(&self) -> u64 {
        self.time_us.set(self.time_us.get() + 1);
        self.time_us.get()
    }

    fn relax(&self) {
        self.time_us.set(self.time_us.get() + 100);
    }
}

impl SdHost for FakeHost {
    fn reset(&mut self) -> Result<(), HostError> {
        self.log.push("reset".into());
        Ok(())
    }

    fn cycle_power(&mut self) {
        self.log.push("power cycle".into());
        self.wedged = self.wedged.saturating_sub(1);
    }

    fn command(&mut self, command: Command) -> Result<Response, HostError> {
        self.note(command);
        self.answer(command)
    }

    fn read(
        &mut self,
        command: Command,
        block_bytes: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError> {
        assert_eq!(command.response, ResponseKind::Short);
        assert!(buf.len() / block_bytes <= self.max_blocks);
        self.note(command);
        let mut response = self.answer(command)?;
        match command.index {
            51 => buf.copy_from_slice(&self.scr),
            6 => {
                assert_eq!(buf.len(), 64);
                buf.fill(0);
                buf[13] = 1 | u8::from(self.offers_high_speed) << 1;
                let switch = command.argument >> 31 != 0;
                buf[16] = match (switch, self.accepts_high_speed) {
                    (false, _) => 0,
                    (true, true) => 1,
                    (true, false) => 0xF,
                };
            }
            17 | 18 => {
                let blocks = buf.len() / 512;
                self.log.push(format!("  {blocks} blocks"));
                assert_eq!(command.index == 17, blocks == 1);
                match self.faults.pop_front().unwrap_or(Fault::None) {
                    Fault::None
                        if self.transfer == Transfer::Adma2 && self.map_in_use != self.map =>
                    {
                        if !self.loses_data {
                            return Err(HostError::DataTimeout { index: 18 });
                        }
                    }
                    Fault::None => {
                        let unit = if self.high_capacity { 1 } else { 512 };
                        assert_eq!(command.argument % unit, 0);
                        for (i, block) in buf.chunks_mut(512).enumerate() {
                            let number = command.argument / unit + i as u32;
                            block.fill(number as u8);
                            if self.transfer == Transfer::Adma2 && self.bent_block == Some(number) {
                                block.fill(!number as u8);
                            }
                        }
                    }
                    Fault::Host(error) => {
                        self.time_us.set(self.time_us.get() + self.fault_us);
                        buf.fill(0xEE);
                        return Err(error);
                    }
                    Fault::Status(status) => response.short = status,
                    Fault::Stop(status) => {
                        buf.fill(0xEE);
                        response.stop = status;
                    }
                }
            }
            other => panic!("CMD{other} has no data"),
        }
        Ok(response)
    }

    fn read_by_port(
        &mut self,
        command: Command,
        block_bytes: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError> {
        self.log.push("  by port".into());
        let transfer = std::mem::replace(&mut self.transfer, Transfer::Pio);
        let result = self.read(command, block_bytes, buf);
        self.transfer = transfer;
        result
    }

    fn tell(&mut self, notice: Notice) {
        self.log.push(notice.to_string());
    }

    fn set_clock_hz(&mut self, max_hz: u32) -> Result<u32, HostError> {
        self.log.push(format!("clock {max_hz}"));
        Ok(max_hz)
    }

    fn set_four_lines(&mut self) {
        self.log.push("four lines".into());
    }

    fn set_high_speed(&mut self, on: bool) {
        self.log.push(format!("high speed {on}"));
    }

    fn reset_lines(&mut self) -> Result<(), HostError> {
        self.log.push("reset lines".into());
        Ok(())
    }

    fn max_blocks(&self) -> usize {
        self.max_blocks
    }

    fn transfer(&self) -> Transfer {
        self.transfer
    }

    fn use_dma(&mut self, map: DmaMap) -> bool {
        self.log.push(format!("dma {map:?}"));
        self.map_in_use = Some(map);
        self.transfer = Transfer::Adma2;
        self.map.is_some()
    }

    fn is_direct(&self, buf: &[u8]) -> bool {
        buf.len().is_multiple_of(512)
    }

    fn use_pio(&mut self) {
        self.log.push("pio".into());
        self.transfer = Transfer::Pio;
    }
}
