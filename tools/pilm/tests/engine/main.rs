//! The engine against the f64 decoder, on synthetic models of every shape.

mod parity;
mod reference;

use llm::engine::LoadOptions;
use llm::model_file::ModelFile;
use ops::GgmlType;
use ops::crc32c::crc32c_f32;
use ops::matrix::Kernels;
use pilm::decoder::Decoder;
use pilm::metrics::{argmax, cosine, max_difference};
use pilm::session::{Memory, Session};
use pilm::synth::{Shape, bytes, q4_k_m, write_mixed};
use pilm::threads::Threads;
use reference::Reference;

/// More than one batch and more than one block of 64 positions.
const N_IDS: u32 = 150;

fn ids(shape: &Shape) -> Vec<u32> {
    (0..N_IDS)
        .map(|n| n * n * 31 % shape.vocab_size as u32)
        .collect()
}

fn options() -> LoadOptions {
    LoadOptions {
        context_len: Some(256),
        n_logits: 32,
        ..LoadOptions::default()
    }
}

/// Logits of all positions, in one vector.
fn logits_of(file: &[u8], ids: &[u32], n_cores: usize, options: &LoadOptions) -> Vec<f32> {
    logits_by(Kernels::Int8, file, ids, n_cores, options)
}

fn logits_by(
    kernels: Kernels,
    file: &[u8],
    ids: &[u32],
    n_cores: usize,
    options: &LoadOptions,
) -> Vec<f32> {
    let threads = Threads::new(n_cores);
    let mut file = ModelFile::open(file).unwrap();
    let mut memory = Memory::for_model(&file, options, &threads);
    let mut session =
        Session::load(&mut file, &mut memory, options, threads, &mut |_, _| ()).unwrap();
    session.engine.set_kernels(kernels);
    let mut all = Vec::new();
    session
        .prefill(ids, 0, &mut |_, logits| all.extend_from_slice(logits))
        .unwrap();
    all
}

fn reference_logits(file: &[u8], ids: &[u32]) -> Vec<f32> {
    let reference = Reference::load(&mut &file[..]).unwrap();
    reference
        .logits(ids)
        .concat()
        .iter()
        .map(|v| *v as f32)
        .collect()
}

#[test]
fn f32_weights_give_the_references_logits() {
    for shape in Shape::tiny() {
        let file = bytes(&shape, GgmlType::F32);
        let ids = ids(&shape);
        let expected = reference_logits(&file, &ids);
        let found = logits_of(&file, &ids, 1, &options());
        let difference = max_difference(&found, &expected);
        assert!(difference < 1e-4, "{}: {difference:e}", shape.name);
        let rows = |all: &[f32]| {
            all.chunks_exact(shape.vocab_size)
                .map(argmax)
                .collect::<Vec<_>>()
        };
        assert_eq!(rows(&found), rows(&expected), "{}", shape.name);
    }
}

/// A key stands beside its normed head in a buffer that nothing else here makes so long.
#[test]
fn one_head_may_be_wider_than_everything_else() {
    for shape in [Shape::llama_tied(), Shape::qwen3_tied()] {
        let shape = Shape {
            hidden_dim: 64,
            n_heads: 1,
            n_kv_heads: 1,
            head_dim: 128,
            ..shape
        };
        let file = bytes(&shape, GgmlType::F32);
        let ids = ids(&shape);
        let found = logits_of(&file, &ids, 1, &options());
        let difference = max_difference(&found, &reference_logits(&file, &ids));
        assert!(difference < 1e-4, "{}: {difference:e}", shape.name);
    }
}

#[test]
fn f16_weights_give_the_references_logits_of_the_same_weights() {
    let options = LoadOptions {
        kv_type: Some(llm::kv_cache::KvType::F32),
        ..options()
    };
    for shape in Shape::tiny() {
        let file = bytes(&shape, GgmlType::F16);
        let ids = ids(&shape);
        let found = logits_of(&file, &ids, 1, &options);
        let difference = max_difference(&found, &reference_logits(&file, &ids));
        assert!(difference < 1e-4, "{}: {difference:e}", shape.name);
    }
}

/// Every type with a kernel, on a model that can hold it.
fn every_type() -> Vec<(Shape, GgmlType)> {
    use GgmlType::{BF16, F16, F32, Q1_0, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0};
    let mut all: Vec<(Shape, GgmlType)> = Shape::tiny()
        .into_iter()
        .flat_map(|shape| [F32, F16, Q8_0].map(|t| (shape.clone(), t)))
        .collect();
    all.extend([BF16, Q4_0, Q4_1, Q5_0, Q5_1].map(|t| (Shape::qwen2(), t)));
    all.extend([Q4_K, Q5_K, Q6_K, Q1_0].map(|t| (Shape::llama_wide(), t)));
    all.extend([F32, Q4_0].map(|t| (Shape::llama_sentence_piece(), t)));
    all
}

fn mixed_file() -> Vec<u8> {
    write_mixed(&Shape::llama_wide(), &q4_k_m, Vec::new(), &mut |_, _| ()).unwrap()
}

/// Only the activations are coarser than the reference's: it has the same weights.
#[test]
fn quantized_weights_stay_close_to_the_reference_of_the_same_weights() {
    let mut files: Vec<(String, usize, Vec<u8>)> = every_type()
        .iter()
        .map(|(shape, t)| {
            (
                format!("{} {t:?}", shape.name),
                shape.vocab_size,
                bytes(shape, *t),
            )
        })
        .collect();
    files.push(("Q4_K_M".into(), 512, mixed_file()));
    for (name, vocab_size, file) in files {
        let ids = ids(&Shape {
            vocab_size,
            ..Shape::llama_tied()
        });
        let expected = reference_logits(&file, &ids);
        let cosine = cosine(&logits_of(&file, &ids, 1, &options()), &expected);
        assert!(cosine >= 0.995, "{name}: {cosine}");
    }
}

