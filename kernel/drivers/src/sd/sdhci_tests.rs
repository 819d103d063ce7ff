//! The controller's driver on fake registers: the exact words written, in their order.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use super::*;

const CAPS_BOARD: u32 = 0x45EE_6432;

/// What happens after a command word has been written.
#[derive(Clone, Copy)]
enum Outcome {
    /// Interrupt status that appears.
    Status(u32),
    /// Command complete, then this many blocks of data, then transfer complete.
    Blocks(u32),
}

/// Registers that answer as a controller with a card would.
struct FakeWords {
    time_us: Cell<u64>,
    log: RefCell<Vec<(Word, u32)>>,
    status: Cell<u32>,
    present: Cell<u32>,
    clock: Cell<u32>,
    mode: Cell<u32>,
    capabilities: u32,
    stable: bool,
    resets: bool,
    outcomes: RefCell<VecDeque<Outcome>>,
    words_left: Cell<u32>,
    words_per_block: Cell<u32>,
}

impl FakeWords {
    fn new() -> Self {
        Self {
            time_us: Cell::new(0),
            log: RefCell::default(),
            status: Cell::new(0),
            present: Cell::new(0),
            clock: Cell::new(0),
            mode: Cell::new(0),
            capabilities: CAPS_BOARD,
            stable: true,
            resets: true,
            outcomes: RefCell::default(),
            words_left: Cell::new(0),
            words_per_block: Cell::new(0),
        }
    }
}

