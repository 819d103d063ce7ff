//! Two logs of the laboratory, cell by cell: the same work, and which is faster.

use std::collections::BTreeMap;

use lab::statistics::multiple::holm;
use lab::statistics::rank::mann_whitney;
use lab::statistics::{Interval, contrast};
use lab::verdict::{Difference, Reason, difference};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

/// Adjusted p from which on a table states no difference.
const SIGNIFICANT: f64 = 0.05;
/// Part of void windows above which nothing is stated.
const MOST_VOID: f64 = 0.2;

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum LogError {
    /// A line is no JSON, or a record without what a comparison needs.
    #[error("line {line}: {error}")]
    Line {
        /// Line of the log, from 1.
        line: usize,
        /// What the parser says.
        error: serde_json::Error,
    },
    /// The log has no record.
    #[error("no event \"record\" in it")]
    Empty,
}

#[derive(Deserialize)]
struct Record {
    experiment: String,
    block: usize,
    cell: Value,
    window: Window,
    void: Option<String>,
    emulated: bool,
}

#[derive(Deserialize)]
struct Window {
    ns: u64,
    logits_crc: Option<Value>,
}

/// What a log says of one cell.
#[derive(Debug, Default)]
struct Samples {
    ln_ns: BTreeMap<usize, Vec<f64>>,
    crcs: Vec<String>,
    n_void: usize,
    n: usize,
}

/// A log's cells.
#[derive(Debug, Default)]
pub struct Log {
    cells: BTreeMap<String, Samples>,
    emulated: bool,
}

impl Log {
    /// Reads JSON lines; events other than `record` are left out.
    ///
    /// # Errors
    /// When a line is no JSON or the log has no record.
    pub fn parse(text: &str) -> Result<Log, LogError> {
        let mut log = Log::default();
        for (index, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let failed = |error| LogError::Line {
                line: index + 1,
                error,
            };
            let value: Value = serde_json::from_str(line).map_err(failed)?;
            if value.get("event").and_then(Value::as_str) != Some("record") {
                continue;
            }
            let record: Record = serde_json::from_value(value).map_err(failed)?;
            let cell = match record.cell.get("name").and_then(Value::as_str) {
                Some(name) => name.to_owned(),
                None => record.cell.to_string(),
            };
            let samples = log
                .cells
                .entry(format!("{} {cell}", record.experiment))
                .or_default();
            samples.n += 1;
            log.emulated |= record.emulated;
            if record.void.is_some() || record.window.ns == 0 {
                samples.n_void += 1;
                continue;
            }
            let block = samples.ln_ns.entry(record.block).or_default();
            block.push((record.window.ns as f64).ln());
            if let Some(crc) = record.window.logits_crc.filter(|crc| !crc.is_null()) {
                samples.crcs.push(crc.to_string());
            }
        }
        if log.cells.is_empty() {
            return Err(LogError::Empty);
        }
        Ok(log)
    }
}

impl Samples {
    fn block_means(&self) -> BTreeMap<usize, f64> {
        let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        self.ln_ns
            .iter()
            .map(|(block, values)| (*block, mean(values)))
            .collect()
    }
}

/// A cell that both logs have.
#[derive(Debug)]
pub struct Line {
    /// Experiment and cell.
    pub cell: String,
    /// Blocks that both have.
    pub n: usize,
    /// Whether all logits' checksums are one; None where a log has none.
    pub same_work: Option<bool>,
    /// Speed of the second as a multiple of the first's, with its 95 % interval.
    pub ratio: Option<Interval>,
    /// p of the exact Mann–Whitney test, adjusted for the table by Holm.
    pub p: Option<f64>,
    /// The verdict: the interval and the adjusted p must both say so.
    pub difference: Difference,
}

/// Compares the cells that both logs have.
pub fn compare(first: &Log, second: &Log) -> Vec<Line> {
    let emulated = first.emulated || second.emulated;
    let mut lines: Vec<Line> = Vec::new();
    for (cell, a) in &first.cells {
        if let Some(b) = second.cells.get(cell) {
            lines.push(line(cell, a, b, emulated));
        }
    }
    let p: Vec<f64> = lines.iter().filter_map(|line| line.p).collect();
    let with_p = lines.iter_mut().filter(|line| line.p.is_some());
    for (line, adjusted) in with_p.zip(holm(&p)) {
        line.p = Some(adjusted);
        let stated = matches!(line.difference, Difference::Faster | Difference::Slower);
        if stated && adjusted >= SIGNIFICANT {
            line.difference = Difference::None;
        }
    }
    lines
}

fn line(cell: &str, a: &Samples, b: &Samples, emulated: bool) -> Line {
    let (of_a, of_b) = (a.block_means(), b.block_means());
    let pairs: Vec<(f64, f64)> = of_a
        .iter()
        .filter_map(|(block, x)| of_b.get(block).map(|y| (*x, *y)))
        .collect();
    let is_void = [a, b]
        .iter()
        .any(|s| s.n_void as f64 > MOST_VOID * s.n as f64);
    let contrasts: Vec<f64> = pairs.iter().map(|(x, y)| y - x).collect();
    let crcs: Vec<&String> = a.crcs.iter().chain(&b.crcs).collect();
    let known = !a.crcs.is_empty() && !b.crcs.is_empty();
    let is_stated = !emulated && !is_void;
    let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let ratio = contrast::interval(&contrasts)
        .filter(|_| is_stated)
        .map(|(_, ln)| Interval {
            estimate: (-ln.estimate).exp(),
            low: (-ln.high).exp(),
            high: (-ln.low).exp(),
        });
    Line {
        cell: cell.to_owned(),
        n: pairs.len(),
        same_work: known.then(|| crcs.windows(2).all(|pair| pair[0] == pair[1])),
        p: mann_whitney(&xs, &ys).filter(|_| is_stated),
        difference: difference(
            if is_void {
                Err(Reason::Void)
            } else {
                Ok(contrasts)
            },
            emulated,
        ),
        ratio,
    }
}

/// A verdict in words.
pub fn words(difference: Difference) -> String {
    match difference {
        Difference::None => "no difference".into(),
        Difference::Faster => "faster".into(),
        Difference::Slower => "slower".into(),
        Difference::Inconclusive(reason) => format!("inconclusive: {reason}"),
    }
}

#[cfg(test)]
mod tests;
