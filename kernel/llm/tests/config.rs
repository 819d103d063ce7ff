//! A model's configuration from its keys.

mod support;

use llm::config::{Config, Error};
use llm::gguf::{self, Gguf};
use llm::models::read_config;
use support::Builder;

fn keys(architecture: &str) -> Builder {
    let key = |suffix: &str| format!("{architecture}.{suffix}");
    Builder::new()
        .str("general.architecture", architecture)
        .u32(&key("embedding_length"), 64)
        .u32(&key("feed_forward_length"), 160)
        .u32(&key("block_count"), 3)
        .u32(&key("attention.head_count"), 4)
        .u32(&key("attention.head_count_kv"), 2)
        .u32(&key("context_length"), 256)
        .f32(&key("rope.freq_base"), 1e5)
        .f32(&key("attention.layer_norm_rms_epsilon"), 1e-6)
        .strs("tokenizer.ggml.tokens", &["a", "b", "c"])
}

fn config(builder: &Builder) -> Result<Config, Error> {
    let file = builder.build();
    read_config(&Gguf::parse(&file, file.len() as u64).unwrap())
}

fn refusal(builder: &Builder) -> String {
    config(builder).unwrap_err().to_string()
}

#[test]
fn every_value_comes_from_its_key() {
    for name in ["llama", "qwen2", "qwen3"] {
        let config = config(&keys(name)).unwrap();
        let expected = Config {
            architecture: name,
            dim: 64,
            hidden_dim: 160,
            n_layers: 3,
            n_heads: 4,
            n_kv_heads: 2,
            head_dim: 16,
            vocab_size: 3,
            max_seq_len: 256,
            rope_theta: 1e5,
            rope_theta_implied: false,
            rope_linear_factor: 1.0,
            rope_freqs: false,
            rms_norm_eps: 1e-6,
        };
        assert_eq!(config, expected);
        assert_eq!((config.q_dim(), config.kv_dim()), (64, 32));
    }
}

#[test]
fn a_missing_key_is_an_error() {
    for key in [
        "general.architecture",
        "qwen2.embedding_length",
        "qwen2.feed_forward_length",
        "qwen2.block_count",
        "qwen2.attention.head_count",
        "qwen2.context_length",
        "qwen2.rope.freq_base",
        "qwen2.attention.layer_norm_rms_epsilon",
        "tokenizer.ggml.tokens",
    ] {
        let missing = Error::Gguf(gguf::Error::MissingKey { key: key.into() });
        assert_eq!(config(&keys("qwen2").without(key)), Err(missing));
    }
    let llama = keys("llama").without("llama.attention.layer_norm_rms_epsilon");
    assert!(refusal(&llama).starts_with("llama.attention.layer_norm_rms_epsilon is missing"));
}

#[test]
fn what_the_format_defines_as_absent_is_shown() {
    let old = config(&keys("llama").without("llama.rope.freq_base")).unwrap();
    assert_eq!((old.rope_theta, old.rope_theta_implied), (10_000.0, true));
    let ungrouped = config(&keys("llama").without("llama.attention.head_count_kv")).unwrap();
    assert_eq!(ungrouped.n_kv_heads, 4);
}

#[test]
fn heads_may_have_their_own_width() {
    let wide = config(&keys("llama").u32("llama.attention.key_length", 32)).unwrap();
    assert_eq!((wide.head_dim, wide.q_dim(), wide.kv_dim()), (32, 128, 64));
    let uneven = keys("llama").u32("llama.attention.value_length", 8);
    assert!(refusal(&uneven).contains("llama.attention.value_length is 8 and a head has 16"));
    let partial = keys("llama").u32("llama.rope.dimension_count", 8);
    assert!(refusal(&partial).contains("llama.rope.dimension_count is 8"));
    let odd = keys("llama").u32("llama.attention.key_length", 15);
    assert!(refusal(&odd).contains("llama.attention.key_length is 15"));
    let indivisible = keys("llama").without("llama.embedding_length");
    let indivisible = indivisible.u32("llama.embedding_length", 66);
    assert!(refusal(&indivisible).contains("66 is not a multiple of 4 heads"));
}

#[test]
fn scaling_is_read_or_refused() {
    let linear = |key: &str| {
        keys("llama")
            .str("llama.rope.scaling.type", "linear")
            .f32(key, 4.0)
    };
    assert_eq!(
        config(&linear("llama.rope.scaling.factor"))
            .unwrap()
            .rope_linear_factor,
        4.0
    );
    assert!(
        refusal(&linear("llama.rope.other")).starts_with("llama.rope.scaling.factor is missing")
    );
    let old = config(&keys("llama").f32("llama.rope.scale_linear", 2.0)).unwrap();
    assert_eq!(old.rope_linear_factor, 2.0);
    let yarn = keys("llama").str("llama.rope.scaling.type", "yarn");
    assert!(refusal(&yarn).contains("RoPE scaling \"yarn\" is not supported"));
    let llama3 = keys("llama")
        .tensor("rope_freqs.weight", &[8], 0, 0)
        .data(32);
    assert!(config(&llama3).unwrap().rope_freqs);
}

#[test]
fn other_models_are_refused_by_name() {
    let says = |builder: Builder, what: &str| {
        let sentence = refusal(&builder);
        assert!(sentence.contains(what), "{sentence}");
    };
    says(
        keys("gemma2"),
        "architecture \"gemma2\" is not supported; use a model of one of: llama, qwen2, qwen3",
    );
    says(
        keys("llama").u32("llama.expert_count", 8),
        "mixture of experts (8 experts)",
    );
    says(
        keys("llama").u32("llama.attention.sliding_window", 128),
        "window 128",
    );
    says(
        keys("llama").str("general.type", "adapter"),
        "holds a \"adapter\"",
    );
    says(keys("llama").u32("split.count", 3), "one of 3 parts");
    // A window as long as the context is full attention.
    assert!(config(&keys("llama").u32("llama.attention.sliding_window", 256)).is_ok());
    assert!(config(&keys("llama").u32("split.count", 1)).is_ok());
}

#[test]
fn absurd_values_are_refused() {
    let with = |key: &str, value| keys("llama").without(key).u32(key, value);
    let unusable = |builder: Builder| matches!(config(&builder), Err(Error::Unusable { .. }));
    assert!(unusable(with("llama.block_count", 0)));
    assert!(unusable(with("llama.block_count", u32::MAX)));
    assert!(unusable(with("llama.embedding_length", u32::MAX)));
    assert!(unusable(with("llama.attention.head_count", 0)));
    assert!(unusable(with("llama.context_length", 0)));
    let heads = with("llama.attention.head_count_kv", 3);
    assert_eq!(
        config(&heads),
        Err(Error::HeadsDoNotDivide {
            n_heads: 4,
            n_kv_heads: 3
        })
    );
    for value in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        for key in [
            "llama.rope.freq_base",
            "llama.attention.layer_norm_rms_epsilon",
        ] {
            assert!(
                unusable(keys("llama").without(key).f32(key, value)),
                "{key} {value}"
            );
        }
    }
    let empty = keys("llama").without("tokenizer.ggml.tokens");
    assert!(unusable(empty.strs::<&str>("tokenizer.ggml.tokens", &[])));
}
