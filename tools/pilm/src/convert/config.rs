//! `config.json` of a Hugging Face model.

use serde_json::Value as Json;

use super::Error;
use crate::gguf_writer::{Header, Value};
use crate::synth::Architecture;

/// Sizes and constants; names as in `llm::config::Config`.
#[derive(Clone, Debug)]
pub(super) struct HfConfig {
    pub(super) architecture: Architecture,
    pub(super) dim: u64,
    pub(super) hidden_dim: u64,
    pub(super) n_layers: u64,
    pub(super) n_heads: u64,
    pub(super) n_kv_heads: u64,
    pub(super) head_dim: u64,
    pub(super) vocab_size: u64,
    max_seq_len: u64,
    rope_theta: f64,
    rms_norm_eps: f64,
    scaling: Scaling,
    pub(super) tied: bool,
}

/// How rotary frequencies differ from `theta^(-2i/d)`.
#[derive(Clone, Debug, PartialEq)]
enum Scaling {
    None,
    /// All divided by `factor`.
    Linear {
        factor: f64,
    },
    /// Low frequencies divided by `factor`, high ones kept, a ramp between.
    Llama3 {
        factor: f64,
        low_freq_factor: f64,
        high_freq_factor: f64,
        trained_context: f64,
    },
}

impl HfConfig {
    pub(super) fn read(json: &Json) -> Result<HfConfig, Error> {
        let class = json["architectures"][0].as_str().ok_or(Error::Key {
            key: "architectures",
        })?;
        let architecture = match class {
            "LlamaForCausalLM" => Architecture::Llama,
            "Qwen2ForCausalLM" => Architecture::Qwen2,
            "Qwen3ForCausalLM" => Architecture::Qwen3,
            other => {
                return Err(Error::Unsupported {
                    what: other.to_owned(),
                });
            }
        };
        refuse_variants(json, architecture)?;
        let size = |key: &'static str| json[key].as_u64().ok_or(Error::Key { key });
        let float = |key: &'static str| json[key].as_f64().ok_or(Error::Key { key });
        let (dim, n_heads) = (size("hidden_size")?, size("num_attention_heads")?);
        // transformers' own defaults.
        let head_dim = match architecture {
            Architecture::Llama | Architecture::Qwen2 => dim / n_heads.max(1),
            Architecture::Qwen3 => 128,
        };
        let rope = &json["rope_parameters"];
        let rope_theta = match rope["rope_theta"].as_f64() {
            Some(theta) => theta,
            None => float("rope_theta")?,
        };
        let scaling = [rope, &json["rope_scaling"]]
            .into_iter()
            .find(|s| s.is_object())
            .map_or(Ok(Scaling::None), scaling)?;
        Ok(HfConfig {
            architecture,
            dim,
            hidden_dim: size("intermediate_size")?,
            n_layers: size("num_hidden_layers")?,
            n_heads,
            n_kv_heads: json["num_key_value_heads"].as_u64().unwrap_or(n_heads),
            head_dim: json["head_dim"].as_u64().unwrap_or(head_dim),
            vocab_size: size("vocab_size")?,
            max_seq_len: size("max_position_embeddings")?,
            rope_theta,
            rms_norm_eps: float("rms_norm_eps")?,
            scaling,
            tied: json["tie_word_embeddings"].as_bool().unwrap_or(false),
        })
    }

    pub(super) fn architecture(&self) -> &'static str {
        self.architecture.name()
    }

    /// Sets the architecture's keys.
    pub(super) fn describe(&self, header: &mut Header) {
        let arch = self.architecture();
        let mut set = |key: &str, value| header.set(format!("{arch}.{key}"), value);
        for (key, n) in [
            ("block_count", self.n_layers),
            ("context_length", self.max_seq_len),
            ("embedding_length", self.dim),
            ("feed_forward_length", self.hidden_dim),
            ("attention.head_count", self.n_heads),
            ("attention.head_count_kv", self.n_kv_heads),
            ("attention.key_length", self.head_dim),
            ("attention.value_length", self.head_dim),
            ("rope.dimension_count", self.head_dim),
            ("vocab_size", self.vocab_size),
        ] {
            set(key, Value::u32(n as u32));
        }
        set(
            "attention.layer_norm_rms_epsilon",
            Value::f32(self.rms_norm_eps as f32),
        );
        set("rope.freq_base", Value::f32(self.rope_theta as f32));
        if let Scaling::Linear { factor } = self.scaling {
            set("rope.scaling.type", Value::str("linear"));
            set("rope.scaling.factor", Value::f32(factor as f32));
        }
    }

    /// Divisors of the rotary frequencies, for Llama 3's scaling: `head_dim / 2` values.
    ///
    /// Wavelengths up to `trained / high_freq_factor` positions are kept, those over
    /// `trained / low_freq_factor` are divided by `factor`, and between the two the inverse
    /// divisor runs linearly in `trained / wavelength`.
    pub(super) fn rope_divisors(&self) -> Option<Vec<f32>> {
        let Scaling::Llama3 {
            factor,
            low_freq_factor,
            high_freq_factor,
            trained_context,
        } = self.scaling
        else {
            return None;
        };
        let divisor = |i: u64| {
            let frequency = self.rope_theta.powf(-2.0 * i as f64 / self.head_dim as f64);
            let turns = trained_context * frequency / std::f64::consts::TAU;
            let kept = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor);
            let kept = kept.clamp(0.0, 1.0);
            (1.0 / (kept + (1.0 - kept) / factor)) as f32
        };
        Some((0..self.head_dim / 2).map(divisor).collect())
    }
}

