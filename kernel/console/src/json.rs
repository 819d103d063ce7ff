//! The machine interface: one JSON object per line, in both directions.
//!
//! `docs/json.md` describes every request and every event.

mod request;
mod write;

pub use request::{
    BenchRequest, CompleteRequest, Id, LogitsRequest, MembwRequest, Message, Op, Positions, Prompt,
    Request, RequestError, Sampling,
};
pub use write::{Array, Object, Value};
