//! The host tests boot the firmware in QEMU and talk to it: see `tests/`.
//!
//! * [`boot`]: the firmware, built once per test program, in a machine
//! * [`card`]: cards with any contents, good and bad
//! * [`layout`]: cards with any partition table
//! * [`ram`]: what is in memory before the firmware starts: device trees, junk
//! * [`patch`]: images with other instructions in them
//! * [`device_tree`]: trees as the board's firmware hands them over
//! * [`host`]: the same engine on the host, for comparison
//! * [`requests`]: what a program asks, and the events that answer
//! * [`bus`]: which device is accessed when
//! * [`monitor`]: the hand that pulls cards out and pushes them in

#![forbid(unsafe_code)]

pub mod boot;
pub mod bus;
pub mod card;
pub mod device_tree;
pub mod host;
pub mod layout;
pub mod monitor;
pub mod patch;
pub mod ram;
pub mod requests;
