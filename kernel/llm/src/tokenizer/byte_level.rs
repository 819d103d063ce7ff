//! GPT-2's printable stand-ins for the 256 bytes.
//!
//! A byte that is a printable character of Latin-1 stands for itself; the other 68 (controls,
//! space, 7F–A0, AD) are numbered in order from U+0100. `Ġ` (U+0120) is the space.
//!
//! Resources: `bytes_to_unicode` of GPT-2's published encoder.

/// Whether a byte's stand-in is the character of the same number.
const fn stands_for_itself(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff)
}

/// First stand-in of the bytes that do not stand for themselves.
const FIRST: u32 = 0x100;

/// The bytes that do not stand for themselves, ascending: U+0100 + i stands for `MOVED[i]`.
const MOVED: [u8; 68] = {
    let mut moved = [0; 68];
    let mut n = 0;
    let mut byte = 0;
    while byte < 256 {
        if !stands_for_itself(byte as u8) {
            moved[n] = byte as u8;
            n += 1;
        }
        byte += 1;
    }
    moved
};

/// The byte that a character stands for.
fn byte_of(c: char) -> Option<u8> {
    let code = u32::from(c);
    match u8::try_from(code) {
        Ok(byte) => stands_for_itself(byte).then_some(byte),
        Err(_) => MOVED.get((code - FIRST) as usize).copied(),
    }
}

/// Appends the bytes that a token's text stands for. `false` leaves `out` as it was: the text is
/// not of this alphabet.
pub(super) fn decode_into(text: &[u8], out: &mut alloc::vec::Vec<u8>) -> bool {
    let start = out.len();
    // Most tokens are printable ASCII, which stands for itself.
    if text.iter().all(|byte| matches!(byte, 0x21..=0x7e)) {
        out.extend_from_slice(text);
        return true;
    }
    let Ok(text) = core::str::from_utf8(text) else {
        return false;
    };
    for c in text.chars() {
        let Some(byte) = byte_of(c) else {
            out.truncate(start);
            return false;
        };
        out.push(byte);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_stand_in() {
        let mut seen = [false; 256];
        for c in (0..0x144).filter_map(char::from_u32) {
            if let Some(byte) = byte_of(c) {
                assert!(!seen[usize::from(byte)], "{byte:#x} twice");
                seen[usize::from(byte)] = true;
            }
        }
        assert_eq!(seen, [true; 256]);
        assert_eq!(byte_of('Ġ'), Some(b' '));
        assert_eq!(byte_of('Ċ'), Some(b'\n'));
        assert_eq!(byte_of('Ń'), Some(0xad));
        assert_eq!(byte_of('ł'), Some(0xa0));
        assert_eq!(byte_of(' '), None);
    }

    #[test]
    fn a_text_of_another_alphabet_is_left_alone() {
        let mut out = alloc::vec![7];
        assert!(!decode_into("Ġ▁".as_bytes(), &mut out));
        assert_eq!(out, [7]);
        assert!(decode_into("Ġhé".as_bytes(), &mut out));
        assert_eq!(out, [7, b' ', b'h', 0xe9]);
    }
}
