//! `cargo xtask`: set-up, run, test, image, ci.

#![forbid(unsafe_code)]

fn main() {}
