//! What each core does for a decoded token, by the firmware's own count, and the bars for it.
//!
//! These counts are exact in any machine: emulated or not, loaded or not.

use anyhow::{Result, anyhow, ensure};
use llm::gguf::Gguf;
use llm::models::read_config;
use protocol::event::Counts;
use serde::{Deserialize, Serialize};

/// The most barriers of one layer.
const MAX_BARRIERS_PER_LAYER: u64 = 5;
/// How far the busiest core may be ahead of the idlest, relative to the mean.
const MAX_SPREAD: f64 = 0.03;
/// Attention blocks per core and layer below which they cannot be shared out evenly: the bar does not apply.
const FEW_BLOCKS: u64 = 2;

/// What the counts are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// Layers.
    pub n_layers: u64,
    /// Bytes of all tensors in the file.
    pub tensor_bytes: u64,
}

impl ModelFacts {
    /// Out of the first bytes of a model file that has `len_bytes` of them.
    ///
    /// # Errors
    /// It is not a model that the engine runs.
    pub fn parse(header: &[u8], len_bytes: u64) -> Result<ModelFacts> {
        let gguf = Gguf::parse(header, len_bytes).map_err(|error| anyhow!("{error}"))?;
        let config = read_config(&gguf).map_err(|error| anyhow!("{error}"))?;
        Ok(ModelFacts {
            n_layers: config.n_layers as u64,
            tensor_bytes: gguf.tensors().map(|tensor| tensor.len_bytes).sum(),
        })
    }
}

/// What the cores did together for one decoded token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    cores: Vec<Counts>,
    facts: ModelFacts,
}

impl Work {
    /// The first `n_cores` of `cores`, which worked on one token of the model with `facts`.
    ///
    /// # Errors
    /// Another core worked too, or the cores did not pass the same barriers.
    pub fn new(cores: &[Counts], n_cores: usize, facts: &ModelFacts) -> Result<Work> {
        ensure!(
            cores.len() >= n_cores,
            "{n_cores} cores were to work, {} report",
            cores.len()
        );
        let (busy, idle) = cores.split_at(n_cores);
        ensure!(
            idle.iter()
                .all(|core| core.gemv_rows + core.attention_blocks == 0),
            "{n_cores} cores were to work, and another one did: {cores:?}"
        );
        ensure!(
            busy.iter().all(|core| core.barriers == busy[0].barriers),
            "the cores passed different barriers: {cores:?}"
        );
        Ok(Work {
            cores: busy.to_vec(),
            facts: *facts,
        })
    }

    /// What each of the cores did.
    pub fn cores(&self) -> &[Counts] {
        &self.cores
    }

    /// Bytes of weights read, relative to those that the file has.
    pub fn bytes_ratio(&self) -> f64 {
        let read: u64 = self.cores.iter().map(|core| core.tensor_bytes).sum();
        read as f64 / self.facts.tensor_bytes as f64
    }

    /// Barriers of each layer, and those that a token has beside them.
    pub fn barriers(&self) -> (u64, u64) {
        // every layer runs the same code, so that what is no multiple of the layers is outside of them
        let (total, n_layers) = (self.cores[0].barriers, self.facts.n_layers);
        (total / n_layers, total % n_layers)
    }

    /// How far apart the cores are in rows: the busiest one's lead over the idlest, relative to the mean.
    pub fn row_spread(&self) -> f64 {
        spread(self.cores.iter().map(|core| core.gemv_rows))
    }

    /// How far apart the cores are in attention blocks.
    pub fn block_spread(&self) -> f64 {
        spread(self.cores.iter().map(|core| core.attention_blocks))
    }

    /// Whether there are enough attention blocks for an even share.
    pub fn has_many_blocks(&self) -> bool {
        let blocks: u64 = self.cores.iter().map(|core| core.attention_blocks).sum();
        blocks >= FEW_BLOCKS * self.cores.len() as u64 * self.facts.n_layers
    }

