//! BCM2711 registers: no policy.
//!
//! Each driver takes its registers as an [`mmio::Mmio`], which a test builds on plain memory; time,
//! caches and the mailbox's doorbell come in as small traits.

#![cfg_attr(target_os = "none", no_std)]

pub mod clock;
pub mod dma;
pub mod gic;
pub mod gpio;
pub mod machine;
pub mod mailbox;
pub mod mmio;
pub mod pl011;
pub mod property;
pub mod rng200;
pub mod rx_ring;
pub mod sd;
pub mod watchdog;
