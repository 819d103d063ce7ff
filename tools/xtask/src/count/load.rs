//! What a load takes: reading, packing and checksum, on one core that does one after the other.

use super::conversation::number;
use crate::session::Session;
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Loads the card's model once more and counts the parts of the load.
///
/// # Errors
/// It does not load, or the firmware reports no times.
pub(super) fn count_load(session: &mut Session, name: &str) -> Result<String> {
    let mut loaded = None;
    session.ask_with(json!({"op": "load", "name": "1"}), &mut |event: &Value| {
        if event["event"] == "loaded" {
            loaded = Some(event.clone());
        }
        Ok(())
    })?;
    let loaded = loaded.context("the firmware reports no load")?;
    let million = |field| Ok::<f64, anyhow::Error>(number(&loaded, "timing", field)? * 1e3);
    Ok(format!(
        "load {name}: {:.0} M read + {:.0} M pack + {:.0} M checksum of {:.0} M in all",
        million("read_s")?,
        million("pack_s")?,
        million("checksum_s")?,
        million("total_s")?,
    ))
}
