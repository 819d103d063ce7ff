//! Model files: headers that lie, models that are others, weights that are no numbers.

use crate::board::{card_with, tiny, with_board};
use llm::gguf::Gguf;
use ops::{GgmlType, Matrix};
use pilm::editable::Editable;
use pilm::gguf_writer::Value;
use pilm::synth::Shape;
use std::ops::Range;
use xtask::card::CardFile;

/// What is said of a file that is refused by its header. The model before stays.
fn refused(file: Vec<u8>, reason: &str) {
    let card = card_with(&[CardFile::bytes("Bad.gguf", file)]);
    let line = format!("Bad.gguf: {reason}");
    with_board(|board| {
        board.insert(&card);
        assert_eq!(board.types_line("/load bad"), [line.as_str()]);
        let load = r#"{"op":"load","name":"bad","id":"l"}"#;
        board.refuses(load, "l", "load_failed", &line);
    });
}

/// What is said of a file whose weights are damaged. The model before is gone by then.
fn damaged(file: Vec<u8>, reason: &str) {
    let card = card_with(&[CardFile::bytes("Bad.gguf", file)]);
    let line = format!("Bad.gguf: {reason}");
    with_board(|board| {
        board.insert(&card);
        let gone = "no model is loaded; /models lists those on the card";
        assert_eq!(board.types_line("/load bad"), [line.as_str(), gone]);
        board.has_lost_its_model();
    });
}