fn scaling(json: &Json) -> Result<Scaling, Error> {
    let kind = json["rope_type"]
        .as_str()
        .or(json["type"].as_str())
        .unwrap_or("default");
    let float = |key: &'static str| json[key].as_f64().ok_or(Error::Key { key });
    Ok(match kind {
        "default" => Scaling::None,
        "linear" => Scaling::Linear {
            factor: float("factor")?,
        },
        "llama3" => Scaling::Llama3 {
            factor: float("factor")?,
            low_freq_factor: float("low_freq_factor")?,
            high_freq_factor: float("high_freq_factor")?,
            trained_context: float("original_max_position_embeddings")?,
        },
        other => {
            return Err(Error::Unsupported {
                what: format!("rope scaling {other}"),
            });
        }
    })
}

/// Refuses what shares a class name and is another computation.
fn refuse_variants(json: &Json, architecture: Architecture) -> Result<(), Error> {
    let refuse = |what: &str| {
        Err(Error::Unsupported {
            what: what.to_owned(),
        })
    };
    if json["hidden_act"].as_str().is_some_and(|act| act != "silu") {
        return refuse("hidden_act other than silu");
    }
    if json["use_sliding_window"] == true {
        return refuse("sliding-window attention");
    }
    if architecture != Architecture::Qwen2 && json["attention_bias"] == true {
        return refuse("attention_bias in a Llama or Qwen3");
    }
    if json["mlp_bias"] == true {
        return refuse("mlp_bias");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Error;
    use super::HfConfig;
    use serde_json::{Value as Json, json};

    fn llama() -> Json {
        json!({
            "architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "intermediate_size": 8192,
            "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
            "head_dim": 64, "vocab_size": 128_256, "max_position_embeddings": 131_072,
            "rope_theta": 500_000.0, "rms_norm_eps": 1e-5, "tie_word_embeddings": true,
            "rope_scaling": {
                "rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 8192
            }
        })
    }

    #[test]
    fn llama3_scaling_keeps_the_fast_and_slows_the_slow() {
        let divisors = HfConfig::read(&llama()).unwrap().rope_divisors().unwrap();
        assert_eq!(divisors.len(), 32);
        assert_eq!(divisors[0], 1.0);
        assert_eq!(divisors[31], 32.0);
        assert!(divisors.is_sorted());
        // Pair 15: 8192 · 500000^(-30/64) / 2π = 2.776 turns, so 0.592 is kept.
        let kept = (8192.0 * 500_000f64.powf(-30.0 / 64.0) / std::f64::consts::TAU - 1.0) / 3.0;
        assert!((f64::from(divisors[15]) - 1.0 / (kept + (1.0 - kept) / 32.0)).abs() < 1e-6);
        assert!(divisors[15] > 1.0 && divisors[15] < 32.0);
    }

    #[test]
    fn a_head_without_a_width_has_transformers_default() {
        for (class, head_dim) in [
            ("LlamaForCausalLM", 2048 / 32),
            ("Qwen2ForCausalLM", 2048 / 32),
            ("Qwen3ForCausalLM", 128),
        ] {
            let mut config = llama();
            config["architectures"] = json!([class]);
            assert_eq!(HfConfig::read(&config).unwrap().head_dim, 64, "{class}");
            config.as_object_mut().unwrap().remove("head_dim");
            assert_eq!(
                HfConfig::read(&config).unwrap().head_dim,
                head_dim,
                "{class}"
            );
        }
    }

    #[test]
    fn biases_are_qwen2s_alone() {
        for (class, taken) in [
            ("LlamaForCausalLM", false),
            ("Qwen2ForCausalLM", true),
            ("Qwen3ForCausalLM", false),
        ] {
            let mut config = llama();
            config["architectures"] = json!([class]);
            config["attention_bias"] = json!(true);
            assert_eq!(HfConfig::read(&config).is_ok(), taken, "{class}");
        }
    }

    #[test]
    fn other_models_are_refused_by_name() {
        for (key, value, named) in [
            (
                "architectures",
                json!(["GemmaForCausalLM"]),
                "GemmaForCausalLM",
            ),
            ("hidden_act", json!("gelu"), "hidden_act"),
            ("use_sliding_window", json!(true), "sliding"),
            ("attention_bias", json!(true), "attention_bias"),
            (
                "rope_scaling",
                json!({ "rope_type": "yarn", "factor": 4.0 }),
                "yarn",
            ),
        ] {
            let mut config = llama();
            config[key] = value;
            let refused = HfConfig::read(&config).unwrap_err();
            assert!(refused.to_string().contains(named), "{refused}");
        }
        let mut config = llama();
        config.as_object_mut().unwrap().remove("rms_norm_eps");
        assert!(matches!(
            HfConfig::read(&config),
            Err(Error::Key {
                key: "rms_norm_eps"
            })
        ));
    }
}
