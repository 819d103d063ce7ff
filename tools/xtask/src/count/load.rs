//! What a load takes: reading, packing and checksum, on one core that does one after the other.

use super::conversation::instructions;
use super::figures::{Load, ModelFigures};
use crate::session::Session;
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Loads the card's model once more and counts the parts of the load.
///
/// # Errors
/// It does not load, or the firmware reports no times.
pub(super) fn count_load(session: &mut Session) -> Result<ModelFigures> {
    let mut loaded = None;
    session.ask_with(json!({"op": "load", "name": "1"}), &mut |event: &Value| {
        if event["event"] == "loaded" {
            loaded = Some(event.clone());
        }
        Ok(())
    })?;
    let loaded = loaded.context("the firmware reports no load")?;
    let instructions = |field| instructions(&loaded, field, 1.0);
    let load = Load {
        read: instructions("read_s")?,
        pack: instructions("pack_s")?,
        checksum: instructions("checksum_s")?,
        total: instructions("total_s")?,
    };
    Ok(ModelFigures {
        load: Some(load),
        ..ModelFigures::default()
    })
}
