//! What a load takes: reading, packing and checksum, on one core that does one after the other.

use super::conversation::instructions;
use super::figures::{Load, ModelFigures};
use crate::session::Session;
use anyhow::{Context, Result};
use protocol::{Event, Op, request};

/// Loads the card's model once more and counts the parts of the load.
///
/// # Errors
/// It does not load, or the firmware reports no times.
pub(super) fn count_load(session: &mut Session) -> Result<ModelFigures> {
    let mut timing = None;
    let op = Op::Load(request::Load { name: "1".into() });
    session.ask_with(op, &mut |event| {
        if let Event::Loaded(loaded) = event {
            timing = Some(loaded.timing);
        }
        Ok(())
    })?;
    let timing = timing.context("the firmware reports no load")?;
    let load = Load {
        read: instructions(timing.read_s, 1),
        pack: instructions(timing.pack_s, 1),
        checksum: instructions(timing.checksum_s, 1),
        total: instructions(timing.total_s, 1),
    };
    Ok(ModelFigures {
        load: Some(load),
        ..ModelFigures::default()
    })
}