impl Words for &FakeWords {
    fn read(&self, word: Word) -> u32 {
        match word {
            Word::IntStatus => self.status.get(),
            Word::Present => self.present.get(),
            Word::ClockReset => self.clock.get(),
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
            Word::IntStatus => self.status.set(self.status.get() & !value),
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
struct FakeBoard {
    cleaned: RefCell<Vec<(usize, usize)>>,
    answers: bool,
    base_hz: Option<u32>,
    expander: Vec<(u32, bool)>,
    /// The longest buffer that is one piece of physical memory.
    piece_bytes: usize,
}

impl Caches for FakeBoard {
    fn clean_and_invalidate(&self, addr: usize, len_bytes: usize) {
        self.cleaned.borrow_mut().push((addr, len_bytes));
    }
}

impl Board for FakeBoard {
    fn set_expander_gpio(&mut self, gpio: u32, high: bool) -> bool {
        self.expander.push((gpio, high));
        self.answers
    }

    fn phys_addr(&self, addr: usize, len: usize) -> Option<usize> {
        (len <= self.piece_bytes).then_some(0x0100_0000 + addr % 0x1_0000)
    }

    fn base_clock_hz(&mut self) -> Option<u32> {
        self.base_hz
    }
}

type FakeSdhci<'a> = Sdhci<&'a FakeWords, &'a FakeWords, FakeBoard>;

fn board(base_hz: Option<u32>) -> FakeBoard {
    FakeBoard {
        cleaned: RefCell::default(),
        answers: true,
        base_hz,
        expander: Vec::new(),
        piece_bytes: usize::MAX,
    }
}

/// A controller after `reset`, at 25 MHz so that no delays are in the way.
fn ready(words: &FakeWords) -> FakeSdhci<'_> {
    let mut host = Sdhci::on(words, words, board(Some(100_000_000)), table());
    host.reset().unwrap();
    host.set_clock_hz(25_000_000).unwrap();
    words.log.borrow_mut().clear();
    host
}

fn log(words: &FakeWords) -> Vec<(Word, u32)> {
    words.log.take()
}

#[test]
fn reset_powers_the_bus_and_starts_the_identification_clock() {
    let words = FakeWords::new();
    let mut host = Sdhci::on(&words, &words, board(Some(100_000_000)), table());
    host.reset().unwrap();
    assert_eq!(host.board.expander, [(132, false), (134, true)]);
    assert_eq!(
        log(&words),
        [
            (Word::ClockReset, 0x0100_0000),
            (Word::HostPower, 0x0000_0F00),
            (Word::AutoHost2, 0),
            (Word::IntSignal, 0),
            (Word::IntEnable, 0x03FF_0023),
            (Word::IntStatus, 0xFFFF_FFFF),
            (Word::ClockReset, 0x0000_0000),
            (Word::ClockReset, 0x000E_7D01),
            (Word::ClockReset, 0x000E_7D05),
        ]
    );
    assert_eq!(host.card_hz, 400_000);
    let rails = Rails {
        io_3v3: true,
        card_power: true,
    };
    assert_eq!((host.rails(), host.base_clock_hz()), (rails, 100_000_000));
    // Rail 5 ms, bus power 2 ms, clock 1 ms, and 20 us after each of nine writes.
    assert!(words.time_us.get() >= 5_000 + 2_000 + 1_000 + 9 * 20);
}

#[test]
fn an_expander_that_does_not_answer_stops_nothing() {
    let words = FakeWords::new();
    let mut silent = board(None);
    silent.answers = false;
    let mut host = Sdhci::on(&words, &words, silent, table());
    host.reset().unwrap();
    assert_eq!(host.rails(), Rails::default());
    // Without the mailbox's answer the highest base clock is assumed: 250 MHz / 626.
    assert_eq!(host.base_clock_hz(), 250_000_000);
    assert_eq!(log(&words).last(), Some(&(Word::ClockReset, 0x000E_3945)));
}

#[test]
fn writes_at_the_identification_clock_are_four_clocks_apart() {
    let words = FakeWords::new();
    let mut host = Sdhci::on(&words, &words, board(Some(100_000_000)), table());
    host.reset().unwrap();
    let before = words.time_us.get();
    host.write(Word::Argument, 0);
    assert_eq!(words.time_us.get() - before, 10);
    host.set_clock_hz(25_000_000).unwrap();
    let before = words.time_us.get();
    host.write(Word::Argument, 0);
    assert_eq!(words.time_us.get(), before);
}

#[test]
fn clock_words() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    assert_eq!(host.set_clock_hz(50_000_000), Ok(50_000_000));
    assert_eq!(
        log(&words),
        [
            (Word::ClockReset, 0x000E_0203),
            (Word::ClockReset, 0x000E_0101),
            (Word::ClockReset, 0x000E_0105),
        ]
    );
    host.base_hz = 2_000_000_000;
    let error = HostError::BaseClock {
        base_hz: 2_000_000_000,
    };
    assert_eq!(host.set_clock_hz(400_000), Err(error));
}

#[test]
fn an_unstable_clock_and_a_stuck_reset_end_in_time() {
    let mut words = FakeWords::new();
    words.stable = false;
    let mut host = Sdhci::on(&words, &words, board(Some(100_000_000)), table());
    let control = 0x000E_7D01;
    assert_eq!(host.reset(), Err(HostError::ClockUnstable { control }));
    let mut words = FakeWords::new();
    words.resets = false;
    let mut host = Sdhci::on(&words, &words, board(Some(100_000_000)), table());
    let control = 0x0100_0000;
    assert_eq!(host.reset(), Err(HostError::ResetStuck { control }));
    assert!((100_000..120_000).contains(&words.time_us.get()));
}

#[test]
fn host_control_words_keep_the_power_on() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    host.set_four_lines();
    host.set_high_speed(true);
    host.set_high_speed(false);
    assert_eq!(
        log(&words),
        [
            (Word::HostPower, 0x0F02),
            (Word::HostPower, 0x0F06),
            (Word::HostPower, 0x0F02),
        ]
    );
}

#[test]
fn command_words() {
    let word = |command| command_word(command, 0);
    assert_eq!(word(Command::go_idle()), 0x0000_0000);
    assert_eq!(word(Command::all_send_cid()), 0x0209_0000);
    assert_eq!(word(Command::send_relative_addr()), 0x031A_0000);
    assert_eq!(word(Command::select(1)), 0x071B_0000);
    assert_eq!(word(Command::send_if_cond()), 0x081A_0000);
    assert_eq!(word(Command::send_op_cond(true)), 0x2902_0000);
    assert_eq!(word(Command::stop_transmission()), 0x0CDB_0000);
    let data = |command, n| command_word(command, read_mode(n));
    assert_eq!(data(Command::send_scr(), 1), 0x333A_0010);
    assert_eq!(data(Command::read_single(0), 1), 0x113A_0010);
    assert_eq!(data(Command::read_multiple(0), 2), 0x123A_0036);
}

