//! A person's terminal, joined to the firmware's console: its editor, its history and its Ctrl-C are the firmware's.

use crate::transport::Transport;
use std::io::{self, ErrorKind, IsTerminal, Read};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread::{self, sleep};
use std::time::Duration;

/// What the firmware says when it waits for a line.
pub const PROMPT: &str = "\n> ";

/// Ctrl-], as in telnet: the firmware uses every other control key itself.
pub const LEAVE: u8 = 0x1D;

/// Longest time between a key and its way out.
const POLL: Duration = Duration::from_millis(15);
/// So many silent polls at the prompt, and everything that was asked is answered.
const N_SILENT_POLLS: u32 = 20;
/// Between two tries to open a line again.
const REOPEN_PAUSE: Duration = Duration::from_millis(200);

/// Whether a person is at both ends of us.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Standard input as it comes, read by a thread; ends with it.
pub fn keys() -> Receiver<Vec<u8>> {
    let (to, keys) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 1024];
        while let Ok(n @ 1..) = io::stdin().lock().read(&mut buffer) {
            if to.send(buffer[..n].to_vec()).is_err() {
                break;
            }
        }
    });
    keys
}

/// Why [`join`] has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The person has left, or there are no more keys.
    Left,
    /// The other end is gone and does not come back.
    Gone,
}

/// What a person is told beside what the firmware says.
#[derive(Debug)]
pub enum Notice<'e> {
    /// The line is gone, and it is waited for.
    Waiting(&'e io::Error),
    /// It is back.
    Back,
}

/// What [`join`] calls back.
pub trait Screen {
    /// Shows bytes of the firmware; returns what is typed then by itself.
    ///
    /// # Errors
    /// Nothing can be shown any more.
    fn show(&mut self, bytes: &[u8]) -> io::Result<Option<String>>;

    /// Shows what has happened to the line.
    ///
    /// # Errors
    /// As [`Screen::show`].
    fn notice(&mut self, notice: Notice<'_>) -> io::Result<()>;

    /// Whether the firmware waits for a line, as far as is known.
    fn is_at_prompt(&self) -> bool {
        true
    }
}

/// Joins keys and a screen to the firmware, until [`LEAVE`], or until the keys have ended and all is answered. A line that goes away is opened again.
///
/// # Errors
/// Those of the screen.
pub fn join(
    transport: &mut impl Transport,
    keys: &Receiver<Vec<u8>>,
    screen: &mut impl Screen,
) -> io::Result<End> {
    let mut buf = [0; 4096];
    let (mut is_over, mut n_silent_polls) = (false, 0);
    loop {
        let read = transport.read(&mut buf, POLL);
        n_silent_polls = match read {
            Ok(0) if is_over && screen.is_at_prompt() => n_silent_polls + 1,
            _ => 0,
        };
        if n_silent_polls == N_SILENT_POLLS {
            return Ok(End::Left);
        }
        let step = match read {
            Ok(n) => match screen.show(&buf[..n])? {
                Some(line) => transport.write(format!("{line}\r").as_bytes()),
                None => Ok(()),
            },
            Err(error) => Err(error),
        };
        let step = step.and_then(|()| match keys.try_recv() {
            Ok(bytes) => match bytes.iter().position(|&byte| byte == LEAVE) {
                Some(at) => transport.write(&bytes[..at]).map(|()| true),
                None => transport.write(&bytes).map(|()| false),
            },
            Err(TryRecvError::Empty) => Ok(false),
            Err(TryRecvError::Disconnected) => {
                is_over = true;
                Ok(false)
            }
        });
        match step {
            Ok(true) => return Ok(End::Left),
            Ok(false) => {}
            Err(error) => {
                if let Some(end) = reopen(transport, keys, screen, error)? {
                    return Ok(end);
                }
            }
        }
    }
}

/// Opens the line again; `None` when it is back.
fn reopen(
    transport: &mut impl Transport,
    keys: &Receiver<Vec<u8>>,
    screen: &mut impl Screen,
    error: io::Error,
) -> io::Result<Option<End>> {
    let mut is_first = true;
    loop {
        match transport.reopen() {
            Ok(()) => {
                screen.notice(Notice::Back)?;
                return Ok(None);
            }
            Err(again) if again.kind() == ErrorKind::Unsupported => return Ok(Some(End::Gone)),
            Err(_) => {}
        }
        if std::mem::take(&mut is_first) {
            screen.notice(Notice::Waiting(&error))?;
        }
        match keys.try_recv() {
            Ok(bytes) if bytes.contains(&LEAVE) => return Ok(Some(End::Left)),
            Err(TryRecvError::Disconnected) => return Ok(Some(End::Left)),
            _ => sleep(REOPEN_PAUSE),
        }
    }
}

/// Looks for a text that everything before ends with, control sequences aside: the firmware asks for marks around
/// pastes behind its prompt.
#[derive(Debug)]
pub struct Watch {
    text: &'static str,
    tail: Vec<u8>,
    sequence: Sequence,
}

/// Where in a control sequence (ECMA-48, 5.4) the bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sequence {
    Outside,
    Escaped,
    Inside,
}

