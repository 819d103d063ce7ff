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

use ops::GgmlType;

pub use error::Error;
pub use value::Value;
use value::str_bytes;

/// Where tensors start when `general.alignment` is absent.
const DEFAULT_ALIGNMENT_BYTES: u64 = 32;

/// One row of the tensor table.
#[derive(Clone, Debug)]
struct Declared {
    name: String,
    ggml_type: GgmlType,
    /// The fastest dimension first.
    dims: Vec<u64>,
    len_bytes: u64,
}

/// Metadata and tensor table of a file to be written.
#[derive(Clone, Debug, Default)]
pub struct Header {
    metadata: Vec<(String, Value)>,
    tensors: Vec<Declared>,
}

impl Header {
    /// A header with neither metadata nor tensors.
    pub fn new() -> Header {
        Header::default()
    }

    /// Sets `key`, in place of an earlier value if there was one.
    pub fn set(&mut self, key: impl Into<String>, value: Value) {
        let key = key.into();
        match self.metadata.iter_mut().find(|(k, _)| *k == key) {
            Some(entry) => entry.1 = value,
            None => self.metadata.push((key, value)),
        }
    }

    /// The value of `key`, if it was set.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Adds a tensor to the table. `dims` has the fastest dimension (the row length) first.
    ///
    /// # Errors
    /// [`Error::RowNotWhole`] when a row is not a whole number of the type's blocks.
    pub fn declare(
        &mut self,
        name: impl Into<String>,
        ggml_type: GgmlType,
        dims: &[u64],
    ) -> Result<(), Error> {
        let name = name.into();
        let row_len = dims.first().copied().unwrap_or(1);
        let block_len = ggml_type.block_len() as u64;
        if row_len % block_len != 0 {
            return Err(Error::RowNotWhole {
                tensor: name,
                row_len,
                block_len,
            });
        }
        let n_values: u64 = dims.iter().product();
        let len_bytes = n_values / block_len * ggml_type.block_bytes() as u64;
        self.tensors.push(Declared {
            name,
            ggml_type,
            dims: dims.to_vec(),
            len_bytes,
        });
        Ok(())
    }

    /// Writes the header and the padding after it; the tensors come next, through [`Body`].
    ///
    /// # Errors
    /// [`Error::Io`] from `out`, [`Error::Alignment`] for a `general.alignment` that is not a
    /// power-of-two `u32` of at least 8.
    pub fn begin<W: Write>(&self, mut out: W) -> Result<Body<W>, Error> {
        let alignment = match self.get("general.alignment") {
            None => DEFAULT_ALIGNMENT_BYTES,
            Some(value) => {
                let sound = |n: &u32| n.is_power_of_two() && *n >= 8;
                u64::from(value.as_u32().filter(sound).ok_or(Error::Alignment)?)
            }
        };
        let mut head = b"GGUF".to_vec();
        head.extend(3u32.to_le_bytes());
        head.extend((self.tensors.len() as u64).to_le_bytes());
        head.extend((self.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.metadata {
            head.extend(str_bytes(key.as_bytes()));
            value.append_to(&mut head);
        }
        let mut offset = 0u64;
        for tensor in &self.tensors {
            head.extend(str_bytes(tensor.name.as_bytes()));
            head.extend((tensor.dims.len() as u32).to_le_bytes());
            for dim in &tensor.dims {
                head.extend(dim.to_le_bytes());
            }
            head.extend(tensor.ggml_type.id().to_le_bytes());
            head.extend(offset.to_le_bytes());
            offset += tensor.len_bytes.next_multiple_of(alignment);
        }
        head.resize((head.len() as u64).next_multiple_of(alignment) as usize, 0);
        out.write_all(&head)?;
        Ok(Body {
            out,
            alignment,
            tensors: self.tensors.clone(),
            current: 0,
            written: 0,
        })
    }
}

/// The tensors of a file whose header is written.
#[derive(Debug)]
pub struct Body<W: Write> {
    out: W,
    alignment: u64,
    tensors: Vec<Declared>,
    /// Index of the tensor that takes the next byte.
    current: usize,
    /// Bytes of it that are written.
    written: u64,
}

impl<W: Write> Body<W> {
    /// Appends bytes of the tensor `name`, which must be the next unfinished one of the table.
    ///
    /// # Errors
    /// [`Error::Order`] for any other tensor, [`Error::Overfull`] for more bytes than declared,
    /// [`Error::Io`] from the writer.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let Some(tensor) = self.tensors.get(self.current).filter(|t| t.name == name) else {
            return Err(Error::Order {
                given: name.to_owned(),
                expected: self.expected(),
            });
        };
        self.written += bytes.len() as u64;
        if self.written > tensor.len_bytes {
            return Err(Error::Overfull {
                tensor: name.to_owned(),
                len_bytes: tensor.len_bytes,
            });
        }
        self.out.write_all(bytes)?;
        if self.written == tensor.len_bytes {
            let padding = self.written.next_multiple_of(self.alignment) - self.written;
            self.out.write_all(&vec![0; padding as usize])?;
            self.current += 1;
            self.written = 0;
        }
        Ok(())
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    /// [`Error::Unfinished`] when bytes of a declared tensor are missing, [`Error::Io`] from the
    /// flush.
    pub fn finish(mut self) -> Result<W, Error> {
        if self.current < self.tensors.len() {
            return Err(Error::Unfinished {
                tensor: self.expected(),
            });
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn expected(&self) -> String {
        self.tensors
            .get(self.current)
            .map_or_else(String::new, |t| t.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, Header, Value};
    use ops::GgmlType;

    #[test]
    fn bytes_of_a_small_file() {
        let mut header = Header::new();
        header.set("a", Value::u32(7));
        header.declare("t", GgmlType::F32, &[2]).unwrap();
        header.declare("u", GgmlType::F32, &[1]).unwrap();
        let mut body = header.begin(Vec::new()).unwrap();
        body.write("t", &1f32.to_le_bytes()).unwrap();
        body.write("t", &2f32.to_le_bytes()).unwrap();
        body.write("u", &3f32.to_le_bytes()).unwrap();
        let file = body.finish().unwrap();

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
    fn order_and_length_are_enforced() {
        let mut header = Header::new();
        header.declare("t", GgmlType::F32, &[1]).unwrap();
        header.declare("u", GgmlType::F32, &[1]).unwrap();
        let mut body = header.begin(Vec::new()).unwrap();
        let early = body.write("u", &[0; 4]).unwrap_err();
        assert_eq!(early.to_string(), "bytes of u where t was declared next");
        body.write("t", &[0; 4]).unwrap();
        assert!(matches!(
            body.write("u", &[0; 5]),
            Err(Error::Overfull { len_bytes: 4, .. })
        ));
        let mut none = Header::new().begin(Vec::new()).unwrap();
        let late = none.write("u", &[0; 4]).unwrap_err();
        assert_eq!(
            late.to_string(),
            "bytes of u after the last declared tensor"
        );
        let body = header.begin(Vec::new()).unwrap();
        assert!(matches!(body.finish(), Err(Error::Unfinished { .. })));
        let broken = Header::new().declare("t", GgmlType::Q8_0, &[48, 2]);
        assert!(matches!(
            broken,
            Err(Error::RowNotWhole {
                row_len: 48,
                block_len: 32,
                ..
            })
        ));
    }
}
