//! From the firmware's hand-over to `kernel_main` on four cores.
//!
//! 1. `start.s`: entry check, EL3/EL2 → EL1 with every register that is UNKNOWN at reset, floating
//!    point on, BSS cleared, stacks painted. Caches off, so no atomics and nothing unaligned.
//! 2. `start`: the image, page 0 and the peripherals are mapped, MMU and caches go on.
//! 3. `kernel_main` runs on `SP_EL0`; exceptions run on `SP_EL1`, a stack of their own
//!    (`layout`, `vectors`).
//! 4. The kernel finds out which RAM there is and maps it (`mmu::map`).
//! 5. `cores::start` releases cores 1–3 from the spin table; each runs the same steps and ends in
//!    the kernel's `secondary`.
//!
//! Everything that is only arithmetic (tables, ESR, device tree, register values) is pure and tested
//! on the host; everything with an instruction in it exists only where `target_os = "none"`.
//!
//! * `start`, [`registers`]: the first instructions, and every value that a system register gets
//! * [`layout`]: places of image and stacks
//! * [`page_tables`], `mmu`: the map (pure), and the live one
//! * `vectors`, [`expected`], [`esr`], [`report`], [`backtrace`]: exceptions, those that come back, and their words
//! * [`symbols`]: names for addresses of the code
//! * `cores`: cores 1–3 out of the spin table
//! * [`ram`], [`device_tree`], [`survey`]: which RAM there is
//! * `cache`, `wait`, `cpu`, `hint`, [`pmu`]: instructions with a meaning
//!
//! ```
//! use boot::ram;
//!
//! // Without a device tree, a board of 4 GB (revision c03111): what the VideoCore leaves, and the rest below the
//! // peripherals.
//! let total_bytes = ram::total_bytes_of_revision(0xc0_3111);
//! let usable = ram::from_mailbox(0..0x3b40_0000, total_bytes);
//! assert!(usable.iter().eq([0..0x3b40_0000, ram::LOW_END..ram::PERIPHERALS_START]));
//! ```
//!
//! **Resources**: Arm Architecture Reference Manual; Cortex-A72 manual (100095); the Raspberry Pi
//! firmware's `armstub8.S` for the state at entry.

#![cfg_attr(target_os = "none", no_std)]

pub mod backtrace;
pub mod device_tree;
pub mod esr;
pub mod expected;
pub mod layout;
pub mod page_tables;
pub mod pmu;
pub mod ram;
pub mod registers;
pub mod report;
pub mod survey;
pub mod symbols;

#[cfg(target_os = "none")]
pub mod cache;
#[cfg(target_os = "none")]
pub mod cores;
#[cfg(target_os = "none")]
pub mod cpu;
#[cfg(target_os = "none")]
pub mod hint;
#[cfg(target_os = "none")]
pub mod mmu;
#[cfg(target_os = "none")]
pub mod start;
#[cfg(target_os = "none")]
pub mod vectors;
#[cfg(target_os = "none")]
pub mod wait;

/// Translation tables in the pool: one root, a few for image, heap and peripherals where they are, nine for 8 GiB
/// seen in one piece, the rest for what is smaller than 2 MiB.
pub const POOL_TABLES: usize = 32;
