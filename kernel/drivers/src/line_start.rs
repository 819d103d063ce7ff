//! Whether the console's last byte ended a line: what is said in between begins one of its own.

use core::sync::atomic::{AtomicBool, Ordering};

/// Where the next byte goes: to the start of a line, or behind something.
#[derive(Debug)]
pub struct LineStart(AtomicBool);

impl LineStart {
    /// Before the first byte.
    pub const fn new() -> Self {
        Self(AtomicBool::new(true))
    }

    /// Takes note of bytes that were sent.
    pub fn sent(&self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.0.store(*last == b'\n', Ordering::Relaxed);
        }
    }

    /// What must be sent before text that stands on a line of its own.
    pub fn break_before(&self) -> &'static [u8] {
        if self.0.load(Ordering::Relaxed) {
            b""
        } else {
            b"\r\n"
        }
    }
}

impl Default for LineStart {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::LineStart;

    #[test]
    fn a_line_is_ended_before_another_one_begins() {
        let line = LineStart::new();
        assert_eq!(line.break_before(), b"");
        for (sent, expected) in [
            (&b"\rloading a.gguf: 3 MB of 5 MB   "[..], &b"\r\n"[..]),
            (b"", b"\r\n"),
            (b"\r\n", b""),
            (b"", b""),
            (b"{\"event\":\"done\"}\r\n", b""),
            (b"> ", b"\r\n"),
        ] {
            line.sent(sent);
            assert_eq!(line.break_before(), expected);
        }
    }
}