/// The sound model with `bytes` at `at`.
fn patched(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = tiny();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// Where `text` stands for the first time.
fn place_of(text: &str) -> usize {
    let file = tiny();
    let mut windows = file.windows(text.len());
    let at = windows.position(|window| window == text.as_bytes());
    at.expect("the text is in the file")
}

/// The sound model with `to` in place of the first `from`.
fn renamed(from: &str, to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    patched(place_of(from), to)
}

/// The sound model, written again after `change`.
fn edited(change: impl FnOnce(&mut Editable)) -> Vec<u8> {
    let mut model = Editable::parse(&tiny()).unwrap();
    change(&mut model);
    model.write(GgmlType::Q8_0).unwrap()
}

/// The sound model with another value of a key of its architecture.
fn with_key(key: &str, value: Value) -> Vec<u8> {
    edited(|model| model.set(key, value))
}

/// Where the data of a tensor is.
fn data_of(tensor: &str) -> Range<usize> {
    let file = tiny();
    let gguf = Gguf::parse(&file, file.len() as u64).unwrap();
    let info = gguf.tensor(tensor).unwrap();
    let start = info.offset_bytes as usize;
    start..start + info.len_bytes as usize
}

/// Where the tensor table has what follows the name of `tensor`: dimensions, type, offset.
fn entry_of(tensor: &str) -> usize {
    place_of(tensor) + tensor.len()
}

const ANY_TENSOR: &str = "blk.0.attn_q.weight";

#[test]
fn an_empty_file() {
    refused(
        Vec::new(),
        "the file is truncated: it has 0 bytes and needs 4; copy the file again",
    );
}

#[test]
fn a_file_cut_in_its_header() {
    let mut file = tiny();
    file.truncate(2000);
    let tokens = "tokenizer.ggml.tokens";
    // its types, its length, and at least a length for each token
    let needed = place_of(tokens) + tokens.len() + 4 + 4 + 8 + 512 * 8;
    refused(
        file,
        &format!(
            "the file is truncated: it has 2000 bytes and needs {needed}; copy the file again"
        ),
    );
}

#[test]
fn a_file_cut_in_its_weights() {
    let mut file = tiny();
    let needed = file.len();
    file.truncate(needed * 2 / 3);
    let have = file.len();
    refused(
        file,
        &format!(
            "the file is truncated: it has {have} bytes and needs {needed}; copy the file again"
        ),
    );
}

#[test]
fn no_gguf_at_all() {
    refused(
        b"%PDF-1.7 and so on, for some pages".to_vec(),
        "not a GGUF file: it starts with \"%PDF\" instead of \"GGUF\"; use a model in GGUF format",
    );
}

#[test]
fn a_format_from_before_gguf() {
    refused(
        patched(0, b"lmgg"),
        "not a GGUF file: it starts with \"lmgg\", a format older than GGUF; get a GGUF of this model",
    );
}

#[test]
fn a_git_lfs_pointer() {
    refused(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n".to_vec(),
        "not a GGUF file: it starts with \"vers\", as a Git LFS pointer does; download the model itself",
    );
}

#[test]
fn bytes_that_would_steer_the_terminal() {
    refused(
        b"\x1b[2J\x07 and more of it".to_vec(),
        "not a GGUF file: it starts with \"\\x1b[2J\" instead of \"GGUF\"; use a model in GGUF format",
    );
}

#[test]
fn a_big_endian_file() {
    refused(
        patched(4, &[0, 0, 0, 3]),
        "a big-endian GGUF file; get or convert a little-endian one",
    );
}

#[test]
fn a_version_of_earlier_days() {
    refused(
        patched(4, &[1, 0, 0, 0]),
        "GGUF version 1; versions 2 and 3 are supported: convert the model again",
    );
}

#[test]
fn more_tensors_than_any_model_has() {
    refused(
        patched(8, &u64::MAX.to_le_bytes()),
        "18446744073709551615 tensors claimed at byte 8: the limit is 65536; copy the file again",
    );
}

#[test]
fn more_metadata_than_any_model_has() {
    refused(
        patched(16, &(1u64 << 40).to_le_bytes()),
        "1099511627776 metadata entries claimed at byte 16: the limit is 16384; copy the file again",
    );
}

#[test]
fn a_key_longer_than_the_file() {
    refused(
        patched(24, &u64::MAX.to_le_bytes()),
        "a string of 18446744073709551615 bytes at byte 24: the limit is 65535; copy the file again",
    );
}

#[test]
fn a_key_that_is_no_text() {
    refused(
        patched(32, &[0xFF]),
        "a name at byte 24 is not UTF-8; copy the file again",
    );
}

#[test]
fn a_value_of_an_unknown_type() {
    let at = place_of("general.architecture") + 20;
    refused(
        patched(at, &[99]),
        &format!("metadata type 99 at byte {at} is not defined; copy the file again"),
    );
}

#[test]
fn a_truth_value_of_7() {
    let at = place_of("tokenizer.ggml.add_bos_token") + 28 + 4;
    refused(
        patched(at, &[7]),
        &format!("a boolean at byte {at} is neither 0 nor 1; copy the file again"),
    );
}

#[test]
fn an_array_longer_than_any_vocabulary() {
    let at = place_of("tokenizer.ggml.tokens") + 21 + 4;
    refused(
        patched(at + 4, &(1u64 << 32).to_le_bytes()),
        &format!(
            "4294967296 array elements claimed at byte {at}: the limit is 4194304; copy the file again"
        ),
    );
}

#[test]
fn a_key_that_is_there_twice() {
    refused(
        renamed(
            "llama.attention.key_length\u{4}",
            b"llama.attention.head_count\x04",
        ),
        "llama.attention.head_count is there twice; convert the model again",
    );
}

#[test]
fn a_key_that_is_missing() {
    refused(
        renamed("llama.context_length", b"llama.context_lengXX"),
        "llama.context_length is missing; convert the model again with a current converter",
    );
}

#[test]
fn a_number_that_is_a_text() {
    refused(
        with_key("block_count", Value::str("two")),
        "llama.block_count is of type string, an integer is expected; convert the model again",
    );
}

#[test]
fn an_alignment_of_3() {
    let mut model = Editable::parse(&tiny()).unwrap();
    model.header.set("general.alignment", Value::u32(64));
    let mut file = model.write(GgmlType::Q8_0).unwrap();
    let mut windows = file.windows(17);
    let key = windows.position(|window| window == b"general.alignment");
    let at = key.expect("the key is there") + 17 + 4;
    file[at] = 3;
    refused(
        file,
        "general.alignment is 3, a power of two up to 1048576 is expected; convert the model again",
    );
}

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
fn a_tensor_that_is_missing() {
    refused(
        renamed("blk.1.ffn_up.weight", b"blk.1.ffn_xx.weight"),
        "tensor blk.1.ffn_up.weight is missing; convert the model again",
    );
}

#[test]
fn a_tensor_too_many() {
    let bias = |model: &mut Editable| {
        let mut tensor = model.tensors[1].clone();
        tensor.name = "blk.0.attn\u{1b}[2J.bias".to_owned();
        model.tensors.push(tensor);
    };
    refused(
        edited(bias),
        "tensor blk.0.attn\\u{1b}[2J.bias has no place in this architecture; the model is a variant that is not \
         supported",
    );
}

#[test]
fn a_tensor_that_is_there_twice() {
    refused(
        renamed("blk.1.ffn_up.weight", b"blk.0.ffn_up.weight"),
        "tensor blk.0.ffn_up.weight is there twice; convert the model again",
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

#[test]
fn a_tensor_without_dimensions() {
    refused(
        patched(entry_of(ANY_TENSOR), &[0]),
        "tensor blk.0.attn_q.weight has 0 dimensions, 1 to 4 are expected; copy the file again",
    );
}

#[test]
fn a_tensor_with_a_dimension_of_0() {
    refused(
        patched(entry_of(ANY_TENSOR) + 4 + 8, &[0; 8]),
        "tensor blk.0.attn_q.weight has a dimension of 0; convert the model again",
    );
}

#[test]
fn a_tensor_larger_than_any_number() {
    refused(
        patched(entry_of(ANY_TENSOR) + 4 + 8, &[0xFF; 8]),
        "the size of tensor blk.0.attn_q.weight overflows; copy the file again",
    );
}

#[test]
fn rows_that_are_no_whole_blocks() {
    refused(
        patched(entry_of(ANY_TENSOR) + 4, &[65]),
        "tensor blk.0.attn_q.weight has rows of 65 elements, Q8_0 needs multiples of 32; convert the model again",
    );
}

/// Where the type of a matrix stands in the table, and its offset behind it.
const TYPE: usize = 4 + 2 * 8;

#[test]
fn a_type_that_ggml_does_not_have() {
    refused(
        patched(entry_of(ANY_TENSOR) + TYPE, &[200]),
        "tensor blk.0.attn_q.weight has the unknown type 200; quantise the model to Q8_0 or Q4_0",
    );
}

/// Whole numbers as wide as floats.
#[test]
fn a_type_that_is_not_here() {
    refused(
        patched(entry_of("output_norm.weight") + 4 + 8, &[26]),
        &format!(
            "tensor output_norm.weight has type I32, which is not supported; quantise the model to one of {}",
            Matrix::SUPPORTED
        ),
    );
}

#[test]
fn tensors_that_share_bytes() {
    refused(
        patched(entry_of(ANY_TENSOR) + TYPE + 4, &0u64.to_le_bytes()),
        "tensors token_embd.weight and blk.0.attn_q.weight overlap; convert the model again",
    );
}

#[test]
fn a_tensor_off_the_alignment() {
    refused(
        patched(entry_of(ANY_TENSOR) + TYPE + 4, &1u64.to_le_bytes()),
        "tensor blk.0.attn_q.weight lies at data offset 1, not a multiple of 32; convert the model again",
    );
}

#[test]
fn a_tensor_behind_the_end_of_the_file() {
    let (have, data) = (tiny().len(), data_of("token_embd.weight").start);
    let needed = data + (1 << 40) + data_of(ANY_TENSOR).len();
    refused(
        patched(entry_of(ANY_TENSOR) + TYPE + 4, &(1u64 << 40).to_le_bytes()),
        &format!(
            "the file is truncated: it has {have} bytes and needs {needed}; copy the file again"
        ),
    );
}

#[test]
fn a_scale_that_is_no_number() {
    let data = data_of("blk.1.ffn_down.weight");
    let row_bytes = data.len() / Shape::llama_tied().dim;
    damaged(
        patched(data.start + 7 * row_bytes, &0x7E00u16.to_le_bytes()),
        "tensor blk.1.ffn_down.weight, row 7: a scale is infinite or NaN; the file is damaged, copy it again",
    );
}

#[test]
fn a_norm_that_is_no_number() {
    let data = data_of("output_norm.weight");
    damaged(
        patched(data.start + 8, &f32::INFINITY.to_le_bytes()),
        "tensor output_norm.weight has a value that is infinite or NaN; the file is damaged, copy it again",
    );
}

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
