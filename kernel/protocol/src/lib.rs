//! What goes over the serial line, as types: the firmware, the host tools and the tests share them.
//!
//! | module | holds |
//! |---|---|
//! | [`id`] | the name that a program gives to its request |
//! | [`request`] | every op with its fields; a line to a [`Request`], or an [`Error`](event::Error) with its code |
//! | [`event`] | everything that answers a request, and the records of measurements |
//! | [`facts`] | what is known of the board and of the loaded model |
//! | [`settings`] | everything that can be set: one row each |
//! | [`scalar`] | a value that may be a number, a truth value or a string |
//! | [`json`] | one event as one line, without allocation |
//! | [`crc_line`] | lines that carry a number and their checksum |
//!
//! ```
//! use protocol::{Event, Op, Request, event::Token};
//!
//! let request = Request::parse(br#"{"id":7,"op":"tokenize","text":"hi"}"#).unwrap();
//! assert!(matches!(request.op, Op::Tokenize(_)));
//! let event = Event::Token(Token { token: 5, text: "hi".into(), thinking: false });
//! let mut line = String::new();
//! protocol::json::write(&mut line, &request.id, &event).unwrap();
//! assert_eq!(line, r#"{"id":7,"event":"token","token":5,"text":"hi"}"#);
//! ```

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod crc_line;
pub mod event;
pub mod facts;
pub mod id;
pub mod json;
pub mod request;
pub mod scalar;
pub mod settings;

pub use event::{ErrorCode, Event};
pub use id::Id;
pub use request::{Op, Request};
pub use settings::{Setting, Settings};
