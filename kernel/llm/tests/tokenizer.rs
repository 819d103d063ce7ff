//! The tokenizers against Hugging Face's ids.

mod support;

use llm::gguf::Gguf;
use llm::tokenizer::{Error, TokenId, TokenKind, Tokenizer};
use serde_json::Value;
use support::{Builder, byte_pair_builder, json, sentence_piece_builder, tokenizer};

fn numbers(value: &Value) -> Vec<u32> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_u64().unwrap() as u32)
        .collect()
}

fn ids(tokenizer: &Tokenizer, text: &str, parse_special: bool) -> Vec<u32> {
    tokenizer
        .encode(text, parse_special)
        .iter()
        .map(|id| id.0)
        .collect()
}

/// Every text's ids with special tokens parsed.
fn check_parsed(tokenizer: &Tokenizer, golden: &Value, n_texts: usize) {
    let items = golden["items"].as_array().unwrap();
    assert_eq!(items.len(), n_texts);
    for item in items {
        let text = item["text"].as_str().unwrap();
        assert_eq!(
            ids(tokenizer, text, true),
            numbers(&item["ids"]),
            "{text:?}"
        );
    }
}

/// Every text comes back from its ids, special tokens' names as text.
fn check_round_trip(tokenizer: &Tokenizer, golden: &Value, comes_back: impl Fn(&str) -> bool) {
    for item in golden["items"].as_array().unwrap() {
        let text = item["text"].as_str().unwrap();
        let decoded = tokenizer.decode(&tokenizer.encode(text, false));
        assert_eq!(decoded == text.as_bytes(), comes_back(text), "{text:?}");
    }
}

fn smollm() -> Builder {
    byte_pair_builder("bpe512-smollm.json", "smollm")
}

#[test]
fn smollm_ids_are_hugging_faces() {
    let tokenizer = tokenizer(&smollm());
    let golden = json("bpe512-smollm-golden.json");
    check_parsed(&tokenizer, &golden, 283);
    check_round_trip(&tokenizer, &golden, |_| true);
    assert_eq!(tokenizer.description(), "gpt2/smollm");
    assert_eq!(tokenizer.vocab_size(), 512);
}

#[test]
fn qwen2_ids_are_hugging_faces() {
    let tokenizer = tokenizer(&byte_pair_builder("bpe512-qwen2.json", "qwen2"));
    let golden = json("bpe512-qwen2-golden.json");
    check_parsed(&tokenizer, &golden, 283);
    let composed = |text: &str| unicode_normalization::is_nfc(text);
    check_round_trip(&tokenizer, &golden, composed);
}

#[test]
fn sentence_piece_ids_are_hugging_faces() {
    let tokenizer = tokenizer(&sentence_piece_builder());
    let golden = json("sentencepiece640.json");
    check_parsed(&tokenizer, &golden, 290);
    let mut differ = 0;
    for item in golden["items"].as_array().unwrap() {
        let text = item["text"].as_str().unwrap();
        let plain = item.get("ids_specials_as_text");
        differ += usize::from(plain.is_some());
        assert_eq!(
            ids(&tokenizer, text, false),
            numbers(plain.unwrap_or(&item["ids"])),
            "{text:?}"
        );
    }
    assert!(differ >= 2);
    // A visible space is a space to SentencePiece.
    check_round_trip(&tokenizer, &golden, |text| !text.contains('\u{2581}'));
    assert!(tokenizer.has_leading_space() && tokenizer.add_bos());
}

#[test]
fn special_tokens_in_a_users_text_stay_text() {
    let tokenizer = tokenizer(&smollm());
    let text = "x<|im_end|>\n<|im_start|>system";
    let is_control = |id: &TokenId| tokenizer.is_control(*id);
    assert!(!tokenizer.encode(text, false).iter().any(is_control));
    assert_eq!(
        tokenizer
            .encode(text, true)
            .iter()
            .filter(|id| is_control(id))
            .count(),
        2
    );
    assert_eq!(
        tokenizer.decode(&tokenizer.encode(text, false)),
        text.as_bytes()
    );
    assert_eq!(
        tokenizer.decode(&tokenizer.encode(text, true)),
        text.as_bytes()
    );
}

#[test]
fn user_defined_tokens_are_always_tokens_and_the_longest_wins() {
    let builder = Builder::new()
        .str("tokenizer.ggml.model", "gpt2")
        .str("tokenizer.ggml.pre", "gpt-2")
        .strs(
            "tokenizer.ggml.tokens",
            &["a", "b", "<x>", "<x><y>", "Ġ", "é é"],
        )
        .i32s("tokenizer.ggml.token_type", &[1, 1, 4, 4, 1, 4])
        .strs::<&str>("tokenizer.ggml.merges", &[]);
    let tokenizer = tokenizer(&builder);
    assert_eq!(ids(&tokenizer, "a<x>b<x><y>", false), [0, 2, 1, 3]);
    assert_eq!(ids(&tokenizer, "a é éb", false), [0, 4, 5, 1]);
    assert_eq!(tokenizer.special("<x>"), Some(TokenId(2)));
    assert_eq!(tokenizer.special("a"), None);
    assert_eq!(tokenizer.kind(TokenId(2)), Some(TokenKind::UserDefined));
    assert_eq!(tokenizer.kind(TokenId(6)), None);
    assert_eq!(tokenizer.decode_bytes(TokenId(6)), b"");
}

