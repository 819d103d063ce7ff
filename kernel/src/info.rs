//! Which board this is, and how it is doing.

use core::fmt;

use boot::ram::Ranges;
use boot::start::BootInfo;
use boot::{cpu, pmu, wait};
use drivers::machine;
use drivers::property::{ClockId, Throttled};
use drivers::sd::registers::Word;

use crate::board;
use crate::clock::Clock;
use crate::memory::{self, TreeReading};
use drivers::clock::Clock as _;

/// The time over which the core clock is measured.
const CLOCK_WINDOW_US: u64 = 10_000;

/// What does not change while the firmware runs.
#[derive(Clone, Debug)]
pub struct BoardInfo {
    /// Revision code, if the mailbox answers.
    pub revision: Option<u32>,
    /// When the VideoCore's firmware was built, as a Unix time.
    pub firmware_revision: Option<u32>,
    /// Whether this is QEMU: its times are no speeds.
    pub emulated: bool,
    /// RAM that exists and is the cores'.
    pub ram: Ranges,
    /// The core's identification register.
    pub midr: u64,
    /// Ticks per second of the generic timer.
    pub counter_hz: u64,
    /// Exception level that the firmware handed over in.
    pub entry_level: u8,
    /// Whether an interrupt that core 0 sent to itself has arrived.
    pub interrupts: bool,
    /// What the device tree says about memory, or why it says nothing.
    pub tree: TreeReading,
}

impl BoardInfo {
    /// Asks the board. Before the RAM is known, so that `ram` is empty at first.
    pub fn ask(boot: &BootInfo, tree: TreeReading) -> Self {
        let mut mailbox = board::mailbox().lock();
        let firmware_revision = mailbox.firmware_revision().ok();
        let counter_hz = wait::ticks_per_second();
        let emmc2 = || {
            let _ = mailbox.set_clock_state(ClockId::Emmc2, true);
            board::emmc2_capabilities()
        };
        let emulated = machine::is_emulated(counter_hz, firmware_revision, emmc2);
        Self {
            revision: mailbox.board_revision().ok(),
            firmware_revision,
            emulated,
            ram: Ranges::EMPTY,
            midr: cpu::midr(),
            counter_hz,
            entry_level: boot.entry_level,
            interrupts: false,
            tree,
        }
    }

    /// Everything that a report about a board should contain, a line each.
    pub fn details(&self) -> Details<'_> {
        Details(self)
    }

    /// Name of the board, for people.
    pub fn model(&self) -> Model {
        Model(self.revision)
    }
}

/// See [`BoardInfo::details`].
pub struct Details<'a>(&'a BoardInfo);

