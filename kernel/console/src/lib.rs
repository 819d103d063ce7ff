//! What a person or a program types, and what it reads back.

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod history;
pub mod line_editor;
pub mod utf8;

pub use history::History;
pub use line_editor::{Input, LineEditor};
pub use utf8::Utf8Stream;
