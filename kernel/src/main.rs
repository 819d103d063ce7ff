//! PiLM: boots a Raspberry Pi 4B straight into a language model.
//!
//! Wiring only: what each part is built from, and in which order.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(target_os = "none")]
mod board;
#[cfg(target_os = "none")]
mod card;
#[cfg(target_os = "none")]
mod clock;
#[cfg(target_os = "none")]
mod core_pool;
#[cfg(any(target_os = "none", test))]
mod ending;
#[cfg(any(target_os = "none", test))]
mod failures;
#[cfg(target_os = "none")]
mod firmware;
#[cfg(target_os = "none")]
mod heap;
#[cfg(target_os = "none")]
mod info;
#[cfg(target_os = "none")]
mod memory;
#[cfg(any(target_os = "none", test))]
mod options;
#[cfg(target_os = "none")]
mod panic;
#[cfg(target_os = "none")]
mod platform;
#[cfg(target_os = "none")]
mod serial;
#[cfg(target_os = "none")]
mod shell;

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("this is firmware: `cargo xtask run` builds and boots it");
}
