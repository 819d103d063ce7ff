//! One file per subcommand: its arguments and what it prints.

pub mod convert;
pub mod inspect;
pub mod output;
pub mod quantize;
pub mod tokenize;
