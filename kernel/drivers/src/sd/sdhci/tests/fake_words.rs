//! Registers that answer as a controller with a card would, and the board's part.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use crate::clock::Clock;
use crate::dma::Caches;
use crate::sd::adma::Table;
use crate::sd::base_clock::Question;
use crate::sd::host::{Notice, SdHost};
use crate::sd::registers::{Word, Words, interrupt};
use crate::sd::sdhci::{Board, Sdhci};

pub(super) const CAPS_BOARD: u32 = 0x45EE_6432;

/// What happens after a command word has been written.
#[derive(Clone, Copy)]
pub(super) enum Outcome {
    /// Interrupt status that appears.
    Status(u32),
    /// Command complete; then, when that has been seen, a time-out of data with the completion.
    Late,
    /// As `Late`, with these bits more.
    LateAnd(u32),
    /// Command complete, then this many blocks of data, then transfer complete.
    Blocks(u32),
}

/// Registers that answer as a controller with a card would.
pub(super) struct FakeWords {
    pub(super) time_us: Cell<u64>,
    pub(super) log: RefCell<Vec<(Word, u32)>>,
    pub(super) status: Cell<u32>,
    pub(super) present: Cell<u32>,
    /// Status that appears when the one before is cleared.
    after: Cell<u32>,
    pub(super) clock: Cell<u32>,
    pub(super) mode: Cell<u32>,
    pub(super) capabilities: u32,
    pub(super) stable: bool,
    pub(super) resets: bool,
    pub(super) outcomes: RefCell<VecDeque<Outcome>>,
    pub(super) words_left: Cell<u32>,
    pub(super) words_per_block: Cell<u32>,
    /// What a word of data takes to come.
    pub(super) word_us: u64,
}

impl FakeWords {
    pub(super) fn new() -> Self {
        Self {
            time_us: Cell::new(0),
            log: RefCell::default(),
            status: Cell::new(0),
            present: Cell::new(0),
            after: Cell::new(0),
            clock: Cell::new(0),
            mode: Cell::new(0),
            capabilities: CAPS_BOARD,
            stable: true,
            resets: true,
            outcomes: RefCell::default(),
            words_left: Cell::new(0),
            words_per_block: Cell::new(0),
            word_us: 0,
        }
    }

    fn complete_late(&self, more: u32) {
        self.status.set(interrupt::COMMAND_COMPLETE);
        let late = interrupt::TRANSFER_COMPLETE | interrupt::ERROR | interrupt::DATA_TIMEOUT;
        self.after.set(late | more);
    }
}

impl Words for &FakeWords {
    fn read(&self, word: Word) -> u32 {
        match word {
            Word::IntStatus => self.status.get(),
            Word::Present => self.present.get(),
            Word::ClockReset => self.clock.get(),
            // Only how the firmware has left it is of interest.
            Word::HostPower => 0x0080_0F06,
            Word::Capabilities => self.capabilities,
            Word::SlotVersion => 0x1002_0000,
            Word::AutoHost2 => 0x0008_0002,
            Word::AdmaError => 3,
            // R2 as the controller shows it: bits 127:8 of the register, shifted down.
            Word::Response3 => 0x0003_5344,
            Word::Response2 => 0x5355_3332,
            Word::Response1 => 0x4780_1234,
            Word::Response0 => 0x5678_0157,
            Word::Data => {
                self.time_us.set(self.time_us.get() + self.word_us);
                let left = self.words_left.get() - 1;
                self.words_left.set(left);
                if left == 0 {
                    self.status
                        .set(self.status.get() | interrupt::TRANSFER_COMPLETE);
                } else if left.is_multiple_of(self.words_per_block.get()) {
                    self.status.set(self.status.get() | interrupt::READ_READY);
                }
                0x0302_0100 + 0x0404_0404 * (left & 1)
            }
            other => panic!("{other:?} is never read"),
        }
    }

