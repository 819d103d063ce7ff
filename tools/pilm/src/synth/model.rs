//! The weights and metadata of a synthetic model, streamed to a GGUF file.

use std::io::Write;

use ops::GgmlType;

use super::random::SplitMix64;
use super::shape::{Architecture, Shape};
use super::vocabulary::{Vocabulary, VocabularyKind};
use crate::gguf_writer::{Error, Header, Value};
use crate::quantize::quantize;
use crate::requantize::file_type;

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

/// One tensor: values are `mean + deviation · normal`.
struct Tensor {
    name: String,
    rows: usize,
    /// 0 rows: a vector of `cols`.
    cols: usize,
    mean: f32,
    deviation: f32,
}

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
/// `progress` gets values done and in all.
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
    let tensors = tensors(shape);
    let mut header = metadata(shape, type_of("blk.0.attn_q.weight"), &vocabulary);
    for tensor in &tensors {
        let (cols, rows) = (tensor.cols as u64, tensor.rows as u64);
        match rows {
            0 => header.declare(&tensor.name, GgmlType::F32, &[cols])?,
            _ => header.declare(&tensor.name, type_of(&tensor.name), &[cols, rows])?,
        }
    }
    let total: usize = tensors.iter().map(|t| t.rows.max(1) * t.cols).sum();
    let mut done = 0;
    let mut body = header.begin(out)?;
    let output = if shape.tied {
        "token_embd.weight"
    } else {
        "output.weight"
    };
    let (mut row, mut encoded) = (Vec::new(), Vec::new());
    for tensor in &tensors {
        let stored = if tensor.rows == 0 {
            GgmlType::F32
        } else {
            type_of(&tensor.name)
        };
        for r in 0..tensor.rows.max(1) {
            let mut random = SplitMix64::of_row(shape.seed, &tensor.name, r as u64);
            let small = tensor.name == output && !is_readable(&vocabulary, r as u32);
            let deviation = tensor.deviation * if small { UNREADABLE } else { 1.0 };
            row.clear();
            row.extend((0..tensor.cols).map(|_| tensor.mean + deviation * random.normal()));
            encoded.clear();
            assert!(
                quantize(stored, &row, &mut encoded),
                "{stored:?} cannot be made"
            );
            body.write(&tensor.name, &encoded)?;
        }
        done += tensor.rows.max(1) * tensor.cols;
        progress(done as u64, total as u64);
    }
    body.finish()
}

fn is_readable(vocabulary: &Vocabulary, id: u32) -> bool {
    vocabulary.is_plain_text(id) || id == vocabulary.end
}

/// Names, shapes and scales of all tensors, in file order.
fn tensors(shape: &Shape) -> Vec<Tensor> {
    let dim = shape.dim;
    let (q_dim, kv_dim) = (
        shape.n_heads * shape.head_dim,
        shape.n_kv_heads * shape.head_dim,
    );
    // Deviation of a matrix whose input has unit deviation and whose output shall have `gain`.
    let scaled = |gain: f32, cols: usize| gain / (cols as f32).sqrt();
    let (hidden_dim, vocab_size) = (shape.hidden_dim, shape.vocab_size);
    let mut all = Vec::new();
    let mut add = |name: String, rows, cols, mean, deviation| {
        all.push(Tensor {
            name,
            rows,
            cols,
            mean,
            deviation,
        });
    };
    let embedding = EMBEDDING_DEVIATION;
    add("token_embd.weight".into(), vocab_size, dim, 0.0, embedding);
    let decoder = [
        ("attn_norm.weight", 0, dim, 1.0, 0.25),
        ("attn_q.weight", q_dim, dim, 0.0, scaled(1.3, dim)),
        ("attn_k.weight", kv_dim, dim, 0.0, scaled(1.3, dim)),
        ("attn_v.weight", kv_dim, dim, 0.0, scaled(1.0, dim)),
        ("attn_output.weight", dim, q_dim, 0.0, scaled(0.7, q_dim)),
        ("ffn_norm.weight", 0, dim, 1.0, 0.25),
        ("ffn_gate.weight", hidden_dim, dim, 0.0, scaled(1.2, dim)),
        ("ffn_up.weight", hidden_dim, dim, 0.0, scaled(1.0, dim)),
        (
            "ffn_down.weight",
            dim,
            hidden_dim,
            0.0,
            scaled(0.7, hidden_dim),
        ),
    ];
    let own: &[_] = match shape.architecture {
        Architecture::Llama => &[],
        Architecture::Qwen2 => &[
            ("attn_q.bias", 0, q_dim, 0.0, 1.0),
            ("attn_k.bias", 0, kv_dim, 0.0, 1.0),
            ("attn_v.bias", 0, kv_dim, 0.0, 0.3),
        ],
        Architecture::Qwen3 => &[
            ("attn_q_norm.weight", 0, shape.head_dim, 1.3, 0.3),
            ("attn_k_norm.weight", 0, shape.head_dim, 1.3, 0.3),
        ],
    };
    for l in 0..shape.n_layers {
        for (part, rows, cols, mean, deviation) in decoder.iter().chain(own) {
            add(format!("blk.{l}.{part}"), *rows, *cols, *mean, *deviation);
        }
    }
    let norm = LOGIT_DEVIATION / (EMBEDDING_DEVIATION * (dim as f32).sqrt());
    add("output_norm.weight".into(), 0, dim, norm, 0.25 * norm);
    if !shape.tied {
        add("output.weight".into(), vocab_size, dim, 0.0, embedding);
    }
    all
}

