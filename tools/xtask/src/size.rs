//! The image's size against a committed budget, so that growth is seen in review.

use crate::firmware::Firmware;
use crate::voice::Voice;
use anyhow::{Context, Result, bail};

const BUDGET: &str = include_str!("../size-budget.txt");

/// Prints the sizes and compares them with the budget.
///
/// # Errors
/// A part is larger than its budget.
pub fn check(voice: Voice, firmware: &Firmware) -> Result<()> {
    let sizes = firmware.image.sizes;
    let parts = [
        ("text", sizes.text),
        ("rodata", sizes.rodata),
        ("data", sizes.data),
        ("bss", sizes.bss),
        ("file", firmware.image.bytes.len() as u64),
    ];
    let mut over = Vec::new();
    for (part, bytes) in parts {
        let limit = limit_bytes(BUDGET, part)?;
        voice.say(format!("{part:>8} {bytes:>9} of {limit:>9} bytes"));
        if bytes > limit {
            over.push(part);
        }
    }
    if let Some([bytes, room]) = firmware.image.symbols_bytes {
        voice.say(format!(" symbols {bytes:>9} of {room:>9} bytes, in rodata"));
    }
    if !over.is_empty() {
        bail!(
            "the image is over its budget in {}: make it smaller, or raise tools/xtask/size-budget.txt and say why",
            over.join(", ")
        );
    }
    Ok(())
}

/// The budget of one part: lines of `part KiB`, `#` for reasons.
fn limit_bytes(budget: &str, part: &str) -> Result<u64> {
    let kib = budget
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace))
        .find(|(name, _)| *name == part)
        .with_context(|| format!("no budget for {part}"))?
        .1;
    Ok(kib.trim().parse::<u64>()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_a_budget() {
        for part in ["text", "rodata", "data", "bss", "file"] {
            assert!(limit_bytes(BUDGET, part).unwrap() > 0);
        }
        assert!(limit_bytes(BUDGET, "stack").is_err());
    }
}
