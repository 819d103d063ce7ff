//! What was counted, as `docs/figures/count.json` keeps it, and the lines that the command prints of it.

use super::work::Work;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Weight types in the order in which they are printed; others come first.
const TYPES: [&str; 3] = ["q8_0", "q4_1", "f16"];

/// Instructions of a load on one core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Bringing the file in.
    pub read: u64,
    /// Packing the rows.
    pub pack: u64,
    /// CRC-32C of the file.
    pub checksum: u64,
    /// All of it, header, vocabulary and zeroed memory included.
    pub total: u64,
}

/// All figures of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelFigures {
    /// A load.
    pub load: Option<Load>,
    /// Instructions per token, by the prompt's tokens.
    pub prefill: BTreeMap<usize, u64>,
    /// Instructions of a pass that works in a token and drafted ones, by the tokens drafted.
    pub pass: BTreeMap<usize, u64>,
    /// What each core does for a decoded token, by position and by the cores that work.
    pub work: BTreeMap<usize, BTreeMap<usize, Work>>,
    /// Instructions of a decoded token, by position.
    pub decode: BTreeMap<usize, u64>,
    /// The same where its events have numbers and checksums.
    pub decode_checked: BTreeMap<usize, u64>,
}

impl ModelFigures {
    /// Takes in what another run has counted, in place of what was there for the same.
    pub fn extend(&mut self, other: ModelFigures) {
        self.load = other.load.or(self.load.take());
        self.prefill.extend(other.prefill);
        self.pass.extend(other.pass);
        for (position, by_cores) in other.work {
            self.work.entry(position).or_default().extend(by_cores);
        }
        self.decode.extend(other.decode);
        self.decode_checked.extend(other.decode_checked);
    }

    /// Bytes of weights that one core reads for a decoded token.
    pub fn tensor_bytes(&self) -> Option<u64> {
        let work = self.work.values().find_map(|by_cores| by_cores.get(&1))?;
        Some(work.cores()[0].tensor_bytes)
    }

    /// Its figures as lines about `model`.
    pub fn lines(&self, model: &str) -> Vec<String> {
        let load = self.load.iter().map(|load| {
            format!(
                "load {model}: {:.0} M read + {:.0} M pack + {:.0} M checksum of {:.0} M in all",
                millions(load.read),
                millions(load.pack),
                millions(load.checksum),
                millions(load.total)
            )
        });
        let counts = |what: &'static str,
                      at: &'static str,
                      unit: &'static str,
                      of: &BTreeMap<usize, u64>| {
            let line = |(n, &count): (&usize, &u64)| {
                format!("{what} {model} {at}{n}: {:.1} M{unit}", millions(count))
            };
            of.iter().map(line).collect::<Vec<_>>()
        };
        let work = self.work.iter().flat_map(|(position, by_cores)| {
            let lines = by_cores.values().flat_map(Work::lines);
            lines.map(move |line| format!("work {model} pos{position} {line}"))
        });
        load.chain(counts("prefill", "prompt", " per token", &self.prefill))
            .chain(counts("pass", "draft", "", &self.pass))
            .chain(work)
            .chain(counts("decode", "pos", "", &self.decode))
            .chain(self.checksums().map(|(position, percent)| {
                format!("checksums {model} pos{position}: {percent:+.3} % of a decoded token")
            }))
            .collect()
    }

    /// What checksums add to a decoded token, in percent of it, by position.
    pub fn checksums(&self) -> impl Iterator<Item = (usize, f64)> {
        self.decode_checked
            .iter()
            .filter_map(|(position, &checked)| {
                let plain = *self.decode.get(position)? as f64;
                Some((*position, (checked as f64 - plain) / plain * 100.0))
            })
    }
}

/// All figures, by weight type; with a kernel set's name behind it where that is not the tuned one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(BTreeMap<String, ModelFigures>);

impl Figures {
    /// Takes in what a run has counted of `model`.
    pub fn extend(&mut self, model: &str, figures: ModelFigures) {
        self.0.entry(model.to_owned()).or_default().extend(figures);
    }

    /// Takes in all that another run has counted.
    pub fn merge(&mut self, other: Figures) {
        other
            .0
            .into_iter()
            .for_each(|(model, figures)| self.extend(&model, figures));
    }

    /// All models and their figures.
    pub fn models(&self) -> impl Iterator<Item = (&str, &ModelFigures)> {
        self.0
            .iter()
            .map(|(name, figures)| (name.as_str(), figures))
    }

    /// The figures of `model`.
    pub fn model(&self, model: &str) -> Option<&ModelFigures> {
        self.0.get(model)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut models: Vec<_> = self.0.iter().collect();
        models.sort_by_key(|(name, _)| TYPES.iter().position(|other| other == name));
        let mut lines = models
            .iter()
            .flat_map(|(name, figures)| figures.lines(name));
        lines.try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Instructions in millions.
pub fn millions(instructions: u64) -> f64 {
    instructions as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(position: usize, instructions: u64) -> ModelFigures {
        ModelFigures {
            decode: BTreeMap::from([(position, instructions)]),
            ..ModelFigures::default()
        }
    }

    #[test]
    fn a_run_replaces_its_own_figures_and_leaves_the_rest() {
        let mut all = Figures::default();
        all.extend("q8_0", decode(16, 46_000_000));
        all.extend("f16", decode(16, 90_000_000));
        all.extend("f16_plain", decode(16, 99_000_000));
        let mut run = decode(16, 45_400_000);
        run.prefill.insert(128, 31_600_000);
        all.extend("q8_0", run);
        let lines = "decode f16_plain pos16: 99.0 M\nprefill q8_0 prompt128: 31.6 M per token\n\
                     decode q8_0 pos16: 45.4 M\ndecode f16 pos16: 90.0 M\n";
        assert_eq!(all.to_string(), lines);
    }

    #[test]
    fn positions_stand_by_value() {
        let mut all = Figures::default();
        all.extend("q8_0", decode(1024, 64_000_000));
        all.extend("q8_0", decode(256, 49_000_000));
        assert_eq!(
            all.to_string(),
            "decode q8_0 pos256: 49.0 M\ndecode q8_0 pos1024: 64.0 M\n"
        );
    }

    #[test]
    fn checksums_are_told_as_a_part_of_a_token() {
        let mut all = Figures::default();
        let mut run = decode(16, 40_000_000);
        run.decode_checked.insert(16, 40_010_000);
        all.extend("q8_0", run);
        let lines =
            "decode q8_0 pos16: 40.0 M\nchecksums q8_0 pos16: +0.025 % of a decoded token\n";
        assert_eq!(all.to_string(), lines);
    }

    #[test]
    fn figures_are_read_as_they_were_written() {
        let mut run = decode(16, 1);
        run.load = Some(Load {
            read: 1,
            pack: 2,
            checksum: 3,
            total: 7,
        });
        let mut all = Figures::default();
        all.extend("q8_0", run);
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Figures>(&text).unwrap(), all);
        assert!(serde_json::from_str::<Figures>(&text.replace("decode", "decodes")).is_err());
    }
}
