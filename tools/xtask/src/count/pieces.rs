//! Where the instructions of a decoded Q8_0 token go, reckoned from what was counted.
//!
//! The loops of the matrix products are in the image: their instructions times the weights. Attention is
//! what grows with the position. What is left is everything else, and has to be the same at every position.

use super::conversation::STEPS;
use super::figures::{Figures, millions};

/// Bytes of 32 weights.
const Q8_0_BLOCK_BYTES: f64 = 34.0;

/// A Markdown table, if `figures` has two positions; the loop of the matrix products has `per_32` instructions for 32
/// weights.
pub fn table(figures: &Figures, per_32: f64) -> Option<String> {
    let model = figures.model("q8_0")?;
    let products = per_32 * model.tensor_bytes()? as f64 / 1e6 / Q8_0_BLOCK_BYTES;
    let counted: Vec<(f64, f64)> = model
        .decode
        .iter()
        .map(|(&position, &instructions)| (position as f64, millions(instructions)))
        .collect();
    let (first, last) = (counted.first()?, counted.last()?);
    let growth = (last.1 - first.1) / (last.0 - first.0);
    if !growth.is_finite() {
        return None;
    }

    let mut table = format!(
        "| Q8_0, million instructions at position | loops of the matrix products | \
         attention, {:.1} k per position | the rest | counted |\n|---|---|---|---|---|\n",
        growth * 1e3
    );
    for (position, counted) in counted {
        // the tokens that are averaged see so many positions
        let attention = growth * (position + (STEPS as f64 + 1.0) / 2.0);
        let rest = counted - products - attention;
        table += &format!(
            "| {position} | {products:.1} | {attention:.1} | {rest:.1} | {counted:.1} |\n"
        );
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::super::figures::ModelFigures;
    use super::super::work::{ModelFacts, Work};
    use super::*;
    use protocol::event::{Counts, Phase};
    use std::collections::BTreeMap;

    fn figures(decode: &[(usize, u64)]) -> Figures {
        let core = Counts {
            phase: Phase::Decode,
            core: 0,
            gemv_rows: 7,
            attention_blocks: 9,
            barriers: 11,
            tensor_bytes: 136_000_000,
        };
        let facts = ModelFacts {
            n_layers: 2,
            tensor_bytes: 136_000_000,
        };
        let work = Work::new(&[core], 1, &facts).unwrap();
        let counted = ModelFigures {
            decode: decode.iter().copied().collect(),
            work: BTreeMap::from([(216, BTreeMap::from([(1, work)]))]),
            ..ModelFigures::default()
        };
        let mut figures = Figures::default();
        figures.extend("q8_0", counted);
        figures
    }

    #[test]
    fn the_pieces_come_to_what_was_counted() {
        let table = table(&figures(&[(16, 45_000_000), (216, 49_000_000)]), 10.0).unwrap();
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
        assert_eq!(table(&figures(&[(16, 45_000_000)]), 10.0), None);
    }
}
