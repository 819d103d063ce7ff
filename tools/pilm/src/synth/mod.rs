//! Seeded models: real structure, made-up weights.
//!
//! The same shape, type and seed give the same bytes on every machine, so tests make their models
//! when they run and nothing needs to be stored. Scales are chosen so that every part of the
//! decoder moves the logits: a wrong epsilon, rotary base, head mapping or pairing shows. Rows of
//! the output matrix that stand for bytes outside printable ASCII are small, so that greedy answers
//! are readable text.

mod model;
mod random;
mod shape;
mod vocabulary;

pub use model::{bytes, q4_k_m, write, write_mixed};
pub use random::SplitMix64;
pub use shape::Shape;
pub use vocabulary::{CONTROL, THINKING, Vocabulary, VocabularyKind, spelling};
