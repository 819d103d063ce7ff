//! Runs requests on a model, step by step, and answers with events.
//!
//! | module | holds |
//! |---|---|
//! | [`Session`] | requests in, steps, events out |
//! | `load` | finding a model file, and loading it |
//! | `chat` | messages to prompts; the console's conversation |
//! | `begin` | what each op begins |
//! | `generation` | one generation: prefill, then token after token |
//! | `event_queue` | events on their way out, without allocation per token |
//!
//! Whoever drives it looks for input between two steps: nothing here waits, prints or knows a line.
//!
//! ```text
//! submit(Request) ──► waiting ──► step() … step() ──► take() -> Event … Done
//! ```

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod chat;
mod event_queue;
mod generation;
mod load;
mod logits;
mod session;
mod token_text;
mod utf8;

pub use lab::machine::{self, Machine};
pub use session::{Loading, Session, SessionState, Step, dropped, info};
pub use utf8::{Piece, Utf8Stream};
