//! What is recorded: architectures × types of weights × types of the KV cache × generations of kernels.

use std::fmt;

use llm::engine::LoadOptions;
use llm::kv_cache::KvType;
use llm::model_file::ModelFile;
use ops::GgmlType;
use ops::crc32c::crc32c_f32;
use ops::matrix::Kernels;
use pilm::decoder::Decoder;
use pilm::metrics::argmax;
use pilm::quantize::TYPES;
use pilm::session::{Memory, Session};
use pilm::synth::Shape;
use pilm::threads::Threads;

use crate::file::Golden;

/// More than two batches of 32 and more than one block of 64 positions; neither is full at the end.
const PROMPT_LEN: u32 = 75;
const N_DECODED: usize = 12;

/// One model, run in one way.
pub struct Case {
    pub shape: Shape,
    pub ggml_type: GgmlType,
    kv_type: KvType,
    kernels: Kernels,
}

/// All architectures, with rows that every type can hold.
fn shapes() -> [Shape; 3] {
    let wide = Shape::llama_wide();
    let qwen2 = Shape {
        dim: wide.dim,
        hidden_dim: wide.hidden_dim,
        n_layers: wide.n_layers,
        n_heads: wide.n_heads,
        n_kv_heads: wide.n_kv_heads,
        head_dim: wide.head_dim,
        ..Shape::qwen2()
    };
    [wide, qwen2, Shape::qwen3_wide()]
}

/// All cases; those of one model are neighbors.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in shapes() {
        for ggml_type in TYPES {
            for kv_type in KvType::ALL {
                cases.extend(Kernels::ALL.map(|kernels| Case {
                    shape: shape.clone(),
                    ggml_type,
                    kv_type,
                    kernels,
                }));
            }
        }
    }
    cases
}

impl Case {
    /// Whether `other` runs the same model.
    pub fn has_model_of(&self, other: &Case) -> bool {
        self.shape == other.shape && self.ggml_type == other.ggml_type
    }

    /// Whether `golden` was recorded for this case.
    pub fn is_of(&self, golden: &Golden) -> bool {
        golden.is_of_case(&self.entry(&[], &[]))
    }

    /// Runs `file`, the model of this case: a prompt, then the most likely token again and again.
    pub fn golden(&self, file: &[u8], n_cores: usize) -> Golden {
        let options = LoadOptions {
            context_len: Some(128),
            kv_type: Some(self.kv_type),
            n_logits: 32,
            ..LoadOptions::default()
        };
        let vocab_size = self.shape.vocab_size;
        let ids: Vec<u32> = (0..PROMPT_LEN)
            .map(|n| n * n * 31 % vocab_size as u32)
            .collect();
        let threads = Threads::new(n_cores);
        let mut file = ModelFile::open(file).unwrap();
        let mut memory = Memory::for_model(&file, &options, &threads);
        let mut session =
            Session::load(&mut file, &mut memory, &options, threads, &mut |_, _| ()).unwrap();
        session.engine.set_kernels(self.kernels);
        let mut prefill = Vec::new();
        session
            .prefill(&ids, 0, &mut |_, logits| prefill.extend_from_slice(logits))
            .unwrap();
        assert_eq!(prefill.len(), ids.len() * vocab_size, "{self}");
        let mut chosen = argmax(&prefill[prefill.len() - vocab_size..]);
        let mut decode = Vec::new();
        for _ in 0..N_DECODED {
            let logits = session.decode(chosen as u32).unwrap();
            chosen = argmax(&logits);
            decode.extend(logits);
        }
        self.entry(&prefill, &decode)
    }

    fn entry(&self, prefill: &[f32], decode: &[f32]) -> Golden {
        Golden {
            architecture: self.shape.architecture.name().to_owned(),
            ggml_type: self.ggml_type.name().to_owned(),
            kv: self.kv_type.name().to_owned(),
            kernels: recorded_name(self.kernels).to_owned(),
            prefill: format!("{:08x}", crc32c_f32(prefill)),
            decode: format!("{:08x}", crc32c_f32(decode)),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}, KV {}, {} kernels",
            self.shape.architecture.name(),
            self.ggml_type.name(),
            self.kv_type.name(),
            self.kernels
        )
    }
}

/// The name that kernels had when the first goldens were recorded.
fn recorded_name(kernels: Kernels) -> &'static str {
    match kernels {
        Kernels::Reference => "scalar",
        Kernels::Dequantize => "plain",
        Kernels::Int8 => "tuned",
    }
}
