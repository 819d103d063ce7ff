//! What a conversation is written of, and how it becomes token ids or text.

use alloc::string::String;
use alloc::vec::Vec;

use crate::tokenizer::{TokenId, Tokenizer};

/// A piece of a conversation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece<'t> {
    /// A mark of the format.
    Mark(&'t str),
    /// What somebody wrote, or fixed text between marks.
    Text(&'t str),
    /// The beginning of a sequence.
    Bos,
    /// The end of a sequence.
    Eos,
}

/// The token ids of `pieces`. Text is collected until the next mark and encoded in one go, because words
/// may run across the pieces; a mark that is no token is text.
pub(super) fn ids(pieces: &[Piece<'_>], tokenizer: &Tokenizer) -> Vec<TokenId> {
    let (mut ids, mut text) = (Vec::new(), String::new());
    for piece in pieces {
        let (id, otherwise) = match *piece {
            Piece::Mark(name) => (tokenizer.special(name), name),
            Piece::Text(text) => (None, text),
            Piece::Bos => (tokenizer.bos(), ""),
            Piece::Eos => (tokenizer.eos(), ""),
        };
        if let Some(id) = id {
            tokenizer.encode_into(&text, false, &mut ids);
            text.clear();
            ids.push(id);
        } else {
            text.push_str(otherwise);
        }
    }
    tokenizer.encode_into(&text, false, &mut ids);
    ids
}

/// The text of `pieces`, marks by their names.
pub(super) fn text(pieces: &[Piece<'_>], bos: &str, eos: &str) -> String {
    let texts = pieces.iter().map(|piece| match *piece {
        Piece::Mark(text) | Piece::Text(text) => text,
        Piece::Bos => bos,
        Piece::Eos => eos,
    });
    texts.collect()
}
