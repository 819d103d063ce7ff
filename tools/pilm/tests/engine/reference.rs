//! A decoder in f64, written from the papers, that the engine is checked against.
//!
//! It shares no line with `ops` or with `llm`'s models: the file is read by the common reader and
//! everything after that is spelled out here, as plainly as possible and without a cache.
//!
//! ```text
//! h_0     = E[token]
//! q, k, v = N_q(W_q n + b_q), N_k(W_k n + b_k), W_v n + b_v,                           n = RMSNorm(h_l)
//! a_l     = h_l + W_o · Attention(RoPE(q), RoPE(k), v)
//! h_{l+1} = a_l + W_down · (SiLU(W_gate m) ⊙ W_up m),                                  m = RMSNorm(a_l)
//! logits  = W_out · RMSNorm(h_L)
//! ```
//! Biases b and norms of each head N are there where the file has them.
//!
//! Resources: Touvron et al. 2023, arXiv:2302.13971 (decoder); Su et al. 2021, arXiv:2104.09864
//! (RoPE); Ainslie et al. 2023, arXiv:2305.13245 (grouped queries); Zhang, Sennrich 2019,
//! arXiv:1910.07467 (RMSNorm); Shazeer 2020, arXiv:2002.05202 (SwiGLU).

use std::collections::BTreeMap;

use llm::gguf::{self, Gguf};
use llm::source::ModelSource;

use pilm::dequantize::dequantize;

/// A model with all its weights as f32, computed with in f64.
pub struct Reference {
    n_layers: usize,
    n_heads: usize,
    n_kv_heads: usize,
    head_dim: usize,
    epsilon: f64,
    /// Radians per position of each of the `head_dim / 2` rotary pairs.
    frequencies: Vec<f64>,
    /// Pair `i` is (i, i + head_dim / 2); otherwise (2i, 2i + 1).
    half_split: bool,
    tensors: BTreeMap<String, Vec<f32>>,
}

