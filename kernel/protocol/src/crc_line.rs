//! Lines that carry their checksum: the text, ` #`, and the CRC-32C of the text in 8 hexadecimal digits.
//!
//! The arithmetic is handed in ([`Extend`]; `ops::crc32c::extend` is it), so that this room needs none of its own.

use crate::event::{Answer, Event};
use crate::id::Id;
use crate::json;
use core::fmt::{self, Write};

/// The CRC-32C of bytes (`crc`; of none it is 0) followed by `more`.
pub type Extend = fn(crc: u32, more: &[u8]) -> u32;

/// Bytes that a checksum adds to a line.
pub const SUFFIX_BYTES: usize = 10;

/// The text of a line and the checksum behind it, if there is one.
pub fn split(line: &[u8]) -> Option<(&[u8], u32)> {
    let (text, suffix) = line.split_last_chunk::<SUFFIX_BYTES>()?;
    let digits = suffix.strip_prefix(b" #")?;
    // The parser of numbers takes a sign too.
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digits = core::str::from_utf8(digits).ok()?;
    Some((text, u32::from_str_radix(digits, 16).ok()?))
}

/// A line that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked<'l> {
    /// The line without its checksum.
    pub text: &'l [u8],
    /// Whether it had one.
    pub has_crc: bool,
}

/// Why a line is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadCrc {
    /// The checksum is that of another text.
    #[error("the line was damaged: its CRC-32C is {found:08x} and not {stated:08x}; send it again")]
    Wrong {
        /// The checksum behind the text.
        stated: u32,
        /// That of the text.
        found: u32,
    },
    /// There is none, and lines with one have come before.
    #[error(
        "the line has no CRC-32C and lines before it had one: send it with one, or `reset` first"
    )]
    Missing,
}

/// Tells which lines are taken: all without a checksum until one with a right one has come, then none.
#[derive(Debug, Clone)]
pub struct LineCheck {
    extend: Extend,
    is_required: bool,
}

impl LineCheck {
    /// A check that takes lines without a checksum.
    pub const fn new(extend: Extend) -> Self {
        Self {
            extend,
            is_required: false,
        }
    }

    /// Whether lines without a checksum are refused.
    pub fn is_required(&self) -> bool {
        self.is_required
    }

    /// Looks at a line.
    ///
    /// # Errors
    /// [`BadCrc`]: it is not to be taken.
    pub fn check<'l>(&self, line: &'l [u8]) -> Result<Checked<'l>, BadCrc> {
        let Some((text, stated)) = split(line) else {
            return match self.is_required {
                true => Err(BadCrc::Missing),
                false => Ok(Checked {
                    text: line,
                    has_crc: false,
                }),
            };
        };
        let found = (self.extend)(0, text);
        if found != stated {
            return Err(BadCrc::Wrong { stated, found });
        }
        Ok(Checked {
            text,
            has_crc: true,
        })
    }

    /// Takes a line; from the first one with a checksum on, those without are refused.
    ///
    /// # Errors
    /// As [`LineCheck::check`].
    pub fn take<'l>(&mut self, line: &'l [u8]) -> Result<Checked<'l>, BadCrc> {
        let checked = self.check(line)?;
        self.is_required |= checked.has_crc;
        Ok(checked)
    }

    /// Takes lines without a checksum again.
    pub fn reset(&mut self) {
        self.is_required = false;
    }
}

/// Takes the checksum of what is written through it.
pub struct CrcWriter<'w> {
    out: &'w mut dyn Write,
    extend: Extend,
    crc: u32,
}

impl<'w> CrcWriter<'w> {
    /// At the beginning of a line on `out`.
    pub fn new(out: &'w mut dyn Write, extend: Extend) -> Self {
        Self {
            out,
            extend,
            crc: 0,
        }
    }

    /// Writes the checksum; the line then has everything but its end.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(self) -> fmt::Result {
        write!(self.out, " #{:08x}", self.crc)
    }
}

impl Write for CrcWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.crc = (self.extend)(self.crc, text.as_bytes());
        self.out.write_str(text)
    }
}

/// Writes the event `n` of an answer with its number and its checksum, without a line end.
///
/// # Errors
/// Those of the sink.
pub fn write(
    out: &mut dyn Write,
    extend: Extend,
    id: &Id,
    n: u32,
    event: &Event<'_>,
) -> fmt::Result {
    let mut line = CrcWriter::new(out, extend);
    let n = Some(n);
    json::value(&mut line, &Answer { id, n, event })?;
    line.finish()
}
