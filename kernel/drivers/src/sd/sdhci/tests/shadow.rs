//! Transfers on a memory that lies as hardware does: the engine has a copy of its own, and lines move
//! between the two by maintenance, by evictions and by prefetches alone.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::fake_words::{CAPS_BOARD, table};
use crate::clock::Clock;
use crate::dma::Caches;
use crate::sd::adma::{DmaMap, Table};
use crate::sd::base_clock::Question;
use crate::sd::host::{HostError, Notice, SdHost};
use crate::sd::protocol::Command;
use crate::sd::registers::{Word, Words, interrupt, mode_command};
use crate::sd::sdhci::{Board, Sdhci};

const LINE: usize = 64;
type Line = [u8; LINE];

/// What memory holds where nothing was ever written back.
const JUNK: Line = [0xA5; LINE];

/// The byte of a card at `offset`.
fn card_byte(offset: usize) -> u8 {
    (offset ^ offset >> 9 ^ offset >> 17) as u8
}

/// Memory, the caches before it, and the engine behind it.
struct Chip {
    map: DmaMap,
    /// Ranges that exist: virtual address, length, physical address.
    ranges: Vec<(usize, usize, usize)>,
    memory: RefCell<HashMap<usize, Line>>,
    /// What each line held when memory and cache last agreed.
    agreed: RefCell<HashMap<usize, Line>>,
    random: Cell<u64>,
    time_us: Cell<u64>,
    status: Cell<u32>,
    registers: RefCell<HashMap<Word, u32>>,
}

/// A line as the cores see it.
fn core_line(addr: usize) -> Line {
    // SAFETY: one of `Chip::ranges`, all of which outlive the chip and are whole lines.
    unsafe { core::ptr::with_exposed_provenance::<Line>(addr).read() }
}

fn set_core_line(addr: usize, line: Line) {
    // SAFETY: as above; the driver hands the line to the engine at this moment, and reads it later.
    unsafe { core::ptr::with_exposed_provenance_mut::<Line>(addr).write(line) }
}

impl Chip {
    fn chance(&self) -> bool {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x >> 40 & 1 == 1
    }

    /// The cores' address of what the engine calls `bus`.
    fn addr_of_bus(&self, bus: usize) -> Option<usize> {
        let phys = match self.map {
            DmaMap::Identity => bus,
            DmaMap::Alias => bus.checked_sub(0xC000_0000)?,
        };
        let range = self
            .ranges
            .iter()
            .find(|r| (r.2..r.2 + r.1).contains(&phys));
        range.map(|r| r.0 + phys - r.2)
    }

    fn memory_line(&self, addr: usize) -> Line {
        *self.memory.borrow().get(&addr).unwrap_or(&JUNK)
    }

    /// The engine writes a line.
    fn write_line(&self, addr: usize, line: Line) {
        let seen = core_line(addr);
        let is_clean = self.agreed.borrow().get(&addr) == Some(&seen);
        self.memory.borrow_mut().insert(addr, line);
        if !is_clean {
            // A dirty line may be evicted now, over what the engine wrote, or stay.
            if self.chance() {
                self.memory.borrow_mut().insert(addr, seen);
            }
        } else if self.chance() {
            // Nothing was prefetched: the cores' next read finds what is in memory.
            set_core_line(addr, line);
            self.agreed.borrow_mut().insert(addr, line);
        }
    }

    fn word_in_memory(&self, bus: usize) -> Option<u32> {
        let addr = self.addr_of_bus(bus)?;
        let line = self.memory_line(addr / LINE * LINE);
        let bytes = &line[addr % LINE..][..4];
        Some(u32::from_le_bytes(bytes.try_into().unwrap()))
    }

    /// Walks the table and fills `len` bytes from the card's `offset` on: true for all of them.
    fn run_engine(&self, mut offset: usize, len: usize) -> Option<()> {
        let end = offset + len;
        let mut descriptor = self.registers.borrow()[&Word::AdmaAddr] as usize;
        loop {
            let head = self.word_in_memory(descriptor)?;
            let address = self.word_in_memory(descriptor + 4)? as usize;
            if head & 0b11_1001 != 0b10_0001 || !address.is_multiple_of(4) {
                return None;
            }
            let length = match head as usize >> 16 {
                0 => 0x1_0000,
                length => length,
            };
            for start in (0..length).step_by(LINE) {
                let addr = self.addr_of_bus(address + start)?;
                assert!(addr.is_multiple_of(LINE), "whole lines");
                let line = std::array::from_fn(|i| card_byte(offset + i));
                self.write_line(addr, line);
                offset += LINE;
            }
            if head & 0b10 != 0 {
                return (offset == end).then_some(());
            }
            descriptor += 8;
        }
    }
}

