//! What a field's value may be: nothing but what the documentation says.
//!
//! serde's own types take more: `null` for what may be absent, an array for an object, an object for a word.

use super::fields::FieldsOf;
use super::{Message, Positions, RequestError};
use crate::scalar::Scalar;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, Unexpected};

/// What the message of an error begins with whose value has the right type and is out of range.
pub(super) const MUST_BE: &str = "must be ";

/// Reads a field's value.
pub(super) fn strict<'de, D: Deserializer<'de>, T: Strict>(from: D) -> Result<T, D::Error> {
    T::read(from)
}

/// A type of which nothing but the documented forms are taken.
pub(super) trait Strict: DeserializeOwned {
    /// Reads a value.
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

impl Strict for f32 {}
impl Strict for bool {}
impl Strict for String {}

impl<T: Strict> Strict for Option<T> {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::read(from).map(Some)
    }
}

/// An item of a sequence.
#[derive(Deserialize)]
#[serde(transparent, bound = "T: Strict")]
struct Item<T>(#[serde(deserialize_with = "strict")] T);

impl<T: Strict> Strict for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let items = Vec::<Item<T>>::deserialize(from)?;
        Ok(items.into_iter().map(|Item(item)| item).collect())
    }
}

/// A whole number; other numbers have the right type and are out of range.
fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    let number = serde_json::Number::deserialize(from)?;
    let whole = number.as_u64().and_then(|number| T::try_from(number).ok());
    let largest = u64::MAX >> (u64::BITS - 8 * size_of::<T>() as u32);
    whole.ok_or_else(|| D::Error::custom(format!("{MUST_BE}a whole number from 0 to {largest}")))
}

impl Strict for u32 {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        whole(from)
    }
}

impl Strict for u64 {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        whole(from)
    }
}

impl Strict for usize {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        whole(from)
    }
}

impl Strict for Scalar {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Self::deserialize(from)? {
            Self::Null => Err(D::Error::invalid_type(
                Unexpected::Unit,
                &"a string, a number or a truth value",
            )),
            value => Ok(value),
        }
    }
}

impl Strict for Message {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(FieldsOf(&mut String::new(), PhantomData))
    }
}

impl Strict for Positions {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let allowed = r#""last" or "all""#;
        let word = String::deserialize(from)
            .map_err(|_| D::Error::custom(format!("expected {allowed}")))?;
        match word.as_str() {
            "last" => Ok(Self::Last),
            "all" => Ok(Self::All),
            _ => Err(D::Error::custom(format!("{MUST_BE}{allowed}"))),
        }
    }
}

/// Refuses a value out of range.
pub(super) fn within(
    fits: bool,
    field: &'static str,
    allowed: &'static str,
) -> Result<(), RequestError> {
    match fits {
        true => Ok(()),
        false => Err(RequestError::BadValue {
            field: field.into(),
            allowed: allowed.into(),
        }),
    }
}
