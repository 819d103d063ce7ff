//! One file per subcommand: its arguments and what it prints.

pub mod chat;
pub mod check_fixtures;
pub mod check_oracle;
pub mod compare;
pub mod convert;
pub mod generate;
pub mod inspect;
pub mod logits;
pub mod model;
pub mod output;
pub mod ports;
pub mod ppl;
pub mod predict;
pub mod quantize;
pub mod synth;
pub mod talk;
pub mod tokenize;
