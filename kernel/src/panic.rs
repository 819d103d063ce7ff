//! The end: a report on the console, and a way back.
//!
//! A panic or an exception may find anything broken, so that this builds a UART of its own, takes no
//! lock, allocates nothing, and ends in a reset: by itself, or where it hangs, by the watchdog.

use core::fmt::{self, Write};
use core::panic::PanicInfo;

use boot::report::Report;
use boot::{backtrace, cpu, layout, symbols, wait};
use drivers::clock::Clock as _;
use drivers::pl011::{self, Pl011};
use drivers::rx_ring::RxRing;

use crate::board;
use crate::clock::Clock;
use crate::ending::{self, Turn};
use crate::serial;

/// How long the report stays before the board restarts by itself.
const STAY_US: u64 = 10_000_000;

/// What the report, from one byte to the next, and the stay behind it may take before the watchdog resets the board.
const LIMIT_MS: u32 = 15_000;

static KEYS: RxRing<64> = RxRing::new();

/// A UART that nobody else knows of.
struct EndConsole {
    uart: Pl011,
    is_stuck: bool,
}

impl Write for EndConsole {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if byte == b'\n' {
                self.send(b'\r');
            }
            self.send(byte);
        }
        Ok(())
    }
}

impl EndConsole {
    fn new() -> Self {
        Self {
            uart: board::uart_of_the_end(),
            is_stuck: false,
        }
    }

    /// Sends what was printed before: some of it may still be in the ring, and in the FIFO.
    #[inline(never)]
    fn finish(&mut self) {
        while let Some(byte) = serial::take_unsent() {
            self.send(byte);
        }
        self.uart.flush(&Clock);
    }

    fn send(&mut self, byte: u8) {
        // Each byte anew: what the ring holds takes longer than the limit at the slowest rates.
        board::arm_watchdog(LIMIT_MS);
        let uart = &mut self.uart;
        let mut try_write = || uart.try_write(byte);
        self.is_stuck = !pl011::send(self.is_stuck, &Clock, &mut try_write);
    }

    /// Forgets what has been received so far.
    fn forget_keys(&mut self) {
        self.uart.receive(&KEYS);
        while KEYS.pop().is_some() {}
    }

    /// Whether anything has been received.
    fn has_key(&mut self) -> bool {
        self.uart.receive(&KEYS);
        !KEYS.is_empty()
    }
}

/// An address, and the place of another one if it is in the code.
struct Named(u64, u64);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Named(addr, within) = *self;
        write!(f, "{addr:#x}")?;
        match symbols::place_of(within) {
            Some(place) => write!(f, " {place}"),
            None => Ok(()),
        }
    }
}

/// Prints `what` and who called, waits for a key or some seconds, and restarts the board.
///
/// The first core that gets here does it, and any other one stops: core 0 by an interrupt, or where none arrive when it
/// next looks at the console; the rest where they wait for each other or for work. A report that fails itself ends in a
/// reset at once, one that hangs in a reset by the watchdog. What was typed before the report has been sent is no answer
/// to it.
pub fn end(what: fmt::Arguments<'_>, callers: impl Iterator<Item = u64>) -> ! {
    cpu::mask_all();
    let core = layout::core_id();
    match ending::begin(core) {
        Turn::First => {}
        // Nothing of what may have failed in the report is touched again.
        Turn::Again => reset(),
        Turn::Other => ending::stop(),
    }
    board::arm_watchdog(LIMIT_MS);
    board::interrupt_others(core);
    wait::wake();
    let mut console = EndConsole::new();
    console.finish();
    // A UART that cannot be written to leaves nobody to tell.
    let _ = writeln!(console, "\n{what}");
    for addr in callers {
        // The call is the instruction before, which may be its function's last.
        let _ = writeln!(
            console,
            "  called from {}",
            Named(addr, addr.wrapping_sub(4))
        );
    }
    let _ = writeln!(
        console,
        "A key restarts the board now, else it restarts in 10 s."
    );
    console.uart.flush(&Clock);
    console.forget_keys();
    Clock.wait_until(STAY_US, &mut || console.has_key());
    restart()
}

/// Resets the board. What the UART still holds goes out first.
pub fn restart() -> ! {
    cpu::mask_all();
    board::arm_watchdog(LIMIT_MS);
    EndConsole::new().finish();
    reset()
}

/// Resets the board at once.
fn reset() -> ! {
    let mut watchdog = board::watchdog();
    loop {
        watchdog.reset();
        Clock.wait_us(100_000);
    }
}

/// The end by an exception, on any core.
pub fn exception(report: &Report<'_>) -> ! {
    let elr = report.frame.elr;
    end(
        format_args!("{report}  at {}", Named(elr, elr)),
        backtrace::of_frame(report.frame.x[29]),
    )
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let core = layout::core_id();
    end(format_args!("core {core} {info}"), backtrace::of_caller())
}
