//! The decoders that PiLM runs, as model files have them.

use llm::config::Config;

use crate::gguf_writer::{Header, Value};

/// A decoder by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// `llama`: no biases, interleaved rotary pairs.
    Llama,
    /// `qwen2`: biases on q, k and v, half-split rotary pairs.
    Qwen2,
    /// `qwen3`: norms of the query and key heads, half-split rotary pairs.
    Qwen3,
}

/// A tensor of a decoder.
pub(crate) struct Named {
    /// Name in a GGUF file.
    pub(crate) name: String,
    /// Name in a Hugging Face checkpoint.
    pub(crate) hf_name: String,
    /// The fastest dimension first.
    pub(crate) dims: Vec<u64>,
}

impl Architecture {
    /// As in `general.architecture`.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Llama => "llama",
            Architecture::Qwen2 => "qwen2",
            Architecture::Qwen3 => "qwen3",
        }
    }

    /// Every tensor of a decoder, in the order of its file; a `tied` one has no output matrix of its own.
    pub(crate) fn tensors(self, config: &Config, tied: bool) -> Vec<Named> {
        let size = |n: usize| n as u64;
        let (dim, hidden_dim) = (size(config.dim), size(config.hidden_dim));
        let (q_dim, kv_dim) = (size(config.q_dim()), size(config.kv_dim()));
        let (head_dim, vocab_size) = (size(config.head_dim), size(config.vocab_size));
        let layer = [
            ("attn_norm", "input_layernorm", "weight", &[dim][..]),
            ("attn_q", "self_attn.q_proj", "weight", &[dim, q_dim]),
            ("attn_k", "self_attn.k_proj", "weight", &[dim, kv_dim]),
            ("attn_v", "self_attn.v_proj", "weight", &[dim, kv_dim]),
            ("attn_output", "self_attn.o_proj", "weight", &[q_dim, dim]),
            ("ffn_norm", "post_attention_layernorm", "weight", &[dim]),
            ("ffn_gate", "mlp.gate_proj", "weight", &[dim, hidden_dim]),
            ("ffn_up", "mlp.up_proj", "weight", &[dim, hidden_dim]),
            ("ffn_down", "mlp.down_proj", "weight", &[hidden_dim, dim]),
        ];
        let own: &[_] = match self {
            Architecture::Llama => &[],
            Architecture::Qwen2 => &[
                ("attn_q", "self_attn.q_proj", "bias", &[q_dim][..]),
                ("attn_k", "self_attn.k_proj", "bias", &[kv_dim]),
                ("attn_v", "self_attn.v_proj", "bias", &[kv_dim]),
            ],
            Architecture::Qwen3 => &[
                ("attn_q_norm", "self_attn.q_norm", "weight", &[head_dim][..]),
                ("attn_k_norm", "self_attn.k_norm", "weight", &[head_dim]),
            ],
        };
        let mut all = Vec::new();
        let mut add = |name: String, hf_name: String, dims: &[u64]| {
            all.push(Named {
                name,
                hf_name,
                dims: dims.to_vec(),
            });
        };
        let ends = [dim, vocab_size];
        add(
            "token_embd.weight".into(),
            "model.embed_tokens.weight".into(),
            &ends,
        );
        for l in 0..config.n_layers {
            for (name, hf_name, kind, dims) in layer.iter().chain(own) {
                let hf_name = format!("model.layers.{l}.{hf_name}.{kind}");
                add(format!("blk.{l}.{name}.{kind}"), hf_name, dims);
            }
        }
        add(
            "output_norm.weight".into(),
            "model.norm.weight".into(),
            &[dim],
        );
        if !tied {
            add("output.weight".into(), "lm_head.weight".into(), &ends);
        }
        all
    }
}

/// Sets the sizes that every decoder's file begins with.
pub(crate) fn set_sizes(config: &Config, header: &mut Header) {
    for (key, n) in [
        ("block_count", config.n_layers),
        ("context_length", config.max_seq_len),
        ("embedding_length", config.dim),
        ("feed_forward_length", config.hidden_dim),
        ("attention.head_count", config.n_heads),
        ("attention.head_count_kv", config.n_kv_heads),
        ("attention.key_length", config.head_dim),
        ("attention.value_length", config.head_dim),
    ] {
        let key = format!("{}.{key}", config.architecture);
        header.set(key, Value::u32(n as u32));
    }
}
