//! What a synthetic model looks like from outside.

use llm::config::Config;

use super::vocabulary::VocabularyKind;
use crate::architecture::Architecture;

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
    pub vocabulary: VocabularyKind,
    pub max_seq_len: usize,
    pub rope_theta: f32,
    pub rms_norm_eps: f32,
    /// Whether the output matrix is the embedding.
    pub tied: bool,
    /// Another seed is another model of the same shape.
    pub seed: u64,
}

impl Shape {
    /// The engine's configuration of such a model.
    pub fn config(&self) -> Config {
        Config {
            architecture: self.architecture.name(),
            dim: self.dim,
            hidden_dim: self.hidden_dim,
            n_layers: self.n_layers,
            n_heads: self.n_heads,
            n_kv_heads: self.n_kv_heads,
            head_dim: self.head_dim,
            vocab_size: self.vocab_size,
            max_seq_len: self.max_seq_len,
            rope_theta: self.rope_theta,
            rope_theta_implied: false,
            rope_linear_factor: 1.0,
            rope_freqs: false,
            rms_norm_eps: self.rms_norm_eps,
        }
    }

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
            vocabulary: VocabularyKind::ControlFirst,
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
            vocabulary: VocabularyKind::ControlLast,
            rope_theta: 1_000_000.0,
            rms_norm_eps: 1e-6,
            seed: 4,
            ..Shape::llama_tied()
        }
    }

    /// Qwen3: normed heads of a width of their own, tied, a template that can think.
    pub fn qwen3_tied() -> Shape {
        Shape {
            name: "synthetic qwen3, tied",
            architecture: Architecture::Qwen3,
            vocabulary: VocabularyKind::Thinking,
            head_dim: 32,
            seed: 7,
            ..Shape::qwen2()
        }
    }

    /// As [`Shape::qwen3_tied`] with an output matrix of its own and heads narrower than the width divided
    /// by their number. The normed heads hide a wrong epsilon before them: this one is large enough to show.
    pub fn qwen3_untied() -> Shape {
        Shape {
            name: "synthetic qwen3, untied",
            dim: 96,
            head_dim: 16,
            rms_norm_eps: 1e-5,
            tied: false,
            seed: 8,
            ..Shape::qwen3_tied()
        }
    }

    /// Qwen3 with rows of 256, the block of the K types, and heads of 128.
    pub fn qwen3_wide() -> Shape {
        Shape {
            name: "synthetic qwen3, wide",
            head_dim: 128,
            seed: 9,
            architecture: Architecture::Qwen3,
            vocabulary: VocabularyKind::Thinking,
            rope_theta: 1_000_000.0,
            rms_norm_eps: 1e-6,
            ..Shape::llama_wide()
        }
    }

    /// Llama with a SentencePiece vocabulary and TinyLlama's chat format.
    pub fn llama_sentence_piece() -> Shape {
        Shape {
            name: "synthetic llama, SentencePiece",
            vocabulary: VocabularyKind::SentencePiece,
            rope_theta: 10_000.0,
            tied: false,
            seed: 5,
            ..Shape::llama_tied()
        }
    }

    /// Llama with rows of 256, the block of the K types.
    pub fn llama_wide() -> Shape {
        Shape {
            name: "synthetic llama, wide",
            dim: 256,
            hidden_dim: 256,
            n_layers: 1,
            n_heads: 4,
            n_kv_heads: 2,
            head_dim: 64,
            seed: 6,
            ..Shape::llama_tied()
        }
    }

    /// SmolLM2-135M.
    pub fn smollm2_135m() -> Shape {
        Shape {
            name: "synthetic smollm2-135m",
            dim: 576,
            hidden_dim: 1536,
            n_layers: 30,
            n_heads: 9,
            n_kv_heads: 3,
            head_dim: 64,
            vocab_size: 49_152,
            max_seq_len: 8192,
            ..Shape::llama_tied()
        }
    }

    /// SmolLM2-360M.
    pub fn smollm2_360m() -> Shape {
        Shape {
            name: "synthetic smollm2-360m",
            dim: 960,
            hidden_dim: 2560,
            n_layers: 32,
            n_heads: 15,
            n_kv_heads: 5,
            ..Shape::smollm2_135m()
        }
    }

    /// Qwen2.5-0.5B.
    pub fn qwen2_5_0_5b() -> Shape {
        Shape {
            name: "synthetic qwen2.5-0.5b",
            dim: 896,
            hidden_dim: 4864,
            n_layers: 24,
            n_heads: 14,
            n_kv_heads: 2,
            head_dim: 64,
            vocab_size: 151_936,
            max_seq_len: 32_768,
            ..Shape::qwen2()
        }
    }

    /// Qwen3-0.6B.
    pub fn qwen3_0_6b() -> Shape {
        Shape {
            name: "synthetic qwen3-0.6b",
            dim: 1024,
            hidden_dim: 3072,
            n_layers: 28,
            n_heads: 16,
            n_kv_heads: 8,
            head_dim: 128,
            vocab_size: 151_936,
            max_seq_len: 40_960,
            ..Shape::qwen3_tied()
        }
    }

    /// Qwen3-1.7B.
    pub fn qwen3_1_7b() -> Shape {
        Shape {
            name: "synthetic qwen3-1.7b",
            dim: 2048,
            hidden_dim: 6144,
            ..Shape::qwen3_0_6b()
        }
    }

    /// TinyLlama-1.1B.
    pub fn tinyllama_1_1b() -> Shape {
        Shape {
            name: "synthetic tinyllama-1.1b",
            dim: 2048,
            hidden_dim: 5632,
            n_layers: 22,
            n_heads: 32,
            n_kv_heads: 4,
            head_dim: 64,
            vocab_size: 32_000,
            max_seq_len: 2048,
            ..Shape::llama_sentence_piece()
        }
    }

    /// One tiny shape of each kind but the wide one and the SentencePiece one.
    pub fn tiny() -> [Shape; 6] {
        [
            Shape::llama_tied(),
            Shape::llama_untied(),
            Shape::llama_grouped(),
            Shape::qwen2(),
            Shape::qwen3_tied(),
            Shape::qwen3_untied(),
        ]
    }
}
