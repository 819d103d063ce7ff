//! A serial port: a board's UART behind an adapter, or a pseudo-terminal.

use crate::transport::Transport;
use serial2::SerialPort;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A serial port, which is opened again by its path: an adapter that is plugged in again has the same one.
#[derive(Debug)]
pub struct Serial {
    path: PathBuf,
    baud: u32,
    port: SerialPort,
}

impl Serial {
    /// Opens a port: 8 data bits, no parity, 1 stop bit, no flow control, bytes as they are.
    ///
    /// # Errors
    /// There is no such port, it is in use, or it cannot run at this speed.
    pub fn open(path: impl AsRef<Path>, baud: u32) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let port = SerialPort::open(&path, baud)?;
        Ok(Self { path, baud, port })
    }

    /// The ports of this machine.
    ///
    /// # Errors
    /// The system does not say.
    pub fn ports() -> io::Result<Vec<PathBuf>> {
        SerialPort::available_ports()
    }
}

impl Transport for Serial {
    fn read(&mut self, buf: &mut [u8], timeout: Duration) -> io::Result<usize> {
        // of 0 milliseconds some systems make no limit at all
        self.port
            .set_read_timeout(timeout.max(Duration::from_millis(1)))?;
        match self.port.read(buf) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(0),
            read => read,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.port.write_all(bytes)
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.port = SerialPort::open(&self.path, self.baud)?;
        Ok(())
    }

    fn baud(&self) -> Option<u32> {
        Some(self.baud)
    }

    fn set_baud(&mut self, baud: u32) -> io::Result<()> {
        let before = self.port.get_configuration()?;
        let mut settings = before.clone();
        settings.set_baud_rate(baud)?;
        // what was written leaves at the speed before
        self.port.flush()?;
        if let Err(error) = self.port.set_configuration(&settings) {
            self.port.set_configuration(&before)?;
            return Err(error);
        }
        self.baud = baud;
        Ok(())
    }
}
