//! What a person or a program types, and what it reads back.

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod command;
pub mod history;
pub mod json;
pub mod line_editor;
pub mod session;
pub mod settings;
pub mod utf8;

pub use command::{Command, Line};
pub use history::History;
pub use line_editor::{Input, LineEditor};
pub use settings::Settings;
pub use utf8::Utf8Stream;
