//! JSON out: straight to the sink, without allocation.

use super::Id;
use core::fmt::{self, Write};

/// Something that can stand in a JSON text.
pub trait Value {
    /// Writes it.
    ///
    /// # Errors
    /// Those of the sink.
    fn write(&self, out: &mut dyn Write) -> fmt::Result;
}

macro_rules! display_value {
    ($($type:ty),*) => {
        $(impl Value for $type {
            fn write(&self, out: &mut dyn Write) -> fmt::Result {
                write!(out, "{self}")
            }
        })*
    };
}
display_value!(bool, u8, u16, u32, u64, usize, i32, i64);

macro_rules! float_value {
    ($($type:ty),*) => {
        $(impl Value for $type {
            /// The shortest text that reads back as the same number; JSON has no NaN and no infinity.
            fn write(&self, out: &mut dyn Write) -> fmt::Result {
                if self.is_finite() { write!(out, "{self}") } else { out.write_str("null") }
            }
        })*
    };
}
float_value!(f32, f64);

impl Value for str {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        out.write_char('"')?;
        escape(self, out)?;
        out.write_char('"')
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

impl Value for Id {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        match self {
            Self::None => out.write_str("null"),
            Self::Number(number) => number.write(out),
            Self::Text(text) => text.as_str().write(out),
        }
    }
}

impl<T: Value + ?Sized> Value for &T {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        (**self).write(out)
    }
}

impl<T: Value> Value for Option<T> {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        match self {
            Some(value) => value.write(out),
            None => out.write_str("null"),
        }
    }
}

/// Text that is formatted on the way.
impl Value for fmt::Arguments<'_> {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        struct Escaped<'a>(&'a mut dyn Write);
        impl Write for Escaped<'_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                escape(text, self.0)
            }
        }
        out.write_char('"')?;
        Escaped(out).write_fmt(*self)?;
        out.write_char('"')
    }
}

/// An object in the making.
pub struct Object<'w> {
    out: &'w mut dyn Write,
    is_first: bool,
    result: fmt::Result,
}

impl<'w> Object<'w> {
    /// Writes one object whose fields `fill` adds.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write(out: &'w mut dyn Write, fill: impl FnOnce(&mut Object<'_>)) -> fmt::Result {
        out.write_char('{')?;
        let mut object = Object {
            out,
            is_first: true,
            result: Ok(()),
        };
        fill(&mut object);
        object.result?;
        object.out.write_char('}')
    }

    fn named(&mut self, name: &str, value: impl FnOnce(&mut dyn Write) -> fmt::Result) {
        let comma = if core::mem::take(&mut self.is_first) {
            ""
        } else {
            ","
        };
        self.result = self.result.and_then(|()| {
            self.out.write_str(comma)?;
            name.write(self.out)?;
            self.out.write_char(':')?;
            value(self.out)
        });
    }

    /// Adds a field.
    pub fn field(&mut self, name: &str, value: impl Value) -> &mut Self {
        self.named(name, |out| value.write(out));
        self
    }

    /// Adds an object.
    pub fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        self.named(name, |out| Object::write(out, fill));
        self
    }

    /// Adds an array.
    pub fn array(&mut self, name: &str, fill: impl FnOnce(&mut Array<'_>)) -> &mut Self {
        self.named(name, |out| Array::write(out, fill));
        self
    }
}

/// An array in the making.
pub struct Array<'w> {
    out: &'w mut dyn Write,
    is_first: bool,
    result: fmt::Result,
}

impl<'w> Array<'w> {
    fn write(out: &'w mut dyn Write, fill: impl FnOnce(&mut Array<'_>)) -> fmt::Result {
        out.write_char('[')?;
        let mut array = Array {
            out,
            is_first: true,
            result: Ok(()),
        };
        fill(&mut array);
        array.result?;
        array.out.write_char(']')
    }

    fn next(&mut self, value: impl FnOnce(&mut dyn Write) -> fmt::Result) {
        let comma = if core::mem::take(&mut self.is_first) {
            ""
        } else {
            ","
        };
        self.result = self.result.and_then(|()| {
            self.out.write_str(comma)?;
            value(self.out)
        });
    }

    /// Adds a value.
    pub fn push(&mut self, value: impl Value) -> &mut Self {
        self.next(|out| value.write(out));
        self
    }

    /// Adds an object.
    pub fn object(&mut self, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        self.next(|out| Object::write(out, fill));
        self
    }

    /// Adds an array.
    pub fn array(&mut self, fill: impl FnOnce(&mut Array<'_>)) -> &mut Self {
        self.next(|out| Array::write(out, fill));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, Object};
    use proptest::prelude::*;

    fn text(fill: impl FnOnce(&mut Object<'_>)) -> String {
        let mut out = String::new();
        Object::write(&mut out, fill).expect("a String takes everything");
        out
    }

    #[test]
    fn fields_arrays_and_objects_nest() {
        let written = text(|o| {
            o.field("id", Id::Number(7))
                .field("none", Id::None)
                .object("usage", |o| {
                    o.field("n", 3usize).field("ok", true);
                });
            o.array("top", |a| {
                a.array(|a| {
                    a.push(1u32).push(-0.5f32);
                });
                a.object(|_| {});
            });
            o.field("bad", f32::NAN)
                .field("said", format_args!("a{}b", '"'));
        });
        assert_eq!(
            written,
            r#"{"id":7,"none":null,"usage":{"n":3,"ok":true},"top":[[1,-0.5],{}],"bad":null,"said":"a\"b"}"#
        );
    }

    proptest! {
        #[test]
        fn strings_and_numbers_read_back(s in any::<String>(), x in any::<f32>(), y in any::<f64>()) {
            let written = text(|o| {
                o.field("s", s.as_str()).field("x", x).field("y", y).field("f", format_args!("{s}"));
            });
            prop_assert!(!written.bytes().any(|b| b < 0x20 || b == 0x7F), "one line, nothing a terminal acts on");
            let value: serde_json::Value = serde_json::from_str(&written).expect("JSON");
            prop_assert_eq!(value["s"].as_str(), Some(s.as_str()));
            prop_assert_eq!(value["f"].as_str(), Some(s.as_str()));
            if x.is_finite() {
                prop_assert_eq!(value["x"].as_f64().map(|v| v as f32), Some(x));
            }
            if y.is_finite() {
                // The reader of this test rounds, by a step of the smallest numbers too.
                let step = (y.abs() * 1e-15).max(f64::from_bits(2));
                prop_assert!((value["y"].as_f64().unwrap_or(f64::NAN) - y).abs() <= step);
            }
        }
    }
}
