//! What each core does for a decoded token: every weight byte once, few barriers, even shares.

use llm::gguf::Gguf;
use ops::GgmlType;
use pilm::synth::{self, Shape};
use serde_json::json;
use tests::boot::{assert_clean_log, boot};
use tests::card::{Card, MODEL};
use xtask::card::CardFile;
use xtask::count::work::{CoreWork, ModelFacts, Work};
use xtask::session::Session;

/// Five blocks of attention, the last one begun.
const POSITION: usize = 300;

/// A shape of four layers whose rows are whole groups for each of four cores, its scales whole vectors.
fn even(shape: Shape) -> Shape {
    Shape {
        n_layers: 4,
        hidden_dim: 192,
        ..shape
    }
}

/// What each core did for one token decoded at [`POSITION`].
fn decode(pi: &mut Session, n_cores: usize) -> Vec<CoreWork> {
    pi.ask(json!({"op": "set", "key": "cores", "value": n_cores}))
        .unwrap_or_else(|error| panic!("{error:#}"));
    let ids: Vec<usize> = (0..POSITION).map(|i| 40 + i % 400).collect();
    let mut cores = Vec::new();
    let request = json!({"op": "complete", "ids": ids, "max_tokens": 2, "counts": true,
        "ignore_eos": true, "temperature": 0});
    pi.ask_with(request, &mut |event| {
        if event["event"] == "counts" && event["phase"] == "decode" {
            cores.push(serde_json::from_value(event.clone())?);
        }
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
    cores
}

#[test]
fn weights_are_read_once_and_cores_share_evenly() {
    let wide = Shape {
        n_layers: 4,
        ..Shape::llama_wide()
    };
    for (shape, ggml_type) in [
        (even(Shape::llama_tied()), GgmlType::Q8_0),
        (even(Shape::qwen2()), GgmlType::Q8_0),
        (even(Shape::qwen3_tied()), GgmlType::Q8_0),
        (wide, GgmlType::Q1_0),
    ] {
        let model = synth::bytes(&shape, ggml_type);
        let gguf = Gguf::parse(&model, model.len() as u64).unwrap();
        let matrices = gguf.tensors().filter(|tensor| tensor.dims.len() == 2);
        let facts = ModelFacts {
            tensor_bytes: matrices.map(|tensor| tensor.len_bytes).sum(),
            ..ModelFacts::parse(&model, model.len() as u64).unwrap()
        };
        let mut pi = boot(&Card::with(&[CardFile::bytes(MODEL, model.as_slice())]));
        for n_cores in 1..=4 {
            let cores = decode(&mut pi, n_cores);
            let work = Work::new(&cores, n_cores, &facts).unwrap();
            let name = format!("{}, {n_cores} cores: {cores:?}", shape.name);
            assert_eq!(work.bytes_ratio(), 1.0, "{name}");
            assert_eq!(work.barriers(), (5, 1), "{name}");
            assert!(work.has_many_blocks(), "{name}");
            if n_cores != 3 {
                // three cores cannot share a few groups of rows evenly
                assert_eq!(work.misses(), [""; 0], "{name}");
            }
        }
        assert_clean_log(&mut pi);
    }
}
