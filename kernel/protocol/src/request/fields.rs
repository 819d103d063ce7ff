//! From a line to the parts of a request.
//!
//! A part is a struct of fields; an op takes one or more of them. What fields a part has, serde's derive knows.

use super::RequestError;
use crate::id::Id;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor,
};
use serde::{Serialize, forward_to_deserialize_any};

/// Some fields of a request.
pub trait Part: DeserializeOwned + Serialize + Default {
    /// Refuses values that are out of their range.
    ///
    /// # Errors
    /// [`RequestError::BadValue`], or [`RequestError::UnknownField`] for one that others make meaningless.
    fn check(&self) -> Result<(), RequestError> {
        Ok(())
    }
}

/// A line of which the names are known.
pub(super) struct Reader<'l> {
    text: &'l str,
    /// The names of all fields but `id` and `op`.
    names: Vec<String>,
}

impl<'l> Reader<'l> {
    /// Reads the names of the fields, the name of the op, and the id, which is kept if the line turns out to
    /// be broken behind it.
    pub fn new(line: &'l [u8], id: &mut Id) -> Result<(String, Self), RequestError> {
        let mut envelope = Envelope {
            id,
            op: None,
            names: Vec::new(),
            wrong: None,
        };
        let mut json = serde_json::Deserializer::from_slice(line);
        let read = json
            .deserialize_map(&mut envelope)
            .and_then(|()| json.end());
        let text = core::str::from_utf8(line).map_err(|error| RequestError::NotUtf8 {
            at: error.valid_up_to(),
        })?;
        let Envelope {
            op, names, wrong, ..
        } = envelope;
        read.map_err(|error| malformed(wrong, &error))?;
        let op = op.ok_or(RequestError::MissingOp)?;
        Ok((op, Self { text, names }))
    }

    /// Refuses fields that `op` does not take.
    pub fn takes(&self, op: &'static str, parts: &[&[&str]]) -> Result<(), RequestError> {
        let unknown = |name: &&String| !parts.iter().any(|part| part.contains(&name.as_str()));
        match self.names.iter().find(unknown) {
            Some(field) => Err(RequestError::UnknownField {
                op,
                field: field.clone(),
            }),
            None => Ok(()),
        }
    }

    /// The part `T` of the line.
    pub fn part<T: Part>(&self, op: &'static str) -> Result<T, RequestError> {
        T::deserialize(Fields { text: self.text }).map_err(|error| match error {
            PartError::Missing(field) => RequestError::MissingField { op, field },
            PartError::Type { field, reason } => RequestError::BadType {
                field: field.into(),
                reason,
            },
            PartError::Other(reason) => RequestError::Json { reason },
        })
    }
}

/// The names of the fields of `T`.
pub(super) fn names<T: Part>() -> &'static [&'static str] {
    let names = Cell::new(&[] as &[&str]);
    // It fails on purpose, once the names are known.
    let _ = T::deserialize(Names(&names));
    names.get()
}

/// Adds the fields of `T` to those that a request needs and to those that it may have.
pub(super) fn list<T: Part>(needed: &mut Vec<String>, optional: &mut Vec<String>) {
    // What may be left out is not written when it has its default.
    let written = serde_json::to_value(T::default()).unwrap_or_default();
    for name in names::<T>() {
        let fields = if written.get(name).is_some() {
            &mut *needed
        } else {
            &mut *optional
        };
        fields.push(name.to_string());
    }
}

fn malformed(field: Option<&'static str>, error: &serde_json::Error) -> RequestError {
    let reason = error.to_string();
    // What is no JSON at all is not the fault of the field that it was found in.
    match field.filter(|_| error.is_data()) {
        Some(field) => RequestError::BadType {
            field: field.into(),
            reason,
        },
        None => RequestError::Json { reason },
    }
}

/// What tells requests apart.
struct Envelope<'i> {
    id: &'i mut Id,
    op: Option<String>,
    names: Vec<String>,
    /// The field whose value has the wrong type.
    wrong: Option<&'static str>,
}

impl<'de> Visitor<'de> for &mut Envelope<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request: a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_id = false;
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "id" if core::mem::replace(&mut has_id, true) => {
                    return Err(de::Error::duplicate_field("id"));
                }
                "op" if self.op.is_some() => return Err(de::Error::duplicate_field("op")),
                "id" => {
                    self.wrong = Some("id");
                    *self.id = map.next_value()?;
                }
                "op" => {
                    self.wrong = Some("op");
                    self.op = Some(map.next_value()?);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    self.names.push(name);
                }
            }
            self.wrong = None;
        }
        Ok(())
    }
}

/// Why a part cannot be read.
#[derive(Debug)]
enum PartError {
    Missing(&'static str),
    Type { field: &'static str, reason: String },
    Other(String),
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(field) => write!(f, "no field {field}"),
            Self::Type { reason, .. } | Self::Other(reason) => f.write_str(reason),
        }
    }
}

impl core::error::Error for PartError {}

impl de::Error for PartError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self::Other(reason.to_string())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}

/// The fields of one part among those of a line.
struct Fields<'l> {
    text: &'l str,
}

impl<'de> Deserializer<'de> for Fields<'de> {
    type Error = PartError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, PartError> {
        let failure = Cell::new(None);
        let only = Only {
            names,
            visitor,
            failure: &failure,
        };
        let part = serde_json::Deserializer::from_str(self.text).deserialize_map(only);
        part.map_err(|error| failure.take().unwrap_or_else(|| de::Error::custom(error)))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, PartError> {
        Err(de::Error::custom("a part of a request is a struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Shows a visitor the fields that it knows.
struct Only<'f, V> {
    names: &'static [&'static str],
    visitor: V,
    /// The visitor's error: the parser's own type cannot carry it.
    failure: &'f Cell<Option<PartError>>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Only<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let known = Known {
            map,
            names: self.names,
            field: "",
        };
        self.visitor.visit_map(known).map_err(|error| {
            let shown = de::Error::custom(&error);
            self.failure.set(Some(error));
            shown
        })
    }
}

/// The known ones of a map's fields.
struct Known<A> {
    map: A,
    names: &'static [&'static str],
    /// The field whose value comes next.
    field: &'static str,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Known<A> {
    type Error = PartError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, PartError> {
        while let Some(key) = self.map.next_key::<String>().map_err(de::Error::custom)? {
            if let Some(name) = self.names.iter().find(|&&name| name == key) {
                self.field = name;
                return seed
                    .deserialize(BorrowedStrDeserializer::new(name))
                    .map(Some);
            }
            self.map
                .next_value::<IgnoredAny>()
                .map_err(de::Error::custom)?;
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, PartError> {
        self.map
            .next_value_seed(seed)
            .map_err(|error| PartError::Type {
                field: self.field,
                reason: error.to_string(),
            })
    }
}

/// Notes the names of a struct's fields, and fails.
struct Names<'n>(&'n Cell<&'static [&'static str]>);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = PartError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, PartError> {
        self.0.set(names);
        self.deserialize_any(visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, PartError> {
        Err(de::Error::custom("only the names are asked for"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
