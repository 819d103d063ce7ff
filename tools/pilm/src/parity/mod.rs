//! Comparison with another implementation's stored results.

mod controls;
pub mod fixture;
mod gates;
mod golden;

pub use controls::Control;
pub use gates::{Gates, PromptReport, compare};
pub use golden::{Golden, Prompt, Rounding};
