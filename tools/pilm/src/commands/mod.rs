//! One file per subcommand: its arguments and what it prints.

pub mod quantize;
