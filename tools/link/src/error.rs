//! Why a request has no answer.

use std::io;
use std::time::Duration;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The firmware has answered with an error.
    #[error(transparent)]
    Refused(#[from] protocol::event::Error<'static>),
    /// The other end is gone, and has not come back.
    #[error("the line is gone: {0}")]
    Gone(io::Error),
    /// The other end is there and says nothing that can be read.
    #[error(
        "nothing readable has come for {waited:?}: is the speed right, and does PiLM run there?"
    )]
    Silent {
        /// How long.
        waited: Duration,
    },
    /// An event that this version does not know.
    #[error("an unknown event: {line}")]
    Unknown {
        /// The line.
        line: String,
    },
    /// A part of the answer was lost of a request that cannot be asked twice.
    #[error(
        "a part of the answer to `{op}` was lost, and it cannot be asked again: it may have run"
    )]
    Uncertain {
        /// The request.
        op: &'static str,
    },
    /// However often it was asked again, nothing new came.
    #[error("asked {attempts} times in vain: the line loses too much")]
    Lossy {
        /// How often.
        attempts: u32,
    },
}
