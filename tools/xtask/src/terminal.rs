//! The person's terminal, joined to the firmware's console.

use crate::session::PROMPT;
use crate::workspace::printed;
use anyhow::{Context, Result};
use qemu::Qemu;
use std::io::{self, IsTerminal, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::Duration;

/// Ctrl-], as in telnet: the firmware uses every other control key itself.
const LEAVE: u8 = 0x1D;
/// Longest time between a key and its way to the guest.
const POLL: Duration = Duration::from_millis(15);

/// Whether a person is at both ends of us.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Columns of the terminal, when there is one that says.
pub fn columns() -> Option<u16> {
    columns_of(&stty(&["size"]).ok()?)
}

/// Columns in rows and columns as `stty` prints them; a terminal that does not know its size says 0.
fn columns_of(size: &str) -> Option<u16> {
    let columns = size.split_whitespace().nth(1)?.parse().ok();
    columns.filter(|n| *n > 0)
}

/// Gives the console to the person until the leaving key, or until QEMU ends.
///
/// `question` is typed for the person at the first prompt.
///
/// # Errors
/// The terminal cannot be set up, or its output fails.
pub fn attach(pi: &mut Qemu, question: &str) -> Result<()> {
    let keys = read_keys();
    let _raw = RawMode::enter()?;
    let mut first_prompt = Some(Watch::new(PROMPT));
    loop {
        match pi.read(POLL) {
            Ok(bytes) => {
                stdout::write_bytes(&bytes)?;
                let seen = first_prompt.take_if(|watch| watch.sees(&bytes));
                if seen.is_some() {
                    pi.send_line(question)?;
                }
            }
            // the guest has switched itself off: nothing is wrong with that here
            Err(qemu::Error::Ended { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        match keys.try_recv() {
            Ok(bytes) => match bytes.iter().position(|&byte| byte == LEAVE) {
                Some(at) => {
                    pi.send(&bytes[..at])?;
                    return Ok(());
                }
                None => pi.send(&bytes)?,
            },
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Ok(()),
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

fn read_keys() -> Receiver<Vec<u8>> {
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

/// Keys reach us one by one, Ctrl-C included; undone when dropped.
struct RawMode {
    before: String,
}

impl RawMode {
    fn enter() -> Result<RawMode> {
        let before = stty(&["-g"])?;
        // `-opost` would turn the host's own messages into stairs; the guest sends CR LF itself
        stty(&["raw", "-echo", "opost"])?;
        Ok(RawMode { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // the terminal may be gone, which leaves nothing to restore
        let _ = stty(&[self.before.trim()]);
    }
}

fn stty(arguments: &[&str]) -> Result<String> {
    let mut stty = Command::new("stty");
    printed(stty.args(arguments).stdin(Stdio::inherit())).context("stty sets up the terminal")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_of_size_0_has_unknown_columns() {
        assert_eq!(columns_of("24 80\n"), Some(80));
        assert_eq!(columns_of("0 0\n"), None);
        assert_eq!(columns_of(""), None);
    }

    #[test]
    fn a_text_is_seen_in_pieces_and_at_the_end_only() {
        let mut watch = Watch::new("\n> ");
        assert!(!watch.sees(b"boot\r\n"));
        assert!(!watch.sees(b">"));
        assert!(watch.sees(b" "));
        assert!(!watch.sees(b"x\n> y"));
        assert!(watch.sees(b"z\n> "));
    }
}
