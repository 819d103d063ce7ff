//! Metadata values as they stand in a file.

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
    pub(super) fn type_id(&self) -> u32 {
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

    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
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

/// A length and the bytes.
pub(super) fn append_str(out: &mut Vec<u8>, text: &[u8]) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text);
}