impl fmt::Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.0;
        writeln!(f, "board      {} ({})", info.model(), Hex(info.revision))?;
        writeln!(f, "firmware   {}", Hex(info.firmware_revision))?;
        writeln!(
            f,
            "core       MIDR {:#x}, AES {}",
            info.midr,
            cpu::has_aes()
        )?;
        let (hz, level) = (info.counter_hz, info.entry_level);
        writeln!(f, "entry      EL{level}, counter {hz} Hz")?;
        writeln!(f, "emulated   {}", info.emulated)?;
        writeln!(f, "interrupts {}", info.interrupts)?;
        writeln!(f, "RAM        {}", info.ram)?;
        writeln!(f, "arena      {}", memory::Arena)?;
        let TreeReading {
            addr,
            len_bytes,
            nodes,
        } = &info.tree;
        write!(f, "tree       at {addr:#x}")?;
        if let Some(len) = len_bytes {
            write!(f, ", {len} bytes")?;
        }
        match nodes {
            Ok(tree) => {
                writeln!(f)?;
                writeln!(f, "tree RAM   {}", tree.ram)?;
                writeln!(f, "reserved   {}", tree.reserved)?;
                writeln!(f, "EMMC2 DMA  {:x?}", tree.emmc2_dma_base)?;
            }
            Err(error) => writeln!(f, ": {error}")?,
        }
        writeln!(f, "chip       {}", Hex(board::chip_revision()))?;
        writeln!(f, "EMMC2 caps {}", Hex(board::emmc2_capabilities()))?;
        // As the VideoCore's firmware has left them: nothing has reset the controller yet.
        for word in [
            Word::Present,
            Word::HostPower,
            Word::ClockReset,
            Word::AutoHost2,
            Word::CapabilitiesHigh,
            Word::SlotVersion,
        ] {
            writeln!(
                f,
                "EMMC2 {:#04x} {}",
                word as usize,
                Hex(board::emmc2_word(word))
            )?;
        }
        let mut mailbox = board::mailbox().lock();
        writeln!(f, "VPU's RAM  {:x?}", mailbox.arm_memory().ok())?;
        for clock in [
            ClockId::Uart,
            ClockId::Arm,
            ClockId::Core,
            ClockId::Sdram,
            ClockId::Emmc2,
        ] {
            let (rate, max, measured) = (
                mailbox.clock_rate_hz(clock).ok(),
                mailbox.max_clock_rate_hz(clock).ok(),
                mailbox.measured_clock_rate_hz(clock).ok(),
            );
            writeln!(
                f,
                "clock      {clock:?} {rate:?} Hz, at most {max:?}, measured {measured:?}"
            )?;
        }
        let throttled = mailbox.throttled().ok().map(|throttled| throttled.0);
        let temperature = mailbox.temperature_milli_c().ok();
        writeln!(f, "throttled  {}, {temperature:?} m°C", Hex(throttled))?;
        writeln!(f, "core clock {} Hz measured", measure_core_hz())
    }
}

/// A word, or a dash.
struct Hex(Option<u32>);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(word) => write!(f, "{word:#010x}"),
            None => f.write_str("-"),
        }
    }
}

/// A board by its revision code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model(pub Option<u32>);

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(code) = self.0 else {
            return f.write_str("unknown board");
        };
        match code >> 4 & 0xFF {
            0x11 => f.write_str("Raspberry Pi 4B")?,
            0x13 => f.write_str("Raspberry Pi 400")?,
            0x14 => f.write_str("Compute Module 4")?,
            other => write!(f, "board type {other:#x}")?,
        }
        write!(f, " rev 1.{}", code & 0xF)
    }
}

/// What changes while the firmware runs; each is nothing where the firmware does not answer.
#[derive(Clone, Copy, Debug)]
pub struct Health {
    /// Temperature of the chip in thousandths of a degree Celsius.
    pub temperature_milli_c: Option<u32>,
    /// What limits the clocks.
    pub throttled: Option<Throttled>,
}

impl Health {
    /// Asks the firmware. Takes milliseconds on a board: never inside a measured window.
    pub fn ask() -> Self {
        let mut mailbox = board::mailbox().lock();
        Self {
            temperature_milli_c: mailbox.temperature_milli_c().ok(),
            throttled: mailbox.throttled().ok(),
        }
    }
}

/// Raises the core clock to what the firmware allows: it hands over at 600 MHz (docs/hardware.md CLK-1).
pub fn raise_core_clock() {
    let mut mailbox = board::mailbox().lock();
    if let Ok(hz) = mailbox.max_clock_rate_hz(ClockId::Arm) {
        // Not answered means not raised: what counts is what `measure_core_hz` finds.
        let _ = mailbox.set_clock_rate_hz(ClockId::Arm, hz);
    }
}

/// The core clock, measured: cycles against the counter whose frequency is fixed. In QEMU this is 1 GHz
/// of virtual time and means nothing.
pub fn measure_core_hz() -> u64 {
    // Masked for a pair of reads only: both counters go on in an interrupt handler, and the UART's FIFO holds no more
    // than 0.35 ms of bytes at 921600 baud.
    let sample = || cpu::without_irqs(|| (wait::ticks(), pmu::read()));
    let (start, before) = sample();
    Clock.wait_us(CLOCK_WINDOW_US);
    let (end, after) = sample();
    after.since(before).cycles * wait::ticks_per_second() / (end - start).max(1)
}
