//! The console as bytes: two rings between the program and the interrupt, one of received bytes and one of bytes to
//! send. The decoder waits for the line only when more than [`TX_RING_BYTES`] are on their way.
//!
//! Before the interrupts are on, a write waits until all of it is sent: a start that stops shows how far it came.
//! Where no interrupt arrives, whoever reads or writes moves bytes both ways first.

use core::fmt::{self, Write as _};
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use boot::{cpu, wait};
use drivers::byte_ring::ByteRing;
use drivers::clock::Clock as _;
use drivers::line_start::LineStart;
use drivers::pl011::{self, Pl011};
use drivers::rx_ring::{LineErrors, RxRing};
use spin::Mutex;

use crate::clock::Clock;
use crate::ending;

/// Bytes to send that a write does not wait for: 1.4 s at 115200 baud.
const TX_RING_BYTES: usize = 16 << 10;

static UART: Mutex<Option<Pl011>> = Mutex::new(None);
static RECEIVED: RxRing = RxRing::new();
static TO_SEND: ByteRing<TX_RING_BYTES> = ByteRing::new();
/// Whether the transmitter has taken nothing for too long: bytes are dropped until it does.
static IS_STUCK: AtomicBool = AtomicBool::new(false);

static LINE_START: LineStart = LineStart::new();

/// Who moves bytes between the rings and the UART: one of the three below.
static MOVER: AtomicU8 = AtomicU8::new(WRITER);
/// A write moves its own.
const WRITER: u8 = 0;
/// The interrupt handler.
const INTERRUPT: u8 = 1;
/// Whoever reads or writes, because no interrupt arrives.
const CALLER: u8 = 2;

/// Whether a measurement runs, in which nothing is sent.
static IS_HELD: AtomicBool = AtomicBool::new(false);

fn moved_by(mover: u8) -> bool {
    MOVER.load(Ordering::Relaxed) == mover
}

/// From here on the interrupt handler moves bytes, or if none `arrive`, whoever looks at the console.
pub fn use_interrupts(arrive: bool) {
    let mover = if arrive { INTERRUPT } else { CALLER };
    MOVER.store(mover, Ordering::Relaxed);
}

/// Does the interrupt handler's part where it never runs; whether it did. Once another core reports the end, the UART
/// is that one's, and the core stops, as it does in the handler.
fn move_if_polled() -> bool {
    let is_polled = moved_by(CALLER);
    if is_polled {
        ending::stop_if_begun();
        handle_interrupt();
    }
    is_polled
}

/// Moves bytes both ways: the interrupt handler's part.
pub fn handle_interrupt() {
    with_uart(|uart| uart.receive(&RECEIVED));
    if !IS_HELD.load(Ordering::Relaxed) {
        transmit();
    }
}

/// Moves bytes into the FIFO.
fn transmit() {
    let by_interrupt = moved_by(INTERRUPT) && !IS_HELD.load(Ordering::Relaxed);
    with_uart(|uart| uart.transmit(&TO_SEND, by_interrupt));
}

/// Holds back what is to be sent, so that no interrupt falls into a measurement, or lets it go again. What is in the
/// FIFO still goes out, and what exceeds the ring.
pub fn hold(hold: bool) {
    IS_HELD.store(hold, Ordering::Relaxed);
    if hold {
        with_uart(|uart| uart.let_transmit_interrupt(false));
    } else {
        transmit();
    }
}

/// The oldest byte that was not sent: for the report of the end, when nobody else sends.
pub fn take_unsent() -> Option<u8> {
    TO_SEND.pop()
}

/// Gives the UART to the console.
pub fn install(uart: Pl011) {
    *UART.lock() = Some(uart);
}

/// Runs `change` on the UART, with this core's interrupts masked: the handler takes the same lock.
pub fn with_uart<R>(change: impl FnOnce(&mut Pl011) -> R) -> Option<R> {
    cpu::without_irqs(|| UART.lock().as_mut().map(change))
}

/// The console's two directions. A handle: there is one UART however many of these exist.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Serial {
    /// Sends `bytes` and returns when they are on their way; drops what a stuck UART does not take. Nothing is sent,
    /// and the core stops, once another one reports the end.
    pub fn write(self, bytes: &[u8]) {
        LINE_START.sent(bytes);
        ending::stop_if_begun();
        for &byte in bytes {
            self.send(&mut || TO_SEND.push(byte));
        }
        if moved_by(WRITER) {
            self.drain();
        } else if !IS_HELD.load(Ordering::Relaxed) {
            transmit();
        }
    }

    /// Waits until `is_done`, moving bytes into the FIFO meanwhile, but not for ever; whether it is.
    fn send(self, is_done: &mut dyn FnMut() -> bool) -> bool {
        let mut try_once = || {
            is_done() || {
                move_if_polled();
                transmit();
                is_done()
            }
        };
        let was_stuck = IS_STUCK.load(Ordering::Relaxed);
        let is_sent = pl011::send(was_stuck, &Clock, &mut try_once);
        IS_STUCK.store(!is_sent, Ordering::Relaxed);
        is_sent
    }

    /// Waits until the ring is empty; what a stuck UART does not take is dropped.
    fn drain(self) {
        while !TO_SEND.is_empty() {
            let before = TO_SEND.len();
            if !self.send(&mut || TO_SEND.len() < before) {
                cpu::without_irqs(|| while TO_SEND.pop().is_some() {});
            }
        }
    }

    /// Says `text` on a line of its own, whatever stands on the last one: for what comes from beside the
    /// console.
    pub fn say(mut self, text: fmt::Arguments<'_>) {
        self.write(LINE_START.break_before());
        let _ = writeln!(self, "{text}");
    }

    /// The oldest received byte, if there is one.
    pub fn read(self) -> Option<u8> {
        move_if_polled();
        RECEIVED.pop()
    }

    /// Sleeps until something has been received.
    pub fn wait(self) {
        while move_if_polled() {
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

    /// Whether bytes wait for their turn in the FIFO.
    pub fn is_behind(self) -> bool {
        !TO_SEND.is_empty()
    }

    /// Waits until the last byte has left the wire, but not for ever. Interrupts are masked for a look at a time: bytes
    /// go on being received.
    pub fn flush(self) {
        self.drain();
        Clock.wait_until(pl011::DRAIN_LIMIT_US, &mut || {
            with_uart(|uart| uart.is_idle()).unwrap_or(true)
        });
    }

    /// Whether Ctrl-C has been received since the flag was last cleared.
    pub fn is_interrupted(self) -> bool {
        move_if_polled();
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