fn metadata(shape: &Shape, ggml_type: GgmlType, vocabulary: &Vocabulary) -> Header {
    let mut header = Header::new();
    let arch = shape.architecture.name();
    let u32_of = |n: usize| Value::u32(n as u32);
    header.set("general.architecture", Value::str(arch));
    header.set("general.name", Value::str(shape.name));
    header.set("general.file_type", Value::u32(file_type(ggml_type)));
    header.set("general.quantization_version", Value::u32(2));
    for (key, value) in [
        ("block_count", u32_of(shape.n_layers)),
        ("context_length", u32_of(shape.max_seq_len)),
        ("embedding_length", u32_of(shape.dim)),
        ("feed_forward_length", u32_of(shape.hidden_dim)),
        ("attention.head_count", u32_of(shape.n_heads)),
        ("attention.head_count_kv", u32_of(shape.n_kv_heads)),
        ("attention.key_length", u32_of(shape.head_dim)),
        ("attention.value_length", u32_of(shape.head_dim)),
        (
            "attention.layer_norm_rms_epsilon",
            Value::f32(shape.rms_norm_eps),
        ),
        ("rope.dimension_count", u32_of(shape.head_dim)),
        ("rope.freq_base", Value::f32(shape.rope_theta)),
        ("vocab_size", u32_of(shape.vocab_size)),
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
    for (key, value) in [
        ("tokenizer.ggml.model", Value::str(model)),
        ("tokenizer.ggml.pre", Value::str(pre)),
        (
            "tokenizer.ggml.tokens",
            Value::strings(vocabulary.tokens.iter()),
        ),
        (
            "tokenizer.ggml.token_type",
            Value::i32s(vocabulary.types.iter().copied()),
        ),
        ("tokenizer.ggml.bos_token_id", Value::u32(vocabulary.begin)),
        ("tokenizer.ggml.eos_token_id", Value::u32(vocabulary.end)),
        (
            "tokenizer.ggml.unknown_token_id",
            Value::u32(vocabulary.unknown),
        ),
        ("tokenizer.ggml.add_bos_token", Value::bool(sentence_piece)),
        ("tokenizer.chat_template", Value::str(template)),
    ] {
        header.set(key, value);
    }
    if sentence_piece {
        let scores = vocabulary.scores.iter().copied();
        header.set("tokenizer.ggml.scores", Value::f32s(scores));
        header.set("tokenizer.ggml.add_space_prefix", Value::bool(true));
    } else {
        header.set(
            "tokenizer.ggml.merges",
            Value::strings(vocabulary.merges.iter()),
        );
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
