//! The key–value table of a GGUF file.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use super::cursor::Cursor;
use super::tensors::twice;
use super::{Array, Error, MAX_KEY_BYTES, MAX_METADATA, Value};

/// Metadata in file order, found by key.
#[derive(Clone, Debug)]
pub struct Metadata<'a> {
    /// The header.
    pub(super) bytes: Cow<'a, [u8]>,
    entries: Vec<Entry>,
}

/// A key with its value: text and elements of arrays are left in the header.
#[derive(Clone, Debug)]
struct Entry {
    key: String,
    value: Value<'static>,
    in_header: Range<usize>,
}

impl Metadata<'_> {
    /// A string key, a type and the shortest value.
    const MIN_ENTRY_BYTES: u64 = 8 + 4 + 1;

    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let (offset, count) = (cursor.pos(), cursor.u64()?);
        let min_bytes = Self::MIN_ENTRY_BYTES;
        cursor.check_count("metadata entries", offset, count, MAX_METADATA, min_bytes)?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let key = cursor.name(MAX_KEY_BYTES)?;
            let (value, len_bytes) = Value::read(cursor)?;
            let end = cursor.pos() as usize;
            entries.push(Entry {
                key: key.to_string(),
                value,
                in_header: end - len_bytes..end,
            });
        }
        if let Some(key) = twice(entries.iter().map(|entry| entry.key.as_str())) {
            return Err(Error::DuplicateKey { key });
        }
        Ok(Metadata {
            bytes: Cow::default(),
            entries,
        })
    }

    /// Every entry, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Value<'_>)> {
        let entries = self.entries.iter();
        entries.map(|entry| (entry.key.as_str(), self.value(entry)))
    }

    fn value(&self, entry: &Entry) -> Value<'_> {
        let bytes = self.bytes.get(entry.in_header.clone());
        entry.value.over(bytes.unwrap_or_default())
    }

    /// The value of `key`, if the file has it.
    pub fn get(&self, key: &str) -> Option<Value<'_>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(self.value(entry))
    }

    /// What `of` makes of the value of `key`, which it calls `expected`; `None` when the key is absent.
    fn optional<'m, T>(
        &'m self,
        key: &str,
        expected: &'static str,
        of: impl FnOnce(Value<'m>) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let wrong_type = || Error::WrongType {
            key: key.into(),
            expected,
            found: value.value_type().name(),
        };
        of(value).map(Some).ok_or_else(wrong_type)
    }

    /// A non-negative integer of any width that fits `u32`; `None` when the key is absent.
    ///
    /// # Errors
    /// [`Error::WrongType`] or [`Error::OutOfRange`].
    pub fn optional_u32(&self, key: &str) -> Result<Option<u32>, Error> {
        let narrow = self.optional(key, "an integer", |value| match value {
            Value::Unsigned(v, _) => Some(u32::try_from(v).ok()),
            Value::Signed(v, _) => Some(u32::try_from(v).ok()),
            _ => None,
        })?;
        let out_of_range = || Error::OutOfRange { key: key.into() };
        narrow.map(|v| v.ok_or_else(out_of_range)).transpose()
    }

    /// As [`Metadata::optional_u32`], with an absent key as an error.
    ///
    /// # Errors
    /// [`Error::MissingKey`], [`Error::WrongType`] or [`Error::OutOfRange`].
    pub fn u32(&self, key: &str) -> Result<u32, Error> {
        self.optional_u32(key)?.ok_or_else(|| missing(key))
    }

    /// An `f32` or `f64`; `None` when the key is absent.
    ///
    /// # Errors
    /// [`Error::WrongType`].
    pub fn optional_f32(&self, key: &str) -> Result<Option<f32>, Error> {
        self.optional(key, "a float", |value| match value {
            Value::F32(v) => Some(v),
            Value::F64(v) => Some(v as f32),
            _ => None,
        })
    }

    /// As [`Metadata::optional_f32`], with an absent key as an error.
    ///
    /// # Errors
    /// [`Error::MissingKey`] or [`Error::WrongType`].
    pub fn f32(&self, key: &str) -> Result<f32, Error> {
        self.optional_f32(key)?.ok_or_else(|| missing(key))
    }

    /// A boolean; `None` when the key is absent.
    ///
    /// # Errors
    /// [`Error::WrongType`].
    pub fn optional_bool(&self, key: &str) -> Result<Option<bool>, Error> {
        self.optional(key, "a boolean", |value| match value {
            Value::Bool(v) => Some(v),
            _ => None,
        })
    }

    /// A string; `None` when the key is absent.
    ///
    /// # Errors
    /// [`Error::WrongType`] or [`Error::NotUtf8`].
    pub fn optional_str(&self, key: &str) -> Result<Option<&str>, Error> {
        let bytes = self.optional(key, "a string", |value| match value {
            Value::String(bytes) => Some(bytes),
            _ => None,
        })?;
        let text = bytes.map(core::str::from_utf8).transpose();
        text.map_err(|_| Error::NotUtf8 { key: key.into() })
    }

    /// As [`Metadata::optional_str`], with an absent key as an error.
    ///
    /// # Errors
    /// [`Error::MissingKey`], [`Error::WrongType`] or [`Error::NotUtf8`].
    pub fn str(&self, key: &str) -> Result<&str, Error> {
        self.optional_str(key)?.ok_or_else(|| missing(key))
    }

    /// An array; `None` when the key is absent.
    ///
    /// # Errors
    /// [`Error::WrongType`].
    pub fn optional_array(&self, key: &str) -> Result<Option<Array<'_>>, Error> {
        self.optional(key, "an array", |value| match value {
            Value::Array(array) => Some(array),
            _ => None,
        })
    }

    /// As [`Metadata::optional_array`], with an absent key as an error.
    ///
    /// # Errors
    /// [`Error::MissingKey`] or [`Error::WrongType`].
    pub fn array(&self, key: &str) -> Result<Array<'_>, Error> {
        self.optional_array(key)?.ok_or_else(|| missing(key))
    }
}

fn missing(key: &str) -> Error {
    Error::MissingKey { key: key.into() }
}