#[test]
fn a_command_is_cleared_sent_and_awaited() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    let response = host.command(Command::send_if_cond()).unwrap();
    assert_eq!(response.short, 0x5678_0157);
    assert_eq!(
        log(&words),
        [
            (Word::IntStatus, 0xFFFF_FFFF),
            (Word::Argument, 0x1AA),
            (Word::ModeCommand, 0x081A_0000),
            (Word::IntStatus, 1),
        ]
    );
}

#[test]
fn long_answers_get_their_bit_numbers_back() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    let response = host.command(Command::all_send_cid()).unwrap();
    assert_eq!(response.long, 0x0353_4453_5533_3247_8012_3456_7801_5700);
}

#[test]
fn busy_is_awaited_and_ends_in_time() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    words.outcomes.replace([Outcome::Status(3)].into());
    host.command(Command::select(1)).unwrap();
    assert_eq!(
        log(&words)[3..],
        [(Word::IntStatus, 1), (Word::IntStatus, 2)]
    );
    words.outcomes.replace([Outcome::Status(1)].into());
    let start = words.time_us.get();
    let error = HostError::DataTimeout { index: 7 };
    assert_eq!(host.command(Command::select(1)), Err(error));
    assert!(words.time_us.get() - start > 1_000_000);
}

#[test]
fn blocks_come_out_of_the_port() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    words.outcomes.replace([Outcome::Blocks(2)].into());
    let mut buf = [0; 1024];
    host.read(Command::read_multiple(7), 512, &mut buf).unwrap();
    let expected = (0..1024).map(|i| (i % 8) as u8 ^ 4);
    assert!(buf.iter().copied().eq(expected));
    assert_eq!(
        log(&words),
        [
            (Word::BlockSizeCount, 0x0002_0200),
            (Word::IntStatus, 0xFFFF_FFFF),
            (Word::Argument, 7),
            (Word::ModeCommand, 0x123A_0036),
            (Word::IntStatus, 1),
            (Word::IntStatus, 0x20),
            (Word::IntStatus, 0x20),
            (Word::IntStatus, 2),
        ]
    );
    words.outcomes.replace([Outcome::Blocks(1)].into());
    let mut scr = [0; 8];
    host.read(Command::send_scr(), 8, &mut scr).unwrap();
    assert_eq!(scr, [4, 5, 6, 7, 0, 1, 2, 3]);
    let log = log(&words);
    assert!(log.contains(&(Word::BlockSizeCount, 0x0001_0008)));
    assert!(log.contains(&(Word::ModeCommand, 0x333A_0010)));
}

#[test]
fn error_bits_come_first() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    let cases = [
        // As QEMU shows it: complete and timed out at once.
        (0x0001_8001, HostError::CommandTimeout { index: 8 }),
        // As a board shows it.
        (0x0001_8000, HostError::CommandTimeout { index: 8 }),
        (
            0x0002_8000,
            HostError::CommandCorrupt {
                index: 8,
                status: 0x0002_8000,
            },
        ),
        // A conflict on the line sets both bits.
        (
            0x0003_8000,
            HostError::CommandCorrupt {
                index: 8,
                status: 0x0003_8000,
            },
        ),
        (0x0010_8001, HostError::DataTimeout { index: 8 }),
        (
            0x0020_8001,
            HostError::DataCorrupt {
                index: 8,
                status: 0x0020_8001,
            },
        ),
        (0x0100_8001, HostError::AutoStop { status: 2 }),
        (0x0200_8001, HostError::Dma { status: 3 }),
        (
            0x0080_8001,
            HostError::Controller {
                status: 0x0080_8001,
            },
        ),
    ];
    for (status, error) in cases {
        words.outcomes.replace([Outcome::Status(status)].into());
        assert_eq!(
            host.command(Command::send_if_cond()),
            Err(error),
            "{status:#x}"
        );
    }
}

