//! BCM2711 registers: no policy.
//!
//! Each driver takes its registers as an [`mmio::Mmio`], which a test builds on plain memory; time,
//! caches and the mailbox's doorbell come in as small traits.
//!
//! * [`mmio`]: registers at an address, the one dereference
//! * [`clock`], [`dma`]: time; bus addresses and cache maintenance
//! * [`pl011`], [`byte_ring`], [`rx_ring`], [`line_start`]: the console's UART, bytes that wait to be sent, the bytes
//!   it has received, and where its line is
//! * [`gpio`]: pins, pulls, LED
//! * [`mailbox`], [`property`]: one question to the firmware, and the questions
//! * [`gic`]: the interrupt controller
//! * [`watchdog`]: reset, watchdog
//! * [`rng200`]: a random seed
//! * [`machine`]: board or emulator
//! * [`sd`]: the card and its controllers
//!
//! The board's side of each is in `docs/hardware.md`. What is only arithmetic runs anywhere:
//!
//! ```
//! use drivers::sd::divider::Divider;
//!
//! // 200 MHz to identify a card at 400 kHz: N = 250, of which the low byte is in bits 15:8.
//! let divider = Divider::at_most(400_000, 200_000_000).expect("in reach");
//! assert_eq!(divider.bits(), 250 << 8);
//! ```

#![cfg_attr(target_os = "none", no_std)]

pub mod byte_ring;
pub mod clock;
pub mod dma;
pub mod gic;
pub mod gpio;
pub mod line_start;
pub mod machine;
pub mod mailbox;
pub mod mmio;
pub mod pl011;
pub mod property;
pub mod rng200;
pub mod rx_ring;
pub mod sd;
pub mod watchdog;
