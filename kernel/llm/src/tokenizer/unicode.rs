//! The character classes of the splitting patterns, and NFC.

use alloc::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// What the patterns distinguish; every character is in exactly one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// `\p{L}`
    Letter,
    /// `\p{N}`
    Number,
    /// `\s`: Unicode's White_Space.
    Space,
    /// Anything else.
    Other,
}

pub(super) fn class(c: char) -> Class {
    match c {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Number,
        _ if c.is_whitespace() => Class::Space,
        '\0'..='\x7f' => Class::Other,
        _ => match c.general_category_group() {
            GeneralCategoryGroup::Letter => Class::Letter,
            GeneralCategoryGroup::Number => Class::Number,
            _ => Class::Other,
        },
    }
}

/// `\p{P}`
pub(super) fn is_punctuation(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Canonical composition: `e` + U+0301 becomes `é`.
pub(super) fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_general_categories() {
        for (c, expected) in [
            ('é', Class::Letter),
            ('中', Class::Letter),
            ('ª', Class::Letter),
            ('\u{2b0}', Class::Letter),
            ('ि', Class::Other),
            ('\u{301}', Class::Other),
            ('Ⓐ', Class::Other),
            ('Ⅷ', Class::Number),
            ('½', Class::Number),
            ('٣', Class::Number),
            ('\u{a0}', Class::Space),
            ('\u{3000}', Class::Space),
            ('\u{85}', Class::Space),
            ('\u{200b}', Class::Other),
            ('\u{1f}', Class::Other),
            ('_', Class::Other),
        ] {
            assert_eq!(class(c), expected, "{c:?}");
        }
    }

    #[test]
    fn nfc_composes_and_copies_only_when_it_must() {
        assert_eq!(nfc("e\u{301}"), "é");
        assert!(matches!(nfc("é"), Cow::Borrowed(_)));
    }
}
