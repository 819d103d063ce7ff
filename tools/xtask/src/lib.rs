//! What builds, boots and checks PiLM: the library behind `cargo xtask` and the QEMU tests.
//!
//! Building:
//! * [`workspace`]: where things are, and cargo itself
//! * [`firmware`], [`raw_image`]: the kernel as ELF, and as the flat bytes that the board loads
//! * [`symbols`]: the functions' names inside the image, for backtraces
//! * [`reproduce`], [`size`]: the same kernel from every folder; its size against a budget
//! * [`setup`]: what a fresh machine lacks
//! * [`digest`]: digests of files
//!
//! Cards:
//! * [`card`]: an SD-card image with MBR and FAT32
//! * [`image`], [`dist`]: a whole card; the files for one that has the board's firmware
//!
//! Talking to the firmware:
//! * [`run`], [`terminal`]: boot in QEMU, ask; the person's terminal
//! * [`session`]: a conversation in JSON lines
//! * [`first_questions`]: what people ask first, and whether the answers repeat themselves
//! * [`voice`]: xtask's own words, on stderr
//!
//! Checks and figures:
//! * [`python`]: the tests of the client in Python, against QEMU
//! * [`ci`], [`test`](mod@test): everything that must hold; all tests
//! * [`audit`]: the kernel's parts and instructions, its `unsafe`, circles between files
//! * [`parity`]: comparison with transformers
//! * [`count`], [`mca`]: instructions per token in QEMU; cycles of hot loops by LLVM's model
//! * [`pages`], [`marked`]: sections of pages that commands write

#![forbid(unsafe_code)]

pub mod audit;
pub mod card;
pub mod ci;
pub mod count;
pub mod digest;
pub mod dist;
pub mod figures;
pub mod firmware;
pub mod first_questions;
pub mod image;
pub mod marked;
pub mod mca;
pub mod pages;
pub mod parity;
pub mod python;
pub mod raw_image;
pub mod release_manifest;
pub mod reproduce;
pub mod run;
pub mod session;
pub mod setup;
pub mod size;
pub mod symbols;
pub mod terminal;
pub mod test;
pub mod voice;
pub mod workspace;
