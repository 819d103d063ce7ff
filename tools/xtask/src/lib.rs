//! What builds, boots and checks PiLM: the library behind `cargo xtask` and the QEMU tests.
//!
//! * [`workspace`]: where things are, and cargo itself
//! * [`firmware`]: the kernel as ELF and as `kernel8.img`
//! * [`raw_image`]: ELF to the flat bytes that the board loads
//! * [`card`]: an SD-card image with MBR and FAT32

#![forbid(unsafe_code)]

pub mod audit;
pub mod card;
pub mod ci;
pub mod count;
pub mod digest;
pub mod dist;
pub mod figures;
pub mod firmware;
pub mod image;
pub mod marked;
pub mod mca;
pub mod parity;
pub mod raw_image;
pub mod release_manifest;
pub mod reproduce;
pub mod run;
pub mod session;
pub mod setup;
pub mod size;
pub mod speed_page;
pub mod terminal;
pub mod test;
pub mod voice;
pub mod workspace;
