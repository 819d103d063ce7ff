//! Metadata values, borrowed from the header.

use super::cursor::Cursor;
use super::{Error, MAX_ARRAY_LEN, MAX_ARRAY_NESTING, MAX_STRING_BYTES};

/// The type of a metadata value, numbered as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are the specification's")]
pub enum ValueType {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
}

impl ValueType {
    fn from_id(id: u32) -> Option<Self> {
        use ValueType::{Array, Bool, F32, F64, I8, I16, I32, I64, String, U8, U16, U32, U64};
        const ALL: [ValueType; 13] = [
            U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64,
        ];
        ALL.get(id as usize).copied()
    }

    /// Bytes of one value; strings and arrays have no fixed length.
    fn len_bytes(self) -> Option<u64> {
        match self {
            ValueType::U8 | ValueType::I8 | ValueType::Bool => Some(1),
            ValueType::U16 | ValueType::I16 => Some(2),
            ValueType::U32 | ValueType::I32 | ValueType::F32 => Some(4),
            ValueType::U64 | ValueType::I64 | ValueType::F64 => Some(8),
            ValueType::String | ValueType::Array => None,
        }
    }

    /// Fewest bytes that one value takes in the file.
    fn min_bytes(self) -> u64 {
        match self {
            ValueType::String => 8,
            ValueType::Array => 12,
            _ => self.len_bytes().unwrap_or(1),
        }
    }

    /// The type's name for people.
    pub fn name(self) -> &'static str {
        match self {
            ValueType::U8 => "u8",
            ValueType::I8 => "i8",
            ValueType::U16 => "u16",
            ValueType::I16 => "i16",
            ValueType::U32 => "u32",
            ValueType::I32 => "i32",
            ValueType::F32 => "f32",
            ValueType::Bool => "bool",
            ValueType::String => "string",
            ValueType::Array => "array",
            ValueType::U64 => "u64",
            ValueType::I64 => "i64",
            ValueType::F64 => "f64",
        }
    }
}

/// One metadata value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Any unsigned integer, with the type that it has in the file.
    Unsigned(u64, ValueType),
    /// Any signed integer, with the type that it has in the file.
    Signed(i64, ValueType),
    /// `f32`
    F32(f32),
    /// `f64`
    F64(f64),
    /// `bool`
    Bool(bool),
    /// A string's bytes; UTF-8 by the specification, checked by [`super::Metadata::str`].
    String(&'a [u8]),
    /// Values of one type.
    Array(Array<'a>),
}

impl<'a> Value<'a> {
    /// The type that the value has in the file.
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::Unsigned(_, t) | Value::Signed(_, t) => *t,
            Value::F32(_) => ValueType::F32,
            Value::F64(_) => ValueType::F64,
            Value::Bool(_) => ValueType::Bool,
            Value::String(_) => ValueType::String,
            Value::Array(_) => ValueType::Array,
        }
    }

    /// The same value, borrowing `bytes`.
    pub(super) fn over(self, bytes: &'a [u8]) -> Self {
        match self {
            Value::String(_) => Value::String(bytes),
            Value::Array(array) => Value::Array(Array { bytes, ..array }),
            scalar => scalar,
        }
    }

    /// Reads a value. Its text or elements, so many bytes, are those before the cursor: see [`Value::over`].
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<(Value<'static>, usize), Error> {
        let value_type = read_type(cursor)?;
        match value_type {
            ValueType::String => {
                let text = cursor.string(MAX_STRING_BYTES)?;
                Ok((Value::String(&[]), text.len()))
            }
            ValueType::Array => {
                let (array, len_bytes) = Array::read(cursor, 1)?;
                Ok((Value::Array(array), len_bytes))
            }
            scalar => {
                let offset = cursor.pos();
                let bytes = cursor.bytes(scalar.min_bytes())?;
                let value = scalar_from_le(scalar, bytes).ok_or(Error::BadBool { offset })?;
                Ok((value, 0))
            }
        }
    }
}

fn read_type(cursor: &mut Cursor<'_>) -> Result<ValueType, Error> {
    let offset = cursor.pos();
    let id = cursor.u32()?;
    ValueType::from_id(id).ok_or(Error::UnknownValueType { offset, id })
}

