//! A model's keys, under its architecture's prefix.

use alloc::string::String;

use super::Error;
use crate::gguf::Gguf;

/// Keys under an architecture's prefix.
pub(super) struct Keys<'g, 'a> {
    pub(super) gguf: &'g Gguf<'a>,
    pub(super) prefix: &'static str,
}

impl<'g> Keys<'g, '_> {
    pub(super) fn key(&self, suffix: &str) -> String {
        alloc::format!("{}.{suffix}", self.prefix)
    }

    pub(super) fn optional_u32(&self, suffix: &str) -> Result<Option<u32>, Error> {
        Ok(self.gguf.optional_u32(&self.key(suffix))?)
    }

    pub(super) fn optional_f32(&self, suffix: &str) -> Result<Option<f32>, Error> {
        Ok(self.gguf.optional_f32(&self.key(suffix))?)
    }

    pub(super) fn optional_str(&self, suffix: &str) -> Result<Option<&'g str>, Error> {
        Ok(self.gguf.optional_str(&self.key(suffix))?)
    }

    /// A size from 1 to `max`.
    pub(super) fn size(&self, suffix: &str, max: usize) -> Result<usize, Error> {
        let key = self.key(suffix);
        let value = self.gguf.u32(&key)?;
        match value as usize {
            size if (1..=max).contains(&size) => Ok(size),
            _ => Err(Error::Unusable {
                key,
                value: value.into(),
            }),
        }
    }

    /// A number that is finite and above 0; `implied` where the key is absent.
    pub(super) fn positive(&self, suffix: &str, implied: Option<f32>) -> Result<f32, Error> {
        let key = self.key(suffix);
        let value = match (self.gguf.optional_f32(&key)?, implied) {
            (Some(value), _) | (None, Some(value)) => value,
            (None, None) => self.gguf.f32(&key)?,
        };
        if value.is_finite() && value > 0.0 {
            return Ok(value);
        }
        Err(Error::Unusable {
            key,
            value: value.into(),
        })
    }
}
