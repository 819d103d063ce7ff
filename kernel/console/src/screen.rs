//! Text to the serial line.

use crate::board::Serial;
use core::fmt::{self, Write};

/// Writes text; every `\n` goes out as CR LF. The line does not fail, so errors of `write!` to it can be
/// ignored: [`Screen::put`] and the `say!` macro do.
#[derive(Clone, Copy)]
pub struct Screen<'s> {
    serial: &'s dyn Serial,
}

impl<'s> Screen<'s> {
    /// A screen on `serial`.
    pub fn new(serial: &'s dyn Serial) -> Self {
        Self { serial }
    }

    /// Sends bytes as they are.
    pub fn raw(&self, bytes: &[u8]) {
        self.serial.write(bytes);
    }

    /// Sends text.
    pub fn put(&self, text: &str) {
        let mut lines = text.split('\n');
        self.serial.write(lines.next().unwrap_or("").as_bytes());
        for line in lines {
            self.serial.write(b"\r\n");
            self.serial.write(line.as_bytes());
        }
    }

    /// Sends text and a line end.
    pub fn line(&self, text: &str) {
        self.put(text);
        self.put("\n");
    }

    /// Sends text that a model made: control characters other than line ends and tabs are shown as `^X`,
    /// so that no answer can reprogram the terminal.
    pub fn put_untrusted(&self, text: &str) {
        let mut rest = text;
        let is_unsafe = |c: char| c.is_control() && c != '\n' && c != '\t';
        while let Some(at) = rest.find(is_unsafe) {
            self.put(&rest[..at]);
            let mut chars = rest[at..].chars();
            if let Some(control) = chars.next() {
                // C1 controls (U+0080 to U+009F) are two bytes in UTF-8; they have no caret form.
                match u8::try_from(u32::from(control)) {
                    Ok(code) if code < 0x80 => self.raw(&[b'^', code ^ 0x40]),
                    _ => self.put("\u{FFFD}"),
                }
            }
            rest = chars.as_str();
        }
        self.put(rest);
    }
}

impl Write for Screen<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text);
        Ok(())
    }
}

/// Bytes as a person reads them.
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ ..10_000 => write!(f, "{bytes} B"),
            bytes @ ..10_000_000 => write!(f, "{} kB", (bytes + 500) / 1000),
            bytes @ ..10_000_000_000 => write!(f, "{} MB", (bytes + 500_000) / 1_000_000),
            bytes => write!(f, "{:.1} GB", bytes as f64 / 1e9),
        }
    }
}

/// A number of things.
pub fn counted(n: usize, thing: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{n} {thing}{}", if n == 1 { "" } else { "s" }))
}

/// Writes to a [`Screen`], which takes everything.
macro_rules! say {
    ($screen:expr, $($arg:tt)*) => {{
        use core::fmt::Write as _;
        let mut screen = $screen;
        let _ = writeln!(screen, $($arg)*);
    }};
}
pub(crate) use say;

#[cfg(test)]
mod tests {
    use super::{Screen, Size, counted};
    use crate::board::Serial;
    use std::cell::RefCell;

    #[derive(Default)]
    struct Sink(RefCell<Vec<u8>>);
    impl Serial for Sink {
        fn read(&self) -> Option<u8> {
            None
        }
        fn write(&self, bytes: &[u8]) {
            self.0.borrow_mut().extend_from_slice(bytes);
        }
        fn wait(&self) {}
    }

    #[test]
    fn line_ends_and_control_characters() {
        let sink = Sink::default();
        let screen = Screen::new(&sink);
        screen.put("a\nb");
        say!(screen, "{}", 1);
        screen.put_untrusted("x\x1b[2Jy\u{9b}z\n\t\x7f");
        assert_eq!(
            sink.0.borrow().as_slice(),
            "a\r\nb1\r\nx^[[2Jy\u{FFFD}z\r\n\t^?".as_bytes()
        );
    }

    #[test]
    fn one_thing_has_no_s() {
        let shown = [0, 1, 2].map(|n| counted(n, "byte").to_string());
        assert_eq!(shown, ["0 bytes", "1 byte", "2 bytes"]);
    }

    #[test]
    fn sizes_have_three_digits_or_so() {
        let shown: Vec<String> = [999, 12_345, 143_400_000, 12_345_678_901]
            .map(|n| Size(n).to_string())
            .to_vec();
        assert_eq!(shown, ["999 B", "12 kB", "143 MB", "12.3 GB"]);
    }
}
