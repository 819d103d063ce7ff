//! Files that are no GGUF, are cut, or whose header lies.

use super::{patched, place_of, refused, renamed, with_key};
use crate::board::tiny;
use ops::GgmlType;
use pilm::editable::Editable;
use pilm::gguf_writer::Value;

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
