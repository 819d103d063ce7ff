//! The tensor table: names, types, shapes and places, checked against the file.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ops::GgmlType;

use super::cursor::Cursor;
use super::{Error, MAX_DIMS, MAX_TENSOR_NAME_BYTES};

/// One tensor of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name, for example `blk.0.attn_q.weight`.
    pub name: String,
    /// Format of the elements.
    pub ggml_type: GgmlType,
    /// Dimensions, contiguous first: a weight matrix is `[cols, rows]`.
    pub dims: Vec<u64>,
    /// Where the data starts in the file.
    pub offset_bytes: u64,
    /// How long the data is.
    pub len_bytes: u64,
}

impl TensorInfo {
    /// Length of a row: `ne0`.
    pub fn cols(&self) -> u64 {
        self.dims.first().copied().unwrap_or(1)
    }

    /// Number of rows: the product of all dimensions but `ne0`.
    pub fn rows(&self) -> u64 {
        self.dims.iter().skip(1).product()
    }

    /// Number of elements.
    pub fn n_elements(&self) -> u64 {
        self.dims.iter().product()
    }
}

/// A string name, one dimension, a type and an offset.
pub(super) const MIN_ENTRY_BYTES: u64 = 8 + 4 + 8 + 4 + 8;

/// Reads the table; offsets stay relative to the data section until [`place`].
pub(super) fn read(cursor: &mut Cursor<'_>, count: u64) -> Result<Vec<TensorInfo>, Error> {
    let mut tensors = Vec::new();
    for _ in 0..count {
        tensors.push(read_tensor(cursor)?);
    }
    match twice(tensors.iter().map(|tensor| tensor.name.as_str())) {
        None => Ok(tensors),
        Some(tensor) => Err(Error::DuplicateTensor { tensor }),
    }
}

/// A name that is there twice.
pub(super) fn twice<'n>(names: impl Iterator<Item = &'n str>) -> Option<String> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let pair = names.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(pair[0].to_string())
}

/// Makes offsets absolute and checks that every tensor lies aligned, alone and in the file.
pub(super) fn place(
    tensors: &mut [TensorInfo],
    data_start: u64,
    alignment: u64,
    file_len_bytes: u64,
) -> Result<(), Error> {
    let mut end_of_all = 0;
    for tensor in tensors.iter_mut() {
        let name = || tensor.name.clone();
        if !tensor.offset_bytes.is_multiple_of(alignment) {
            return Err(Error::UnalignedTensor {
                tensor: name(),
                offset: tensor.offset_bytes,
                alignment,
            });
        }
        let start = data_start.checked_add(tensor.offset_bytes);
        let end = start.and_then(|start| start.checked_add(tensor.len_bytes));
        let (Some(start), Some(end)) = (start, end) else {
            return Err(Error::ShapeOverflow { tensor: name() });
        };
        tensor.offset_bytes = start;
        end_of_all = end_of_all.max(end);
    }
    if end_of_all > file_len_bytes {
        return Err(Error::FileTooShort {
            have_bytes: file_len_bytes,
            needed_bytes: end_of_all,
        });
    }
    let mut by_offset: Vec<&TensorInfo> = tensors.iter().collect();
    by_offset.sort_by_key(|tensor| tensor.offset_bytes);
    for pair in by_offset.windows(2) {
        if pair[0].offset_bytes + pair[0].len_bytes > pair[1].offset_bytes {
            return Err(Error::OverlappingTensors {
                first: pair[0].name.clone(),
                second: pair[1].name.clone(),
            });
        }
    }
    Ok(())
}

fn read_tensor(cursor: &mut Cursor<'_>) -> Result<TensorInfo, Error> {
    let name = cursor.name(MAX_TENSOR_NAME_BYTES)?.to_string();
    let n_dims = cursor.u32()?;
    if n_dims > MAX_DIMS || n_dims == 0 {
        return Err(Error::BadDims {
            tensor: name,
            n_dims,
        });
    }
    let dims = (0..n_dims).map(|_| cursor.u64());
    let dims: Vec<u64> = dims.collect::<Result<_, _>>()?;
    let id = cursor.u32()?;
    let offset_bytes = cursor.u64()?;
    let Some(ggml_type) = GgmlType::from_id(id) else {
        return Err(Error::UnknownTensorType { tensor: name, id });
    };
    let (block_len, block_bytes) = (ggml_type.block_len() as u64, ggml_type.block_bytes() as u64);
    if dims.contains(&0) {
        return Err(Error::EmptyTensor { tensor: name });
    }
    if !dims[0].is_multiple_of(block_len) {
        return Err(Error::RaggedRow {
            tensor: name,
            row_len: dims[0],
            ggml_type: ggml_type.name(),
            block_len,
        });
    }
    let times = |product: u64, dim: &u64| product.checked_mul(*dim);
    let n_blocks = dims[1..].iter().try_fold(dims[0] / block_len, times);
    match n_blocks.and_then(|n_blocks| n_blocks.checked_mul(block_bytes)) {
        None => Err(Error::ShapeOverflow { tensor: name }),
        Some(len_bytes) => Ok(TensorInfo {
            name,
            ggml_type,
            dims,
            offset_bytes,
            len_bytes,
        }),
    }
}
