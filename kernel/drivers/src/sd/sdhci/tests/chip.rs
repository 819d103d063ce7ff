//! A controller at the level of its registers, with a card on its lines, a memory that lies, and a clock
//! that is not what the firmware says.
//!
//! It loses writes that come within two card clocks, as EMMC2 does, and walks ADMA2 tables by itself.

mod board;
pub(super) mod card;
mod engine;
pub(super) mod rig;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};

use super::fake_words::CAPS_BOARD;
use crate::dma::shadow::ShadowMemory;
use crate::sd::adma::DmaMap;
use crate::sd::host::Notice;
use crate::sd::registers::{
    Word, Words, clock_reset, host_power, interrupt, mode_command, present,
};
use card::{Card, Effect, Reply};

/// What a turn of a waiting loop takes.
const TURN_US: u64 = 20;
/// A card without power for less than this remembers.
const FORGETS_AFTER_US: u64 = 20_000;
/// The clock of a card before the first divider is set, as slow as it gets.
const UNSET_HZ: u32 = 200_000;

/// What the firmware says of the base clock: measured, believed, highest.
pub(super) type Answers = [Option<u32>; 3];

pub(super) struct Chip<'m> {
    pub(super) memory: &'m ShadowMemory,
    pub(super) map: DmaMap,
    pub(super) base_hz: u32,
    pub(super) answers: Answers,
    pub(super) card: RefCell<Card>,
    /// Resets do not end.
    pub(super) is_stuck: bool,
    pub(super) time_us: Cell<u64>,
    pub(super) told: RefCell<Vec<Notice>>,
    /// Fastest and slowest clock of a command before the bus was widened or the card switched, and after.
    pub(super) identification_hz: Cell<(u32, u32)>,
    pub(super) fastest_data_hz: Cell<u32>,
    pub(super) n_lost: Cell<usize>,
    /// Bytes that the engine has written.
    pub(super) n_by_engine: Cell<usize>,
    /// The longest time between two commands.
    pub(super) longest_pause_us: Cell<u64>,
    last_command_us: Cell<u64>,
    status: Cell<u32>,
    registers: RefCell<HashMap<Word, u32>>,
    port: RefCell<VecDeque<u32>>,
    block_words: Cell<usize>,
    /// The clock that runs, or that ran last.
    last_hz: Cell<u32>,
    last_write: Cell<Option<(Word, u64)>>,
    busy_until_us: Cell<u64>,
    unpowered_since_us: Cell<Option<u64>>,
    /// What follows the completion of the command when that has been seen.
    after: Cell<u32>,
}

impl<'m> Chip<'m> {
    pub(super) fn new(memory: &'m ShadowMemory, map: DmaMap) -> Self {
        let base_hz = 200_000_000;
        Self {
            memory,
            map,
            base_hz,
            answers: [Some(base_hz); 3],
            card: RefCell::new(Card::sdhc()),
            is_stuck: false,
            time_us: Cell::new(0),
            told: RefCell::default(),
            identification_hz: Cell::new((0, u32::MAX)),
            fastest_data_hz: Cell::new(0),
            n_lost: Cell::new(0),
            n_by_engine: Cell::new(0),
            longest_pause_us: Cell::new(0),
            last_command_us: Cell::new(0),
            status: Cell::new(0),
            registers: RefCell::default(),
            port: RefCell::default(),
            block_words: Cell::new(1),
            last_hz: Cell::new(UNSET_HZ),
            last_write: Cell::new(None),
            busy_until_us: Cell::new(0),
            unpowered_since_us: Cell::new(None),
            after: Cell::new(0),
        }
    }

    fn register(&self, word: Word) -> u32 {
        *self.registers.borrow().get(&word).unwrap_or(&0)
    }

    pub(super) fn set_register(&self, word: Word, value: u32) {
        self.registers.borrow_mut().insert(word, value);
    }

    /// The clock on the card's line, if it runs.
    fn card_hz(&self) -> Option<u32> {
        let control = self.register(Word::ClockReset);
        let on = clock_reset::INTERNAL_ENABLE | clock_reset::CARD_ENABLE;
        let n = control >> 8 & 0xFF | (control >> 6 & 0b11) << 8;
        (control & on == on).then(|| match n {
            0 => self.base_hz,
            n => self.base_hz / (2 * n),
        })
    }

    /// Whether a write is lost: the one before it has not crossed into the card's clock yet.
    fn loses(&self, word: Word) -> bool {
        let hz = self.card_hz().unwrap_or(self.last_hz.get());
        self.last_hz.set(hz);
        let now_us = self.time_us.get();
        let Some((last, at_us)) = self.last_write.replace(Some((word, now_us))) else {
            return false;
        };
        let two_clocks_us = 2_000_000 / u64::from(hz) + 1;
        now_us - at_us < two_clocks_us && (last == word || hz <= 400_000)
    }

