//! From a line to the parts of a request.
//!
//! A part is a struct of fields; an op takes one or more of them. What fields a part has, serde's derive knows.

use super::RequestError;
use super::strict::{MUST_BE, Strict};
use crate::id::Id;
use crate::settings::Setting;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use serde::de::value::Error as Unread;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
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
    /// The names of all fields, also `id` and `op`.
    names: Vec<String>,
}

impl<'l> Reader<'l> {
    /// Reads the names of the fields, the name of the op, and the id, which is kept if the line turns out to
    /// be broken behind it.
    pub fn new(line: &'l [u8], id: &mut Id) -> Result<(String, Self), RequestError> {
        let mut envelope = Envelope::default();
        let read = envelope.read(line);
        *id = envelope.id;
        let text = core::str::from_utf8(line).map_err(|error| RequestError::NotUtf8 {
            at: error.valid_up_to(),
        })?;
        let names = envelope.names;
        read.map_err(|error| malformed(text, &error))?;
        let op = envelope.op.ok_or(RequestError::MissingOp)?;
        Ok((op, Self { text, names }))
    }

    /// Refuses fields that `op` does not take, that stand there twice, or that are missing.
    pub fn takes(&self, op: &'static str, parts: &[Fields]) -> Result<(), RequestError> {
        for (i, field) in self.names.iter().enumerate() {
            let is_known = |part: &Fields| part.names.contains(&field.as_str());
            if !matches!(field.as_str(), "id" | "op") && !parts.iter().any(is_known) {
                let field = field.clone();
                return Err(RequestError::UnknownField { op, field });
            }
            let mut before = self.names[..i].iter();
            if let Some(other) = before.find(|other| new_name(other) == new_name(field)) {
                let reason = match other == field {
                    true => format!("\"{field}\" stands there twice"),
                    false => format!("\"{other}\" and \"{field}\" are one field: give one of them"),
                };
                return Err(RequestError::Json { reason });
            }
        }
        let mut needed = parts.iter().flat_map(|part| &part.needed);
        match needed.find(|&&field| !self.names.iter().any(|name| name == field)) {
            Some(field) => Err(RequestError::MissingField { op, field }),
            None => Ok(()),
        }
    }

    /// The part `T` of the line; the fields of other parts are passed over.
    pub fn part<T: Part>(&self) -> Result<T, RequestError> {
        let mut json = serde_json::Deserializer::from_str(self.text);
        T::deserialize(Strict(&mut json)).map_err(|error| malformed(self.text, &error))
    }
}

/// The fields of a part.
pub(super) struct Fields {
    /// The names of all.
    names: &'static [&'static str],
    /// Those that a request needs.
    needed: Vec<&'static str>,
}

impl Fields {
    /// The fields of `T`.
    pub fn of<T: Part>() -> Self {
        let names = Cell::new(&[] as &[&str]);
        // It fails on purpose, once the names are known.
        let _ = T::deserialize(Names(&names));
        let names = names.get();
        // What may be left out is not written when it has its default.
        let written = serde_json::to_value(T::default()).unwrap_or_default();
        let is_needed = |name: &&'static str| written.get(name).is_some();
        Self {
            names,
            needed: names.iter().copied().filter(is_needed).collect(),
        }
    }
}

/// The name of a setting's field, also where `field` is the old one.
fn new_name(field: &str) -> &str {
    match Setting::named(field) {
        Some(setting) => setting.key(),
        None => field,
    }
}

/// The names of the fields that a request needs, and of those that it may have; old names are left out.
pub(super) fn listed(parts: &[Fields]) -> (Vec<String>, Vec<String>) {
    let fields = parts
        .iter()
        .flat_map(|part| part.names.iter().map(move |name| (part, name)))
        .filter(|(_, name)| new_name(name) == **name);
    let (needed, optional): (Vec<_>, Vec<_>) =
        fields.partition(|(part, name)| part.needed.contains(name));
    let named = |fields: Vec<(_, &&str)>| fields.iter().map(|(_, name)| name.to_string()).collect();
    (named(needed), named(optional))
}

/// Why `text` cannot be read, with the field whose value has the wrong type.
fn malformed(text: &str, error: &serde_json::Error) -> RequestError {
    let reason = error.to_string();
    // What is no JSON at all is not the fault of the field that it was found in.
    if !error.is_data() {
        return RequestError::Json { reason };
    }
    // The last name before the error is the field's.
    let mut before = Envelope::default();
    let _ = before.read(&text.as_bytes()[..error.column().min(text.len())]);
    match (before.names.pop(), reason.strip_prefix(MUST_BE)) {
        (Some(field), Some(allowed)) => RequestError::BadValue {
            field: field.into(),
            allowed: String::from(allowed).into(),
        },
        (Some(field), None) => RequestError::BadType { field, reason },
        (None, _) => RequestError::Json { reason },
    }
}

/// What tells requests apart.
#[derive(Default)]
struct Envelope {
    id: Id,
    op: Option<String>,
    /// The names of all fields so far.
    names: Vec<String>,
}

impl Envelope {
    fn read(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let mut json = serde_json::Deserializer::from_slice(line);
        json.deserialize_map(self).and_then(|()| json.end())
    }
}

impl<'de> Visitor<'de> for &mut Envelope {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request: a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let is_first = !self.names.contains(&name);
            self.names.push(name.clone());
            match name.as_str() {
                "id" if is_first => self.id = map.next_value()?,
                "op" if is_first => self.op = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Notes the names of a struct's fields, and fails.
struct Names<'n>(&'n Cell<&'static [&'static str]>);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = Unread;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unread> {
        self.0.set(names);
        self.deserialize_any(visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unread> {
        Err(Unread::custom("only the names are asked for"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
