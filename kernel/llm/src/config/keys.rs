//! A model's keys, under its architecture's prefix.

use alloc::string::String;

use super::Error;
use crate::gguf::{self, Gguf};

/// Keys under an architecture's prefix.
pub(super) struct Keys<'g, 'a> {
    pub(super) gguf: &'g Gguf<'a>,
    pub(super) prefix: &'static str,
}

impl<'g> Keys<'g, '_> {
    pub(super) fn key(&self, suffix: &str) -> String {
        alloc::format!("{}.{suffix}", self.prefix)
    }

    pub(super) fn missing(&self, suffix: &str) -> Error {
        Error::Gguf(gguf::Error::MissingKey {
            key: self.key(suffix),
        })
    }

    pub(super) fn u32(&self, suffix: &str) -> Result<u32, Error> {
        Ok(self.gguf.u32(&self.key(suffix))?)
    }

    pub(super) fn f32(&self, suffix: &str) -> Result<f32, Error> {
        Ok(self.gguf.f32(&self.key(suffix))?)
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
        let value = self.u32(suffix)?;
        match value as usize {
            size if (1..=max).contains(&size) => Ok(size),
            _ => Err(Error::Unusable {
                key: self.key(suffix),
                value: value.into(),
            }),
        }
    }

    /// A number that is finite and above 0.
    pub(super) fn positive(&self, suffix: &str, value: f32) -> Result<f32, Error> {
        if value.is_finite() && value > 0.0 {
            Ok(value)
        } else {
            Err(Error::Unusable {
                key: self.key(suffix),
                value: value.into(),
            })
        }
    }
}