    fn write(&self, word: Word, value: u32) {
        self.log.borrow_mut().push((word, value));
        match word {
            Word::IntStatus => {
                let after = self.after.take();
                self.status.set(self.status.get() & !value | after);
            }
            Word::BlockSizeCount => {
                self.words_per_block.set((value & 0xFFF) / 4);
                self.words_left.set((value & 0xFFF) / 4 * (value >> 16));
            }
            Word::ClockReset => {
                let resets = if self.resets { 0x0700_0000 } else { 0 };
                let stable = if self.stable && value & 1 != 0 { 2 } else { 0 };
                self.clock.set(value & !resets | stable);
            }
            Word::ModeCommand => {
                self.mode.set(value);
                match self.outcomes.borrow_mut().pop_front() {
                    None => self.status.set(interrupt::COMMAND_COMPLETE),
                    Some(Outcome::Status(status)) => self.status.set(status),
                    Some(Outcome::Late) => self.complete_late(0),
                    Some(Outcome::LateAnd(more)) => self.complete_late(more),
                    Some(Outcome::Blocks(n)) => {
                        assert_eq!(n * self.words_per_block.get(), self.words_left.get());
                        self.status
                            .set(interrupt::COMMAND_COMPLETE | interrupt::READ_READY);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Clock for &FakeWords {
    fn now_us(&self) -> u64 {
        self.time_us.get()
    }

    fn relax(&self) {
        self.time_us.set(self.time_us.get() + 1);
    }
}

/// The firmware's side, answering or not.
pub(super) struct FakeBoard {
    pub(super) cleaned: RefCell<Vec<(usize, usize)>>,
    pub(super) answers: bool,
    pub(super) base_hz: Option<u32>,
    pub(super) expander: Vec<(u32, bool)>,
    pub(super) told: Vec<Notice>,
    pub(super) n_powered: usize,
    n_questions: usize,
    /// The longest buffer that is one piece of physical memory.
    pub(super) piece_bytes: usize,
    /// The first address that is not below 4 GiB.
    pub(super) reach_end: usize,
}

impl Caches for FakeBoard {
    fn clean_and_invalidate(&self, addr: usize, len_bytes: usize) {
        self.cleaned.borrow_mut().push((addr, len_bytes));
    }
}

impl Board for FakeBoard {
    fn power_controller(&mut self) {
        let first = self.n_powered == 0;
        assert!(!first || self.n_questions == 0, "power comes before clock");
        self.n_powered += 1;
    }

    fn set_expander_gpio(&mut self, gpio: u32, high: bool) -> bool {
        self.expander.push((gpio, high));
        self.answers
    }

    fn phys_addr(&self, addr: usize, len: usize) -> Option<usize> {
        let reaches = len <= self.piece_bytes && addr + len <= self.reach_end;
        reaches.then_some(0x0100_0000 + addr % 0x1_0000)
    }

    fn tell(&mut self, notice: Notice) {
        self.told.push(notice);
    }

    fn base_clock_hz(&mut self, _: Question) -> Option<u32> {
        self.n_questions += 1;
        self.base_hz
    }
}

pub(super) type FakeSdhci<'a> = Sdhci<&'a FakeWords, &'a FakeWords, FakeBoard>;

pub(super) fn board(base_hz: Option<u32>) -> FakeBoard {
    FakeBoard {
        cleaned: RefCell::default(),
        answers: true,
        base_hz,
        expander: Vec::new(),
        told: Vec::new(),
        n_powered: 0,
        n_questions: 0,
        piece_bytes: usize::MAX,
        reach_end: usize::MAX,
    }
}

/// A controller after `reset`, at 25 MHz so that no delays are in the way.
pub(super) fn ready(words: &FakeWords) -> FakeSdhci<'_> {
    let mut host = Sdhci::on(words, words, board(Some(100_000_000)), table());
    host.reset().unwrap();
    host.set_clock_hz(25_000_000).unwrap();
    words.log.borrow_mut().clear();
    host
}

pub(super) fn log(words: &FakeWords) -> Vec<(Word, u32)> {
    words.log.take()
}

/// A descriptor table for one test.
pub(super) fn table() -> &'static mut Table {
    Box::leak(Box::new(Table::new()))
}
