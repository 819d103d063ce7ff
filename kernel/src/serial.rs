//! The console as bytes: written by polling, read from the ring that the interrupt fills.
//!
//! Where no interrupt arrives, whoever reads the ring fills it first.

use core::fmt::{self, Write as _};
use core::sync::atomic::{AtomicBool, Ordering};

use boot::{cpu, wait};
use drivers::line_start::LineStart;
use drivers::pl011::{self, Pl011};
use drivers::rx_ring::{LineErrors, RxRing};
use spin::Mutex;

use crate::clock::Clock;
use crate::ending;

static UART: Mutex<Option<Pl011>> = Mutex::new(None);
static RECEIVED: RxRing = RxRing::new();
/// Whether the transmitter has taken nothing for too long: bytes are dropped until it does.
static IS_STUCK: AtomicBool = AtomicBool::new(false);

static LINE_START: LineStart = LineStart::new();

/// Whether no interrupt fills the ring.
static IS_POLLED: AtomicBool = AtomicBool::new(false);

/// From here on the UART is looked at whenever the console is.
pub fn poll() {
    IS_POLLED.store(true, Ordering::Relaxed);
}

/// Does the interrupt handler's part where it never runs; whether it did.
fn receive_if_polled() -> bool {
    let is_polled = IS_POLLED.load(Ordering::Relaxed);
    if is_polled {
        receive();
    }
    is_polled
}

/// Gives the UART to the console.
pub fn install(uart: Pl011) {
    *UART.lock() = Some(uart);
}

/// Runs `change` on the UART, with this core's interrupts masked: the handler takes the same lock.
pub fn with_uart<R>(change: impl FnOnce(&mut Pl011) -> R) -> Option<R> {
    cpu::without_irqs(|| UART.lock().as_mut().map(change))
}

/// Moves received bytes into the ring: the interrupt handler's part.
pub fn receive() {
    with_uart(|uart| uart.receive(&RECEIVED));
}

/// The console's two directions. A handle: there is one UART however many of these exist.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Serial {
    /// Sends `bytes` and returns when the last is in the FIFO; drops what a stuck UART does not take. Nothing is sent, and
    /// the core stops, once another one reports the end.
    pub fn write(self, bytes: &[u8]) {
        LINE_START.sent(bytes);
        ending::stop_if_begun();
        for &byte in bytes {
            // Masked for one byte at a time only: received bytes must not wait for sent ones.
            let mut try_write = |byte| with_uart(|uart| uart.try_write(byte)) != Some(false);
            let was_stuck = IS_STUCK.load(Ordering::Relaxed);
            let is_sent = pl011::send(byte, was_stuck, &Clock, &mut try_write);
            IS_STUCK.store(!is_sent, Ordering::Relaxed);
        }
    }

    /// Says `text` on a line of its own, whatever stands on the last one: for what comes from beside the
    /// console.
    pub fn say(mut self, text: fmt::Arguments<'_>) {
        self.write(LINE_START.break_before());
        let _ = writeln!(self, "{text}");
    }

    /// The oldest received byte, if there is one.
    pub fn try_read(self) -> Option<u8> {
        receive_if_polled();
        RECEIVED.pop()
    }

    /// Sleeps until something has been received.
    pub fn wait(self) {
        while receive_if_polled() {
            if !RECEIVED.is_empty() {
                return;
            }
            wait::relax();
        }
        loop {
            // Masked between look and sleep: `wfi` wakes for a masked interrupt too, so that none
            // can slip in between and be slept over.
            let empty = cpu::without_irqs(|| {
                let empty = RECEIVED.is_empty();
                if empty {
                    wait::for_interrupt();
                }
                empty
            });
            if !empty {
                return;
            }
        }
    }

    /// Waits until the last byte has left the wire.
    pub fn flush(self) {
        with_uart(|uart| uart.flush(&Clock));
    }

    /// Whether Ctrl-C has been received since the flag was last cleared.
    pub fn is_interrupted(self) -> bool {
        receive_if_polled();
        RECEIVED.is_interrupted()
    }

    /// Forgets a Ctrl-C that has been acted upon.
    pub fn clear_interrupted(self) {
        RECEIVED.clear_interrupted();
    }

    /// What has been lost on the line.
    pub fn errors(self) -> LineErrors {
        RECEIVED.errors()
    }
}

impl fmt::Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for piece in text.split_inclusive('\n') {
            match piece.strip_suffix('\n') {
                Some(line) => {
                    self.write(line.as_bytes());
                    self.write(b"\r\n");
                }
                None => self.write(piece.as_bytes()),
            }
        }
        Ok(())
    }
}