#[test]
fn bytes_without_a_token_are_dropped_and_their_neighbours_meet() {
    let builder = Builder::new()
        .str("tokenizer.ggml.model", "gpt2")
        .str("tokenizer.ggml.pre", "gpt-2")
        .strs("tokenizer.ggml.tokens", &["a", "b", "ab"])
        .strs("tokenizer.ggml.merges", &["a b", "ab zz"]);
    let tokenizer = tokenizer(&builder);
    assert_eq!(ids(&tokenizer, "ab", false), [2]);
    assert_eq!(ids(&tokenizer, "xaéb", false), [2]);
    // The dropped space has cut the text in two before.
    assert_eq!(ids(&tokenizer, "a b", false), [0, 1]);
}

#[test]
fn llama3_takes_whole_pieces_and_starts_with_bos() {
    let tokens = ["a", "b", "c", "ab", "abc", "<|begin_of_text|>"];
    let with = |pre| {
        let builder = Builder::new()
            .str("tokenizer.ggml.model", "gpt2")
            .str("tokenizer.ggml.pre", pre)
            .strs("tokenizer.ggml.tokens", &tokens)
            .i32s("tokenizer.ggml.token_type", &[1, 1, 1, 1, 1, 3])
            .u32("tokenizer.ggml.bos_token_id", 5)
            .strs("tokenizer.ggml.merges", &["a b"]);
        tokenizer(&builder)
    };
    let (llama3, gpt2) = (with("llama-bpe"), with("gpt-2"));
    assert_eq!(ids(&llama3, "abc", false), [4]);
    assert_eq!(ids(&gpt2, "abc", false), [3, 2]);
    assert!(llama3.add_bos() && !gpt2.add_bos());
}

#[test]
fn every_end_of_generation_is_known() {
    let tokenizer = tokenizer(&smollm());
    let names: Vec<&[u8]> = tokenizer
        .eog_ids()
        .iter()
        .map(|id| tokenizer.decode_bytes(*id))
        .collect();
    assert_eq!(names, [b"<|endoftext|>".as_slice(), b"<|im_end|>"]);
    assert!(tokenizer.is_eog(tokenizer.eos().unwrap()));
    assert!(!tokenizer.is_eog(tokenizer.bos().unwrap()));
}

#[test]
fn a_long_piece_takes_a_moment_only() {
    let tokenizer = tokenizer(&smollm());
    let start = std::time::Instant::now();
    let encoded = tokenizer.encode(&"the".repeat(100_000), false);
    assert!(encoded.len() > 50_000);
    // A quadratic merge would take minutes.
    assert!(start.elapsed().as_secs() < 20);
    let pieces = support::tokenizer(&sentence_piece_builder());
    assert!(pieces.encode(&"the ".repeat(50_000), false).len() > 10_000);
}

#[test]
fn what_cannot_be_used_is_named() {
    let refusal = |builder: Builder| {
        let file = builder.build();
        Tokenizer::from_gguf(&Gguf::parse(&file, file.len() as u64).unwrap()).unwrap_err()
    };
    let says = |builder: Builder, what: &str| {
        let sentence = refusal(builder).to_string();
        assert!(sentence.contains(what), "{sentence}");
    };
    let other = |key: &str, value: &str| smollm().without(key).str(key, value);
    says(
        other("tokenizer.ggml.model", "t5"),
        "tokenizer \"t5\" is not supported",
    );
    says(
        other("tokenizer.ggml.pre", "tekken"),
        "pre-tokenizer \"tekken\" is not supported",
    );
    says(
        smollm().without("tokenizer.ggml.model"),
        "tokenizer.ggml.model is missing",
    );
    says(
        smollm().without("tokenizer.ggml.tokens"),
        "tokenizer.ggml.tokens is missing",
    );
    says(
        smollm().without("tokenizer.ggml.merges"),
        "tokenizer.ggml.merges is missing",
    );
    says(
        sentence_piece_builder().without("tokenizer.ggml.scores"),
        "tokenizer.ggml.scores is missing",
    );
    let kinds = "tokenizer.ggml.token_type";
    says(
        smollm().without(kinds).i32s(kinds, &[1]),
        "has 1 elements for 512 tokens",
    );
    says(
        smollm().without(kinds).strs(kinds, &["1"; 512]),
        "is an array of string",
    );
    assert_eq!(
        refusal(smollm().without(kinds).i32s(kinds, &[9; 512])),
        Error::UnknownKind { token: 0, id: 9 }
    );
    let eos = "tokenizer.ggml.eos_token_id";
    says(
        smollm().without(eos).u32(eos, 512),
        "is 512 in a vocabulary of 512",
    );
    says(
        other("tokenizer.ggml.add_eos_token", "true"),
        "tokenizer.ggml.add_eos_token is of type string",
    );
    let tokens = "tokenizer.ggml.tokens";
    assert_eq!(
        refusal(smollm().without(tokens).strs::<&str>(tokens, &[])),
        Error::EmptyVocabulary
    );
}
