//! Inputs to start from: whole files, texts of the goldens, templates.

use crate::support::{self, Builder};

/// Names and contents of a target's seeds.
pub type Seeds = Vec<(&'static str, Vec<u8>)>;

/// The targets whose seeds are committed under names of their own.
pub fn named() -> [(&'static str, Seeds); 5] {
    [
        ("answers", crate::answers::seeds()),
        ("card", crate::card_seeds::seeds()),
        ("editor", crate::editor::seeds()),
        ("request", crate::request::seeds()),
        ("tree", crate::tree::seeds()),
    ]
}

/// Name and content of each seed of the target `gguf`.
pub fn gguf() -> Vec<(&'static str, Vec<u8>)> {
    let key = |suffix: &str| format!("llama.{suffix}");
    let model = |builder: Builder| {
        builder
            .u32(&key("embedding_length"), 32)
            .u32(&key("feed_forward_length"), 64)
            .u32(&key("block_count"), 1)
            .u32(&key("attention.head_count"), 4)
            .u32(&key("attention.head_count_kv"), 2)
            .u32(&key("context_length"), 64)
            .f32(&key("rope.freq_base"), 1e4)
            .f32(&key("attention.layer_norm_rms_epsilon"), 1e-5)
            .str("tokenizer.chat_template", "<|im_start|><|im_end|>")
            .tensor("token_embd.weight", &[32, 4], 8, 0)
            .tensor("output_norm.weight", &[32], 0, 160)
            .data(160 + 128)
    };
    let byte_pair = Builder::new()
        .str("general.architecture", "llama")
        .str("tokenizer.ggml.model", "gpt2")
        .str("tokenizer.ggml.pre", "smollm")
        .strs(
            "tokenizer.ggml.tokens",
            &["a", "Ġ", "ĠH", "<|im_end|>", "H"],
        )
        .i32s("tokenizer.ggml.token_type", &[1, 1, 1, 3, 1])
        .strs("tokenizer.ggml.merges", &["Ġ H"])
        .u32("tokenizer.ggml.eos_token_id", 3);
    let sentence_piece = Builder::new()
        .str("general.architecture", "llama")
        .str("tokenizer.ggml.model", "llama")
        .strs(
            "tokenizer.ggml.tokens",
            &["<unk>", "<0x0A>", "▁", "▁H", "H"],
        )
        .f32s("tokenizer.ggml.scores", &[0.0, 0.0, -1.0, -2.0, -3.0])
        .i32s("tokenizer.ggml.token_type", &[2, 6, 1, 1, 1]);
    vec![
        ("empty", Builder::new().build()),
        ("byte-pair", model(byte_pair).build()),
        ("sentence-piece", model(sentence_piece).build()),
    ]
}

/// Content of each seed of the target `tokenizer`.
pub fn tokenizer() -> Vec<Vec<u8>> {
    let golden = support::json("bpe512-smollm-golden.json");
    let items = golden["items"].as_array().expect("the fixture has items");
    let texts = items.iter().filter_map(|item| item["text"].as_str());
    texts
        .step_by(8)
        .map(|text| text.as_bytes().to_vec())
        .collect()
}
