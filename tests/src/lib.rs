//! The host tests boot the firmware in QEMU and talk to it: see `tests/`.
//!
//! * [`boot`]: the firmware, built once per test program, in a machine
//! * [`card`]: cards with any contents, good and bad
//! * [`host`]: the same engine on the host, for comparison
//! * [`requests`]: what a program asks, and the events that answer
//! * [`monitor`]: the hand that pulls cards out and pushes them in

#![forbid(unsafe_code)]

pub mod boot;
pub mod card;
pub mod host;
pub mod monitor;
pub mod requests;
