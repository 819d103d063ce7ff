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

/// Looks for a text that everything before ends with.
#[derive(Debug)]
pub struct Watch {
    text: &'static str,
    tail: Vec<u8>,
}

impl Watch {
    /// Looks for `text`.
    pub fn new(text: &'static str) -> Watch {
        let tail = Vec::new();
        Watch { text, tail }
    }

    /// Whether the bytes so far, with `more`, end with the text.
    pub fn sees(&mut self, more: &[u8]) -> bool {
        self.tail.extend_from_slice(more);
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

#[cfg(test)]
mod tests {
    use super::{End, LEAVE, Notice, Screen, Watch, join};
    use crate::transport::Transport;
    use std::collections::VecDeque;
    use std::io::{self, ErrorKind};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_text_is_seen_in_pieces_and_at_the_end_only() {
        let mut watch = Watch::new("\n> ");
        assert!(!watch.sees(b"boot\r\n"));
        assert!(!watch.sees(b">"));
        assert!(watch.sees(b" "));
        assert!(!watch.sees(b"x\n> y"));
        assert!(watch.sees(b"z\n> "));
    }

    /// Reads that are due, a failure where there is `None`; everything that was written.
    struct Script {
        reads: VecDeque<Option<&'static str>>,
        written: Vec<u8>,
        comes_back_after: Option<u32>,
    }

    impl Transport for Script {
        fn read(&mut self, buf: &mut [u8], _: Duration) -> io::Result<usize> {
            match self.reads.pop_front() {
                Some(Some(text)) => {
                    buf[..text.len()].copy_from_slice(text.as_bytes());
                    Ok(text.len())
                }
                Some(None) => Err(ErrorKind::NotConnected.into()),
                None => Ok(0),
            }
        }
        fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.written.extend_from_slice(bytes);
            Ok(())
        }
        fn reopen(&mut self) -> io::Result<()> {
            match &mut self.comes_back_after {
                None => Err(ErrorKind::Unsupported.into()),
                Some(0) => Ok(()),
                Some(n) => {
                    *n -= 1;
                    Err(ErrorKind::NotFound.into())
                }
            }
        }
    }

    /// What was shown.
    struct Shown(String);

    impl Screen for Shown {
        fn is_at_prompt(&self) -> bool {
            !self.0.ends_with("working")
        }
        fn show(&mut self, bytes: &[u8]) -> io::Result<Option<String>> {
            self.0.push_str(&String::from_utf8_lossy(bytes));
            Ok((self.0.ends_with("ask> ")).then(|| "question".to_owned()))
        }
        fn notice(&mut self, notice: Notice<'_>) -> io::Result<()> {
            self.0.push_str(match notice {
                Notice::Waiting(_) => "[waiting]",
                Notice::Back => "[back]",
            });
            Ok(())
        }
    }

    /// How it ends, what was shown, what was written.
    fn joined(
        reads: &[Option<&'static str>],
        typed: &[&[u8]],
        comes_back_after: Option<u32>,
    ) -> (End, String, String) {
        let mut script = Script {
            reads: reads.iter().copied().collect(),
            written: Vec::new(),
            comes_back_after,
        };
        let (to, keys) = channel();
        for &bytes in typed {
            to.send(bytes.to_vec()).expect("it is received");
        }
        drop(to);
        let mut shown = Shown(String::new());
        let end = join(&mut script, &keys, &mut shown).expect("it is shown");
        let written = String::from_utf8(script.written).expect("text");
        (end, shown.0, written)
    }

    #[test]
    fn keys_go_out_up_to_the_leaving_one() {
        let typed: [&[u8]; 3] = [b"a", &[b'b', LEAVE, b'c'], b"d"];
        let (end, shown, written) = joined(&[Some("x"), Some("y"), Some("z")], &typed, None);
        assert_eq!(
            (end, shown.as_str(), written.as_str()),
            (End::Left, "xy", "ab")
        );
    }

    #[test]
    fn without_more_keys_what_is_said_is_still_shown() {
        let (end, shown, written) = joined(&[Some("x"), Some("y"), Some("z")], &[b"a"], None);
        assert_eq!(
            (end, shown.as_str(), written.as_str()),
            (End::Left, "xyz", "a")
        );
    }

    #[test]
    fn what_is_asked_is_answered_before_it_ends() {
        let mut reads = vec![Some("working")];
        reads.extend([Some(""); 30]);
        reads.push(Some("done"));
        let (end, shown, _) = joined(&reads, &[b"a"], None);
        assert_eq!((end, shown.as_str()), (End::Left, "workingdone"));
    }

    #[test]
    fn a_line_is_typed_where_the_screen_says_so() {
        let written = joined(&[Some("ask> "), Some("yes")], &[], None).2;
        assert_eq!(written, "question\r");
    }

    #[test]
    fn a_line_that_goes_away_is_waited_for() {
        let (end, shown, written) = joined(&[Some("x"), None, Some("y")], &[b"a"], Some(0));
        assert_eq!(
            (end, shown.as_str(), written.as_str()),
            (End::Left, "x[back]y", "a")
        );
        let typed: [&[u8]; 4] = [b"a", b"lost", b"lost", &[LEAVE]];
        let (end, shown, written) = joined(&[Some("x"), None], &typed, Some(9));
        assert_eq!(
            (end, shown.as_str(), written.as_str()),
            (End::Left, "x[waiting]", "a")
        );
        let (end, ..) = joined(&[None], &[b"a"], None);
        assert_eq!(end, End::Gone);
    }
}
