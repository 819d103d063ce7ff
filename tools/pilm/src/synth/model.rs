//! The weights and metadata of a synthetic model, streamed to a GGUF file.

use std::io::Write;

use ops::GgmlType;

use super::random::SplitMix64;
use super::shape::Shape;
use super::vocabulary::{Vocabulary, VocabularyKind};
use crate::architecture::{Named, set_sizes};
use crate::gguf_writer::{Error, Header, Tensor, Value};
use crate::quantize::quantize;

/// ChatML, as a Jinja template.
const CHAT_ML: &str = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n\
    {{ m['content'] }}<|im_end|>\n{% endfor %}\
    {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// ChatML with Qwen3's switch, as a Jinja template.
const CHAT_ML_THINKING: &str = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n\
    {{ m['content'].split('</think>')[-1].lstrip('\n') if m['role'] == 'assistant' else m['content'] }}\
    <|im_end|>\n{% endfor %}\
    {% if add_generation_prompt %}<|im_start|>assistant\n\
    {% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}";

/// Zephyr's format, as a Jinja template.
const ZEPHYR: &str = "{% for m in messages %}\
    {% if m['role'] == 'user' %}<|user|>{% elif m['role'] == 'system' %}<|system|>\
    {% else %}<|assistant|>{% endif %}\n\
    {{ m['content'] + eos_token }}\n{% endfor %}\
    {% if add_generation_prompt %}<|assistant|>\n{% endif %}";

/// How much smaller the output rows of unreadable tokens are.
const UNREADABLE: f32 = 0.2;

/// Standard deviation of the logits, about.
const LOGIT_DEVIATION: f32 = 2.3;

/// Standard deviation of embedding and output matrix: small, so that epsilon matters.
const EMBEDDING_DEVIATION: f32 = 0.05;

/// The model as a file in memory; matrices in `ggml_type`, vectors in F32.
///
/// # Panics
/// When rows of the shape are no multiple of the type's blocks, or the type cannot be made.
pub fn bytes(shape: &Shape, ggml_type: GgmlType) -> Vec<u8> {
    write(shape, ggml_type, Vec::new()).expect("a shape that the type can hold")
}

/// Writes the model; matrices in `ggml_type`, vectors in F32.
///
/// # Errors
/// Those of the writer; rows that are no multiple of the type's blocks.
///
/// # Panics
/// When [`quantize`] does not make `ggml_type`.
pub fn write<W: Write>(shape: &Shape, ggml_type: GgmlType, out: W) -> Result<W, Error> {
    write_mixed(shape, &|_| ggml_type, out, &mut |_, _| ())
}

/// The types of a `Q4_K_M` file: Q6_K where it hurts most, Q4_K elsewhere.
pub fn q4_k_m(tensor: &str) -> GgmlType {
    let sensitive = [
        "token_embd.weight",
        "output.weight",
        "attn_v.weight",
        "ffn_down.weight",
    ];
    if sensitive.iter().any(|name| tensor.ends_with(name)) {
        GgmlType::Q6_K
    } else {
        GgmlType::Q4_K
    }
}

/// Writes the model; each matrix in the type that `type_of` gives its name, vectors in F32.
///
/// `progress` gets bytes done and in all.
///
/// # Errors
/// Those of the writer; rows that are no multiple of the type's blocks.
///
/// # Panics
/// When [`quantize`] does not make a type.
pub fn write_mixed<W: Write>(
    shape: &Shape,
    type_of: &dyn Fn(&str) -> GgmlType,
    out: W,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<W, Error> {
    let vocabulary = Vocabulary::train(shape.vocab_size, shape.vocabulary);
    let header = metadata(shape, type_of("blk.0.attn_q.weight"), &vocabulary);
    let named = shape.architecture.tensors(&shape.config(), shape.tied);
    let output = if shape.tied {
        "token_embd.weight"
    } else {
        "output.weight"
    };
    let tensors: Vec<_> = named
        .into_iter()
        .map(|Named { name, dims, .. }| Tensor {
            ggml_type: match dims[..] {
                [_] => GgmlType::F32,
                _ => type_of(&name),
            },
            source: scale(&name, dims[0]),
            name,
            dims,
        })
        .collect();
    header.write(out, &tensors, progress, |tensor, rows| {
        let (mean, deviation) = tensor.source;
        let mut encoded = Vec::new();
        for r in rows {
            let mut random = SplitMix64::of_row(shape.seed, &tensor.name, r);
            let small = tensor.name == output && !is_readable(&vocabulary, r as u32);
            let deviation = deviation * if small { UNREADABLE } else { 1.0 };
            let row: Vec<f32> = (0..tensor.cols())
                .map(|_| mean + deviation * random.normal())
                .collect();
            let stored = tensor.ggml_type;
            assert!(
                quantize(stored, &row, &mut encoded),
                "{stored:?} cannot be made"
            );
        }
        Ok(encoded)
    })
}

fn is_readable(vocabulary: &Vocabulary, id: u32) -> bool {
    vocabulary.is_plain_text(id) || id == vocabulary.end
}

/// Mean and deviation of the values of the tensor `name` with rows of `cols`.
fn scale(name: &str, cols: u64) -> (f32, f32) {
    let width = (cols as f32).sqrt();
    let norm = LOGIT_DEVIATION / (EMBEDDING_DEVIATION * width);
    let layer = |c: char| c == '.' || c.is_ascii_digit();
    // A matrix whose input has unit deviation gives its output the deviation that stands over `width`.
    match name.trim_start_matches("blk").trim_start_matches(layer) {
        "token_embd.weight" | "output.weight" => (0.0, EMBEDDING_DEVIATION),
        "output_norm.weight" => (norm, 0.25 * norm),
        "attn_norm.weight" | "ffn_norm.weight" => (1.0, 0.25),
        "attn_q_norm.weight" | "attn_k_norm.weight" => (1.3, 0.3),
        "attn_q.bias" | "attn_k.bias" => (0.0, 1.0),
        "attn_v.bias" => (0.0, 0.3),
        "attn_q.weight" | "attn_k.weight" => (0.0, 1.3 / width),
        "ffn_gate.weight" => (0.0, 1.2 / width),
        "attn_output.weight" | "ffn_down.weight" => (0.0, 0.7 / width),
        _ => (0.0, 1.0 / width),
    }
}

fn metadata(shape: &Shape, ggml_type: GgmlType, vocabulary: &Vocabulary) -> Header {
    let mut header = Header::default();
    let arch = shape.architecture.name();
    header.set("general.architecture", Value::str(arch));
    header.set("general.name", Value::str(shape.name));
    header.set_file_type(ggml_type);
    set_sizes(&shape.config(), &mut header);
    let eps = Value::f32(shape.rms_norm_eps);
    for (key, value) in [
        ("attention.layer_norm_rms_epsilon", eps),
        ("rope.dimension_count", Value::u32(shape.head_dim as u32)),
        ("rope.freq_base", Value::f32(shape.rope_theta)),
        ("vocab_size", Value::u32(shape.vocab_size as u32)),
    ] {
        header.set(format!("{arch}.{key}"), value);
    }
    let sentence_piece = shape.vocabulary == VocabularyKind::SentencePiece;
    let (model, pre, template) = match shape.vocabulary {
        VocabularyKind::ControlFirst => ("gpt2", "smollm", CHAT_ML),
        VocabularyKind::ControlLast => ("gpt2", "qwen2", CHAT_ML),
        VocabularyKind::Thinking => ("gpt2", "qwen2", CHAT_ML_THINKING),
        VocabularyKind::SentencePiece => ("llama", "default", ZEPHYR),
    };
    let mut set = |key: &str, value| header.set(format!("tokenizer.{key}"), value);
    set("ggml.model", Value::str(model));
    set("ggml.pre", Value::str(pre));
    set("ggml.tokens", Value::strings(&vocabulary.tokens));
    let types = vocabulary.types.iter().map(|kind| *kind as i32);
    set("ggml.token_type", Value::i32s(types));
    set("ggml.bos_token_id", Value::u32(vocabulary.begin));
    set("ggml.eos_token_id", Value::u32(vocabulary.end));
    set("ggml.unknown_token_id", Value::u32(vocabulary.unknown));
    set("ggml.add_bos_token", Value::bool(sentence_piece));
    set("chat_template", Value::str(template));
    if sentence_piece {
        let scores = vocabulary.scores.iter().copied();
        set("ggml.scores", Value::f32s(scores));
        set("ggml.add_space_prefix", Value::bool(true));
    } else {
        set("ggml.merges", Value::strings(&vocabulary.merges));
    }
    header
}

#[cfg(test)]
mod tests {
    use super::bytes;
    use crate::synth::Shape;
    use ops::GgmlType;

    #[test]
    fn the_same_shape_gives_the_same_bytes() {
        let shape = Shape::llama_tied();
        let file = bytes(&shape, GgmlType::Q8_0);
        assert_eq!(file, bytes(&shape, GgmlType::Q8_0));
        assert_ne!(file, bytes(&Shape { seed: 99, ..shape }, GgmlType::Q8_0));
    }

    #[test]
    fn tiny_models_are_tiny() {
        for shape in Shape::tiny() {
            for (ggml_type, limit) in [(GgmlType::Q8_0, 512), (GgmlType::F16, 1024)] {
                let kib = bytes(&shape, ggml_type).len() / 1024;
                assert!(
                    kib < limit,
                    "{} in {ggml_type:?} takes {kib} KiB",
                    shape.name
                );
            }
        }
    }
}
