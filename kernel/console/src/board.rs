//! What the console needs of the machine that it runs on.
//!
//! The firmware implements [`Board`] over the hardware, tests and the host tool over files and pipes.

use alloc::string::String;
use session::Machine;

/// The serial line. All methods take `&self`: it is read and written from many places.
pub trait Serial {
    /// A byte that has arrived.
    fn read(&self) -> Option<u8>;
    /// Sends bytes; returns when they are on their way.
    fn write(&self, bytes: &[u8]);
    /// Whether bytes that were sent still wait for their turn on the wire.
    fn is_behind(&self) -> bool {
        false
    }
    /// Sleeps until a byte may have arrived; may return early.
    fn wait(&self);
    /// Whether a Ctrl-C arrived since the last call, even if there was no room for the byte.
    fn take_interrupt(&self) -> bool {
        false
    }
    /// Whether no byte will ever arrive again; a UART never ends.
    fn is_closed(&self) -> bool {
        false
    }
}

/// A machine with a serial line.
pub trait Board: Machine {
    /// The serial line.
    fn serial(&self) -> &dyn Serial;
    /// Changes the speed of the serial line; whether it could.
    fn set_baud(&self, baud: u32) -> bool {
        let _ = baud;
        false
    }
    /// Received bytes that the hardware or its buffer has lost since the start.
    fn lost_bytes(&self) -> u32 {
        0
    }
    /// The words that the kernel was started with.
    fn command_line(&self) -> &str;
    /// The text of `pilm.txt`, if the card has one that can be read.
    ///
    /// # Errors
    /// What is wrong with this file alone, and not with the card.
    fn options_file(&self) -> Result<Option<String>, Self::CardError>;
}
