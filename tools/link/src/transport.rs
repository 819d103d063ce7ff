//! What carries bytes.

use std::io;
use std::time::Duration;

/// A way to the firmware and back.
pub trait Transport {
    /// Reads what has arrived; waits for something if nothing has. 0 is that nothing came in time.
    ///
    /// # Errors
    /// The other end is gone; [`Transport::reopen`] may bring it back.
    fn read(&mut self, buf: &mut [u8], timeout: Duration) -> io::Result<usize>;

    /// Sends bytes.
    ///
    /// # Errors
    /// As [`Transport::read`].
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Opens again what was lost. It is tried once; a caller that waits for the other end tries again.
    ///
    /// # Errors
    /// It is still gone, or never comes back.
    fn reopen(&mut self) -> io::Result<()>;

    /// Its speed, where it has one.
    fn baud(&self) -> Option<u32> {
        None
    }

    /// Goes on at another speed, also when it is opened again.
    ///
    /// # Errors
    /// It cannot run at this one; it goes on at the one before.
    fn set_baud(&mut self, baud: u32) -> io::Result<()> {
        let _ = baud;
        Err(io::ErrorKind::Unsupported.into())
    }
}