#[test]
fn silence_and_busy_lines_end_in_time() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    words.outcomes.replace([Outcome::Status(0)].into());
    let start = words.time_us.get();
    let error = HostError::CommandTimeout { index: 8 };
    assert_eq!(host.command(Command::send_if_cond()), Err(error));
    assert!((100_000..110_000).contains(&(words.time_us.get() - start)));

    words.present.set(0x01FF_0002);
    let busy = HostError::LinesBusy {
        present: 0x01FF_0002,
    };
    assert_eq!(host.command(Command::select(1)), Err(busy));
    assert_eq!(
        host.read(Command::read_single(0), 512, &mut [0; 512]),
        Err(busy)
    );
    // Commands without data, and CMD12, do not wait for the data lines.
    host.command(Command::send_status(1)).unwrap();
    words.outcomes.replace([Outcome::Status(3)].into());
    host.command(Command::stop_transmission()).unwrap();
}

#[test]
fn data_that_stop_end_in_time() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    words.outcomes.replace([Outcome::Status(1)].into());
    let error = HostError::DataTimeout { index: 17 };
    let result = host.read(Command::read_single(0), 512, &mut [0; 512]);
    assert_eq!(result, Err(error));
}

#[test]
fn lines_are_reset_one_after_the_other() {
    let words = FakeWords::new();
    let mut host = ready(&words);
    host.reset_lines().unwrap();
    assert_eq!(
        log(&words),
        [
            (Word::IntStatus, 0xFFFF_FFFF),
            (Word::ClockReset, 0x020E_0207),
            (Word::ClockReset, 0x040E_0207),
            (Word::IntStatus, 0xFFFF_FFFF),
        ]
    );
}

#[test]
fn only_an_empty_slot_in_qemu_hands_over_to_the_legacy_controller() {
    let mut words = FakeWords::new();
    words.capabilities = capabilities::QEMU;
    words.present.set(0x01FA_0000);
    let host = Sdhci::on(&words, &words, board(None), table());
    assert!(host.is_empty_in_qemu());
    words.present.set(0x01FF_0000);
    assert!(!Sdhci::on(&words, &words, board(None), table()).is_empty_in_qemu());
    let words = FakeWords::new();
    let host = Sdhci::on(&words, &words, board(None), table());
    assert!(!host.is_empty_in_qemu());
    assert_eq!((host.version(), host.capabilities()), (0x1002, CAPS_BOARD));
}

#[repr(align(64))]
struct Lines([u8; 2048]);

fn table() -> &'static mut Table {
    Box::leak(Box::new(Table::new()))
}

/// A controller that uses DMA.
fn with_dma(words: &FakeWords, map: DmaMap) -> FakeSdhci<'_> {
    let mut host = ready(words);
    assert!(host.can_dma() && host.use_dma(map));
    assert_eq!(host.transfer(), Transfer::Adma2);
    assert_eq!(log(words), [(Word::HostPower, 0x0F10)]);
    host
}

#[test]
fn dma_needs_the_engine() {
    let mut words = FakeWords::new();
    words.capabilities = capabilities::QEMU;
    let mut host = ready(&words);
    assert!(!host.can_dma() && !host.use_dma(DmaMap::Identity));
    assert_eq!(
        (host.transfer(), host.max_blocks()),
        (Transfer::Pio, 65_535)
    );
    assert_eq!(log(&words), []);
}

#[test]
fn dma_changes_the_host_control_word_and_the_longest_command() {
    let words = FakeWords::new();
    let mut host = with_dma(&words, DmaMap::Identity);
    assert_eq!(host.max_blocks(), 16_384);
    host.set_four_lines();
    host.use_pio();
    assert_eq!(
        (host.transfer(), host.max_blocks()),
        (Transfer::Pio, 65_535)
    );
    assert_eq!(
        log(&words),
        [(Word::HostPower, 0x0F12), (Word::HostPower, 0x0F02)]
    );
}

