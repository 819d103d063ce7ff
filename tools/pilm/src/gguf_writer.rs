//! GGUF v3 files, written in one pass.
//!
//! A file is a header (magic, version, counts, metadata, tensor table), padding, and the tensors in
//! the order of the table, each starting at a multiple of the alignment. The header holds every
//! offset, so all shapes are declared before the first tensor byte; the bytes then stream through.
//!
//! Resources: the GGUF specification in the ggml repository, `docs/gguf.md`.

use std::fmt;
use std::io::{self, Write};

use ops::GgmlType;

/// Where tensors start when `general.alignment` is absent.
const DEFAULT_ALIGNMENT_BYTES: u64 = 32;

/// One metadata value.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    missing_docs,
    reason = "each variant is the GGUF value type of its name"
)]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    /// UTF-8 by the specification; bytes, because files are copied as they are.
    Str(Vec<u8>),
    /// Elements of one type; `element` is that type's GGUF id, needed when there are none.
    Array {
        element: u32,
        items: Vec<Value>,
    },
    U64(u64),
    I64(i64),
    F64(f64),
}

impl Value {
    /// A string.
    pub fn str(text: &str) -> Value {
        Value::Str(text.into())
    }

    /// An array of strings.
    pub fn strings<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Value {
        Value::Array {
            element: 8,
            items: items.into_iter().map(|s| Value::str(s.as_ref())).collect(),
        }
    }

    /// An array of 32-bit integers.
    pub fn i32s(items: impl IntoIterator<Item = i32>) -> Value {
        Value::Array {
            element: 5,
            items: items.into_iter().map(Value::I32).collect(),
        }
    }

    /// An array of floats.
    pub fn f32s(items: impl IntoIterator<Item = f32>) -> Value {
        Value::Array {
            element: 6,
            items: items.into_iter().map(Value::F32).collect(),
        }
    }

    /// The GGUF id of this value's type.
    fn type_id(&self) -> u32 {
        match self {
            Value::U8(_) => 0,
            Value::I8(_) => 1,
            Value::U16(_) => 2,
            Value::I16(_) => 3,
            Value::U32(_) => 4,
            Value::I32(_) => 5,
            Value::F32(_) => 6,
            Value::Bool(_) => 7,
            Value::Str(_) => 8,
            Value::Array { .. } => 9,
            Value::U64(_) => 10,
            Value::I64(_) => 11,
            Value::F64(_) => 12,
        }
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Value::U8(v) => out.push(*v),
            Value::I8(v) => out.extend(v.to_le_bytes()),
            Value::U16(v) => out.extend(v.to_le_bytes()),
            Value::I16(v) => out.extend(v.to_le_bytes()),
            Value::U32(v) => out.extend(v.to_le_bytes()),
            Value::I32(v) => out.extend(v.to_le_bytes()),
            Value::F32(v) => out.extend(v.to_le_bytes()),
            Value::Bool(v) => out.push(u8::from(*v)),
            Value::Str(v) => append_str(out, v),
            Value::Array { element, items } => {
                out.extend(element.to_le_bytes());
                out.extend((items.len() as u64).to_le_bytes());
                for item in items {
                    item.append_to(out);
                }
            }
            Value::U64(v) => out.extend(v.to_le_bytes()),
            Value::I64(v) => out.extend(v.to_le_bytes()),
            Value::F64(v) => out.extend(v.to_le_bytes()),
        }
    }
}

fn append_str(out: &mut Vec<u8>, text: &[u8]) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text);
}

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
            Some(Value::U32(n)) if n.is_power_of_two() && *n >= 8 => u64::from(*n),
            Some(_) => return Err(Error::Alignment),
        };
        let mut head = b"GGUF".to_vec();
        head.extend(3u32.to_le_bytes());
        head.extend((self.tensors.len() as u64).to_le_bytes());
        head.extend((self.metadata.len() as u64).to_le_bytes());
        for (key, value) in &self.metadata {
            append_str(&mut head, key.as_bytes());
            head.extend(value.type_id().to_le_bytes());
            value.append_to(&mut head);
        }
        let mut offset = 0u64;
        for tensor in &self.tensors {
            append_str(&mut head, tensor.name.as_bytes());
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

/// Why a file could not be written.
#[derive(Debug)]
#[expect(
    missing_docs,
    reason = "the fields are what the sentences of Display print"
)]
pub enum Error {
    /// The writer failed.
    Io(io::Error),
    /// `general.alignment` is not a power-of-two `u32` of at least 8.
    Alignment,
    /// A row would end inside a block.
    RowNotWhole {
        tensor: String,
        row_len: u64,
        block_len: u64,
    },
    /// Tensor bytes out of the table's order; `expected` is empty when all are written.
    Order { given: String, expected: String },
    /// More bytes than the tensor's shape and type take.
    Overfull { tensor: String, len_bytes: u64 },
    /// The file ended before this tensor did.
    Unfinished { tensor: String },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(e) => write!(f, "writing the GGUF file failed: {e}"),
            Error::Alignment => {
                write!(
                    f,
                    "general.alignment must be a u32, a power of two and at least 8"
                )
            }
            Error::RowNotWhole {
                tensor,
                row_len,
                block_len,
            } => write!(
                f,
                "rows of {tensor} have {row_len} values, which is no multiple of the type's \
                 {block_len}-value blocks; keep this tensor in F16 or F32"
            ),
            Error::Order { given, expected } if expected.is_empty() => {
                write!(f, "bytes of {given} after the last declared tensor")
            }
            Error::Order { given, expected } => {
                write!(f, "bytes of {given} where {expected} was declared next")
            }
            Error::Overfull { tensor, len_bytes } => {
                write!(f, "more than the {len_bytes} bytes of {tensor}")
            }
            Error::Unfinished { tensor } => write!(f, "the bytes of {tensor} are incomplete"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(e) => Some(e),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Error {
        Error::Io(e)
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, Header, Value};
    use ops::GgmlType;

    #[test]
    fn bytes_of_a_small_file() {
        let mut header = Header::new();
        header.set("a", Value::U32(7));
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
        assert!(matches!(body.write("u", &[0; 4]), Err(Error::Order { .. })));
        body.write("t", &[0; 4]).unwrap();
        assert!(matches!(
            body.write("u", &[0; 5]),
            Err(Error::Overfull { len_bytes: 4, .. })
        ));
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
