//! Tensors that are missing, lie elsewhere, or hold no numbers.

use super::{damaged, data_of, edited, entry_of, patched, refused, renamed};
use crate::board::tiny;
use ops::Matrix;
use pilm::editable::Editable;
use pilm::synth::Shape;

const ANY_TENSOR: &str = "blk.0.attn_q.weight";

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