#[test]
fn q8_0_weights_stay_close_to_the_f32_model() {
    for shape in Shape::tiny() {
        let ids = ids(&shape);
        let expected = reference_logits(&bytes(&shape, GgmlType::F32), &ids);
        let found = logits_of(&bytes(&shape, GgmlType::Q8_0), &ids, 1, &options());
        let cosine = cosine(&found, &expected);
        assert!(cosine >= 0.995, "{}: {cosine}", shape.name);
    }
}

#[test]
fn cores_batches_and_single_steps_give_the_same_bits() {
    for (shape, ggml_type) in every_type() {
        let file = bytes(&shape, ggml_type);
        let ids = &ids(&shape)[..80];
        let expected = crc32c_f32(&logits_of(&file, ids, 1, &options()));
        let all = shape == Shape::llama_tied();
        for n_cores in if all { 2..=4 } else { 3..=3 } {
            let found = crc32c_f32(&logits_of(&file, ids, n_cores, &options()));
            assert_eq!(found, expected, "{} {ggml_type:?} on {n_cores}", shape.name);
        }
        for (batch, n_logits) in [(1, 1), (70, 23)] {
            let options = LoadOptions {
                batch,
                n_logits,
                ..options()
            };
            let found = crc32c_f32(&logits_of(&file, ids, 2, &options));
            assert_eq!(found, expected, "{} {ggml_type:?} by {batch}", shape.name);
        }
    }
}

#[test]
fn decoding_token_by_token_gives_the_bits_of_a_prefill() {
    let shape = Shape::llama_grouped();
    let file = bytes(&shape, GgmlType::Q8_0);
    let ids = ids(&shape);
    let whole = logits_of(&file, &ids, 1, &options());
    let threads = Threads::new(1);
    let mut file = ModelFile::open(&file[..]).unwrap();
    let mut memory = Memory::for_model(&file, &options(), &threads);
    let mut session =
        Session::load(&mut file, &mut memory, &options(), threads, &mut |_, _| ()).unwrap();
    session.prefill(&ids[..100], 99, &mut |_, _| ()).unwrap();
    for (id, expected) in ids
        .iter()
        .zip(whole.chunks_exact(shape.vocab_size))
        .skip(100)
    {
        let found = session.decode(*id).unwrap();
        assert_eq!(crc32c_f32(&found), crc32c_f32(expected));
    }
}

#[test]
fn scalar_kernels_give_the_tuned_bits() {
    for (shape, ggml_type) in every_type() {
        let file = bytes(&shape, ggml_type);
        let ids = &ids(&shape)[..40];
        let scalar = logits_by(Kernels::Reference, &file, ids, 2, &options());
        let tuned = logits_of(&file, ids, 2, &options());
        assert_eq!(
            crc32c_f32(&scalar),
            crc32c_f32(&tuned),
            "{} {ggml_type:?}",
            shape.name
        );
    }
}

/// With float activations and a float cache nothing is coarser than the reference's but the sums.
#[test]
fn plain_kernels_give_the_references_logits_of_the_same_weights() {
    let options = LoadOptions {
        kv_type: Some(llm::kv_cache::KvType::F32),
        ..options()
    };
    for (shape, ggml_type) in every_type() {
        let file = bytes(&shape, ggml_type);
        let ids = &ids(&shape)[..80];
        let expected = reference_logits(&file, ids);
        let plain = logits_by(Kernels::Dequantize, &file, ids, 2, &options);
        let tuned = logits_of(&file, ids, 2, &options);
        let name = format!("{} {ggml_type:?}", shape.name);
        let [plain_error, tuned_error] =
            [&plain, &tuned].map(|logits| max_difference(logits, &expected));
        assert!(plain_error < 1e-4, "{name}: {plain_error:e}");
        let is_float = matches!(ggml_type, GgmlType::F32 | GgmlType::F16 | GgmlType::BF16);
        if is_float {
            assert_eq!(crc32c_f32(&plain), crc32c_f32(&tuned), "{name}");
        } else {
            assert!(tuned_error > 10.0 * plain_error, "{name}: {tuned_error:e}");
        }
        for (batch, n_logits) in [(1, 1), (70, 23)] {
            let options = LoadOptions {
                batch,
                n_logits,
                ..options.clone()
            };
            let again = logits_by(Kernels::Dequantize, &file, ids, 3, &options);
            assert_eq!(crc32c_f32(&again), crc32c_f32(&plain), "{name} by {batch}");
        }
    }
}

#[test]
fn other_bits_are_not_continued() {
    let file = bytes(&Shape::llama_tied(), GgmlType::Q8_0);
    let threads = Threads::new(1);
    let mut file = ModelFile::open(&file[..]).unwrap();
    let mut memory = Memory::for_model(&file, &options(), &threads);
    let mut session =
        Session::load(&mut file, &mut memory, &options(), threads, &mut |_, _| ()).unwrap();
    session.prefill(&[5, 6, 7], 0, &mut |_, _| ()).unwrap();
    session.engine.set_kernels(Kernels::Reference);
    assert_eq!(session.engine.pos(), 3, "the same bits go on");
    session.engine.set_kernels(Kernels::Dequantize);
    assert_eq!(session.engine.pos(), 0);
}
