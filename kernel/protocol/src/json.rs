//! An event as one line of JSON, without allocation. Requests are read by [`Request::parse`](crate::Request::parse).
//!
//! Numbers are the shortest decimals that read back as the same number; NaN and infinities are `null`.
//! Control characters and DEL are escaped, so that no text can steer a terminal.

use crate::event::{Answer, Event};
use crate::id::Id;
use core::fmt::{self, Display, Write};
use serde::ser::{self, Impossible, Serialize, Serializer};

/// Writes one event as an object, without a line end.
///
/// # Errors
/// Those of the sink.
pub fn write(out: &mut dyn Write, id: &Id, event: &Event<'_>) -> fmt::Result {
    value(out, &Answer { id, n: None, event })
}

/// Writes any value.
///
/// # Errors
/// Those of the sink.
pub fn value(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> fmt::Result {
    value.serialize(Json { out })
}

/// A value is being written.
struct Json<'w> {
    out: &'w mut dyn Write,
}

/// The inside of a JSON string.
fn escape(text: &str, out: &mut dyn Write) -> fmt::Result {
    let mut rest = text;
    // DEL too: a terminal would act on it.
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '\\' | '\0'..='\x1F' | '\x7F')) {
        out.write_str(&rest[..at])?;
        match rest.as_bytes()[at] {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            control => write!(out, "\\u{control:04x}")?,
        }
        rest = &rest[at + 1..];
    }
    out.write_str(rest)
}

/// Escapes what is formatted into it.
struct Escaped<'w>(&'w mut dyn Write);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(text, self.0)
    }
}

impl Json<'_> {
    fn display(self, value: impl Display) -> fmt::Result {
        write!(self.out, "{value}")
    }

    /// An integer or a finite float in Rust's own notation, which is JSON's.
    fn float(self, value: impl Display, is_finite: bool) -> fmt::Result {
        match is_finite {
            true => self.display(value),
            false => self.display("null"),
        }
    }
}

impl<'w> Serializer for Json<'w> {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = Items<'w>;
    type SerializeTuple = Items<'w>;
    type SerializeTupleStruct = Impossible<(), fmt::Error>;
    type SerializeTupleVariant = Impossible<(), fmt::Error>;
    type SerializeMap = Items<'w>;
    type SerializeStruct = Items<'w>;
    type SerializeStructVariant = Impossible<(), fmt::Error>;

    fn serialize_bool(self, v: bool) -> fmt::Result {
        self.display(v)
    }
    fn serialize_i8(self, v: i8) -> fmt::Result {
        self.display(v)
    }
    fn serialize_i16(self, v: i16) -> fmt::Result {
        self.display(v)
    }
    fn serialize_i32(self, v: i32) -> fmt::Result {
        self.display(v)
    }
    fn serialize_i64(self, v: i64) -> fmt::Result {
        self.display(v)
    }
    fn serialize_u8(self, v: u8) -> fmt::Result {
        self.display(v)
    }
    fn serialize_u16(self, v: u16) -> fmt::Result {
        self.display(v)
    }
    fn serialize_u32(self, v: u32) -> fmt::Result {
        self.display(v)
    }
    fn serialize_u64(self, v: u64) -> fmt::Result {
        self.display(v)
    }
    fn serialize_f32(self, v: f32) -> fmt::Result {
        self.float(v, v.is_finite())
    }
    fn serialize_f64(self, v: f64) -> fmt::Result {
        self.float(v, v.is_finite())
    }
    fn serialize_char(self, v: char) -> fmt::Result {
        self.collect_str(&v)
    }
    fn serialize_str(self, v: &str) -> fmt::Result {
        self.collect_str(v)
    }
    fn serialize_bytes(self, _: &[u8]) -> fmt::Result {
        Err(fmt::Error)
    }
    fn serialize_none(self) -> fmt::Result {
        self.display("null")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> fmt::Result {
        value.serialize(self)
    }
    fn serialize_unit(self) -> fmt::Result {
        self.display("null")
    }
    fn serialize_unit_struct(self, _: &'static str) -> fmt::Result {
        self.display("null")
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> fmt::Result {
        self.collect_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> fmt::Result {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> fmt::Result {
        Err(fmt::Error)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'w>, fmt::Error> {
        Items::new(self.out, '[', ']')
    }
    fn serialize_tuple(self, _: usize) -> Result<Items<'w>, fmt::Error> {
        Items::new(self.out, '[', ']')
    }
    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, fmt::Error> {
        Err(fmt::Error)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, fmt::Error> {
        Err(fmt::Error)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Items<'w>, fmt::Error> {
        Items::new(self.out, '{', '}')
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Items<'w>, fmt::Error> {
        Items::new(self.out, '{', '}')
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, fmt::Error> {
        Err(fmt::Error)
    }
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> fmt::Result {
        self.out.write_char('"')?;
        write!(Escaped(self.out), "{value}")?;
        self.out.write_char('"')
    }
}

/// An array or an object is being written.
struct Items<'w> {
    out: &'w mut dyn Write,
    is_first: bool,
    close: char,
}

impl<'w> Items<'w> {
    fn new(out: &'w mut dyn Write, open: char, close: char) -> Result<Self, fmt::Error> {
        out.write_char(open)?;
        Ok(Self {
            out,
            is_first: true,
            close,
        })
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> fmt::Result {
        if !core::mem::take(&mut self.is_first) {
            self.out.write_char(',')?;
        }
        value.serialize(Json { out: self.out })
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> fmt::Result {
        self.out.write_char(':')?;
        value.serialize(Json { out: self.out })
    }

    fn close(self) -> fmt::Result {
        self.out.write_char(self.close)
    }
}

impl ser::SerializeSeq for Items<'_> {
    type Ok = ();
    type Error = fmt::Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> fmt::Result {
        self.item(value)
    }
    fn end(self) -> fmt::Result {
        self.close()
    }
}

impl ser::SerializeTuple for Items<'_> {
    type Ok = ();
    type Error = fmt::Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> fmt::Result {
        self.item(value)
    }
    fn end(self) -> fmt::Result {
        self.close()
    }
}

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = fmt::Error;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> fmt::Result {
        self.item(key)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> fmt::Result {
        self.value(value)
    }
    fn end(self) -> fmt::Result {
        self.close()
    }
}

impl ser::SerializeStruct for Items<'_> {
    type Ok = ();
    type Error = fmt::Error;
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> fmt::Result {
        self.item(key)?;
        self.value(value)
    }
    fn end(self) -> fmt::Result {
        self.close()
    }
}
