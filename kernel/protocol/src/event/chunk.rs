//! Several tokens in one event.

use super::Token;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Several tokens that share a line, because the one before was still on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chunk<'a> {
    /// The tokens.
    pub tokens: Texts<'a>,
    /// Whether the model is thinking.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub thinking: bool,
}

impl Chunk<'_> {
    /// The tokens, one by one.
    pub fn iter(&self) -> impl Iterator<Item = Token<'_>> {
        self.tokens.iter().map(|(token, text)| Token {
            token,
            text: Cow::Borrowed(text),
            thinking: self.thinking,
        })
    }
}

/// Tokens with their texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Texts<'a> {
    /// Each token with the bytes of its text.
    pub ids: Cow<'a, [(u32, usize)]>,
    /// All texts, one after another.
    pub text: Cow<'a, str>,
}

impl Texts<'_> {
    fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        let mut rest = &self.text[..];
        self.ids.iter().map(move |&(id, n_bytes)| {
            let (text, after) = rest.split_at_checked(n_bytes).unwrap_or((rest, ""));
            rest = after;
            (id, text)
        })
    }
}

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Texts<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut ids, mut all) = (Vec::new(), String::new());
        for (id, text) in Vec::<(u32, String)>::deserialize(deserializer)? {
            ids.push((id, text.len()));
            all.push_str(&text);
        }
        Ok(Texts {
            ids: ids.into(),
            text: all.into(),
        })
    }
}
