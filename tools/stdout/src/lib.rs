//! Standard output whose reader may leave, as `head` does when it has its lines.
//!
//! `println!` panics then. [`line!`] and [`text!`] give an error instead, so that everything on the way
//! out is cleaned up, and [`exit_code`] ends the program without a word.
//!
//! ```
//! use std::process::ExitCode;
//!
//! fn run() -> anyhow::Result<()> {
//!     for n in 0..3 {
//!         stdout::line!("{n}")?;
//!     }
//!     Ok(())
//! }
//!
//! fn main() -> ExitCode {
//!     stdout::exit_code("count", run())
//! }
//! ```

#![forbid(unsafe_code)]

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// The reader is gone: what the shell reports of a program that SIGPIPE (13) has ended.
pub const CLOSED: u8 = 128 + 13;

/// Why standard output takes no more.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody reads it.
    #[error("nobody reads the output any more")]
    Closed,
    /// It cannot be written, to a full disk for example.
    #[error("the output cannot be written: {0}")]
    Failed(io::Error),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Error::Closed,
            _ => Error::Failed(error),
        }
    }
}

/// Writes `text` and sends it off; [`text!`] and [`line!`] call it.
///
/// # Errors
/// [`Error`].
pub fn write(text: fmt::Arguments<'_>) -> Result<(), Error> {
    write_bytes(text.to_string().as_bytes())
}

/// Writes bytes as they are, and sends them off.
///
/// # Errors
/// [`Error`].
pub fn write_bytes(bytes: &[u8]) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// `print!` that returns an [`Error`].
#[macro_export]
macro_rules! text {
    ($($text:tt)*) => { $crate::write(format_args!($($text)*)) };
}

/// `println!` that returns an [`Error`].
#[macro_export]
macro_rules! line {
    () => { $crate::write(format_args!("\n")) };
    ($($text:tt)*) => { $crate::write(format_args!("{}\n", format_args!($($text)*))) };
}

/// How a program ends; its error, if any, goes to standard error after `prefix`.
pub fn exit_code(prefix: &str, result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if matches!(error.downcast_ref(), Some(Error::Closed)) => ExitCode::from(CLOSED),
        Err(error) => {
            eprintln!("{prefix}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CLOSED, Error, exit_code};
    use anyhow::Context;
    use std::io;
    use std::process::ExitCode;

    fn failed(kind: io::ErrorKind) -> anyhow::Result<()> {
        let error = Error::from(io::Error::from(kind));
        Err(error).context("while a table was printed")
    }

    #[test]
    fn only_a_reader_that_left_is_no_failure_of_ours() {
        let code = |result| format!("{:?}", exit_code("test", result));
        let expected = |code: ExitCode| format!("{code:?}");
        assert_eq!(code(Ok(())), expected(ExitCode::SUCCESS));
        let closed = code(failed(io::ErrorKind::BrokenPipe));
        assert_eq!(closed, expected(ExitCode::from(CLOSED)));
        let full = code(failed(io::ErrorKind::StorageFull));
        assert_eq!(full, expected(ExitCode::FAILURE));
        // A pipe to a child is not the output.
        let child = Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
        assert_eq!(code(child), expected(ExitCode::FAILURE));
    }
}
