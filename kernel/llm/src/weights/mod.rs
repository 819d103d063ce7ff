//! A model's tensors: which it must have, and how they come from the file into the arena.

mod chunk;
mod load;
mod place;
mod share;
mod spec;
mod wanted;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ops::Matrix;
use ops::lanes::{F32x4, flat};

pub use crate::engine::LoadError;
use crate::models::{llama, qwen2};
pub use load::Loader;
pub use spec::{Kind, Spec, specs};

/// A tensor in memory.
pub enum Tensor<'a> {
    /// Packed rows.
    Matrix(Matrix<'a>),
    /// Floats.
    Vector(&'a [F32x4], usize),
}

/// Every tensor of a model, to be taken out by name.
///
/// The loader has checked that each name of [`specs`] is here with its shape, so that taking is
/// not expected to fail.
pub struct Tensors<'a> {
    by_name: BTreeMap<String, Tensor<'a>>,
}

impl<'a> Tensors<'a> {
    /// The matrix `name`.
    pub fn take(&mut self, name: &str) -> Matrix<'a> {
        self.take_optional(name)
            .unwrap_or_else(|| panic!("no matrix {name} was loaded"))
    }

    /// The matrix `name`, if the file has it.
    pub fn take_optional(&mut self, name: &str) -> Option<Matrix<'a>> {
        match self.by_name.remove(name)? {
            Tensor::Matrix(matrix) => Some(matrix),
            Tensor::Vector(..) => None,
        }
    }

    /// The vector `name`.
    pub fn take_vector(&mut self, name: &str) -> &'a [F32x4] {
        match self.by_name.remove(name) {
            Some(Tensor::Vector(vector, _)) => vector,
            _ => panic!("no vector {name} was loaded"),
        }
    }

    /// The divisors of the rotary frequencies, if the file has them.
    pub fn take_rope_freqs(&mut self) -> Option<Vec<f32>> {
        match self.by_name.remove(crate::config::ROPE_FREQS_TENSOR)? {
            Tensor::Vector(vector, len) => Some(flat(vector)[..len].to_vec()),
            Tensor::Matrix(_) => None,
        }
    }

    /// Layer `l` without biases.
    pub fn take_layer(&mut self, l: usize) -> llama::Layer<'a> {
        let name = |what: &str| format!("blk.{l}.{what}.weight");
        llama::Layer {
            attn_norm: self.take_vector(&name("attn_norm")),
            wq: self.take(&name("attn_q")),
            wk: self.take(&name("attn_k")),
            wv: self.take(&name("attn_v")),
            wo: self.take(&name("attn_output")),
            ffn_norm: self.take_vector(&name("ffn_norm")),
            w_gate: self.take(&name("ffn_gate")),
            w_up: self.take(&name("ffn_up")),
            w_down: self.take(&name("ffn_down")),
        }
    }

    /// Layer `l` with biases on q, k and v.
    pub fn take_biased_layer(&mut self, l: usize) -> qwen2::Layer<'a> {
        qwen2::Layer {
            weights: self.take_layer(l),
            bq: self.take_vector(&format!("blk.{l}.attn_q.bias")),
            bk: self.take_vector(&format!("blk.{l}.attn_k.bias")),
            bv: self.take_vector(&format!("blk.{l}.attn_v.bias")),
        }
    }
}
