//! GGUF v3 files, written in one pass.
//!
//! A file is a header (magic, version, counts, metadata, tensor table), padding, and the tensors in
//! the order of the table, each starting at a multiple of the alignment. The header holds every
//! offset, so all shapes are declared before the first tensor byte; the bytes then stream through.
//!
//! Resources: the GGUF specification in the ggml repository, `docs/gguf.md`.

mod error;
mod value;

use std::io::Write;
use std::ops::Range;

use ops::GgmlType;

pub use error::Error;
pub use value::Value;
use value::str_bytes;

/// Where tensors start when `general.alignment` is absent.
const DEFAULT_ALIGNMENT_BYTES: u64 = 32;

/// Bytes per piece of a tensor; at least one row is taken.
const PIECE_BYTES: u64 = 1 << 20;

/// One tensor of a file, and what its values come from.
#[derive(Clone, Debug)]
pub struct Tensor<S> {
    /// Name in the file.
    pub name: String,
    /// How it is stored.
    pub ggml_type: GgmlType,
    /// The fastest dimension, the length of a row, first.
    pub dims: Vec<u64>,
    /// What its rows are made from.
    pub source: S,
}

impl<S> Tensor<S> {
    /// Length of a row.
    pub fn cols(&self) -> u64 {
        self.dims[0]
    }

    fn rows(&self) -> u64 {
        self.dims[1..].iter().product()
    }

    fn row_bytes(&self) -> Result<u64, Error> {
        let (row_len, block_len) = (self.cols(), self.ggml_type.block_len() as u64);
        if !row_len.is_multiple_of(block_len) {
            return Err(Error::RowNotWhole {
                tensor: self.name.clone(),
                row_len,
                block_len,
            });
        }
        Ok(row_len / block_len * self.ggml_type.block_bytes() as u64)
    }
}

/// Metadata of a file to be written.
#[derive(Clone, Debug, Default)]
pub struct Header {
    metadata: Vec<(String, Value)>,
}

impl Header {
    /// Sets `key`, in place of an earlier value if there was one.
    pub fn set(&mut self, key: impl Into<String>, value: Value) {
        let key = key.into();
        match self.metadata.iter_mut().find(|(k, _)| *k == key) {
            Some(entry) => entry.1 = value,
            None => self.metadata.push((key, value)),
        }
    }

    /// Says that the matrices are mostly of `ggml_type`, by ggml's number for such files.
    pub fn set_file_type(&mut self, ggml_type: GgmlType) {
        let file_type = match ggml_type {
            GgmlType::F16 => 1,
            GgmlType::Q4_0 => 2,
            GgmlType::Q4_1 => 3,
            GgmlType::Q8_0 => 7,
            GgmlType::Q5_0 => 8,
            GgmlType::Q5_1 => 9,
            GgmlType::Q4_K => 15,
            GgmlType::Q5_K => 17,
            GgmlType::Q6_K => 18,
            GgmlType::BF16 => 32,
            GgmlType::Q1_0 => 40,
            _ => 0,
        };
        self.set("general.file_type", Value::u32(file_type));
        self.set("general.quantization_version", Value::u32(2));
    }

