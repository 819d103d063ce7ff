//! A client of PiLM's serial line.
//!
//! | module | holds |
//! |---|---|
//! | [`transport`] | what carries bytes: something that reads, writes and can be opened again |
//! | [`serial`], [`emulator`] | a serial port, or a QEMU |
//! | [`terminal`] | a person's terminal, joined to the console |
//! | `pty` | a pseudo-terminal (Unix) |
//! | [`lines`] | bytes to the lines of a program |
//! | [`client`] | [`Link`]: requests out, liveness, opening again |
//! | [`answer`] | [`Answer`]: the events of one request, each once and in order, whatever the wire does |
//! | [`repeat`] | what may be asked again |
//! | `speed` | a faster line, where the board says that it can |
//! | [`error`] | [`Error`] |
//! | [`bad_wire`] | what a bad wire makes of bytes, for tests |
//!
//! With checksums ([`Options::crc`]) an event that is lost or damaged is seen by its number. The request is then asked
//! again, with the same seed, and what has been delivered is left out: equal seeds give equal answers, so the caller
//! sees one whole answer.
//!
//! ```no_run
//! use link::{Link, Options, serial::Serial};
//! use protocol::{Event, Op, request::{Complete, Logits, Sampling}};
//!
//! let mut link = Link::new(Serial::open("/dev/ttyUSB0", 115_200)?, Options::default());
//! let prompt = Complete { prompt: Some("One day".into()), ..Complete::default() };
//! let op = Op::Complete(prompt, Sampling::default(), Logits::default());
//! link.ask_with(op, &mut |event| {
//!     if let Event::Token(token) = event {
//!         print!("{}", token.text);
//!     }
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod answer;
mod ask;
pub mod bad_wire;
pub mod client;
pub mod emulator;
pub mod error;
pub mod lines;
#[cfg(unix)]
pub mod pty;
pub mod repeat;
pub mod serial;
mod speed;
pub mod terminal;
pub mod transport;

pub use answer::{Answer, Step};
pub use client::{Link, Options};
pub use error::Error;
pub use speed::FAST_BAUD;
pub use transport::Transport;
