//! A model's tensors: how they come from the file into the arena, by the list that the model states.

mod chunk;
mod load;
mod place;
mod share;
mod spec;
mod times;
mod wanted;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use ops::Matrix;
use ops::lanes::{F32x4, flat};

pub use load::Loader;
pub use spec::{Kind, Spec};
pub use times::{LoadTimes, Timer};
pub(crate) use wanted::wanted;

/// A tensor in memory.
pub enum Tensor<'a> {
    /// Packed rows.
    Matrix(Matrix<'a>),
    /// Floats.
    Vector(&'a mut [F32x4], usize),
}

/// Tensors, to be taken out by name.
///
/// The loader has checked that each tensor of the model's list is here with its shape, so that
/// taking is not expected to fail.
pub struct Tensors<'a> {
    by_name: BTreeMap<String, Tensor<'a>>,
}

impl<'a> Tensors<'a> {
    /// Takes all tensors whose names start with `prefix`, named by what follows it.
    pub fn under(&mut self, prefix: &str) -> Tensors<'a> {
        let all = core::mem::take(&mut self.by_name).into_iter();
        let (under, others): (BTreeMap<_, _>, _) =
            all.partition(|(name, _)| name.starts_with(prefix));
        self.by_name = others;
        let under = under.into_iter();
        let by_name = under
            .map(|(name, tensor)| (name[prefix.len()..].to_string(), tensor))
            .collect();
        Tensors { by_name }
    }

    /// The matrix `name`.
    pub fn matrix(&mut self, name: &str) -> Matrix<'a> {
        self.optional_matrix(name)
            .unwrap_or_else(|| panic!("no matrix {name} was loaded"))
    }

    /// The matrix `name`, if the file has it.
    pub fn optional_matrix(&mut self, name: &str) -> Option<Matrix<'a>> {
        match self.by_name.remove(name)? {
            Tensor::Matrix(matrix) => Some(matrix),
            Tensor::Vector(..) => None,
        }
    }

    /// The vector `name`.
    pub fn vector(&mut self, name: &str) -> &'a [F32x4] {
        match self.by_name.remove(name) {
            Some(Tensor::Vector(vector, _)) => vector,
            _ => panic!("no vector {name} was loaded"),
        }
    }

    /// The values of the vector `name`, if the file has it.
    pub fn optional_values(&mut self, name: &str) -> Option<&'a [f32]> {
        match self.by_name.remove(name)? {
            Tensor::Vector(vector, len) => Some(&flat(vector)[..len]),
            Tensor::Matrix(_) => None,
        }
    }
}
