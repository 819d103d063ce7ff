//! What does not wait for its turn.

use protocol::Id;

/// A request line that gets an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name of the request.
    pub id: Id,
    /// Whether the line had a checksum, and so its answer.
    pub has_crc: bool,
}

/// What acts before its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtOnce {
    /// Ctrl-C: what runs has to end.
    Interrupt,
    /// What runs has to end, and then [`InputQueue::take_stop`](super::InputQueue::take_stop) says whose abort this was.
    Stop {
        /// Whether the abort is answered even if there was something to stop.
        is_answered: bool,
    },
    /// A request `info`.
    Info(Caller),
    /// A request is dropped.
    Dropped(Caller),
    /// An abort has dropped a request that waited, or has found none.
    Aborted(Caller, bool),
}
