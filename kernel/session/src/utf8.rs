//! Holds back characters that arrive in pieces.
//!
//! A token is a run of bytes, not of characters: one emoji may span three tokens. [`Utf8Stream`]
//! takes the bytes and passes on whole characters only. Bytes that can never become a character
//! are passed on as U+FFFD, exactly as [`alloc::string::String::from_utf8_lossy`] would do with
//! all bytes at once.

/// Text, or bytes that are no character.
pub type Piece<'a> = Result<&'a str, &'a [u8]>;

/// Turns a stream of bytes into a stream of valid text.
#[derive(Debug, Default, Clone)]
pub struct Utf8Stream {
    /// The beginning of a character whose end has not arrived.
    held: [u8; 4],
    len: usize,
}

impl Utf8Stream {
    /// A stream that holds nothing.
    pub const fn new() -> Self {
        Self {
            held: [0; 4],
            len: 0,
        }
    }

    /// How many bytes wait for the rest of their character (0 to 3).
    pub fn held_bytes(&self) -> usize {
        self.len
    }

    /// Takes `bytes`; hands every piece of text that became certain to `emit`, in order.
    pub fn push(&mut self, bytes: &[u8], emit: &mut dyn FnMut(&str)) {
        for &byte in bytes {
            self.push_byte(byte, &mut |piece| emit(piece.unwrap_or("\u{FFFD}")));
        }
    }

    /// Takes one byte; hands what became certain to `emit`: bytes that are no character, then a character.
    pub fn push_byte(&mut self, byte: u8, emit: &mut dyn FnMut(Piece<'_>)) {
        self.held[self.len] = byte;
        self.len += 1;
        match core::str::from_utf8(&self.held[..self.len]) {
            Ok(text) => emit(Ok(text)),
            Err(error) if error.error_len().is_none() => return,
            Err(_) if self.len == 1 => emit(Err(&[byte])),
            // The new byte does not continue what is held: that part is lost, the byte is not.
            Err(_) => {
                emit(Err(&self.held[..self.len - 1]));
                self.len = 0;
                return self.push_byte(byte, emit);
            }
        }
        self.len = 0;
    }

    /// Ends the stream: a character that never got its end is passed on as U+FFFD.
    pub fn finish(&mut self, emit: &mut dyn FnMut(&str)) {
        if self.len > 0 {
            emit("\u{FFFD}");
            self.len = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Utf8Stream;
    use proptest::prelude::*;

    fn stream(pieces: &[&[u8]]) -> String {
        let mut out = String::new();
        let mut stream = Utf8Stream::new();
        for piece in pieces {
            stream.push(piece, &mut |text| out.push_str(text));
        }
        stream.finish(&mut |text| out.push_str(text));
        out
    }

    #[test]
    fn an_emoji_over_three_tokens_is_one_character() {
        let bytes = "a🦀b".as_bytes();
        let mut seen = Vec::new();
        let mut stream = Utf8Stream::new();
        for piece in [&bytes[..2], &bytes[2..4], &bytes[4..]] {
            stream.push(piece, &mut |text| seen.push(text.to_owned()));
        }
        assert_eq!(seen, ["a", "🦀", "b"]);
        assert_eq!(stream.held_bytes(), 0);
    }

    #[test]
    fn a_cut_character_is_said_at_the_end() {
        assert_eq!(stream(&[b"ok\xF0\x9F"]), "ok\u{FFFD}");
    }

    #[test]
    fn a_refuted_lead_byte_does_not_swallow_its_follower() {
        assert_eq!(stream(&[b"\xE2", b"A"]), "\u{FFFD}A");
        assert_eq!(stream(&[b"\xE2", "é".as_bytes()]), "\u{FFFD}é");
    }

    proptest! {
        #[test]
        fn pieces_give_the_text_of_the_whole(
            pieces in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..6),
                    any::<char>().prop_map(|c| c.to_string().into_bytes()),
                    any::<char>().prop_map(|c| c.to_string().as_bytes()[..1].to_vec()),
                    prop::collection::vec(0x80u8..0xC0, 1..4),
                ],
                0..24,
            )
        ) {
            let slices: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let whole = pieces.concat();
            prop_assert_eq!(stream(&slices), String::from_utf8_lossy(&whole).into_owned());
        }

        #[test]
        fn any_cut_of_valid_text_loses_nothing(text in ".*", cut in any::<prop::sample::Index>()) {
            let bytes = text.as_bytes();
            let at = cut.index(bytes.len() + 1);
            prop_assert_eq!(stream(&[&bytes[..at], &bytes[at..]]), text);
        }
    }
}
