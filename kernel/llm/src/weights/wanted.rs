//! The tensors of a file that a model uses, checked before their data is read.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ops::{GgmlType, Matrix};

use super::{Kind, Spec};
use crate::gguf::{Gguf, TensorInfo};
use crate::load_error::LoadError;

/// What `specs` asks for, in the order of the file.
///
/// # Errors
/// A tensor that is missing, unknown, of the wrong shape or of an unsupported type.
pub(crate) fn wanted<E>(
    gguf: &Gguf<'_>,
    specs: Vec<Spec>,
) -> Result<Vec<(Spec, TensorInfo)>, LoadError<E>> {
    let mut wanted = Vec::with_capacity(specs.len());
    for spec in specs {
        match gguf.tensor(&spec.name) {
            Some(tensor) => {
                check(&spec, tensor)?;
                wanted.push((spec, tensor.clone()));
            }
            None if spec.optional => {}
            None => {
                return Err(LoadError::MissingTensor { tensor: spec.name });
            }
        }
    }
    refuse_unknown(gguf, &wanted)?;
    wanted.sort_by_key(|(_, tensor)| tensor.offset_bytes);
    Ok(wanted)
}

/// Refuses a tensor that does not fit what the model uses it for.
fn check<E>(spec: &Spec, tensor: &TensorInfo) -> Result<(), LoadError<E>> {
    if (tensor.rows(), tensor.cols()) != (spec.rows as u64, spec.cols as u64) {
        return Err(LoadError::ShapeMismatch {
            tensor: spec.name.clone(),
            expected: [spec.rows as u64, spec.cols as u64],
            found: [tensor.rows(), tensor.cols()],
        });
    }
    let supported = match spec.kind {
        Kind::Vector => is_float(tensor.ggml_type),
        Kind::Matrix => Matrix::supports(tensor.ggml_type),
    };
    if !supported {
        return Err(LoadError::UnsupportedType {
            tensor: spec.name.clone(),
            ggml_type: tensor.ggml_type,
        });
    }
    Ok(())
}

/// Refuses a file with tensors that the model would not use: its computation is another one.
fn refuse_unknown<E>(gguf: &Gguf<'_>, wanted: &[(Spec, TensorInfo)]) -> Result<(), LoadError<E>> {
    if gguf.tensors().len() == wanted.len() {
        return Ok(());
    }
    let known: BTreeSet<&str> = wanted.iter().map(|(spec, _)| spec.name.as_str()).collect();
    match gguf
        .tensors()
        .find(|tensor| !known.contains(tensor.name.as_str()))
    {
        Some(tensor) => Err(LoadError::UnknownTensor {
            tensor: tensor.name.clone(),
        }),
        None => Ok(()),
    }
}

fn is_float(ggml_type: GgmlType) -> bool {
    matches!(ggml_type, GgmlType::F32 | GgmlType::F16 | GgmlType::BF16)
}
