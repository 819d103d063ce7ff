//! The tensor table: names, types, shapes and places, checked against the file.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ops::GgmlType;

use super::cursor::Cursor;
use super::{Error, MAX_DIMS, MAX_TENSOR_NAME_BYTES, MAX_TENSORS};

/// A tensor's dimensions, `ne0` (the contiguous one) first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    ne: [u64; MAX_DIMS as usize],
    n_dims: u32,
}

impl core::ops::Deref for Dims {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.ne[..self.n_dims as usize]
    }
}

/// One tensor of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name, for example `blk.0.attn_q.weight`.
    pub name: String,
    /// Format of the elements.
    pub ggml_type: GgmlType,
    /// Dimensions, contiguous first: a weight matrix is `[cols, rows]`.
    pub dims: Dims,
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

/// Tensors in file order, found by name.
#[derive(Clone, Debug)]
pub(super) struct TensorTable {
    tensors: Vec<TensorInfo>,
    /// Indices into `tensors`, in the order of the names.
    by_name: Vec<u32>,
}

impl TensorTable {
    /// A string name, one dimension, a type and an offset.
    const MIN_ENTRY_BYTES: u64 = 8 + 4 + 8 + 4 + 8;

    /// Reads the table; offsets stay relative to the data section until [`TensorTable::place`].
    pub(super) fn read(cursor: &mut Cursor<'_>, count: u64) -> Result<Self, Error> {
        let mut tensors = Vec::new();
        for _ in 0..count {
            tensors.push(read_tensor(cursor)?);
        }
        let mut by_name: Vec<u32> = (0..tensors.len() as u32).collect();
        by_name.sort_unstable_by_key(|&i| tensors[i as usize].name.as_str());
        for pair in by_name.windows(2) {
            let name = &tensors[pair[0] as usize].name;
            if *name == tensors[pair[1] as usize].name {
                return Err(Error::DuplicateTensor {
                    tensor: name.clone(),
                });
            }
        }
        Ok(TensorTable { tensors, by_name })
    }

    pub(super) fn check_count(cursor: &Cursor<'_>, count: u64, offset: u64) -> Result<(), Error> {
        cursor.check_count("tensors", offset, count, MAX_TENSORS, Self::MIN_ENTRY_BYTES)
    }

    /// Makes offsets absolute and checks that every tensor lies aligned, alone and in the file.
    pub(super) fn place(
        &mut self,
        data_start: u64,
        alignment: u64,
        file_len_bytes: u64,
    ) -> Result<(), Error> {
        let mut end_of_all = 0;
        for tensor in &mut self.tensors {
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
        self.check_overlap()
    }

    fn check_overlap(&self) -> Result<(), Error> {
        let mut by_offset: Vec<u32> = (0..self.tensors.len() as u32).collect();
        by_offset.sort_unstable_by_key(|&i| self.tensors[i as usize].offset_bytes);
        for pair in by_offset.windows(2) {
            let (first, second) = (
                &self.tensors[pair[0] as usize],
                &self.tensors[pair[1] as usize],
            );
            if first.offset_bytes + first.len_bytes > second.offset_bytes {
                return Err(Error::OverlappingTensors {
                    first: first.name.clone(),
                    second: second.name.clone(),
                });
            }
        }
        Ok(())
    }

    pub(super) fn as_slice(&self) -> &[TensorInfo] {
        &self.tensors
    }

    pub(super) fn get(&self, name: &str) -> Option<&TensorInfo> {
        let found = self
            .by_name
            .binary_search_by_key(&name, |&i| self.tensors[i as usize].name.as_str())
            .ok()?;
        self.tensors.get(self.by_name[found] as usize)
    }
}

fn read_tensor(cursor: &mut Cursor<'_>) -> Result<TensorInfo, Error> {
    let offset = cursor.pos();
    let name = core::str::from_utf8(cursor.string(MAX_TENSOR_NAME_BYTES)?)
        .map_err(|_| Error::NameNotUtf8 { offset })?;
    let n_dims = cursor.u32()?;
    if n_dims > MAX_DIMS || n_dims == 0 {
        return Err(Error::BadDims {
            tensor: name.to_string(),
            n_dims,
        });
    }
    let mut ne = [1; MAX_DIMS as usize];
    for dim in &mut ne[..n_dims as usize] {
        *dim = cursor.u64()?;
    }
    let id = cursor.u32()?;
    let offset_bytes = cursor.u64()?;
    let Some(ggml_type) = GgmlType::from_id(id) else {
        return Err(Error::UnknownTensorType {
            tensor: name.to_string(),
            id,
        });
    };
    let len_bytes = len_bytes(name, &ne, ggml_type)?;
    Ok(TensorInfo {
        name: name.to_string(),
        ggml_type,
        dims: Dims { ne, n_dims },
        offset_bytes,
        len_bytes,
    })
}

fn len_bytes(name: &str, ne: &[u64], ggml_type: GgmlType) -> Result<u64, Error> {
    let (block_len, block_bytes) = (ggml_type.block_len() as u64, ggml_type.block_bytes() as u64);
    if ne.contains(&0) {
        return Err(Error::EmptyTensor {
            tensor: name.to_string(),
        });
    }
    if !ne[0].is_multiple_of(block_len) {
        return Err(Error::RaggedRow {
            tensor: name.to_string(),
            row_len: ne[0],
            ggml_type: ggml_type.name(),
            block_len,
        });
    }
    ne[1..]
        .iter()
        .try_fold(ne[0] / block_len, |blocks, &dim| blocks.checked_mul(dim))
        .and_then(|blocks| blocks.checked_mul(block_bytes))
        .ok_or_else(|| Error::ShapeOverflow {
            tensor: name.to_string(),
        })
}
