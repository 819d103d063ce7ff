//! An event as one line of JSON, without allocation. Requests are read by [`Request::parse`](crate::Request::parse).
//!
//! Numbers are the shortest decimals that read back as the same number; NaN and infinities are `null`.
//! Control characters and DEL are escaped, so that no text can steer a terminal.

use crate::event::Event;
use crate::id::Id;
use core::fmt::{self, Display, Write};
use serde::ser::{self, Impossible, Serialize, Serializer};

/// Writes one event as an object, without a line end.
///
/// # Errors
/// Those of the sink.
pub fn write(out: &mut dyn Write, id: &Id, event: &Event<'_>) -> fmt::Result {
    #[derive(serde::Serialize)]
    struct Line<'l> {
        id: &'l Id,
        #[serde(flatten)]
        event: &'l Event<'l>,
    }
    value(out, &Line { id, event })
}

/// Writes any value.
///
/// # Errors
/// Those of the sink.
pub fn value(out: &mut dyn Write, value: &(impl Serialize + ?Sized)) -> fmt::Result {
    value.serialize(Json { out }).map_err(|Failed| fmt::Error)
}

/// A value is being written.
struct Json<'w> {
    out: &'w mut dyn Write,
}

/// The sink failed, or a value has no form in this JSON.
#[derive(Debug)]
struct Failed;

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value cannot be written")
    }
}

impl core::error::Error for Failed {}

impl ser::Error for Failed {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

impl From<fmt::Error> for Failed {
    fn from(_: fmt::Error) -> Self {
        Self
    }
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
    fn display(self, value: impl Display) -> Result<(), Failed> {
        Ok(write!(self.out, "{value}")?)
    }

    /// An integer or a finite float in Rust's own notation, which is JSON's.
    fn float(self, value: impl Display, is_finite: bool) -> Result<(), Failed> {
        match is_finite {
            true => self.display(value),
            false => self.display("null"),
        }
    }
}

impl<'w> Serializer for Json<'w> {
    type Ok = ();
    type Error = Failed;
    type SerializeSeq = Items<'w>;
    type SerializeTuple = Items<'w>;
    type SerializeTupleStruct = Impossible<(), Failed>;
    type SerializeTupleVariant = Impossible<(), Failed>;
    type SerializeMap = Items<'w>;
    type SerializeStruct = Items<'w>;
    type SerializeStructVariant = Impossible<(), Failed>;

    fn serialize_bool(self, v: bool) -> Result<(), Failed> {
        self.display(v)
    }
    fn serialize_i8(self, v: i8) -> Result<(), Failed> {
        self.display(v)
    }
    fn serialize_i16(self, v: i16) -> Result<(), Failed> {
        self.display(v)
    }
    fn serialize_i32(self, v: i32) -> Result<(), Failed> {
        self.display(v)
    }
    fn serialize_i64(self, v: i64) -> Result<(), Failed> {
        self.display(v)
    }
    fn serialize_u8(self, v: u8) -> Result<(), Failed> {
        self.display(v)
    }
    fn serialize_u16(self, v: u16) -> Result<(), Failed> {
        self.display(v)
    }
    fn serialize_u32(self, v: u32) -> Result<(), Failed> {
        self.display(v)
    }
    fn serialize_u64(self, v: u64) -> Result<(), Failed> {
        self.display(v)
    }
    fn serialize_f32(self, v: f32) -> Result<(), Failed> {
        self.float(v, v.is_finite())
    }
    fn serialize_f64(self, v: f64) -> Result<(), Failed> {
        self.float(v, v.is_finite())
    }
    fn serialize_char(self, v: char) -> Result<(), Failed> {
        self.collect_str(&v)
    }
    fn serialize_str(self, v: &str) -> Result<(), Failed> {
        self.collect_str(v)
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<(), Failed> {
        Err(Failed)
    }
    fn serialize_none(self) -> Result<(), Failed> {
        self.display("null")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Failed> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Failed> {
        self.display("null")
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Failed> {
        self.display("null")
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Failed> {
        self.collect_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Failed> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Failed> {
        Err(Failed)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'w>, Failed> {
        Items::new(self.out, '[', ']')
    }
    fn serialize_tuple(self, _: usize) -> Result<Items<'w>, Failed> {
        Items::new(self.out, '[', ']')
    }
    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Failed> {
        Err(Failed)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Failed> {
        Err(Failed)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Items<'w>, Failed> {
        Items::new(self.out, '{', '}')
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Items<'w>, Failed> {
        Items::new(self.out, '{', '}')
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Failed> {
        Err(Failed)
    }
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Failed> {
        self.out.write_char('"')?;
        write!(Escaped(self.out), "{value}")?;
        Ok(self.out.write_char('"')?)
    }
}

/// An array or an object is being written.
struct Items<'w> {
    out: &'w mut dyn Write,
    is_first: bool,
    close: char,
}

impl<'w> Items<'w> {
    fn new(out: &'w mut dyn Write, open: char, close: char) -> Result<Self, Failed> {
        out.write_char(open)?;
        Ok(Self {
            out,
            is_first: true,
            close,
        })
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Failed> {
        if !core::mem::take(&mut self.is_first) {
            self.out.write_char(',')?;
        }
        value.serialize(Json { out: self.out })
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Failed> {
        self.out.write_char(':')?;
        value.serialize(Json { out: self.out })
    }

    fn close(self) -> Result<(), Failed> {
        Ok(self.out.write_char(self.close)?)
    }
}

impl ser::SerializeSeq for Items<'_> {
    type Ok = ();
    type Error = Failed;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.item(value)
    }
    fn end(self) -> Result<(), Failed> {
        self.close()
    }
}

impl ser::SerializeTuple for Items<'_> {
    type Ok = ();
    type Error = Failed;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.item(value)
    }
    fn end(self) -> Result<(), Failed> {
        self.close()
    }
}

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Failed;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failed> {
        self.item(key)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.value(value)
    }
    fn end(self) -> Result<(), Failed> {
        self.close()
    }
}

impl ser::SerializeStruct for Items<'_> {
    type Ok = ();
    type Error = Failed;
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Failed> {
        self.item(key)?;
        self.value(value)
    }
    fn end(self) -> Result<(), Failed> {
        self.close()
    }
}
