//! Comparison with another implementation's stored results.

mod gates;
mod golden;

pub use gates::{Gates, PromptReport, compare};
pub use golden::{Golden, Prompt};