    /// The bars that are missed, in words.
    pub fn misses(&self) -> Vec<String> {
        let mut misses = Vec::new();
        let ratio = self.bytes_ratio();
        if (ratio - 1.0).abs() >= 0.005 {
            misses.push(format!(
                "{ratio:.3} of the tensors' bytes are read per token, not 1.00"
            ));
        }
        let (per_layer, _) = self.barriers();
        if per_layer > MAX_BARRIERS_PER_LAYER {
            misses.push(format!(
                "{per_layer} barriers per layer, more than {MAX_BARRIERS_PER_LAYER}"
            ));
        }
        let mut even = |what: &str, spread: f64| {
            if spread > MAX_SPREAD {
                misses.push(format!(
                    "{what} of the cores are {:.1} % apart, more than {:.0} %",
                    100.0 * spread,
                    100.0 * MAX_SPREAD
                ));
            }
        };
        even("rows", self.row_spread());
        if self.has_many_blocks() {
            even("attention blocks", self.block_spread());
        }
        misses
    }

    /// The figures of each core, and what they come to.
    pub fn lines(&self) -> Vec<String> {
        let n = self.cores.len();
        let mut all: Vec<String> = self
            .cores
            .iter()
            .map(|core| {
                format!(
                    "core {} of {n}: {} rows, {} attention blocks, {} barriers, {:.2} MB of tensors",
                    core.core,
                    core.gemv_rows,
                    core.attention_blocks,
                    core.barriers,
                    core.tensor_bytes as f64 / 1e6
                )
            })
            .collect();
        let (per_layer, beside) = self.barriers();
        let mut sum = format!(
            "sum over {n}: {:.2} of the tensors' bytes, {per_layer} barriers per layer and {beside} beside",
            self.bytes_ratio()
        );
        if n > 1 {
            sum.push_str(&format!(
                ", cores apart by {:.1} % in rows, {:.1} % in attention blocks",
                100.0 * self.row_spread(),
                100.0 * self.block_spread()
            ));
            if !self.has_many_blocks() {
                sum.push_str(" (too few to share)");
            }
        }
        all.push(sum);
        all
    }
}

fn spread(work: impl Iterator<Item = u64> + Clone) -> f64 {
    let mean = work.clone().sum::<u64>() as f64 / work.clone().count() as f64;
    let lead = work.clone().max().unwrap_or(0) - work.min().unwrap_or(0);
    lead as f64 / mean.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::event::Phase;

    const FACTS: ModelFacts = ModelFacts {
        n_layers: 2,
        tensor_bytes: 4000,
    };

    fn core(gemv_rows: u64, attention_blocks: u64) -> Counts {
        Counts {
            phase: Phase::Decode,
            core: 0,
            gemv_rows,
            attention_blocks,
            barriers: 11,
            tensor_bytes: 999,
        }
    }

    fn misses(cores: &[Counts]) -> Vec<String> {
        Work::new(cores, 4, &FACTS).unwrap().misses()
    }

    #[test]
    fn even_work_meets_every_bar() {
        let work = Work::new(&[core(100, 50); 4], 4, &FACTS).unwrap();
        assert_eq!(work.misses(), [""; 0]);
        assert_eq!(work.barriers(), (5, 1));
        assert_eq!(
            work.lines()[4],
            "sum over 4: 1.00 of the tensors' bytes, 5 barriers per layer and 1 beside, \
             cores apart by 0.0 % in rows, 0.0 % in attention blocks"
        );
    }

    #[test]
    fn each_bar_can_be_missed() {
        let mut cores = [core(100, 50); 4];
        cores[3].gemv_rows = 96;
        assert!(misses(&cores)[0].starts_with("rows of the cores are 4.0 % apart"));
        cores[3] = core(100, 48);
        assert!(misses(&cores)[0].starts_with("attention blocks of the cores are 4.0 %"));
        cores = [core(100, 50); 4];
        cores[0].tensor_bytes += 40;
        assert!(misses(&cores)[0].starts_with("1.009 of the tensors' bytes"));
        cores = [core(100, 50); 4].map(|core| Counts {
            barriers: 13,
            ..core
        });
        assert!(misses(&cores)[0].starts_with("6 barriers per layer"));
    }

    #[test]
    fn few_blocks_need_not_be_even() {
        let cores = [core(100, 3), core(100, 3), core(100, 3), core(100, 2)];
        assert_eq!(misses(&cores), [""; 0]);
        let lines = Work::new(&cores, 4, &FACTS).unwrap().lines();
        assert!(lines[4].ends_with("36.4 % in attention blocks (too few to share)"));
    }

    #[test]
    fn a_core_that_should_have_slept_is_seen() {
        let cores = [core(100, 50), core(1, 0)];
        assert!(Work::new(&cores, 1, &FACTS).is_err());
        assert!(Work::new(&cores[..1], 2, &FACTS).is_err());
    }
}
