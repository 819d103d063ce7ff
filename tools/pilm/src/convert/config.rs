//! `config.json` of a Hugging Face model.

use llm::config::Config;
use serde_json::Value as Json;

use super::Error;
use crate::architecture::{Architecture, set_sizes};
use crate::gguf_writer::{Header, Value};

/// What a checkpoint computes.
#[derive(Clone, Debug)]
pub(super) struct HfConfig {
    pub(super) architecture: Architecture,
    pub(super) sizes: Config,
    pub(super) tied: bool,
    linear_factor: Option<f32>,
    /// Divisors of the rotary frequencies, for Llama 3's scaling: `head_dim / 2` values.
    pub(super) rope_divisors: Option<Vec<f32>>,
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
            other => return unsupported(other),
        };
        refuse_variants(json, architecture)?;
        let size = |key: &'static str| match json[key].as_u64() {
            Some(size) => Ok(size as usize),
            None => Err(Error::Key { key }),
        };
        let (dim, n_heads) = (size("hidden_size")?, size("num_attention_heads")?);
        // transformers' own defaults.
        let head_dim = match architecture {
            Architecture::Llama | Architecture::Qwen2 => dim / n_heads.max(1),
            Architecture::Qwen3 => 128,
        };
        let head_dim = size("head_dim").unwrap_or(head_dim);
        let rope = &json["rope_parameters"];
        let rope_theta = match rope["rope_theta"].as_f64() {
            Some(theta) => theta,
            None => float(json, "rope_theta")?,
        };
        let scaled = [rope, &json["rope_scaling"]];
        let scaled = scaled.into_iter().find(|scaling| scaling.is_object());
        let scaling = scaled.unwrap_or(&Json::Null);
        let kind = scaling["rope_type"].as_str().or(scaling["type"].as_str());
        let (mut linear_factor, mut rope_divisors) = (None, None);
        match kind.unwrap_or("default") {
            "default" => {}
            "linear" => linear_factor = Some(float(scaling, "factor")? as f32),
            "llama3" => rope_divisors = Some(divisors(scaling, rope_theta, head_dim)?),
            other => return unsupported(&format!("rope scaling {other}")),
        }
        let sizes = Config {
            architecture: architecture.name(),
            dim,
            hidden_dim: size("intermediate_size")?,
            n_layers: size("num_hidden_layers")?,
            n_heads,
            n_kv_heads: size("num_key_value_heads").unwrap_or(n_heads),
            head_dim,
            vocab_size: size("vocab_size")?,
            max_seq_len: size("max_position_embeddings")?,
            rope_theta: rope_theta as f32,
            rope_theta_implied: false,
            rope_linear_factor: linear_factor.unwrap_or(1.0),
            rope_freqs: rope_divisors.is_some(),
            rms_norm_eps: float(json, "rms_norm_eps")? as f32,
        };
        Ok(HfConfig {
            architecture,
            sizes,
            tied: json["tie_word_embeddings"].as_bool().unwrap_or(false),
            linear_factor,
            rope_divisors,
        })
    }

    /// Sets the architecture's keys.
    pub(super) fn describe(&self, header: &mut Header) {
        let sizes = &self.sizes;
        set_sizes(sizes, header);
        let mut set = |key, value| header.set(format!("{}.{key}", sizes.architecture), value);
        set("rope.dimension_count", Value::u32(sizes.head_dim as u32));
        set("vocab_size", Value::u32(sizes.vocab_size as u32));
        let eps = Value::f32(sizes.rms_norm_eps);
        set("attention.layer_norm_rms_epsilon", eps);
        set("rope.freq_base", Value::f32(sizes.rope_theta));
        if let Some(factor) = self.linear_factor {
            set("rope.scaling.type", Value::str("linear"));
            set("rope.scaling.factor", Value::f32(factor));
        }
    }
}

fn float(json: &Json, key: &'static str) -> Result<f64, Error> {
    json[key].as_f64().ok_or(Error::Key { key })
}

fn unsupported<T>(what: &str) -> Result<T, Error> {
    Err(Error::Unsupported {
        what: what.to_owned(),
    })
}

/// Llama 3's: wavelengths up to `trained / high_freq_factor` positions are kept, those over
/// `trained / low_freq_factor` are divided by `factor`, and between the two the inverse divisor runs linearly
/// in `trained / wavelength`.
fn divisors(scaling: &Json, rope_theta: f64, head_dim: usize) -> Result<Vec<f32>, Error> {
    let factor = float(scaling, "factor")?;
    let low = float(scaling, "low_freq_factor")?;
    let high = float(scaling, "high_freq_factor")?;
    let trained = float(scaling, "original_max_position_embeddings")?;
    let divisor = |i: usize| {
        let frequency = rope_theta.powf(-2.0 * i as f64 / head_dim as f64);
        let turns = trained * frequency / std::f64::consts::TAU;
        let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
        (1.0 / (kept + (1.0 - kept) / factor)) as f32
    };
    Ok((0..head_dim / 2).map(divisor).collect())
}

/// Refuses what shares a class name and is another computation.
fn refuse_variants(json: &Json, architecture: Architecture) -> Result<(), Error> {
    if json["hidden_act"].as_str().is_some_and(|act| act != "silu") {
        return unsupported("hidden_act other than silu");
    }
    if json["use_sliding_window"] == true {
        return unsupported("sliding-window attention");
    }
    if architecture != Architecture::Qwen2 && json["attention_bias"] == true {
        return unsupported("attention_bias in a Llama or Qwen3");
    }
    if json["mlp_bias"] == true {
        return unsupported("mlp_bias");
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
        let divisors = HfConfig::read(&llama()).unwrap().rope_divisors.unwrap();
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
            assert_eq!(
                HfConfig::read(&config).unwrap().sizes.head_dim,
                64,
                "{class}"
            );
            config.as_object_mut().unwrap().remove("head_dim");
            assert_eq!(
                HfConfig::read(&config).unwrap().sizes.head_dim,
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
