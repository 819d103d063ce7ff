//! What can go wrong between a host and its QEMU.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// Failure of a QEMU or of a conversation with its guest.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program cannot be started.
    #[error("{program} cannot be started ({reason}): `cargo xtask setup` installs it")]
    Start {
        /// Name of the program.
        program: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// The guest did not say what was waited for.
    #[error("no {pattern:?} within {waited:?}; all that was said:\n{transcript}")]
    Timeout {
        /// The text waited for.
        pattern: String,
        /// How long.
        waited: Duration,
        /// Everything the guest has said, and QEMU's own messages.
        transcript: String,
    },
    /// QEMU ended before the guest said what was waited for.
    #[error("{} before {pattern:?}; all that was said:\n{transcript}", ended(.status))]
    Ended {
        /// The text waited for.
        pattern: String,
        /// QEMU's exit status.
        status: Option<ExitStatus>,
        /// Everything the guest has said, and QEMU's own messages.
        transcript: String,
    },
    /// QEMU was expected to end, and did not.
    #[error("QEMU has not ended within {waited:?}; all that was said:\n{transcript}")]
    StillRunning {
        /// How long was waited.
        waited: Duration,
        /// Everything the guest has said, and QEMU's own messages.
        transcript: String,
    },
    /// A byte cannot be sent, or QEMU's log cannot be read.
    #[error("talking to QEMU: {0}")]
    Io(io::Error),
}

/// What happened to QEMU.
fn ended(status: &Option<ExitStatus>) -> String {
    status.map_or("QEMU closed the UART".into(), |status| {
        format!("QEMU ended ({status})")
    })
}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Error {
        Error::Io(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_told_with_what_was_said() {
        let end = |status| Error::Ended {
            pattern: "> ".into(),
            status,
            transcript: "PiLM".into(),
        };
        let sentence = |what| format!("{what} before \"> \"; all that was said:\nPiLM");
        assert_eq!(end(None).to_string(), sentence("QEMU closed the UART"));
        let status = ExitStatus::default();
        assert_eq!(
            end(Some(status)).to_string(),
            sentence("QEMU ended (exit status: 0)")
        );
    }
}
