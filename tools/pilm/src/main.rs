//! `pilm`: what the firmware does, on the host.

#![forbid(unsafe_code)]

fn main() {}
