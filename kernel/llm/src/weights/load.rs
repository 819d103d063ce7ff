//! Streaming tensors from the file, in the file's order, into packed rows.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;

use ops::arena::Arena;
use ops::float::{bf16_to_f32, f16_to_f32};
use ops::lanes::{F32x4, flat_mut};
use ops::packed::GROUP;
use ops::parallel::Cores;
use ops::{GgmlType, Matrix, matrix};

use super::{Kind, LoadError, Spec, Tensor, Tensors, specs};
use crate::config::Config;
use crate::gguf::{Gguf, TensorInfo};
use crate::source::ModelSource;

/// Least bytes asked of the source at once, while a tensor has as many.
const CHUNK_BYTES: usize = 1 << 20;

/// Loads every tensor of the model and packs it on all cores.
///
/// `progress` hears how many bytes of how many are done.
///
/// # Errors
/// A tensor that is missing, unknown, of the wrong shape or of an unsupported type, before
/// anything is read; then failures of the source, bad scales, and an arena that is too small.
pub fn load<'a>(
    gguf: &Gguf<'_>,
    config: &Config,
    source: &mut dyn ModelSource,
    arena: &mut Arena<'a>,
    cores: &dyn Cores,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Tensors<'a>, LoadError> {
    let specs = specs(config);
    let mut wanted = Vec::with_capacity(specs.len());
    for spec in &specs {
        match gguf.tensor(&spec.name) {
            Some(tensor) => {
                check(spec, tensor)?;
                wanted.push((spec, tensor));
            }
            None if spec.optional => {}
            None => {
                return Err(LoadError::MissingTensor {
                    tensor: spec.name.clone(),
                });
            }
        }
    }
    refuse_unknown(gguf, &wanted)?;
    wanted.sort_by_key(|(_, tensor)| tensor.offset_bytes);

    let longest_group = wanted
        .iter()
        .map(|(_, t)| GROUP as u64 * t.len_bytes / t.rows())
        .max();
    let staging = arena.slice::<u8>(CHUNK_BYTES.max(longest_group.unwrap_or(0) as usize))?;
    let total = wanted.iter().map(|(_, tensor)| tensor.len_bytes).sum();
    let mut done = 0;
    let mut by_name = BTreeMap::new();
    for (spec, tensor) in wanted {
        let mut report = |bytes: usize| {
            done += bytes as u64;
            progress(done, total);
        };
        let loaded = match spec.kind {
            Kind::Vector => Tensor::Vector(load_vector(tensor, source, arena, staging)?, spec.cols),
            Kind::Matrix => Tensor::Matrix(load_matrix(
                spec,
                tensor,
                source,
                arena,
                staging,
                cores,
                &mut report,
            )?),
        };
        if spec.kind == Kind::Vector {
            report(tensor.len_bytes as usize);
        }
        by_name.insert(spec.name.clone(), loaded);
    }
    Ok(Tensors { by_name })
}

/// Refuses a tensor that does not fit what the model uses it for.
fn check(spec: &Spec, tensor: &TensorInfo<'_>) -> Result<(), LoadError> {
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
fn refuse_unknown(gguf: &Gguf<'_>, wanted: &[(&Spec, &TensorInfo<'_>)]) -> Result<(), LoadError> {
    if gguf.tensors().len() == wanted.len() {
        return Ok(());
    }
    let known: alloc::collections::BTreeSet<&str> =
        wanted.iter().map(|(spec, _)| spec.name.as_str()).collect();
    match gguf.tensors().find(|tensor| !known.contains(tensor.name)) {
        Some(tensor) => Err(LoadError::UnknownTensor {
            tensor: tensor.name.to_string(),
        }),
        None => Ok(()),
    }
}

fn is_float(ggml_type: GgmlType) -> bool {
    matches!(ggml_type, GgmlType::F32 | GgmlType::F16 | GgmlType::BF16)
}

fn load_vector<'a>(
    tensor: &TensorInfo<'_>,
    source: &mut dyn ModelSource,
    arena: &mut Arena<'a>,
    staging: &mut [u8],
) -> Result<&'a [F32x4], LoadError> {
    let n = tensor.cols() as usize;
    let bytes = &mut staging[..tensor.len_bytes as usize];
    source.read_at(tensor.offset_bytes, bytes)?;
    let lanes = arena.slice::<F32x4>(F32x4::count(n))?;
    let values = flat_mut(lanes);
    for (value, b) in values
        .iter_mut()
        .zip(bytes.chunks_exact(tensor.ggml_type.block_bytes()))
    {
        *value = match tensor.ggml_type {
            GgmlType::F16 => f16_to_f32(u16::from_le_bytes([b[0], b[1]])),
            GgmlType::BF16 => bf16_to_f32(u16::from_le_bytes([b[0], b[1]])),
            _ => f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        };
        if !value.is_finite() {
            return Err(LoadError::NotFinite {
                tensor: tensor.name.to_string(),
            });
        }
    }
    Ok(lanes)
}

fn load_matrix<'a>(
    spec: &Spec,
    tensor: &TensorInfo<'_>,
    source: &mut dyn ModelSource,
    arena: &mut Arena<'a>,
    staging: &mut [u8],
    cores: &dyn Cores,
    report: &mut dyn FnMut(usize),
) -> Result<Matrix<'a>, LoadError> {
    let refused = |error| match error {
        matrix::Error::UnsupportedType(ggml_type) => LoadError::UnsupportedType {
            tensor: spec.name.clone(),
            ggml_type,
        },
        matrix::Error::OutOfMemory(e) => LoadError::OutOfMemory(e),
        matrix::Error::BadScale { row } => LoadError::BadScale {
            tensor: spec.name.clone(),
            row,
        },
    };
    let mut matrix = Matrix::new(arena, tensor.ggml_type, spec.rows, spec.cols).map_err(refused)?;
    let row_bytes = matrix.file_row_bytes();
    let rows_at_once = staging.len() / row_bytes / GROUP * GROUP;
    for first_row in (0..spec.rows).step_by(rows_at_once) {
        let rows = rows_at_once.min(spec.rows - first_row);
        let bytes = &mut staging[..rows * row_bytes];
        source.read_at(tensor.offset_bytes + (first_row * row_bytes) as u64, bytes)?;
        matrix.pack(first_row, bytes, cores).map_err(refused)?;
        report(bytes.len());
    }
    Ok(matrix)
}
