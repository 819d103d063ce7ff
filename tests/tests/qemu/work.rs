//! What each core does for a decoded token: every weight byte once, few barriers, even shares.

use llm::gguf::Gguf;
use ops::GgmlType;
use pilm::synth::{self, Shape};
use protocol::event::{Counts, Phase};
use protocol::request::{Logits, Sampling};
use protocol::{Event, Op, Setting};
use tests::boot::{assert_clean_log, boot};
use tests::card::{Card, MODEL};
use tests::requests::{events, ids, likeliest, set};
use xtask::card::CardFile;
use xtask::count::work::{ModelFacts, Work};
use xtask::session::Session;

/// Five blocks of attention, the last one begun.
const POSITION: u32 = 300;

/// A shape of four layers whose rows are whole groups for each of four cores, its scales whole vectors.
fn even(shape: Shape) -> Shape {
    Shape {
        n_layers: 4,
        hidden_dim: 192,
        ..shape
    }
}

/// What each core did for one token decoded at [`POSITION`].
fn decode(pi: &mut Session, n_cores: usize) -> Vec<Counts> {
    set(pi, Setting::Cores, n_cores);
    let prompt: Vec<u32> = (0..POSITION).map(|i| 40 + i % 400).collect();
    let sampling = Sampling {
        counts: true,
        ..likeliest(2)
    };
    let op = Op::Complete(ids(&prompt), sampling, Logits::default());
    let counts = events(pi, op)
        .0
        .into_iter()
        .filter_map(|event| match event {
            Event::Counts(core) if core.phase == Phase::Decode => Some(core),
            _ => None,
        });
    counts.collect()
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