impl Words for &Chip {
    fn read(&self, word: Word) -> u32 {
        match word {
            Word::IntStatus => self.status.get(),
            Word::Capabilities => CAPS_BOARD,
            Word::ClockReset => self
                .registers
                .borrow()
                .get(&word)
                .map_or(0, |v| v & 0xFFFF | 2),
            _ => 0,
        }
    }

    fn write(&self, word: Word, value: u32) {
        self.registers.borrow_mut().insert(word, value);
        if word == Word::IntStatus {
            self.status.set(self.status.get() & !value);
        }
        if word != Word::ModeCommand {
            return;
        }
        self.status.set(interrupt::COMMAND_COMPLETE);
        if value & mode_command::DMA != 0 {
            let blocks = self.registers.borrow()[&Word::BlockSizeCount];
            let len = (blocks >> 16) as usize * (blocks & 0xFFF) as usize;
            let offset = self.registers.borrow()[&Word::Argument] as usize * 512;
            let done = self.run_engine(offset, len).is_some();
            let more = if done {
                interrupt::TRANSFER_COMPLETE
            } else {
                interrupt::ERROR | interrupt::ADMA
            };
            self.status.set(self.status.get() | more);
        }
    }
}

impl Clock for &Chip {
    fn now_us(&self) -> u64 {
        self.time_us.get()
    }

    fn relax(&self) {
        self.time_us.set(self.time_us.get() + 10);
    }
}

impl Caches for &Chip {
    fn clean_and_invalidate(&self, addr: usize, len_bytes: usize) {
        for addr in (addr..addr + len_bytes).step_by(LINE) {
            let seen = core_line(addr);
            let is_clean = self.agreed.borrow().get(&addr) == Some(&seen);
            if is_clean {
                set_core_line(addr, self.memory_line(addr));
            } else {
                self.memory.borrow_mut().insert(addr, seen);
            }
            self.agreed.borrow_mut().insert(addr, core_line(addr));
        }
    }
}

impl Board for &Chip {
    fn power_controller(&mut self) {}

    fn set_expander_gpio(&mut self, _: u32, _: bool) -> bool {
        true
    }

    fn phys_addr(&self, addr: usize, len: usize) -> Option<usize> {
        let holds = |r: &&(usize, usize, usize)| r.0 <= addr && addr + len <= r.0 + r.1;
        self.ranges.iter().find(holds).map(|r| r.2 + addr - r.0)
    }

    fn tell(&mut self, _: Notice) {}

    fn base_clock_hz(&mut self, _: Question) -> Option<u32> {
        Some(200_000_000)
    }
}

/// Reads of many lengths into lines that the cores have just written, under `believed` on a chip of `map`.
fn read_all(map: DmaMap, believed: DmaMap, seed: u64) -> Result<(), HostError> {
    let table = table();
    let table_range = (
        core::ptr::from_ref::<Table>(table).expose_provenance(),
        size_of::<Table>(),
        0x0010_0000,
    );
    let buf_bytes = 3 << 16;
    let mut memory = vec![0; buf_bytes + LINE];
    let start = memory.as_ptr().align_offset(LINE);
    let buf = &mut memory[start..][..buf_bytes];
    let buf_range = (buf.as_mut_ptr().expose_provenance(), buf_bytes, 0x0200_0000);
    let chip = Chip {
        map,
        ranges: vec![table_range, buf_range],
        memory: RefCell::default(),
        agreed: RefCell::default(),
        random: Cell::new(seed),
        time_us: Cell::new(0),
        status: Cell::new(0),
        registers: RefCell::default(),
    };
    let mut host = Sdhci::on(&chip, &chip, &chip, table);
    host.reset().unwrap();
    host.set_clock_hz(50_000_000).unwrap();
    assert!(host.use_dma(believed));
    let lens = [512, 1024, 65_024, 65_536, 66_048, 131_072, 192 << 10];
    for (turn, len) in lens.into_iter().cycle().take(3 * lens.len()).enumerate() {
        let buf = &mut buf[..len];
        buf.fill(turn as u8);
        let first = 7 * turn;
        let command = if len == 512 {
            Command::read_single(first as u32)
        } else {
            Command::read_multiple(first as u32)
        };
        host.read(command, 512, buf)?;
        let offset = first * 512;
        let wrong = (0..len).find(|&i| buf[i] != card_byte(offset + i));
        assert_eq!(wrong, None, "{len} bytes in turn {turn}");
    }
    Ok(())
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn right_bytes_come_in_whatever_the_caches_do() {
    for seed in 1..=4 {
        read_all(DmaMap::Identity, DmaMap::Identity, seed).unwrap();
        read_all(DmaMap::Alias, DmaMap::Alias, seed).unwrap();
    }
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn a_wrong_map_is_an_error() {
    for (map, believed) in [
        (DmaMap::Identity, DmaMap::Alias),
        (DmaMap::Alias, DmaMap::Identity),
    ] {
        let error = read_all(map, believed, 1).unwrap_err();
        assert!(matches!(error, HostError::Dma { .. }), "{error}");
    }
}
