//! A session: from the banner to the last answer, for people and for programs.
//!
//! Nothing here knows a register or a file system. The firmware runs it on the board, tests and the host
//! tool run it on pipes; see [`Platform`].

mod answer;
mod banner;
mod bench;
mod events;
mod generate;
mod inbox;
mod info;
mod kernels;
mod load;
mod membw;
mod model;
mod outcome;
mod perplexity;
mod person;
mod platform;
mod program;
mod samples;
mod screen;
mod seat;
mod selftest;
mod shell;

pub use model::Model;
pub use platform::{
    BoardFacts, CoreCounts, Health, MAX_CORES, ModelFile, Phase, Platform, Serial, Window,
};
pub use shell::{Exit, run};
