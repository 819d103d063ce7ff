//! A pseudo-terminal: a path that any program opens like a serial port.

use crate::transport::Transport;
use rustix::pty::ptsname;
use serial2::SerialPort;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a full buffer is waited for that somebody reads. After that nobody does, and bytes are lost as on a wire.
const PATIENCE: Duration = Duration::from_millis(300);

/// A pseudo-terminal, and this end of it.
#[derive(Debug)]
pub struct Pty {
    controller: SerialPort,
    /// The other end too: without an open one, each hang-up would be an error here.
    _user: SerialPort,
    path: PathBuf,
    is_read: bool,
}

impl Pty {
    /// Makes one; its bytes pass as they are.
    ///
    /// # Errors
    /// The system has none left.
    pub fn open() -> io::Result<Self> {
        let (controller, user) = SerialPort::pair()?;
        let path = ptsname(&controller, Vec::new())?.into_bytes();
        Ok(Self {
            controller,
            _user: user,
            path: OsString::from_vec(path).into(),
            is_read: true,
        })
    }

    /// Where another program opens it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Transport for Pty {
    fn read(&mut self, buf: &mut [u8], timeout: Duration) -> io::Result<usize> {
        self.controller.set_read_timeout(timeout)?;
        match self.controller.read(buf) {
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(0),
            read => read,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let patience = if self.is_read {
            PATIENCE
        } else {
            Duration::ZERO
        };
        self.controller.set_write_timeout(patience)?;
        let written = self.controller.write_all(bytes);
        self.is_read = written.is_ok();
        match written {
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(()),
            written => written,
        }
    }

    /// It is never gone.
    fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Carries bytes between both for `time`, each way as they come.
///
/// # Errors
/// One of both is gone.
pub fn carry(a: &mut impl Transport, b: &mut impl Transport, time: Duration) -> io::Result<()> {
    let mut buf = [0; 4096];
    let n = a.read(&mut buf, time)?;
    b.write(&buf[..n])?;
    let n = b.read(&mut buf, Duration::ZERO)?;
    a.write(&buf[..n])
}

#[cfg(test)]
mod tests {
    use super::Pty;
    use crate::serial::Serial;
    use crate::transport::Transport;
    use std::time::{Duration, Instant};

    const SOON: Duration = Duration::from_secs(5);

    fn read(transport: &mut impl Transport, n: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let since = Instant::now();
        while bytes.len() < n && since.elapsed() < SOON {
            let mut buf = [0; 100];
            let n = transport.read(&mut buf, SOON).expect("it is there");
            bytes.extend_from_slice(&buf[..n]);
        }
        bytes
    }

    #[test]
    fn bytes_pass_as_they_are_and_programs_come_and_go() {
        let every: Vec<u8> = (0..=255).collect();
        let mut pty = Pty::open().expect("there is one");
        for _ in 0..3 {
            let mut program = Serial::open(pty.path(), 115_200).expect("it opens");
            pty.write(&every).expect("it goes out");
            assert_eq!(read(&mut program, 256), every);
            program.write(&every).expect("it goes out");
            assert_eq!(read(&mut pty, 256), every);
        }
        let mut buf = [0; 1];
        let n = pty.read(&mut buf, Duration::from_millis(20));
        assert_eq!(n.expect("no hang-up"), 0);
    }

    #[test]
    fn what_nobody_reads_holds_nothing_up() {
        let mut pty = Pty::open().expect("there is one");
        let since = Instant::now();
        for _ in 0..1000 {
            pty.write(&[b'x'; 1000]).expect("it is lost");
        }
        assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
    }
}
