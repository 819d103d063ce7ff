//! What is wrong with a model's tensors is said by name, and nothing is loaded.

use llm::engine::{Engine, LoadError, LoadOptions};
use llm::gguf::Gguf;
use llm::model_file::ModelFile;
use llm::source::PastEnd;
use ops::GgmlType;
use ops::arena::{Arena, Line};
use parallel::Serial;
use pilm::synth::{Shape, bytes};

fn load(file: &[u8], megabytes: usize) -> Result<(), LoadError<PastEnd>> {
    let mut lines = vec![Line::ZERO; (megabytes << 20) / Line::BYTES];
    let options = LoadOptions {
        context_len: Some(128),
        ..LoadOptions::default()
    };
    let arena = Arena::new(&mut lines);
    let mut file = ModelFile::open(file)?;
    Engine::load(&mut file, arena, &options, &Serial::new(), &mut |_, _| ()).map(|_| ())
}

fn error(file: &[u8]) -> LoadError<PastEnd> {
    load(file, 64).expect_err("the file is damaged")
}

/// A sound model, and where a tensor's data lies in it.
fn model(ggml_type: GgmlType, tensor: &str) -> (Vec<u8>, std::ops::Range<usize>) {
    let file = bytes(&Shape::llama_tied(), ggml_type);
    let gguf = Gguf::parse(&file, file.len() as u64).unwrap();
    let info = gguf.tensor(tensor).unwrap();
    let start = info.offset_bytes as usize;
    let range = start..start + info.len_bytes as usize;
    (file, range)
}

/// Puts `to` where `from` stands for the only time.
fn rename(file: &mut [u8], from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..file.len() - from.len())
        .filter(|&at| &file[at..at + from.len()] == from.as_bytes())
        .collect();
    assert_eq!(places.len(), 1, "{from}");
    file[places[0]..places[0] + to.len()].copy_from_slice(to.as_bytes());
}

#[test]
fn a_sound_model_loads() {
    let (file, _) = model(GgmlType::Q8_0, "token_embd.weight");
    assert_eq!(load(&file, 64), Ok(()));
}

#[test]
fn a_missing_tensor_is_named() {
    let (mut file, _) = model(GgmlType::Q8_0, "blk.1.ffn_up.weight");
    rename(&mut file, "blk.1.ffn_up.weight", "blk.1.ffn_xx.weight");
    let tensor = "blk.1.ffn_up.weight".to_owned();
    assert_eq!(error(&file), LoadError::MissingTensor { tensor });
    let opened = ModelFile::open(file.as_slice());
    assert!(opened.is_err(), "it is refused before memory is taken");
}

#[test]
fn a_vector_where_a_matrix_should_be_is_a_wrong_shape() {
    let (mut file, _) = model(GgmlType::F32, "blk.0.attn_q.weight");
    rename(&mut file, "blk.0.attn_q.weight", "blk.0.attn_?.weight");
    rename(&mut file, "blk.0.attn_k.weight", "blk.0.attn_q.weight");
    rename(&mut file, "blk.0.attn_?.weight", "blk.0.attn_k.weight");
    match error(&file) {
        LoadError::ShapeMismatch {
            tensor,
            expected,
            found,
        } => {
            assert_eq!(tensor, "blk.0.attn_q.weight");
            assert_ne!(expected, found);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_scale_that_is_not_finite_is_found_with_its_row() {
    let (mut file, data) = model(GgmlType::Q8_0, "blk.1.ffn_down.weight");
    let row_bytes = data.len() / Shape::llama_tied().dim;
    let scale = data.start + 7 * row_bytes + 2 * 34;
    for bad in [0x7C00u16, 0x7E00, 0xFC00] {
        file[scale..scale + 2].copy_from_slice(&bad.to_le_bytes());
        let tensor = "blk.1.ffn_down.weight".to_owned();
        assert_eq!(error(&file), LoadError::BadScale { tensor, row: 7 });
    }
}

#[test]
fn a_norm_that_is_not_finite_is_found() {
    let (mut file, data) = model(GgmlType::Q8_0, "output_norm.weight");
    file[data.start + 8..data.start + 12].copy_from_slice(&f32::NAN.to_le_bytes());
    let tensor = "output_norm.weight".to_owned();
    assert_eq!(error(&file), LoadError::NotFinite { tensor });
}

#[test]
fn too_little_memory_is_said() {
    let (file, _) = model(GgmlType::F32, "token_embd.weight");
    match load(&file, 1) {
        Err(LoadError::OutOfMemory(e)) => assert!(e.needed_bytes > e.free_bytes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_error_says_what_to_do() {
    let (mut file, _) = model(GgmlType::Q8_0, "blk.1.ffn_up.weight");
    rename(&mut file, "blk.1.ffn_up.weight", "blk.1.ffn_xx.weight");
    assert_eq!(
        error(&file).to_string(),
        "tensor blk.1.ffn_up.weight is missing; convert the model again"
    );
}
