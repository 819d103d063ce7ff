//! Where the instructions of a decoded Q8_0 token go, reckoned from what was counted.
//!
//! The loops of the matrix products are in the image: their instructions times the weights. Attention is what grows with
//! the position. What is left is everything else, and has to be the same at every position.

use super::conversation::STEPS;
use super::lines::Lines;
use std::fmt::Write;

/// Bytes of 32 weights.
const Q8_0_BLOCK_BYTES: f64 = 34.0;
/// In the sections of docs/speed.md.
const LOOP: &str = "| Q8_0, decoded token | ";

/// A Markdown table, if `lines` has two positions and `mca` (its section of docs/speed.md) the loop.
pub fn table(lines: &Lines, mca: &str) -> Option<String> {
    let (_, row) = mca.split_once(LOOP)?;
    let per_32: f64 = row.split(' ').next()?.parse().ok()?;
    let products = per_32 * blocks(lines)?;
    let counted: Vec<(f64, f64)> = lines
        .iter()
        .filter_map(|(what, figure)| {
            let position = what.strip_prefix("decode q8_0 pos")?.parse().ok()?;
            Some((position, super::bars::millions(figure)?))
        })
        .collect();
    let (first, last) = (counted.first()?, counted.last()?);
    let growth = (last.1 - first.1) / (last.0 - first.0);
    if !growth.is_finite() {
        return None;
    }

    let mut table = format!(
        "| Q8_0, million instructions at position | loops of the matrix products | attention, {:.1} k per position | the rest | \
         counted |\n|---|---|---|---|---|\n",
        growth * 1e3
    );
    for (position, counted) in counted {
        // the tokens that are averaged see so many positions
        let attention = growth * (position + (STEPS as f64 + 1.0) / 2.0);
        writeln!(
            table,
            "| {position} | {products:.1} | {attention:.1} | {:.1} | {counted:.1} |",
            counted - products - attention
        )
        .ok()?;
    }
    Some(table)
}

/// Millions of blocks of 32 weights that a token multiplies.
fn blocks(lines: &Lines) -> Option<f64> {
    let (_, figure) = lines.iter().find(|(what, _)| {
        what.starts_with("work q8_0 ") && what.ends_with(super::lines::THE_ONLY_CORE)
    })?;
    Some(super::bars::megabytes(figure)? / Q8_0_BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_come_to_what_was_counted() {
        let mut lines = Lines::default();
        [
            "decode q8_0 pos16: 45.0 M",
            "decode q8_0 pos216: 49.0 M",
            "work q8_0 pos216 core 0 of 1: 7 rows, 9 attention blocks, 11 barriers, 136.00 MB of tensors",
        ]
        .iter()
        .for_each(|line| lines.put(line));
        assert_eq!(table(&lines, ""), None);
        let mca = "| per 32 |\n| Q8_0, decoded token | 10.00 | 5.43 | 26 | 10.5 | ≤ 5.5 |\n";
        let table = table(&lines, mca).unwrap();
        let rows: Vec<_> = table.lines().collect();
        assert!(
            rows[0].contains("attention, 20.0 k per position"),
            "{table}"
        );
        assert_eq!(
            rows[2..],
            [
                "| 16 | 40.0 | 0.4 | 4.6 | 45.0 |",
                "| 216 | 40.0 | 4.4 | 4.6 | 49.0 |"
            ]
        );
    }

    #[test]
    fn one_position_tells_no_growth() {
        let mut lines = Lines::default();
        lines.put("decode q8_0 pos16: 45.0 M");
        lines.put("work q8_0 pos16 core 0 of 1: 7 rows, 136.00 MB of tensors");
        assert_eq!(table(&lines, "| Q8_0, decoded token | 10.00 |"), None);
    }
}
