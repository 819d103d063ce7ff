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
    /// Every type, with its name and the fewest bytes that a value takes in the file.
    const ALL: [(ValueType, &str, u64); 13] = [
        (ValueType::U8, "u8", 1),
        (ValueType::I8, "i8", 1),
        (ValueType::U16, "u16", 2),
        (ValueType::I16, "i16", 2),
        (ValueType::U32, "u32", 4),
        (ValueType::I32, "i32", 4),
        (ValueType::F32, "f32", 4),
        (ValueType::Bool, "bool", 1),
        (ValueType::String, "string", 8),
        (ValueType::Array, "array", 12),
        (ValueType::U64, "u64", 8),
        (ValueType::I64, "i64", 8),
        (ValueType::F64, "f64", 8),
    ];

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let offset = cursor.pos();
        let id = cursor.u32()?;
        let known = Self::ALL.get(id as usize).map(|(known, ..)| *known);
        known.ok_or(Error::UnknownValueType { offset, id })
    }

    /// Fewest bytes that a value takes in the file: all of a number or a boolean.
    pub fn min_bytes(self) -> u64 {
        Self::ALL[self as usize].2
    }

    /// The type's name for people.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
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
        let value_type = ValueType::read(cursor)?;
        match value_type {
            ValueType::String => {
                let len_bytes = cursor.string(MAX_STRING_BYTES)?.len();
                Ok((Value::String(&[]), len_bytes))
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

/// Decodes one scalar. `None` is a boolean that is neither 0 nor 1.
fn scalar_from_le<'a>(value_type: ValueType, bytes: &[u8]) -> Option<Value<'a>> {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let spare_bits = 64 - 8 * bytes.len();
    Some(match value_type {
        ValueType::U8 | ValueType::U16 | ValueType::U32 | ValueType::U64 => {
            Value::Unsigned(bits, value_type)
        }
        ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64 => {
            Value::Signed((bits << spare_bits) as i64 >> spare_bits, value_type)
        }
        ValueType::F32 => Value::F32(f32::from_bits(bits as u32)),
        ValueType::F64 => Value::F64(f64::from_bits(bits)),
        ValueType::Bool if bits < 2 => Value::Bool(bits == 1),
        ValueType::Bool | ValueType::String | ValueType::Array => return None,
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
            return Err(Error::ArrayTooDeep { offset });
        }
        let element_type = ValueType::read(cursor)?;
        let len = cursor.u64()?;
        let min_bytes = element_type.min_bytes();
        cursor.check_count("array elements", offset, len, MAX_ARRAY_LEN, min_bytes)?;
        let start = cursor.pos();
        match element_type {
            ValueType::String => {
                for _ in 0..len {
                    cursor.string(MAX_STRING_BYTES)?;
                }
            }
            ValueType::Array => {
                for _ in 0..len {
                    Array::read(cursor, nesting + 1)?;
                }
            }
            _ => drop(cursor.bytes(len * min_bytes)?),
        }
        let array = Array {
            element_type,
            len: len as usize,
            bytes: &[],
        };
        Ok((array, (cursor.pos() - start) as usize))
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

    /// The elements as they stand in the file, strings with their lengths.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes of each element of an array of strings; `None` for another type.
    pub fn strings(&self) -> Option<impl Iterator<Item = &'a [u8]> + use<'a>> {
        let mut left = self.bytes;
        let strings = (0..self.len).map_while(move |_| {
            let (len, rest) = left.split_first_chunk::<8>()?;
            let (string, rest) = rest.split_at_checked(u64::from_le_bytes(*len) as usize)?;
            left = rest;
            Some(string)
        });
        (self.element_type == ValueType::String).then_some(strings)
    }

    /// The elements of an array of numbers or booleans; `None` for strings and arrays. A boolean byte that
    /// is neither 0 nor 1 reads as `true`.
    pub fn numbers(&self) -> Option<impl Iterator<Item = Value<'a>> + use<'a>> {
        let element_type = self.element_type;
        if matches!(element_type, ValueType::String | ValueType::Array) {
            return None;
        }
        let each = self.bytes.chunks_exact(element_type.min_bytes() as usize);
        Some(each.map(move |b| scalar_from_le(element_type, b).unwrap_or(Value::Bool(true))))
    }
}
