//! A tensor's place in memory, filled from front to back as its bytes come in.

use alloc::string::String;

use ops::arena::Arena;
use ops::float::{bf16_to_f32, f16_to_f32};
use ops::lanes::{F32x4, flat, flat_mut};
use ops::matrix::{self, Packing};
use ops::packed::MR;
use ops::{GgmlType, Matrix};

use super::{Kind, Spec, Tensor};
use crate::gguf::TensorInfo;
use crate::load_error::LoadError;

/// A tensor on its way from the file into memory.
pub(super) struct Place<'w, 'a> {
    pub(super) spec: &'w Spec,
    tensor: &'w TensorInfo,
    memory: Tensor<'a>,
    /// Bytes of the tensor that were taken.
    taken_bytes: u64,
}

impl<'w, 'a> Place<'w, 'a> {
    /// Room for `tensor`.
    ///
    /// # Errors
    /// The arena is too small.
    pub(super) fn new<E>(
        spec: &'w Spec,
        tensor: &'w TensorInfo,
        arena: &mut Arena<'a>,
    ) -> Result<Self, LoadError<E>> {
        let memory = match spec.kind {
            Kind::Vector => Tensor::Vector(arena.slice(F32x4::count(spec.cols))?, spec.cols),
            Kind::Matrix => Tensor::Matrix(
                Matrix::new(arena, tensor.ggml_type, spec.rows, spec.cols)
                    .map_err(|error| refused(spec, error))?,
            ),
        };
        Ok(Place {
            spec,
            tensor,
            memory,
            taken_bytes: 0,
        })
    }

    /// Length of the tensor in the file.
    pub(super) fn len_bytes(&self) -> u64 {
        self.tensor.len_bytes
    }

    /// Place in the file of the first byte that was not taken yet.
    pub(super) fn next(&self) -> u64 {
        self.tensor.offset_bytes + self.taken_bytes
    }

    /// How many bytes were not taken yet.
    pub(super) fn missing_bytes(&self) -> u64 {
        self.tensor.len_bytes - self.taken_bytes
    }

    /// What is taken as a whole: a group of rows, or a vector.
    pub(super) fn unit_bytes(&self) -> usize {
        let unit = match &self.memory {
            Tensor::Vector(..) => self.tensor.len_bytes as usize,
            Tensor::Matrix(matrix) => MR * matrix.file_row_bytes(),
        };
        unit.min(self.tensor.len_bytes as usize)
    }

    /// How many of the `available` bytes from [`Place::next`] on can be taken.
    pub(super) fn takes(&self, available: u64) -> u64 {
        if available >= self.missing_bytes() {
            self.missing_bytes()
        } else {
            let unit = self.unit_bytes() as u64;
            available / unit * unit
        }
    }

    /// Takes `bytes`, as many as [`Place::takes`] said: a vector at once; rows are then to be packed.
    ///
    /// # Errors
    /// A value of a vector that is not finite.
    pub(super) fn take<'p, E>(
        &'p mut self,
        bytes: &'p [u8],
    ) -> Result<Option<Packing<'p>>, LoadError<E>> {
        let from_bytes = self.taken_bytes as usize;
        self.taken_bytes += bytes.len() as u64;
        match &mut self.memory {
            Tensor::Vector(lanes, _) => {
                widen(self.tensor.ggml_type, bytes, flat_mut(lanes));
                if !flat(lanes).iter().all(|value| value.is_finite()) {
                    let tensor = self.spec.name.clone();
                    return Err(LoadError::NotFinite { tensor });
                }
                Ok(None)
            }
            Tensor::Matrix(matrix) => {
                let first_row = from_bytes / matrix.file_row_bytes();
                Ok(Some(matrix.packing(first_row, bytes)))
            }
        }
    }

    /// The tensor by its name.
    pub(super) fn into_tensor(self) -> (String, Tensor<'a>) {
        (self.spec.name.clone(), self.memory)
    }
}

/// What is wrong with a matrix, in the file's words.
pub(super) fn refused<E>(spec: &Spec, error: matrix::Error) -> LoadError<E> {
    let tensor = spec.name.clone();
    match error {
        matrix::Error::UnsupportedType(ggml_type) => {
            LoadError::UnsupportedType { tensor, ggml_type }
        }
        matrix::Error::OutOfMemory(e) => LoadError::OutOfMemory(e),
        matrix::Error::BadScale { row } => LoadError::BadScale { tensor, row },
    }
}

fn widen(ggml_type: GgmlType, bytes: &[u8], values: &mut [f32]) {
    let numbers = bytes.chunks_exact(ggml_type.block_bytes());
    for (value, b) in values.iter_mut().zip(numbers) {
        *value = match ggml_type {
            GgmlType::F16 => f16_to_f32(u16::from_le_bytes([b[0], b[1]])),
            GgmlType::BF16 => bf16_to_f32(u16::from_le_bytes([b[0], b[1]])),
            _ => f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        };
    }
}
