//! Requests out, liveness, opening again.

use crate::error::Error;
use crate::lines::{Heard, LineReader, read};
use crate::transport::Transport;
use ops::crc32c::extend;
use protocol::crc_line::CrcWriter;
use protocol::event::Line;
use protocol::request::Tokenize;
use protocol::{Id, Op, Request, json};
use std::fmt::Write;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Ctrl-C: stops what runs, and drops what was sent before.
const STOP: &[u8] = b"\x03";
/// Between two tries to open a port again.
const REOPEN_PAUSE: Duration = Duration::from_millis(200);
/// The longest time between two looks whether the other end is alive.
pub(crate) const MAX_QUIET: Duration = Duration::from_secs(60);

/// How a link behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether lines have checksums, and what is lost is asked again.
    pub crc: bool,
    /// After so long without a readable line it looks whether the other end is alive; longer each time.
    pub quiet: Duration,
    /// After so long without a readable line it gives up.
    pub patience: Duration,
    /// So often in vain it asks again.
    pub attempts: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            crc: true,
            quiet: Duration::from_secs(2),
            patience: Duration::from_secs(600),
            attempts: 20,
        }
    }
}

/// When to look whether the other end is alive.
#[derive(Debug)]
pub(crate) struct Watch {
    heard_at: Instant,
    looked_at: Instant,
    quiet: Duration,
}

impl Watch {
    pub fn new(options: &Options) -> Self {
        let now = Instant::now();
        Self {
            heard_at: now,
            looked_at: now,
            quiet: options.quiet,
        }
    }

    /// A readable line has come.
    pub fn heard(&mut self, options: &Options) {
        *self = Self::new(options);
    }

    /// How long to wait before the next look.
    pub fn left(&self) -> Duration {
        self.quiet.saturating_sub(self.looked_at.elapsed())
    }

    /// Whether it is time to look.
    ///
    /// # Errors
    /// It was quiet for too long.
    pub fn is_due(&mut self, options: &Options) -> Result<bool, Error> {
        let waited = self.heard_at.elapsed();
        if waited >= options.patience {
            return Err(Error::Silent { waited });
        }
        if self.left() > Duration::ZERO {
            return Ok(false);
        }
        self.looked_at = Instant::now();
        self.quiet = (self.quiet * 2).min(MAX_QUIET);
        Ok(true)
    }
}

/// A client of a firmware.
#[derive(Debug)]
pub struct Link<T> {
    transport: T,
    options: Options,
    reader: LineReader,
    last_id: i64,
    /// Whether the firmware takes no line without a checksum.
    is_locked: bool,
    /// The speed that the firmware may have instead of the transport's: after a restart, or a change that it missed.
    pub(crate) other_baud: Option<u32>,
}

impl<T: Transport> Link<T> {
    /// A link over `transport`; nothing is sent yet.
    pub fn new(transport: T, options: Options) -> Self {
        Self {
            transport,
            options,
            reader: LineReader::default(),
            last_id: 0,
            is_locked: false,
            other_baud: None,
        }
    }

    /// What carries the bytes.
    pub fn transport(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Whether lines have checksums from the next request on, as [`Options::crc`].
    pub fn use_checksums(&mut self, crc: bool) {
        self.options.crc = crc;
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Waits until the firmware answers, which from then on takes lines with checksums only. What runs there is
    /// stopped; a load goes on to its end.
    ///
    /// # Errors
    /// It does not answer.
    pub fn connect(&mut self) -> Result<(), Error> {
        let mut watch = Watch::new(&self.options);
        let first = self.last_id + 1;
        let mut is_due = true;
        loop {
            let step = match is_due {
                true => self
                    .transport
                    .write(STOP)
                    .and_then(|()| self.probe())
                    .and_then(|()| self.line(watch.left())),
                false => self.line(watch.left()),
            };
            match step {
                Ok(Some(Heard::Event(line))) => match line.id {
                    Id::Number(id) if id >= first => {
                        self.is_locked = true;
                        return Ok(());
                    }
                    _ => {}
                },
                Ok(_) => {}
                Err(error) => self.reopen(error)?,
            }
            is_due = watch.is_due(&self.options)?;
            if is_due && let Err(error) = self.swap_speeds() {
                self.reopen(error)?;
            }
        }
    }

    /// Opens the transport again, as long as patience lasts.
    fn reopen(&mut self, error: io::Error) -> Result<(), Error> {
        let since = Instant::now();
        self.reader.clear();
        self.is_locked = false;
        let mut error = error;
        loop {
            match self.transport.reopen() {
                Ok(()) => return Ok(()),
                Err(again) if again.kind() == io::ErrorKind::Unsupported => {
                    return Err(Error::Gone(error));
                }
                Err(again) => error = again,
            }
            if since.elapsed() > self.options.patience {
                return Err(Error::Gone(error));
            }
            sleep(REOPEN_PAUSE);
        }
    }

    /// Opens the transport again and waits for the firmware.
    pub(crate) fn reconnect(&mut self, error: io::Error) -> Result<(), Error> {
        if !self.options.crc {
            return Err(Error::Gone(error));
        }
        // it opens again what is still gone
        self.is_locked = false;
        self.connect()
    }

    /// Connects where that is due before `op`; after a reset or a restart the firmware takes lines without checksums.
    pub(crate) fn prepare(&mut self, op: &Op) -> Result<(), Error> {
        if self.options.crc && !self.is_locked {
            self.connect()?;
        }
        if let Op::Reset(_) | Op::Reboot(_) = op {
            self.is_locked = false;
        }
        Ok(())
    }

    /// A name for a request that no other has.
    pub(crate) fn new_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, id: i64, op: &Op) -> io::Result<()> {
        let mut line = String::new();
        let request = Request {
            id: Id::Number(id),
            op: op.clone(),
        };
        let written = match self.options.crc {
            true => {
                let mut checked = CrcWriter::new(&mut line, extend);
                json::value(&mut checked, &request).and_then(|()| checked.finish())
            }
            false => json::value(&mut line, &request),
        };
        written
            .and_then(|()| line.write_char('\r'))
            .map_err(io::Error::other)?;
        self.transport.write(line.as_bytes())
    }

    /// Asks for something small: requests are answered in order, so its answer tells that those before are over. A
    /// line end goes before it, in case that of the line before was lost.
    pub(crate) fn probe(&mut self) -> io::Result<()> {
        let id = self.new_id();
        self.transport.write(b"\r")?;
        self.send(id, &Op::Tokenize(Tokenize::default()))
    }

    /// The next line, if one comes in time.
    pub(crate) fn line(&mut self, timeout: Duration) -> io::Result<Option<Heard>> {
        let deadline = Instant::now() + timeout;
        let mut buf = [0; 4096];
        loop {
            if let Some(line) = self.reader.next_line() {
                return Ok(Some(read(&line, self.options.crc)));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let n = self.transport.read(&mut buf, left)?;
            self.reader.push(&buf[..n]);
            if n == 0 && left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// The next event of any request.
    ///
    /// # Errors
    /// None comes, or an unknown one.
    pub fn event(&mut self) -> Result<Line<'static>, Error> {
        let since = Instant::now();
        loop {
            let left = self.options.patience.saturating_sub(since.elapsed());
            match self.line(left).map_err(Error::Gone)? {
                Some(Heard::Event(line)) => return Ok(*line),
                Some(Heard::Unreadable(line)) if !self.options.crc => {
                    return Err(Error::Unknown { line });
                }
                Some(_) => {}
                None if left.is_zero() => {
                    return Err(Error::Silent {
                        waited: self.options.patience,
                    });
                }
                None => {}
            }
        }
    }
}