impl Reference {
    /// Reads a `llama`, `qwen2` or `qwen3` model whole.
    ///
    /// # Errors
    /// A file that is no sound GGUF, lacks a key or a tensor, or has a type without a decoder.
    pub fn load<E: std::error::Error + Send + Sync + 'static>(
        source: &mut dyn ModelSource<Error = E>,
    ) -> Result<Reference, Error> {
        let gguf = Gguf::read(source).map_err(|e| Error::Source(e.into()))?;
        let arch = gguf.str("general.architecture")?;
        let half_split = match arch {
            "llama" => false,
            "qwen2" | "qwen3" => true,
            other => return Err(Error::Architecture(other.to_owned())),
        };
        let key = |part: &str| format!("{arch}.{part}");
        let size = |part: &str| gguf.u32(&key(part)).map(|n| n as usize);

        let mut tensors = BTreeMap::new();
        for tensor in gguf.tensors() {
            let mut bytes = vec![0; tensor.len_bytes as usize];
            source
                .read_at(tensor.offset_bytes, &mut bytes)
                .map_err(|e| Error::Source(e.into()))?;
            let values = dequantize(tensor.ggml_type, &bytes)
                .ok_or_else(|| Error::Type(tensor.name.to_owned()))?;
            tensors.insert(tensor.name.to_owned(), values);
        }

        let n_heads = size("attention.head_count")?;
        let head_dim = match gguf.optional_u32(&key("attention.key_length"))? {
            Some(n) => n as usize,
            None => size("embedding_length")? / n_heads,
        };
        let theta = f64::from(
            gguf.optional_f32(&key("rope.freq_base"))?
                .unwrap_or(10_000.0),
        );
        let stretch = match gguf.optional_str(&key("rope.scaling.type"))? {
            Some("linear") => f64::from(gguf.f32(&key("rope.scaling.factor"))?),
            _ => 1.0,
        };
        let divisors = tensors.get("rope_freqs.weight");
        let frequencies = (0..head_dim / 2)
            .map(|i| {
                let divisor = divisors.map_or(1.0, |d| f64::from(d[i]));
                theta.powf(-2.0 * i as f64 / head_dim as f64) / divisor / stretch
            })
            .collect();
        Ok(Reference {
            n_layers: size("block_count")?,
            n_heads,
            n_kv_heads: gguf
                .optional_u32(&key("attention.head_count_kv"))?
                .map_or(n_heads, |n| n as usize),
            head_dim,
            epsilon: f64::from(gguf.f32(&key("attention.layer_norm_rms_epsilon"))?),
            frequencies,
            half_split,
            tensors,
        })
    }

    /// Logits after each of `ids`, which start at position 0: shape (ids, vocabulary).
    ///
    /// # Panics
    /// When the file lacked a tensor of the architecture, or for an id outside the vocabulary.
    pub fn logits(&self, ids: &[u32]) -> Vec<Vec<f64>> {
        let embedding = self.tensor("token_embd.weight");
        let dim = self.tensor("output_norm.weight").len();
        let mut h: Vec<Vec<f64>> = ids
            .iter()
            .map(|id| {
                embedding[*id as usize * dim..][..dim]
                    .iter()
                    .map(|v| f64::from(*v))
                    .collect()
            })
            .collect();
        for l in 0..self.n_layers {
            self.attend(l, &mut h);
            for row in &mut h {
                self.feed_forward(l, row);
            }
        }
        // Tied only when the file has no output matrix.
        let output = if self.tensors.contains_key("output.weight") {
            "output.weight"
        } else {
            "token_embd.weight"
        };
        h.iter()
            .map(|row| self.times(output, &self.rms_norm("output_norm.weight", row)))
            .collect()
    }

    /// Adds the attention branch of layer `l` to every position.
    fn attend(&self, l: usize, h: &mut [Vec<f64>]) {
        let name = |part: &str| format!("blk.{l}.{part}");
        let mut queries = Vec::new();
        let mut keys = Vec::new();
        let mut values = Vec::new();
        for (pos, row) in h.iter().enumerate() {
            let n = self.rms_norm(&name("attn_norm.weight"), row);
            queries.push(self.rotated(self.heads(l, "attn_q", &n), pos));
            keys.push(self.rotated(self.heads(l, "attn_k", &n), pos));
            values.push(self.linear(l, "attn_v", &n));
        }
        let d = self.head_dim;
        for (pos, row) in h.iter_mut().enumerate() {
            let mut mixed = Vec::new();
            for head in 0..self.n_heads {
                // Consecutive query heads share one KV head.
                let at = head / (self.n_heads / self.n_kv_heads) * d;
                let query = &queries[pos][head * d..][..d];
                let scores: Vec<f64> = keys[..=pos]
                    .iter()
                    .map(|key| dot(query, &key[at..at + d]) / (d as f64).sqrt())
                    .collect();
                let weights = softmax(&scores);
                mixed.extend((0..d).map(|i| {
                    weights
                        .iter()
                        .zip(&values)
                        .map(|(w, value)| w * value[at + i])
                        .sum::<f64>()
                }));
            }
            add(row, &self.linear(l, "attn_output", &mixed));
        }
    }

    /// Adds the feed-forward branch of layer `l` to one position.
    fn feed_forward(&self, l: usize, row: &mut [f64]) {
        let m = self.rms_norm(&format!("blk.{l}.ffn_norm.weight"), row);
        let gate = self.linear(l, "ffn_gate", &m);
        let up = self.linear(l, "ffn_up", &m);
        let hidden: Vec<f64> = gate
            .iter()
            .zip(&up)
            .map(|(g, u)| g / (1.0 + (-g).exp()) * u)
            .collect();
        add(row, &self.linear(l, "ffn_down", &hidden));
    }

    fn rms_norm(&self, weight: &str, x: &[f64]) -> Vec<f64> {
        let mean_square = dot(x, x) / x.len() as f64;
        let scale = 1.0 / (mean_square + self.epsilon).sqrt();
        x.iter()
            .zip(self.tensor(weight))
            .map(|(x, w)| x * scale * f64::from(*w))
            .collect()
    }

    /// `W x`, plus the bias where the file has one.
    fn linear(&self, l: usize, part: &str, x: &[f64]) -> Vec<f64> {
        let mut y = self.times(&format!("blk.{l}.{part}.weight"), x);
        if let Some(bias) = self.tensors.get(&format!("blk.{l}.{part}.bias")) {
            y.iter_mut()
                .zip(bias)
                .for_each(|(y, b)| *y += f64::from(*b));
        }
        y
    }

    /// Queries or keys, each head normed where the file has weights for it.
    fn heads(&self, l: usize, part: &str, n: &[f64]) -> Vec<f64> {
        let x = self.linear(l, part, n);
        let weight = format!("blk.{l}.{part}_norm.weight");
        if !self.tensors.contains_key(&weight) {
            return x;
        }
        x.chunks_exact(self.head_dim)
            .flat_map(|head| self.rms_norm(&weight, head))
            .collect()
    }

    fn times(&self, weight: &str, x: &[f64]) -> Vec<f64> {
        self.tensor(weight)
            .chunks_exact(x.len())
            .map(|row| row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum())
            .collect()
    }

    /// Every head of `x` turned to position `pos`.
    fn rotated(&self, mut x: Vec<f64>, pos: usize) -> Vec<f64> {
        for head in x.chunks_exact_mut(self.head_dim) {
            for (i, frequency) in self.frequencies.iter().enumerate() {
                let (a, b) = if self.half_split {
                    (i, i + self.head_dim / 2)
                } else {
                    (2 * i, 2 * i + 1)
                };
                let (sin, cos) = (pos as f64 * frequency).sin_cos();
                (head[a], head[b]) = (head[a] * cos - head[b] * sin, head[a] * sin + head[b] * cos);
            }
        }
        x
    }

    fn tensor(&self, name: &str) -> &[f32] {
        self.tensors
            .get(name)
            .unwrap_or_else(|| panic!("the model has no tensor {name}"))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], branch: &[f64]) {
    to.iter_mut().zip(branch).for_each(|(t, b)| *t += b);
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|p| p / sum).collect()
}

