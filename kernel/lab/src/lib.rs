//! Everything that measures or proves.
//!
//! | module | holds |
//! |---|---|
//! | [`machine`] | what an experiment needs of the machine that it runs on |
//! | [`experiment`] | what all experiments have in common: steps, records, an end |
//! | [`mod@bench`] | how fast the loaded model works in a prompt and decodes |
//! | [`membw`] | how fast the cores read, write and copy memory |
//! | [`kernels`] | what each set of kernels makes of the model's own weights |
//! | [`perplexity`] | how well the model predicts a text |
//! | [`sd`] | what the card slot says of itself, and how fast the card is read |
//! | [`selftest`] | whether kernels, card and cores are right |
//! | [`design`] | the seeded random order in which cells are measured |
//! | [`instrument`] | a cell, and what measures one |
//! | [`window`] | one measurement, raw |
//! | [`guard`] | what makes a window void |
//! | [`statistics`] | intervals and tests |
//! | [`verdict`] | what statistics mean |
//! | [`campaign`] | design, instrument and guards, one window a step |
//! | [`planner`] | what a token will take, from probes |
//! | [`noise`] | the shape of detours |
//! | [`soak`] | what a long run came to |
//! | [`energy`] | what answers cost in energy |
//! | [`samples`] | repeated measurements and what they come to |
//!
//! Nothing here prints or waits: an experiment runs step by step, and what it finds are events of
//! [`protocol`].

#![cfg_attr(target_os = "none", no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod bench;
pub mod campaign;
pub mod design;
pub mod energy;
pub mod experiment;
pub mod guard;
pub mod instrument;
pub mod kernels;
pub mod machine;
pub mod membw;
pub mod noise;
pub mod perplexity;
pub mod planner;
pub mod samples;
pub mod sd;
pub mod selftest;
pub mod soak;
pub mod statistics;
pub mod verdict;
pub mod window;

pub use experiment::{Experiment, Lab, Report, Subject};
pub use machine::Machine;
