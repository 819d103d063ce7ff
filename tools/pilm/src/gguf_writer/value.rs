//! Metadata values as they stand in a file.

use llm::gguf::{self, ValueType};

/// One metadata value: its type, and its bytes in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    value_type: ValueType,
    bytes: Vec<u8>,
}

impl Value {
    fn new(value_type: ValueType, bytes: impl Into<Vec<u8>>) -> Value {
        let bytes = bytes.into();
        Value { value_type, bytes }
    }

    /// An unsigned 32-bit integer.
    pub fn u32(v: u32) -> Value {
        Value::new(ValueType::U32, v.to_le_bytes())
    }

    /// A float.
    pub fn f32(v: f32) -> Value {
        Value::new(ValueType::F32, v.to_le_bytes())
    }

    /// A boolean.
    pub fn bool(v: bool) -> Value {
        Value::new(ValueType::Bool, [u8::from(v)])
    }

    /// A string.
    pub fn str(text: &str) -> Value {
        Value::new(ValueType::String, str_bytes(text.as_bytes()))
    }

    /// An array of strings.
    pub fn strings<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Value {
        let items = items.into_iter();
        Value::array(
            ValueType::String,
            items.map(|s| str_bytes(s.as_ref().as_bytes())),
        )
    }

    /// An array of 32-bit integers.
    pub fn i32s(items: impl IntoIterator<Item = i32>) -> Value {
        Value::array(ValueType::I32, items.into_iter().map(i32::to_le_bytes))
    }

    /// An array of floats.
    pub fn f32s(items: impl IntoIterator<Item = f32>) -> Value {
        Value::array(ValueType::F32, items.into_iter().map(f32::to_le_bytes))
    }

    fn array(element: ValueType, items: impl Iterator<Item = impl AsRef<[u8]>>) -> Value {
        let (mut n, mut elements) = (0u64, Vec::new());
        for item in items {
            elements.extend(item.as_ref());
            n += 1;
        }
        let head = (element as u32).to_le_bytes();
        let all = [&head[..], &n.to_le_bytes(), &elements].concat();
        Value::new(ValueType::Array, all)
    }

    /// A value of another file; none for an array of arrays, which no known key has.
    pub fn copy_of(value: &gguf::Value<'_>) -> Option<Value> {
        let gguf::Value::Array(array) = value else {
            return Some(Value::new(value.value_type(), bytes_of(value)));
        };
        let element = array.element_type();
        Some(match array.strings() {
            Some(strings) => Value::array(element, strings.map(str_bytes)),
            None => Value::array(element, array.numbers()?.map(|v| bytes_of(&v))),
        })
    }

    /// The number of an unsigned 32-bit integer.
    pub fn as_u32(&self) -> Option<u32> {
        let number = self.bytes.as_slice().try_into().ok();
        number
            .filter(|_| self.value_type == ValueType::U32)
            .map(u32::from_le_bytes)
    }

    /// The number of a float.
    pub fn as_f32(&self) -> Option<f32> {
        let number = self.bytes.as_slice().try_into().ok();
        number
            .filter(|_| self.value_type == ValueType::F32)
            .map(f32::from_le_bytes)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        let text = self
            .bytes
            .get(8..)
            .filter(|_| self.value_type == ValueType::String);
        std::str::from_utf8(text?).ok()
    }

    /// The id of the type, and the value.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        out.extend((self.value_type as u32).to_le_bytes());
        out.extend(&self.bytes);
    }
}

/// A value that is no array, as it stands in a file.
fn bytes_of(value: &gguf::Value<'_>) -> Vec<u8> {
    let bytes = match *value {
        gguf::Value::Unsigned(v, _) => v.to_le_bytes(),
        gguf::Value::Signed(v, _) => v.to_le_bytes(),
        gguf::Value::F32(v) => return v.to_le_bytes().into(),
        gguf::Value::F64(v) => v.to_le_bytes(),
        gguf::Value::Bool(v) => return vec![u8::from(v)],
        gguf::Value::String(text) => return str_bytes(text),
        gguf::Value::Array(_) => unreachable!("arrays are taken apart"),
    };
    let len = match value.value_type() {
        ValueType::U8 | ValueType::I8 => 1,
        ValueType::U16 | ValueType::I16 => 2,
        ValueType::U32 | ValueType::I32 => 4,
        _ => 8,
    };
    bytes[..len].into()
}

/// A length and the bytes.
pub(super) fn str_bytes(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text].concat()
}