    /// The value of `key`, if it was set.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Writes a file with this metadata and `tensors`. Their bytes are asked of `rows_of` in pieces of whole
    /// rows, in order, so that the memory in use does not depend on their size; `progress` gets the bytes of
    /// tensors that are written, and of all.
    ///
    /// # Errors
    /// [`Error::RowNotWhole`] when a row is not a whole number of its type's blocks, [`Error::Alignment`] for a
    /// `general.alignment` that is not a power-of-two `u32` of at least 8, [`Error::Io`] from `out`, and those of
    /// `rows_of`.
    ///
    /// # Panics
    /// When `rows_of` gives fewer or more bytes than the rows have.
    pub fn write<W: Write, S, E: From<Error>>(
        &self,
        mut out: W,
        tensors: &[Tensor<S>],
        progress: &mut dyn FnMut(u64, u64),
        mut rows_of: impl FnMut(&Tensor<S>, Range<u64>) -> Result<Vec<u8>, E>,
    ) -> Result<W, E> {
        let alignment = match self.get("general.alignment") {
            None => DEFAULT_ALIGNMENT_BYTES,
            Some(value) => {
                let sound = |n: &u32| n.is_power_of_two() && *n >= 8;
                u64::from(value.as_u32().filter(sound).ok_or(Error::Alignment)?)
            }
        };
        let mut head = b"GGUF".to_vec();
        head.extend(3u32.to_le_bytes());
        head.extend((tensors.len() as u64).to_le_bytes());
        head.extend((self.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.metadata {
            head.extend(str_bytes(key.as_bytes()));
            value.append_to(&mut head);
        }
        let mut total = 0u64;
        for tensor in tensors {
            head.extend(str_bytes(tensor.name.as_bytes()));
            head.extend((tensor.dims.len() as u32).to_le_bytes());
            head.extend(tensor.dims.iter().flat_map(|dim| dim.to_le_bytes()));
            head.extend(tensor.ggml_type.id().to_le_bytes());
            head.extend(total.to_le_bytes());
            total += (tensor.rows() * tensor.row_bytes()?).next_multiple_of(alignment);
        }
        head.resize((head.len() as u64).next_multiple_of(alignment) as usize, 0);
        out.write_all(&head).map_err(Error::Io)?;
        let mut done = 0;
        for tensor in tensors {
            let (n_rows, row_bytes) = (tensor.rows(), tensor.row_bytes()?);
            let step = (PIECE_BYTES / row_bytes).max(1);
            for first in (0..n_rows).step_by(step as usize) {
                let rows = first..n_rows.min(first + step);
                let len_bytes = (rows.end - first) * row_bytes;
                let bytes = rows_of(tensor, rows)?;
                assert_eq!(bytes.len() as u64, len_bytes, "bytes of {}", tensor.name);
                out.write_all(&bytes).map_err(Error::Io)?;
                done += len_bytes;
                progress(done, total);
            }
            let padding = done.next_multiple_of(alignment) - done;
            out.write_all(&vec![0; padding as usize])
                .map_err(Error::Io)?;
            done += padding;
        }
        progress(done, total);
        out.flush().map_err(Error::Io)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, Header, Tensor, Value};
    use ops::GgmlType;

    /// A tensor, and the bytes that are given for it.
    fn tensor(name: &str, ggml_type: GgmlType, dims: &[u64], bytes: Vec<u8>) -> Tensor<Vec<u8>> {
        Tensor {
            name: name.into(),
            ggml_type,
            dims: dims.to_vec(),
            source: bytes,
        }
    }

    fn written(header: &Header, tensors: &[Tensor<Vec<u8>>]) -> Result<Vec<u8>, Error> {
        header.write(Vec::new(), tensors, &mut |_, _| (), |tensor, _| {
            Ok::<_, Error>(tensor.source.clone())
        })
    }

    #[test]
    fn bytes_of_a_small_file() {
        let mut header = Header::default();
        header.set("a", Value::u32(7));
        let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let t = tensor("t", GgmlType::F32, &[2], floats(&[1.0, 2.0]));
        let u = tensor("u", GgmlType::F32, &[1], floats(&[3.0]));
        let file = written(&header, &[t, u]).unwrap();

        let mut expected = b"GGUF\x03\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
        expected.extend(b"\x01\0\0\0\0\0\0\0a\x04\0\0\0\x07\0\0\0");
        expected.extend(b"\x01\0\0\0\0\0\0\0t\x01\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        expected
            .extend(b"\x01\0\0\0\0\0\0\0u\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0");
        expected.resize(128, 0);
        expected.extend([1f32, 2.0].iter().flat_map(|v| v.to_le_bytes()));
        expected.resize(160, 0);
        expected.extend(3f32.to_le_bytes());
        expected.resize(192, 0);
        assert_eq!(file, expected);
    }

    #[test]
    fn pieces_are_whole_rows_in_order_and_progress_ends_at_the_total() {
        let wide = Tensor {
            name: "w".into(),
            ggml_type: GgmlType::F32,
            dims: vec![100_001, 2, 3],
            source: (),
        };
        let (mut pieces, mut last) = (Vec::new(), (0, 1));
        let progress = &mut |done, total| last = (done, total);
        let file = Header::default().write(Vec::new(), &[wide], progress, |_, rows| {
            let bytes = (rows.end - rows.start) as usize * 400_004;
            pieces.push(rows);
            Ok::<_, Error>(vec![0; bytes])
        });
        assert_eq!(pieces, [0..2, 2..4, 4..6]);
        assert_eq!(last, (2_400_032, 2_400_032));
        assert_eq!(file.unwrap().len(), 96 + 2_400_032);
    }

    #[test]
    #[should_panic(expected = "bytes of t")]
    fn a_row_too_few_is_noticed() {
        let t = tensor("t", GgmlType::F32, &[2, 2], vec![0; 8]);
        let _ = written(&Header::default(), &[t]);
    }

    #[test]
    fn rows_end_with_a_block() {
        let ragged = tensor("t", GgmlType::Q8_0, &[48, 2], Vec::new());
        assert!(matches!(
            written(&Header::default(), &[ragged]),
            Err(Error::RowNotWhole {
                row_len: 48,
                block_len: 32,
                ..
            })
        ));
    }
}
