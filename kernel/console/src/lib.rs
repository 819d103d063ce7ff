//! Two skins over one session: what a person types and reads, and the lines of a program.
//!
//! | module | holds |
//! |---|---|
//! | [`run()`] | the loop: input to requests, steps, events to output |
//! | [`board`] | what the console needs of the machine that it runs on |
//! | [`input_queue`], [`line_editor`], [`history`] | bytes to lines, with echo; a stop while the session is busy |
//! | [`command`] | a person's line to a request |
//! | [`person`], [`records`], [`info`], [`sd`] | events to text |
//! | [`answers`] | events to the lines of a program |
//! | [`screen`] | text to the serial line |
//!
//! A program's line is a request of [`protocol`] as it is, and so are the events that answer it.

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod answers;
pub mod board;
pub mod command;
pub mod history;
pub mod info;
pub mod input_queue;
pub mod line_editor;
pub mod person;
pub mod records;
mod run;
pub mod screen;
pub mod sd;

pub use board::{Board, Serial};
pub use history::History;
pub use line_editor::{Input, LineEditor};
pub use run::{Exit, run};
