//! The parts that decoders are made of.
//!
//! Every function here is run by all cores of a region at once and divides its work by
//! [`parallel::Core`]; barriers stand in `models`, where the data flow is visible.

pub mod attention;
pub mod embedding;
pub mod feed_forward;
pub mod norm;
pub mod output;
pub mod project;
pub mod rotary;
