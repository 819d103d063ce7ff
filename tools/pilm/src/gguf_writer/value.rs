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
        let (mut n, mut elements) = (0, Vec::new());
        for item in items {
            elements.extend(item.as_ref());
            n += 1;
        }
        Value::array_of(element, n, &elements)
    }

    fn array_of(element: ValueType, n: usize, elements: &[u8]) -> Value {
        let (element, n) = ((element as u32).to_le_bytes(), (n as u64).to_le_bytes());
        Value::new(ValueType::Array, [&element[..], &n, elements].concat())
    }

    /// A value of another file.
    pub fn copy_of(value: &gguf::Value<'_>) -> Value {
        let number =
            |bytes: [u8; 8], of: ValueType| Value::new(of, &bytes[..of.min_bytes() as usize]);
        match *value {
            gguf::Value::Unsigned(v, of) => number(v.to_le_bytes(), of),
            gguf::Value::Signed(v, of) => number(v.to_le_bytes(), of),
            gguf::Value::F32(v) => Value::f32(v),
            gguf::Value::F64(v) => Value::new(ValueType::F64, v.to_le_bytes()),
            gguf::Value::Bool(v) => Value::bool(v),
            gguf::Value::String(text) => Value::new(ValueType::String, str_bytes(text)),
            gguf::Value::Array(array) => {
                Value::array_of(array.element_type(), array.len(), array.bytes())
            }
        }
    }

    /// The bytes of a value of this type.
    fn bytes_of(&self, value_type: ValueType) -> Option<&[u8]> {
        (self.value_type == value_type).then_some(&self.bytes)
    }

    /// The number of an unsigned 32-bit integer.
    pub fn as_u32(&self) -> Option<u32> {
        let bytes = self.bytes_of(ValueType::U32)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// The number of a float.
    pub fn as_f32(&self) -> Option<f32> {
        let bytes = self.bytes_of(ValueType::F32)?;
        Some(f32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.bytes_of(ValueType::String)?.get(8..)?).ok()
    }

    /// The id of the type, and the value.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        out.extend((self.value_type as u32).to_le_bytes());
        out.extend(&self.bytes);
    }
}

/// A length and the bytes.
pub(super) fn str_bytes(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text].concat()
}

#[cfg(test)]
mod tests {
    use super::{Value, ValueType};
    use crate::gguf_writer::{Error, Header};
    use llm::gguf::Gguf;

    #[test]
    fn a_copy_is_the_same_in_every_type() {
        let inner = Value::i32s([1, -2]).bytes;
        let values = [
            Value::u32(7),
            Value::f32(-0.5),
            Value::bool(true),
            Value::str("text"),
            Value::strings(["a", "", "bc"]),
            Value::f32s([1.5]),
            Value::new(ValueType::I16, (-3i16).to_le_bytes()),
            Value::new(ValueType::F64, 0.1f64.to_le_bytes()),
            Value::array(ValueType::Array, [inner.clone(), inner].iter()),
        ];
        let mut header = Header::default();
        for (key, value) in values.iter().enumerate() {
            header.set(key.to_string(), value.clone());
        }
        let nothing = |_: &_, _| Ok::<_, Error>(Vec::new());
        let file = header.write::<_, (), _>(Vec::new(), &[], &mut |_, _| (), nothing);
        let file = file.unwrap();
        let gguf = Gguf::parse(&file, file.len() as u64).unwrap();
        let copies = gguf.iter().map(|(_, value)| Value::copy_of(&value));
        assert_eq!(copies.collect::<Vec<_>>(), values);
    }
}