/// Why a model could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not a sound GGUF file, or a key is missing.
    #[error(transparent)]
    Gguf(#[from] gguf::Error),
    /// The source could not be read, or its header is unsound.
    #[error(transparent)]
    Source(Box<dyn std::error::Error + Send + Sync>),
    /// Another architecture than `llama`, `qwen2` and `qwen3`.
    #[error("architecture {0}: the reference has llama, qwen2 and qwen3")]
    Architecture(String),
    /// A tensor, by name, has a type without a decoder.
    #[error("tensor {0} has a type that cannot be read")]
    Type(String),
}

#[cfg(test)]
mod tests {
    use super::Reference;
    use ops::GgmlType;
    use pilm::synth::{Shape, bytes};

    fn spread(logits: &[f64]) -> f64 {
        let mean = logits.iter().sum::<f64>() / logits.len() as f64;
        (logits.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / logits.len() as f64).sqrt()
    }

    #[test]
    fn synthetic_models_have_opinions_that_depend_on_the_context() {
        for shape in Shape::tiny() {
            let file = bytes(&shape, GgmlType::F32);
            let reference = Reference::load(&mut &file[..]).unwrap();
            let logits = reference.logits(&[300, 40, 301, 77, 300, 40]);
            for row in &logits {
                assert_eq!(row.len(), shape.vocab_size);
                assert!(
                    (1.0..4.0).contains(&spread(row)),
                    "{}: {}",
                    shape.name,
                    spread(row)
                );
            }
            // The same token at another place has another answer.
            let moved: f64 = logits[1]
                .iter()
                .zip(&logits[5])
                .map(|(a, b)| (a - b).abs())
                .sum();
            assert!(moved / 512.0 > 0.1, "{}: {moved}", shape.name);
        }
    }

    #[test]
    fn later_tokens_do_not_change_earlier_logits() {
        let file = bytes(&Shape::qwen2(), GgmlType::F32);
        let reference = Reference::load(&mut &file[..]).unwrap();
        let long = reference.logits(&[5, 6, 7, 8]);
        assert_eq!(long[..2], reference.logits(&[5, 6])[..]);
    }
}
