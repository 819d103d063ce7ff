//! A QEMU, whose UART is a pair of pipes.

use crate::transport::Transport;
use qemu::Qemu;
use std::io::{self, ErrorKind};
use std::time::Duration;

impl Transport for Qemu {
    fn read(&mut self, buf: &mut [u8], timeout: Duration) -> io::Result<usize> {
        self.read_into(buf, timeout).map_err(ended)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send(bytes).map_err(ended)
    }

    /// A QEMU that has ended does not come back.
    fn reopen(&mut self) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }
}

fn ended(error: qemu::Error) -> io::Error {
    io::Error::other(error)
}
