//! The library behind the `pilm` program.

#![forbid(unsafe_code)]
