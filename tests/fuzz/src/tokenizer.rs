//! Any text through every kind of tokenizer.

use std::sync::LazyLock;

use llm::tokenizer::{TokenId, Tokenizer};

use crate::support;

/// One small tokenizer of each kind.
static TOKENIZERS: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let mut tokenizers: Vec<Tokenizer> = ["smollm", "gpt-2", "llama-bpe", "default"]
        .iter()
        .map(|pre| support::tokenizer(&support::byte_pair_builder("bpe512-smollm.json", pre)))
        .collect();
    let qwen2 = support::byte_pair_builder("bpe512-qwen2.json", "qwen2");
    tokenizers.push(support::tokenizer(&qwen2));
    tokenizers.push(support::tokenizer(&support::sentence_piece_builder()));
    tokenizers
});

/// The text encodes to tokens of the vocabulary, without control tokens unless asked for, and comes
/// back.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for tokenizer in TOKENIZERS.iter() {
        let plain = tokenizer.encode(&text, false);
        assert!(!plain.iter().any(|id| tokenizer.is_control(*id)));
        check_round_trip(tokenizer, &text, &plain);
        check_round_trip(tokenizer, &text, &tokenizer.encode(&text, true));
    }
}

fn check_round_trip(tokenizer: &Tokenizer, text: &str, ids: &[TokenId]) {
    assert!(ids.iter().all(|id| id.index() < tokenizer.vocab_size()));
    let decoded = tokenizer.decode(ids);
    if tokenizer.description() == "gpt2/qwen2" {
        // Normalised on the way: nothing is lost, and doing it again changes nothing.
        let again = String::from_utf8(decoded).expect("whole characters come back");
        let ids = tokenizer.encode(&again, false);
        assert_eq!(tokenizer.decode(&ids), again.as_bytes());
    } else if tokenizer.has_leading_space() {
        // Each stretch between control tokens has its own leading space, and ▁ is a space.
        let spaceless = |text: &str| text.replace([' ', '\u{2581}'], "");
        let decoded = String::from_utf8(decoded).expect("whole characters come back");
        assert_eq!(spaceless(&decoded), spaceless(text));
    } else {
        assert_eq!(decoded, text.as_bytes());
    }
}
