//! Tokenizers of another kind, and tables that do not fit together.

use super::{damaged, edited, refused};
use pilm::editable::Editable;
use pilm::gguf_writer::Value;

#[test]
fn a_tokenizer_of_another_kind() {
    let set = |model: &mut Editable| model.header.set("tokenizer.ggml.model", Value::str("bert"));
    damaged(
        edited(set),
        "tokenizer \"bert\" is not supported; use a model with one of: gpt2, llama",
    );
}

#[test]
fn text_split_in_another_way() {
    let set = |model: &mut Editable| model.header.set("tokenizer.ggml.pre", Value::str("tekken"));
    damaged(
        edited(set),
        "pre-tokenizer \"tekken\" is not supported; use a model with one of: smollm, qwen2, llama-bpe, gpt-2, default",
    );
}

#[test]
fn an_end_that_is_no_token() {
    let set = |model: &mut Editable| {
        let key = "tokenizer.ggml.eos_token_id";
        model.header.set(key, Value::u32(100_000));
    };
    damaged(
        edited(set),
        "tokenizer.ggml.eos_token_id is 100000 in a vocabulary of 512; convert the model again",
    );
}

#[test]
fn kinds_of_half_the_tokens() {
    let set = |model: &mut Editable| {
        let kinds = Value::i32s([1; 256]);
        model.header.set("tokenizer.ggml.token_type", kinds);
    };
    damaged(
        edited(set),
        "tokenizer.ggml.token_type has 256 elements for 512 tokens; convert the model again",
    );
}

#[test]
fn an_empty_vocabulary() {
    let set = |model: &mut Editable| {
        let tokens = Value::strings::<&str>([]);
        model.header.set("tokenizer.ggml.tokens", tokens);
    };
    refused(
        edited(set),
        "tokenizer.ggml.tokens is 0, which no model has; convert the model again",
    );
}