    /// Latches status bits, where they are enabled.
    fn raise(&self, bits: u32) {
        let latched = bits & self.register(Word::IntEnable);
        let error = if latched & 0xFFFF_0000 != 0 {
            interrupt::ERROR
        } else {
            0
        };
        self.status.set(self.status.get() | latched | error);
    }

    fn reset(&self, bits: u32) {
        if bits & clock_reset::RESET_ALL != 0 {
            self.registers.borrow_mut().clear();
        }
        if bits & (clock_reset::RESET_ALL | clock_reset::RESET_DAT) != 0 {
            self.port.borrow_mut().clear();
        }
        self.status.set(0);
        self.after.set(0);
    }

    /// The card's answer to what was written into argument and command.
    fn command(&self, word: u32) {
        let now_us = self.time_us.get();
        let pause_us = now_us - self.last_command_us.replace(now_us);
        let longest_us = self.longest_pause_us.get().max(pause_us);
        self.longest_pause_us.set(longest_us);
        let is_powered = self.register(Word::HostPower) & host_power::POWER_3V3 != 0;
        let Some(hz) = self.card_hz().filter(|_| is_powered) else {
            return;
        };
        let mut card = self.card.borrow_mut();
        let host = self.register(Word::HostPower);
        let lines_differ = (host & host_power::FOUR_LINES != 0) != card.four_lines;
        let index = (word >> mode_command::INDEX_SHIFT & 0x3F) as u8;
        if card.is_identifying() {
            let (high, low) = self.identification_hz.get();
            self.identification_hz.set((high.max(hz), low.min(hz)));
        } else {
            self.fastest_data_hz.set(self.fastest_data_hz.get().max(hz));
        }
        let (reply, effect) = card.answer(index, self.register(Word::Argument));
        let too_fast = hz > card.highest_hz();
        drop(card);
        match reply {
            Reply::Silence => self.raise(interrupt::COMMAND_TIMEOUT),
            Reply::None => self.raise(interrupt::COMMAND_COMPLETE),
            Reply::Long(register) => {
                let words = [
                    Word::Response0,
                    Word::Response1,
                    Word::Response2,
                    Word::Response3,
                ];
                for (i, word) in words.into_iter().enumerate() {
                    self.set_register(word, (register >> 8 >> (32 * i)) as u32);
                }
                self.raise(interrupt::COMMAND_COMPLETE);
            }
            Reply::Short(status) => {
                self.set_register(Word::Response0, status);
                self.raise(interrupt::COMMAND_COMPLETE);
                if word & mode_command::DATA != 0 {
                    let effect = if lines_differ || too_fast {
                        Effect::Crc
                    } else {
                        effect
                    };
                    self.transfer(word, index, effect);
                } else if word & mode_command::RESPONSE_48_BUSY == mode_command::RESPONSE_48_BUSY {
                    self.end_busy(effect);
                }
            }
        }
    }

    fn end_busy(&self, effect: Effect) {
        match effect {
            Effect::NoEnd => self.busy_until_us.set(self.time_us.get() + 1_000),
            Effect::LateEnd => self
                .after
                .set(interrupt::TRANSFER_COMPLETE | interrupt::DATA_TIMEOUT),
            _ => self.raise(interrupt::TRANSFER_COMPLETE),
        }
    }
}

impl Words for &Chip<'_> {
    fn read(&self, word: Word) -> u32 {
        match word {
            Word::IntStatus => self.status.get(),
            Word::Capabilities => CAPS_BOARD,
            Word::SlotVersion => 0x1002_0000,
            Word::Present if self.time_us.get() < self.busy_until_us.get() => present::DAT_INHIBIT,
            Word::Present => 0,
            Word::ClockReset => {
                let control = self.register(word);
                let is_on = control & clock_reset::INTERNAL_ENABLE != 0;
                control
                    | if is_on {
                        clock_reset::INTERNAL_STABLE
                    } else {
                        0
                    }
            }
            Word::Data => self.read_port(),
            other => self.register(other),
        }
    }

    fn write(&self, word: Word, value: u32) {
        if self.loses(word) {
            self.n_lost.set(self.n_lost.get() + 1);
            return;
        }
        match word {
            Word::IntStatus => {
                self.status.set(self.status.get() & !value);
                let after = self.after.take();
                self.raise(after);
            }
            Word::ClockReset if self.is_stuck => self.set_register(word, value),
            Word::ClockReset => {
                let resets =
                    clock_reset::RESET_ALL | clock_reset::RESET_CMD | clock_reset::RESET_DAT;
                self.set_register(word, value & !resets);
                if value & resets != 0 {
                    self.reset(value & resets);
                }
            }
            Word::ModeCommand => {
                self.memory.wander();
                self.command(value);
                self.memory.wander();
            }
            _ => self.set_register(word, value),
        }
    }
}
