//! Logits that were asked for.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The logits after one token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Logits<'a> {
    /// The token's position.
    pub position: usize,
    /// The CRC-32C of all logits as little-endian f32, in 8 hexadecimal digits.
    #[serde(default, with = "crc32c", skip_serializing_if = "Option::is_none")]
    pub crc32c: Option<u32>,
    /// `ln Σ exp(logit)` over all logits, where the largest ones are told: a logit less this is the logarithm of the
    /// token's probability. Sums are f64, in the order of the ids, of the logits less the largest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_sum_exp: Option<f64>,
    /// The largest ones, largest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<Top<'a>>,
}

/// One of the largest logits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopEntry {
    /// The token.
    pub id: usize,
    /// Its logit.
    pub logit: f32,
    /// How many bytes it adds to a text: 0 for a control token.
    pub n_bytes: usize,
}

/// The largest logits with their tokens' bytes; a token may be a part of a character.
#[derive(Debug, Clone, PartialEq)]
pub struct Top<'a> {
    /// The tokens.
    pub entries: Cow<'a, [TopEntry]>,
    /// The bytes of all of them, one after another.
    pub bytes: Cow<'a, [u8]>,
}

impl Top<'_> {
    /// Each token with its logit and its bytes.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f32, &[u8])> {
        let mut rest = &self.bytes[..];
        self.entries.iter().map(move |entry| {
            let (bytes, after) = rest.split_at(entry.n_bytes.min(rest.len()));
            rest = after;
            (entry.id, entry.logit, bytes)
        })
    }
}

/// Two hexadecimal digits for each byte.
struct Hex<'b>(&'b [u8]);

impl Serialize for Hex<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&fmt::from_fn(|f| {
            self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        }))
    }
}

impl Serialize for Top<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.iter()
                .map(|(id, logit, bytes)| (id, logit, Hex(bytes))),
        )
    }
}

impl<'de> Deserialize<'de> for Top<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = Vec::<(usize, f32, String)>::deserialize(deserializer)?;
        let (mut entries, mut bytes) = (Vec::with_capacity(items.len()), Vec::new());
        for (id, logit, digits) in items {
            let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
            // The parser of numbers takes a sign too.
            if !rest.is_empty() || digits.contains('+') {
                return Err(de::Error::custom("a byte has two digits"));
            }
            for pair in pairs {
                let byte = core::str::from_utf8(pair).map_err(de::Error::custom)?;
                bytes.push(u8::from_str_radix(byte, 16).map_err(de::Error::custom)?);
            }
            entries.push(TopEntry {
                id,
                logit,
                n_bytes: pairs.len(),
            });
        }
        Ok(Top {
            entries: entries.into(),
            bytes: bytes.into(),
        })
    }
}

/// A checksum in eight hexadecimal digits.
mod crc32c {
    use alloc::string::String;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(crc: &Option<u32>, serializer: S) -> Result<S::Ok, S::Error> {
        match crc {
            Some(crc) => serializer.collect_str(&format_args!("{crc:08x}")),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u32>, D::Error> {
        let digits = Option::<String>::deserialize(deserializer)?;
        let parse = |digits: String| u32::from_str_radix(&digits, 16).map_err(de::Error::custom);
        digits.map(parse).transpose()
    }
}
