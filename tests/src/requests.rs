//! Requests of a program, and what comes back.

use serde_json::Value;
use xtask::session::Session;

/// The events of a request, the last one included.
///
/// # Panics
/// The answer is an error, or does not come.
pub fn events(session: &mut Session, request: Value) -> Vec<Value> {
    let mut events = Vec::new();
    session
        .ask_with(request, &mut |event| {
            events.push(event.clone());
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error:#}"));
    events
}
