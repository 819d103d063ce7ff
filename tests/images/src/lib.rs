//! What test images need: a console without interrupts, and an end.
//!
//! An image prints `ready`, waits for a line from the host that says what to do, prints what came of
//! it, and resets the board, which ends QEMU.

#![cfg_attr(target_os = "none", no_std)]

#[cfg(target_os = "none")]
pub mod console;
