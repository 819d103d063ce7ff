//! The UART, polled.

use boot::report::Report;
use boot::wait;
use core::fmt;
use core::panic::PanicInfo;
use drivers::clock::Clock;
use drivers::mmio::Mmio;
use drivers::pl011::{DEFAULT_CLOCK_HZ, Divisors, Pl011};
use drivers::rx_ring::RxRing;
use drivers::watchdog::Watchdog;

const PL011_ADDR: usize = 0xFE20_1000;
const PM_ADDR: usize = 0xFE10_0000;
const BAUD: u32 = 115_200;

/// Longest line from the host.
pub const LINE_BYTES: usize = 64;

/// The generic timer.
struct Timer;

impl Clock for Timer {
    fn now_us(&self) -> u64 {
        let (ticks, hz) = (wait::ticks(), wait::ticks_per_second());
        ticks / hz * 1_000_000 + ticks % hz * 1_000_000 / hz
    }

    fn relax(&self) {
        wait::relax();
    }
}

/// A console of its own for whoever makes one: an image is one test at a time.
pub struct Console {
    uart: Pl011,
    keys: RxRing<256>,
}

impl Console {
    /// Sets up the UART.
    ///
    /// # Panics
    /// The baud rate is impossible, which it is not.
    pub fn init() -> Console {
        let mut console = Console::resume();
        let divisors = Divisors::new(DEFAULT_CLOCK_HZ, BAUD).expect("48 MHz gives 115200 baud");
        console.uart.init(divisors, &Timer);
        console
    }

    /// The UART as it was set up before.
    pub fn resume() -> Console {
        // SAFETY: the PL011's block, mapped as Device memory; one console is used at a time.
        let uart = Pl011::new(unsafe { Mmio::new(PL011_ADDR) });
        Console {
            uart,
            keys: RxRing::new(),
        }
    }

    /// Says `ready` and waits for a line; without its line end.
    pub fn ask<'l>(&mut self, line: &'l mut [u8; LINE_BYTES]) -> &'l str {
        self.print(format_args!("ready\n"));
        let mut len = 0;
        loop {
            self.uart.receive(&self.keys);
            match self.keys.pop() {
                Some(b'\r' | b'\n') => break,
                Some(byte) if len < LINE_BYTES => {
                    line[len] = byte;
                    len += 1;
                }
                Some(_) => {}
                None => wait::relax(),
            }
        }
        core::str::from_utf8(&line[..len]).unwrap_or_default()
    }

    /// Prints.
    pub fn print(&mut self, text: fmt::Arguments<'_>) {
        // this writer takes everything
        let _ = fmt::write(self, text);
    }
}

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            while !self.uart.try_write(byte) {
                wait::relax();
            }
        }
        Ok(())
    }
}

/// Resets the board, which ends QEMU.
pub fn end() -> ! {
    Console::resume().uart.flush(&Timer);
    // SAFETY: the power management block, mapped as Device memory; nothing else uses it.
    let mut watchdog = Watchdog::new(unsafe { Mmio::new(PM_ADDR) });
    loop {
        watchdog.reset();
        Timer.wait_us(100_000);
    }
}

/// What a core does that has nothing to do.
pub fn park(_core: usize) -> ! {
    loop {
        wait::for_event();
    }
}

/// Nothing, for an interrupt.
pub fn ignore_irq() {}

/// The end of an image by an exception.
pub fn end_by_exception(report: &Report<'_>) -> ! {
    Console::resume().print(format_args!("{report}"));
    end()
}

/// The end of an image by a panic.
#[panic_handler]
fn end_by_panic(info: &PanicInfo<'_>) -> ! {
    Console::resume().print(format_args!("panic: {info}\n"));
    end()
}
