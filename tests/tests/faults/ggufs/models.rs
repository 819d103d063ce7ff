//! Models of another kind, and sizes that no model has.

use super::{edited, refused, with_key};
use crate::board::{card_with, with_board};
use pilm::editable::Editable;
use pilm::gguf_writer::Value;
use xtask::card::CardFile;

#[test]
fn an_architecture_that_is_not_here() {
    let set = |model: &mut Editable| {
        let name = Value::str("mamba\u{1b}[2J");
        model.header.set("general.architecture", name);
    };
    refused(
        edited(set),
        "architecture \"mamba\\u{1b}[2J\" is not supported; use a model of one of: llama, qwen2, qwen3",
    );
}

#[test]
fn a_file_that_holds_no_model() {
    let set = |model: &mut Editable| model.header.set("general.type", Value::str("adapter"));
    refused(
        edited(set),
        "the file holds a \"adapter\", not a model; use the model's own GGUF",
    );
}

#[test]
fn one_file_of_several() {
    let set = |model: &mut Editable| model.header.set("split.count", Value::u32(4));
    refused(
        edited(set),
        "the file is one of 4 parts; merge them into one GGUF",
    );
}

#[test]
fn a_mixture_of_experts() {
    refused(
        with_key("expert_count", Value::u32(8)),
        "mixture of experts (8 experts) is not supported; use a dense model",
    );
}

#[test]
fn attention_in_a_window() {
    refused(
        with_key("attention.sliding_window", Value::u32(128)),
        "sliding-window attention (window 128) is not supported; use a model with full attention",
    );
}

#[test]
fn a_stretched_context() {
    refused(
        with_key("rope.scaling.type", Value::str("yarn")),
        "RoPE scaling \"yarn\" is not supported; use a model with none, linear or Llama 3 scaling",
    );
}

#[test]
fn heads_that_cannot_be_shared_out() {
    refused(
        with_key("attention.head_count_kv", Value::u32(3)),
        "4 query heads cannot share 3 key heads evenly; convert the model again",
    );
}

#[test]
fn no_layers() {
    refused(
        with_key("block_count", Value::u32(0)),
        "llama.block_count is 0, which no model has; convert the model again",
    );
}

#[test]
fn an_epsilon_that_is_no_number() {
    refused(
        with_key("attention.layer_norm_rms_epsilon", Value::f32(f32::NAN)),
        "llama.attention.layer_norm_rms_epsilon is NaN, which no model has; convert the model again",
    );
}

#[test]
fn a_matrix_of_another_width() {
    refused(
        with_key("feed_forward_length", Value::u32(192)),
        "tensor blk.0.ffn_gate.weight has 160 rows of 64 where the configuration needs 192 of 64; convert the model \
         again",
    );
}

/// The context that the file says the model was trained for.
#[test]
fn a_context_that_memory_does_not_hold() {
    let file = with_key("context_length", Value::u32(1 << 27));
    let card = card_with(&[CardFile::bytes("Bad.gguf", file)]);
    with_board(|board| {
        board.insert(&card);
        board.types_line("/set context 134217728");
        let said = board.types_line("/load bad");
        board.types_line("/set context auto");
        let line = said[0].strip_prefix("Bad.gguf: 8589934592 bytes of memory needed and ");
        let left = line.and_then(|line| line.split_once(' ')).unwrap();
        assert!(left.0.parse::<u64>().is_ok(), "{said:?}");
        let advice = "left: use a smaller model, a stronger quantisation or a shorter context";
        assert_eq!(left.1, advice);
        board.has_lost_its_model();
    });
}
