//! SD cards: the protocol, a card over any host controller, and the BCM2711's SDHCI controllers.
//!
//! ```text
//!   card.rs      start.rs initialises, reads.rs reads,  speaks only to the trait SdHost
//!     │          dma.rs tries DMA, measure.rs times it,
//!     │          report.rs has what the card says
//!     │  retry.rs     what to try after the n-th failure        (pure)
//!     │  protocol.rs  commands, status.rs the card's states      (pure)
//!     │  identity.rs  CID, CSD, SCR, switch status              (pure)
//!   host.rs      the trait SdHost, HostError, the trait Clock
//!     │
//!   sdhci.rs     SdHost on SDHCI registers            base_clock.rs, divider.rs,
//!                                                 registers.rs, adma.rs (pure)
//! ```
//!
//! Resources: SD Physical Layer Simplified Specification 6.00; SD Host Controller Simplified
//! Specification 3.00.

pub mod adma;
pub mod base_clock;
pub mod card;
pub mod divider;
pub mod host;
pub mod identity;
pub mod protocol;
pub mod registers;
pub mod retry;
pub mod sdhci;

pub use card::{CardError, Modes, SdCard};
pub use host::{Clock, HostError, SdHost};
pub use sdhci::Sdhci;
