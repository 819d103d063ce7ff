//! The key–value table of a GGUF file.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::cursor::Cursor;
use super::{Array, Error, MAX_KEY_BYTES, MAX_METADATA, Value};

/// Metadata in file order, found by key.
#[derive(Clone, Debug)]
pub struct Metadata<'a> {
    entries: Vec<(&'a str, Value<'a>)>,
    /// Indices into `entries`, in the order of the keys.
    by_key: Vec<u32>,
}

impl<'a> Metadata<'a> {
    /// A string key, a type and the shortest value.
    const MIN_ENTRY_BYTES: u64 = 8 + 4 + 1;

    pub(super) fn read(
        cursor: &mut Cursor<'a>,
        count: u64,
        count_offset: u64,
    ) -> Result<Self, Error> {
        cursor.check_count(
            "metadata entries",
            count_offset,
            count,
            MAX_METADATA,
            Self::MIN_ENTRY_BYTES,
        )?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let offset = cursor.pos();
            let key = core::str::from_utf8(cursor.string(MAX_KEY_BYTES)?)
                .map_err(|_| Error::NameNotUtf8 { offset })?;
            entries.push((key, Value::read(cursor)?));
        }
        let mut by_key: Vec<u32> = (0..entries.len() as u32).collect();
        by_key.sort_unstable_by_key(|&i| entries[i as usize].0);
        for pair in by_key.windows(2) {
            let key = entries[pair[0] as usize].0;
            if key == entries[pair[1] as usize].0 {
                return Err(Error::DuplicateKey {
                    key: key.to_string(),
                });
            }
        }
        Ok(Metadata { entries, by_key })
    }

    /// Every entry, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + '_ {
        self.entries.iter().copied()
    }

    /// The value of `key`, if the file has it.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        let found = self
            .by_key
            .binary_search_by_key(&key, |&i| self.entries[i as usize].0)
            .ok()?;
        Some(self.entries[self.by_key[found] as usize].1)
    }

    /// A non-negative integer of any width that fits `u32`; `None` when the key is absent.
    ///
    /// # Errors
    /// [`Error::WrongType`] or [`Error::OutOfRange`].
    pub fn optional_u32(&self, key: &str) -> Result<Option<u32>, Error> {
        let wide = match self.get(key) {
            None => return Ok(None),
            Some(Value::Unsigned(v, _)) => Some(v),
            Some(Value::Signed(v, _)) => u64::try_from(v).ok(),
            Some(other) => return Err(wrong_type(key, "an integer", &other)),
        };
        let narrow = wide.and_then(|v| u32::try_from(v).ok());
        narrow.map(Some).ok_or_else(|| Error::OutOfRange {
            key: key.to_string(),
        })
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
        match self.get(key) {
            None => Ok(None),
            Some(Value::F32(v)) => Ok(Some(v)),
            Some(Value::F64(v)) => Ok(Some(v as f32)),
            Some(other) => Err(wrong_type(key, "a float", &other)),
        }
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
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(v)) => Ok(Some(v)),
            Some(other) => Err(wrong_type(key, "a boolean", &other)),
        }
    }

    /// A string; `None` when the key is absent.
    ///
    /// # Errors
    /// [`Error::WrongType`] or [`Error::NotUtf8`].
    pub fn optional_str(&self, key: &str) -> Result<Option<&'a str>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(bytes)) => {
                core::str::from_utf8(bytes)
                    .map(Some)
                    .map_err(|_| Error::NotUtf8 {
                        key: key.to_string(),
                    })
            }
            Some(other) => Err(wrong_type(key, "a string", &other)),
        }
    }

    /// As [`Metadata::optional_str`], with an absent key as an error.
    ///
    /// # Errors
    /// [`Error::MissingKey`], [`Error::WrongType`] or [`Error::NotUtf8`].
    pub fn str(&self, key: &str) -> Result<&'a str, Error> {
        self.optional_str(key)?.ok_or_else(|| missing(key))
    }

    /// An array; `None` when the key is absent.
    ///
    /// # Errors
    /// [`Error::WrongType`].
    pub fn optional_array(&self, key: &str) -> Result<Option<Array<'a>>, Error> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(array)) => Ok(Some(array)),
            Some(other) => Err(wrong_type(key, "an array", &other)),
        }
    }

    /// As [`Metadata::optional_array`], with an absent key as an error.
    ///
    /// # Errors
    /// [`Error::MissingKey`] or [`Error::WrongType`].
    pub fn array(&self, key: &str) -> Result<Array<'a>, Error> {
        self.optional_array(key)?.ok_or_else(|| missing(key))
    }
}

fn missing(key: &str) -> Error {
    Error::MissingKey {
        key: String::from(key),
    }
}

fn wrong_type(key: &str, expected: &'static str, found: &Value<'_>) -> Error {
    Error::WrongType {
        key: String::from(key),
        expected,
        found: found.value_type().name(),
    }
}
