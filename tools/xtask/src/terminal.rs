//! The person's terminal, joined to the firmware's console.

use anyhow::{Context, Result};
use link::terminal::{Notice, PROMPT, RawMode, Screen, Watch, join, keys};
use qemu::Qemu;
use std::io;

pub use link::terminal::{columns, is_interactive};

/// Gives the console to the person until the leaving key, or until QEMU ends.
///
/// `question` is typed for the person at the first prompt.
///
/// # Errors
/// The terminal cannot be set up, or its output fails.
pub fn attach(pi: &mut Qemu, question: &'static str) -> Result<()> {
    let keys = keys();
    let _raw = RawMode::enter().context("the terminal cannot be set up")?;
    let mut screen = Asking {
        first_prompt: Some(Watch::new(PROMPT)),
        question,
    };
    // a guest that has switched itself off: nothing is wrong with that here
    join(pi, &keys, &mut screen)?;
    Ok(())
}

/// Standard output, and a question at the first prompt.
struct Asking {
    first_prompt: Option<Watch>,
    question: &'static str,
}

impl Screen for Asking {
    fn show(&mut self, bytes: &[u8]) -> io::Result<Option<String>> {
        stdout::write_bytes(bytes).map_err(io::Error::other)?;
        let seen = self.first_prompt.take_if(|watch| watch.sees(bytes));
        Ok(seen.map(|_| self.question.to_owned()))
    }

    fn notice(&mut self, _: Notice<'_>) -> io::Result<()> {
        // a QEMU does not come back
        Ok(())
    }
}
