//! A token's id and kind.

use core::fmt;

/// Index of a token in the vocabulary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId(pub u32);

impl TokenId {
    /// The id as an index of logits or embedding rows.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// `tokenizer.ggml.token_type`, numbered as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TokenKind {
    /// Text.
    Normal = 1,
    /// What stands for text that has no token.
    Unknown = 2,
    /// A mark of the format: beginning, end, turn.
    Control = 3,
    /// Text that is always one token.
    UserDefined = 4,
    /// A hole in the numbering.
    Unused = 5,
    /// One byte, `<0x0A>`.
    Byte = 6,
}

impl TokenKind {
    pub(super) fn from_id(id: i64) -> Option<Self> {
        Some(match id {
            1 => TokenKind::Normal,
            2 => TokenKind::Unknown,
            3 => TokenKind::Control,
            4 => TokenKind::UserDefined,
            5 => TokenKind::Unused,
            6 => TokenKind::Byte,
            _ => return None,
        })
    }
}
