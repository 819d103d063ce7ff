//! BCM2711 registers: no policy.

#![cfg_attr(target_os = "none", no_std)]

pub mod mmio;
pub mod sd;
