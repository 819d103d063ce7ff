//! Comparison with another implementation's stored results.

mod controls;
pub mod fixture;
mod gates;
mod golden;
pub mod tables;

pub use controls::Control;
pub use gates::{Gates, JudgedPrompt, PromptReport, compare};
pub use golden::{Golden, Prompt, Rounding, RoundingSpread};
