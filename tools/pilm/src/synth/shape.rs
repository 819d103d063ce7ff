//! What a synthetic model looks like from outside.

/// The two architectures that PiLM runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// `llama`: no biases, interleaved rotary pairs.
    Llama,
    /// `qwen2`: biases on q, k and v, half-split rotary pairs.
    Qwen2,
}

impl Architecture {
    /// As in `general.architecture`.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Llama => "llama",
            Architecture::Qwen2 => "qwen2",
        }
    }
}

/// Sizes and constants of a model; names as in `llm::config::Config`.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    missing_docs,
    reason = "one spelling of the model terms in the whole project"
)]
pub struct Shape {
    /// `general.name`.
    pub name: &'static str,
    pub architecture: Architecture,
    pub dim: usize,
    pub hidden_dim: usize,
    pub n_layers: usize,
    pub n_heads: usize,
    pub n_kv_heads: usize,
    pub head_dim: usize,
    pub vocab_size: usize,
    pub max_seq_len: usize,
    pub rope_theta: f32,
    pub rms_norm_eps: f32,
    /// Whether the output matrix is the embedding.
    pub tied: bool,
    /// Another seed is another model of the same shape.
    pub seed: u64,
}

impl Shape {
    /// Llama, two layers, two query heads per KV head, output tied to the embedding.
    pub fn llama_tied() -> Shape {
        Shape {
            name: "synthetic llama, tied",
            architecture: Architecture::Llama,
            dim: 64,
            hidden_dim: 160,
            n_layers: 2,
            n_heads: 4,
            n_kv_heads: 2,
            head_dim: 16,
            vocab_size: 512,
            max_seq_len: 512,
            rope_theta: 100_000.0,
            rms_norm_eps: 1e-5,
            tied: true,
            seed: 1,
        }
    }

    /// As [`Shape::llama_tied`] with an output matrix of its own and three layers.
    pub fn llama_untied() -> Shape {
        Shape {
            name: "synthetic llama, untied",
            n_layers: 3,
            tied: false,
            seed: 2,
            ..Shape::llama_tied()
        }
    }

    /// Llama with SmolLM2's attention: heads of 64, three query heads for one KV head.
    pub fn llama_grouped() -> Shape {
        Shape {
            name: "synthetic llama, grouped",
            dim: 192,
            hidden_dim: 256,
            n_layers: 1,
            n_heads: 3,
            n_kv_heads: 1,
            head_dim: 64,
            seed: 3,
            ..Shape::llama_tied()
        }
    }

    /// Qwen2: biases, half-split rotary pairs, control tokens last.
    pub fn qwen2() -> Shape {
        Shape {
            name: "synthetic qwen2",
            architecture: Architecture::Qwen2,
            rope_theta: 1_000_000.0,
            rms_norm_eps: 1e-6,
            seed: 4,
            ..Shape::llama_tied()
        }
    }

    /// The four tiny shapes.
    pub fn tiny() -> [Shape; 4] {
        [
            Shape::llama_tied(),
            Shape::llama_untied(),
            Shape::llama_grouped(),
            Shape::qwen2(),
        ]
    }
}