/// Decodes one scalar. `None` is a boolean that is neither 0 nor 1, or bytes of another length.
fn scalar_from_le<'a>(value_type: ValueType, bytes: &[u8]) -> Option<Value<'a>> {
    Some(match value_type {
        ValueType::U8 => {
            Value::Unsigned(u8::from_le_bytes(bytes.try_into().ok()?).into(), value_type)
        }
        ValueType::U16 => Value::Unsigned(
            u16::from_le_bytes(bytes.try_into().ok()?).into(),
            value_type,
        ),
        ValueType::U32 => Value::Unsigned(
            u32::from_le_bytes(bytes.try_into().ok()?).into(),
            value_type,
        ),
        ValueType::U64 => Value::Unsigned(u64::from_le_bytes(bytes.try_into().ok()?), value_type),
        ValueType::I8 => {
            Value::Signed(i8::from_le_bytes(bytes.try_into().ok()?).into(), value_type)
        }
        ValueType::I16 => Value::Signed(
            i16::from_le_bytes(bytes.try_into().ok()?).into(),
            value_type,
        ),
        ValueType::I32 => Value::Signed(
            i32::from_le_bytes(bytes.try_into().ok()?).into(),
            value_type,
        ),
        ValueType::I64 => Value::Signed(i64::from_le_bytes(bytes.try_into().ok()?), value_type),
        ValueType::F32 => Value::F32(f32::from_le_bytes(bytes.try_into().ok()?)),
        ValueType::F64 => Value::F64(f64::from_le_bytes(bytes.try_into().ok()?)),
        ValueType::Bool => match bytes {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            _ => return None,
        },
        ValueType::String | ValueType::Array => return None,
    })
}

/// An array of a metadata value: its elements lie in the header and were bounds-checked once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array<'a> {
    element_type: ValueType,
    len: usize,
    bytes: &'a [u8],
}

impl<'a> Array<'a> {
    fn read(cursor: &mut Cursor<'_>, nesting: u32) -> Result<(Array<'static>, usize), Error> {
        let offset = cursor.pos();
        if nesting > MAX_ARRAY_NESTING {
            return Err(Error::ArrayTooDeep {
                offset,
                max: MAX_ARRAY_NESTING,
            });
        }
        let element_type = read_type(cursor)?;
        let len = cursor.u64()?;
        let min_bytes = element_type.min_bytes();
        cursor.check_count("array elements", offset, len, MAX_ARRAY_LEN, min_bytes)?;
        let bytes = match element_type {
            ValueType::String => cursor.strings(len, MAX_STRING_BYTES)?,
            ValueType::Array => {
                let start = cursor.pos();
                for _ in 0..len {
                    Array::read(cursor, nesting + 1)?;
                }
                cursor.since(start)
            }
            _ => cursor.bytes(len * min_bytes)?,
        };
        let array = Array {
            element_type,
            len: len as usize,
            bytes: &[],
        };
        Ok((array, bytes.len()))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The type of every element.
    pub fn element_type(&self) -> ValueType {
        self.element_type
    }

    /// Bytes that the elements take in the file, string lengths included.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The elements of an array of strings; `None` for another type.
    pub fn strings(&self) -> Option<Strings<'a>> {
        (self.element_type == ValueType::String).then_some(Strings {
            bytes: self.bytes,
            left: self.len,
        })
    }

    /// The elements of an array of numbers or booleans; `None` for strings and arrays.
    pub fn numbers(&self) -> Option<Numbers<'a>> {
        let len_bytes = self.element_type.len_bytes()? as usize;
        Some(Numbers {
            element_type: self.element_type,
            chunks: self.bytes.chunks_exact(len_bytes),
        })
    }
}

/// The bytes of each string of an array, in order.
#[derive(Clone, Debug)]
pub struct Strings<'a> {
    bytes: &'a [u8],
    left: usize,
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.left == 0 {
            return None;
        }
        let (len, rest) = self.bytes.split_first_chunk::<8>()?;
        let (string, rest) = rest.split_at_checked(u64::from_le_bytes(*len) as usize)?;
        self.bytes = rest;
        self.left -= 1;
        Some(string)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Strings<'_> {}

/// Each number of an array, in order. A boolean byte that is neither 0 nor 1 reads as `true`.
#[derive(Clone, Debug)]
pub struct Numbers<'a> {
    element_type: ValueType,
    chunks: core::slice::ChunksExact<'a, u8>,
}

impl<'a> Iterator for Numbers<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let bytes = self.chunks.next()?;
        Some(scalar_from_le(self.element_type, bytes).unwrap_or(Value::Bool(true)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.chunks.size_hint()
    }
}

impl ExactSizeIterator for Numbers<'_> {}
