//! A client of PiLM's serial line.
//!
//! | module | holds |
//! |---|---|
//! | [`bad_wire`] | what a bad wire makes of bytes, for tests |

#![forbid(unsafe_code)]

pub mod bad_wire;
