//! A QEMU `raspi4b` owned by a test or a command, and its UART.
//!
//! * `machine`: start, talk, end; [`Machine`], [`Qemu`]
//! * `drive`: a card, and its slot
//! * `args`: flag files with reasons
//! * `uart`: what the guest has said, and what has been looked at
//! * `log`: QEMU's complaints, and those that are known
//! * `seat`: how many run at once
//! * `error`: [`Error`]
//!
//! ```no_run
//! use qemu::Machine;
//! use std::time::Duration;
//!
//! let mut pi = Machine::new("kernel8.img").card("sd.img").append("cores=4").boot()?;
//! pi.expect("> ", Duration::from_secs(60))?;
//! pi.send_line("/info")?;
//! let reply = pi.expect("> ", Duration::from_secs(5))?;
//! assert!(reply.contains("cores"));
//! # Ok::<(), qemu::Error>(())
//! ```

#![forbid(unsafe_code)]

mod args;
mod drive;
mod error;
mod log;
mod machine;
mod seat;
mod uart;

pub use error::Error;
pub use machine::{Machine, Qemu, version};
