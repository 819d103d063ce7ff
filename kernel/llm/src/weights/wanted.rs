//! The tensors of a file that a model uses, checked before their data is read.

use alloc::collections::BTreeMap;
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
    let all = gguf.tensors().map(|tensor| (tensor.name.as_str(), tensor));
    let mut unused = BTreeMap::from_iter(all);
    let mut wanted = Vec::with_capacity(specs.len());
    for spec in specs {
        match unused.remove(spec.name.as_str()) {
            Some(tensor) => {
                check(&spec, tensor)?;
                wanted.push((spec, tensor.clone()));
            }
            None if spec.optional => {}
            None => return Err(LoadError::MissingTensor { tensor: spec.name }),
        }
    }
    // A file with tensors that the model would not use: its computation is another one.
    if let Some(unknown) = gguf
        .tensors()
        .find(|t| unused.contains_key(t.name.as_str()))
    {
        return Err(LoadError::UnknownTensor {
            tensor: unknown.name.clone(),
        });
    }
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

fn is_float(ggml_type: GgmlType) -> bool {
    matches!(ggml_type, GgmlType::F32 | GgmlType::F16 | GgmlType::BF16)
}