#[test]
fn a_transfer_by_dma() {
    for (map, alias) in [(DmaMap::Identity, 0), (DmaMap::Alias, 0xC000_0000)] {
        let words = FakeWords::new();
        let mut host = with_dma(&words, map);
        let mut buf = Box::new(Lines([0; 2048]));
        let addr = buf.0.as_ptr().addr();
        let table_addr = core::ptr::from_ref::<Table>(host.table).addr();
        let bus = |addr| host.board.phys_addr(addr, 64).unwrap() as u32 + alias;
        let (bus_buf, bus_table) = (bus(addr), bus(table_addr));
        words.outcomes.replace([Outcome::Status(3)].into());
        host.read(Command::read_multiple(7), 512, &mut buf.0)
            .unwrap();
        assert_eq!(
            log(&words),
            [
                (Word::BlockSizeCount, 0x0004_0200),
                (Word::AdmaAddr, bus_table),
                (Word::IntStatus, 0xFFFF_FFFF),
                (Word::Argument, 7),
                (Word::ModeCommand, 0x123A_0037),
                (Word::IntStatus, 1),
                (Word::IntStatus, 2),
            ]
        );
        let descriptor = host.table.descriptor(0);
        assert_eq!(descriptor, [0x0800_0023, bus_buf]);
        // The buffer before and after, the table before.
        let table = (table_addr, size_of::<Table>());
        assert_eq!(
            host.board.cleaned.take(),
            [(addr, 2048), table, (addr, 2048)]
        );

        words.outcomes.replace([Outcome::Status(3)].into());
        host.read(Command::read_single(7), 512, &mut buf.0[..512])
            .unwrap();
        assert!(log(&words).contains(&(Word::ModeCommand, 0x113A_0013)));
    }
}

#[test]
fn a_transfer_that_fails_is_stopped_before_its_buffer_is_used_again() {
    let stopped = [
        (Word::ClockReset, 0x020E_0207),
        (Word::ClockReset, 0x040E_0207),
    ];
    let cases = [
        (0x0200_8001, HostError::Dma { status: 3 }),
        (0x0001_8000, HostError::CommandTimeout { index: 18 }),
        (0x0000_0001, HostError::DataTimeout { index: 18 }),
    ];
    for (status, error) in cases {
        let words = FakeWords::new();
        let mut host = with_dma(&words, DmaMap::Identity);
        let mut buf = Lines([0; 2048]);
        words.outcomes.replace([Outcome::Status(status)].into());
        let result = host.read(Command::read_multiple(7), 512, &mut buf.0);
        assert_eq!(result, Err(error));
        let log = log(&words);
        assert_eq!(log[log.len() - 2..], stopped);
    }
}

#[test]
fn buffers_that_the_engine_cannot_fill_take_the_data_port() {
    let words = FakeWords::new();
    let mut host = with_dma(&words, DmaMap::Identity);
    let mut buf = Lines([0; 2048]);
    let odd = &mut buf.0[32..544];
    assert!(!host.is_direct(odd));
    words.outcomes.replace([Outcome::Blocks(1)].into());
    host.read(Command::read_single(7), 512, odd).unwrap();
    assert_eq!(odd[..4], [4, 5, 6, 7]);
    assert!(log(&words).contains(&(Word::ModeCommand, 0x113A_0010)));
    assert!(host.is_direct(&buf.0));
    host.board.piece_bytes = 1024;
    assert!(!host.is_direct(&buf.0), "two pieces of physical memory");
    words.log.borrow_mut().clear();
    words.outcomes.replace([Outcome::Blocks(4)].into());
    host.read(Command::read_multiple(7), 512, &mut buf.0)
        .unwrap();
    assert!(log(&words).contains(&(Word::ModeCommand, 0x123A_0036)));
    host.use_pio();
    assert!(host.is_direct(&buf.0[32..544]));

    let identity = DmaMap::Identity;
    assert_eq!(dma_addr(identity, 0x1000, 100), None);
    assert_eq!(dma_addr(identity, 0x1000, 0), None);
    assert_eq!(dma_addr(identity, 0x1000, adma::MAX_BYTES + 64), None);
    assert_eq!(dma_addr(DmaMap::Alias, 0x4000_0000, 512), None);
    assert_eq!(dma_addr(identity, 0x4000_0000, 512), Some(0x4000_0000));
}
