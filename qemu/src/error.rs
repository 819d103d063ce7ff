//! What can go wrong between a host and its QEMU.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// Failure of a QEMU or of a conversation with its guest.
#[derive(Debug)]
pub enum Error {
    /// The program cannot be started.
    Start {
        /// Name of the program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The guest did not say what was waited for.
    Timeout {
        /// The text waited for.
        pattern: String,
        /// How long.
        waited: Duration,
        /// Everything the guest has said, and QEMU's own messages.
        transcript: String,
    },
    /// QEMU ended before the guest said what was waited for.
    Ended {
        /// The text waited for.
        pattern: String,
        /// QEMU's exit status.
        status: Option<ExitStatus>,
        /// Everything the guest has said, and QEMU's own messages.
        transcript: String,
    },
    /// QEMU was expected to end, and did not.
    StillRunning {
        /// How long was waited.
        waited: Duration,
        /// Everything the guest has said, and QEMU's own messages.
        transcript: String,
    },
    /// A byte cannot be sent, or QEMU's log cannot be read.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Start { program, source } => write!(
                f,
                "{program} cannot be started ({source}): `cargo xtask setup` installs it"
            ),
            Error::Timeout {
                pattern,
                waited,
                transcript,
            } => write!(
                f,
                "no {pattern:?} within {waited:?}; all that was said:\n{transcript}"
            ),
            Error::Ended {
                pattern,
                status,
                transcript,
            } => {
                match status {
                    Some(status) => write!(f, "QEMU ended ({status})")?,
                    None => write!(f, "QEMU closed the UART")?,
                }
                write!(f, " before {pattern:?}; all that was said:\n{transcript}")
            }
            Error::StillRunning { waited, transcript } => write!(
                f,
                "QEMU has not ended within {waited:?}; all that was said:\n{transcript}"
            ),
            Error::Io(source) => write!(f, "talking to QEMU: {source}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Error {
        Error::Io(source)
    }
}