impl Sequence {
    /// Whether `byte` is text.
    fn is_text(&mut self, byte: u8) -> bool {
        let before = *self;
        *self = match (before, byte) {
            (_, b'\x1b') => Self::Escaped,
            (Self::Escaped, b'[') => Self::Inside,
            (Self::Inside, 0x20..=0x3f) => Self::Inside,
            _ => Self::Outside,
        };
        before == Self::Outside && *self == Self::Outside
    }
}

impl Watch {
    /// Looks for `text`.
    pub fn new(text: &'static str) -> Watch {
        Watch {
            text,
            tail: Vec::new(),
            sequence: Sequence::Outside,
        }
    }

    /// Whether the bytes so far, with `more`, end with the text.
    pub fn sees(&mut self, more: &[u8]) -> bool {
        let text = more.iter().filter(|&&byte| self.sequence.is_text(byte));
        self.tail.extend(text);
        let keep = self.tail.len().saturating_sub(self.text.len());
        self.tail.drain(..keep);
        self.tail == self.text.as_bytes()
    }
}

#[cfg(unix)]
mod raw {
    use rustix::termios::{self, OptionalActions, OutputModes, Termios};
    use std::io;

    /// Columns of the terminal, when there is one that says.
    pub fn columns() -> Option<u16> {
        let size = termios::tcgetwinsize(io::stdin()).ok()?;
        // one that does not know its size says 0
        Some(size.ws_col).filter(|&columns| columns > 0)
    }

    /// Keys reach us one by one, Ctrl-C included; undone when dropped.
    pub struct RawMode {
        before: Termios,
    }

    impl RawMode {
        /// Sets the terminal at standard input.
        ///
        /// # Errors
        /// It is none.
        pub fn enter() -> io::Result<Self> {
            let before = termios::tcgetattr(io::stdin())?;
            let mut raw = before.clone();
            raw.make_raw();
            // without it the host's own messages would become stairs; the guest sends CR LF itself
            raw.output_modes.insert(OutputModes::OPOST);
            termios::tcsetattr(io::stdin(), OptionalActions::Drain, &raw)?;
            Ok(Self { before })
        }
    }

    impl Drop for RawMode {
        fn drop(&mut self) {
            // the terminal may be gone, which leaves nothing to restore
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Drain, &self.before);
        }
    }
}

#[cfg(not(unix))]
mod raw {
    use std::io;

    /// Columns of the terminal: it is not asked here.
    pub fn columns() -> Option<u16> {
        None
    }

    /// The terminal keeps its own line editor here.
    pub struct RawMode {}

    impl RawMode {
        /// Leaves it as it is.
        ///
        /// # Errors
        /// None.
        pub fn enter() -> io::Result<Self> {
            Ok(Self {})
        }
    }
}

pub use raw::{RawMode, columns};

impl RawMode {
    /// The same, where standard input is a terminal.
    ///
    /// # Errors
    /// It cannot be set.
    pub fn enter_at_terminal() -> io::Result<Option<Self>> {
        io::stdin().is_terminal().then(Self::enter).transpose()
    }
}

#[cfg(test)]
mod tests;
