//! What was counted, as `docs/figures/count.json` keeps it, and the lines that the command prints of it.

use super::work::Work;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Weight types in the order in which they are printed; others come first.
const TYPES: [&str; 3] = ["q8_0", "q4_1", "f16"];

/// Instructions of a load on one core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// One figure of one model.
#[derive(Clone, Debug, PartialEq)]
pub enum Count {
    /// A load.
    Load(Load),
    /// Instructions per token of a prompt of so many tokens.
    Prefill {
        prompt_tokens: usize,
        instructions: u64,
    },
    /// Instructions of a pass that works in a token and so many drafted ones.
    Pass { drafted: usize, instructions: u64 },
    /// What each core does for a token decoded at a position.
    Work { position: usize, work: Work },
    /// Instructions of a token decoded at a position.
    Decode { position: usize, instructions: u64 },
}

/// All figures of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelFigures {
    /// A load.
    pub load: Option<Load>,
    /// Instructions per token, by the prompt's tokens.
    pub prefill: BTreeMap<usize, u64>,
    /// Instructions, by the tokens drafted.
    pub pass: BTreeMap<usize, u64>,
    /// What each core does, by position and by the cores that work.
    pub work: BTreeMap<usize, BTreeMap<usize, Work>>,
    /// Instructions, by position.
    pub decode: BTreeMap<usize, u64>,
}

impl ModelFigures {
    fn put(&mut self, count: Count) {
        match count {
            Count::Load(load) => self.load = Some(load),
            Count::Prefill {
                prompt_tokens,
                instructions,
            } => {
                self.prefill.insert(prompt_tokens, instructions);
            }
            Count::Pass {
                drafted,
                instructions,
            } => {
                self.pass.insert(drafted, instructions);
            }
            Count::Work { position, work } => {
                self.work
                    .entry(position)
                    .or_default()
                    .insert(work.cores().len(), work);
            }
            Count::Decode {
                position,
                instructions,
            } => {
                self.decode.insert(position, instructions);
            }
        }
    }

    fn counts(&self) -> impl Iterator<Item = Count> {
        let load = self.load.iter().cloned().map(Count::Load);
        let prefill = self
            .prefill
            .iter()
            .map(|(&prompt_tokens, &instructions)| Count::Prefill {
                prompt_tokens,
                instructions,
            });
        let pass = self
            .pass
            .iter()
            .map(|(&drafted, &instructions)| Count::Pass {
                drafted,
                instructions,
            });
        let work = self.work.iter().flat_map(|(&position, by_cores)| {
            by_cores.values().map(move |work| Count::Work {
                position,
                work: work.clone(),
            })
        });
        let decode = self
            .decode
            .iter()
            .map(|(&position, &instructions)| Count::Decode {
                position,
                instructions,
            });
        load.chain(prefill).chain(pass).chain(work).chain(decode)
    }

    /// Bytes of weights that one core reads for a decoded token.
    pub fn tensor_bytes(&self) -> Option<u64> {
        let work = self.work.values().find_map(|by_cores| by_cores.get(&1))?;
        Some(work.cores()[0].bytes)
    }
}

/// All figures, by weight type; with a kernel set's name behind it where that is not the tuned one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(BTreeMap<String, ModelFigures>);

impl Figures {
    /// Takes in a figure of `model`, in place of that for the same.
    pub fn put(&mut self, model: &str, count: Count) {
        self.0.entry(model.to_owned()).or_default().put(count);
    }

    /// Takes in what another run has counted, in place of what was there.
    pub fn extend(&mut self, others: &Figures) {
        for (model, figures) in &others.0 {
            figures.counts().for_each(|count| self.put(model, count));
        }
    }

    /// The figures of `model`.
    pub fn model(&self, model: &str) -> Option<&ModelFigures> {
        self.0.get(model)
    }

    fn in_order(&self) -> Vec<(&str, &ModelFigures)> {
        let mut models: Vec<_> = self
            .0
            .iter()
            .map(|(name, figures)| (name.as_str(), figures))
            .collect();
        models.sort_by_key(|(name, _)| {
            TYPES
                .iter()
                .position(|other| other == name)
                .map_or(0, |i| i + 1)
        });
        models
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_order().iter().try_for_each(|(model, figures)| {
            figures
                .counts()
                .try_for_each(|count| writeln!(f, "{}", count.of(model)))
        })
    }
}

impl Count {
    /// Its lines.
    pub fn of<'c>(&'c self, model: &'c str) -> impl fmt::Display + 'c {
        fmt::from_fn(move |f| match self {
            Count::Load(load) => write!(
                f,
                "load {model}: {:.0} M read + {:.0} M pack + {:.0} M checksum of {:.0} M in all",
                millions(load.read),
                millions(load.pack),
                millions(load.checksum),
                millions(load.total)
            ),
            Count::Prefill {
                prompt_tokens,
                instructions,
            } => {
                write!(
                    f,
                    "prefill {model} prompt{prompt_tokens}: {:.1} M per token",
                    millions(*instructions)
                )
            }
            Count::Pass {
                drafted,
                instructions,
            } => {
                write!(
                    f,
                    "pass {model} draft{drafted}: {:.1} M",
                    millions(*instructions)
                )
            }
            Count::Work { position, work } => {
                let lines = work.lines();
                let named: Vec<String> = lines
                    .iter()
                    .map(|line| format!("work {model} pos{position} {line}"))
                    .collect();
                f.write_str(&named.join("\n"))
            }
            Count::Decode {
                position,
                instructions,
            } => {
                write!(
                    f,
                    "decode {model} pos{position}: {:.1} M",
                    millions(*instructions)
                )
            }
        })
    }
}

/// Instructions in millions.
pub fn millions(instructions: u64) -> f64 {
    instructions as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(position: usize, instructions: u64) -> Count {
        Count::Decode {
            position,
            instructions,
        }
    }

    #[test]
    fn a_run_replaces_its_own_figures_and_leaves_the_rest() {
        let (mut all, mut run) = (Figures::default(), Figures::default());
        all.put("q8_0", decode(16, 46_000_000));
        all.put("f16", decode(16, 90_000_000));
        run.put("q8_0", decode(16, 45_400_000));
        run.put(
            "q8_0",
            Count::Prefill {
                prompt_tokens: 128,
                instructions: 31_600_000,
            },
        );
        all.extend(&run);
        let lines = "prefill q8_0 prompt128: 31.6 M per token\ndecode q8_0 pos16: 45.4 M\ndecode f16 pos16: 90.0 M\n";
        assert_eq!(all.to_string(), lines);
    }

    #[test]
    fn positions_stand_by_value() {
        let mut all = Figures::default();
        all.put("q8_0", decode(1024, 64_000_000));
        all.put("q8_0", decode(256, 49_000_000));
        assert_eq!(
            all.to_string(),
            "decode q8_0 pos256: 49.0 M\ndecode q8_0 pos1024: 64.0 M\n"
        );
    }

    #[test]
    fn figures_are_read_as_they_were_written() {
        let mut all = Figures::default();
        all.put("q8_0", decode(16, 1));
        all.put(
            "q8_0",
            Count::Load(Load {
                read: 1,
                pack: 2,
                checksum: 3,
                total: 7,
            }),
        );
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Figures>(&text).unwrap(), all);
        assert!(serde_json::from_str::<Figures>(&text.replace("decode", "decodes")).is_err());
    }
}
