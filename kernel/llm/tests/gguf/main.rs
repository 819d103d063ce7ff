//! The GGUF reader on whole and on damaged files.

mod damage;
#[path = "../support/mod.rs"]
mod support;

use llm::gguf::{Error, Gguf, Value};
use llm::source::{ModelSource, PastEnd};
use ops::GgmlType;
use support::{Builder, kind, string};

const F32: u32 = 0;
const Q8_0: u32 = 8;

fn parse(file: &[u8]) -> Result<Gguf<'_>, Error> {
    Gguf::parse(file, file.len() as u64)
}

fn error(builder: &Builder) -> Error {
    parse(&builder.build()).unwrap_err()
}

/// A file with two tensors, the second at a distance.
fn whole() -> Builder {
    Builder::new()
        .str("general.architecture", "llama")
        .u32("answer", 42)
        .raw("small", kind::U8, &[7])
        .raw("wide", kind::U64, &(1u64 << 40).to_le_bytes())
        .raw("negative", kind::I32, &(-1i32).to_le_bytes())
        .f32("half", 0.5)
        .bool("yes", true)
        .strs("words", &["a", "", "ccc"])
        .i32s("numbers", &[1, -2])
        .tensor("first", &[4, 2], F32, 0)
        .tensor("second", &[64], Q8_0, 64)
        .data(64 + 68)
}

#[test]
fn a_whole_file_is_read() {
    for version in [2, 3] {
        let file = Builder { version, ..whole() }.build();
        let gguf = parse(&file).unwrap();
        assert_eq!(gguf.version(), version);
        assert_eq!(gguf.str("general.architecture"), Ok("llama"));
        assert_eq!((gguf.u32("answer"), gguf.u32("small")), (Ok(42), Ok(7)));
        assert_eq!(
            (gguf.f32("half"), gguf.optional_bool("yes")),
            (Ok(0.5), Ok(Some(true)))
        );
        let words: Vec<&[u8]> = gguf.array("words").unwrap().strings().unwrap().collect();
        assert_eq!(words, [b"a".as_slice(), b"", b"ccc"]);
        let numbers: Vec<Value<'_>> = gguf.array("numbers").unwrap().numbers().unwrap().collect();
        assert_eq!(format!("{numbers:?}"), "[Signed(1, I32), Signed(-2, I32)]");
        assert!(gguf.array("numbers").unwrap().strings().is_none());
        assert!(gguf.array("words").unwrap().numbers().is_none());
        assert_eq!(gguf.iter().count(), 9);

        let second = gguf.tensor("second").unwrap();
        assert_eq!((second.ggml_type, second.len_bytes), (GgmlType::Q8_0, 68));
        assert_eq!(second.offset_bytes + second.len_bytes, file.len() as u64);
        let first = gguf.tensor("first").unwrap();
        assert_eq!((first.cols(), first.rows(), first.n_elements()), (4, 2, 8));
        assert_eq!(first.dims, [4, 2]);
        assert_eq!(gguf.tensors().count(), 2);
        assert!(gguf.tensor("third").is_none());
    }
}

#[test]
fn what_a_getter_cannot_give_is_named() {
    let file = whole()
        .raw("bad text", kind::STRING, &[1, 0, 0, 0, 0, 0, 0, 0, 0xff])
        .build();
    let gguf = parse(&file).unwrap();
    let sentence = |error: Error| error.to_string();
    assert_eq!(gguf.optional_u32("absent"), Ok(None));
    assert!(sentence(gguf.u32("absent").unwrap_err()).starts_with("absent is missing"));
    assert_eq!(
        gguf.u32("wide"),
        Err(Error::OutOfRange { key: "wide".into() })
    );
    assert_eq!(
        gguf.u32("negative"),
        Err(Error::OutOfRange {
            key: "negative".into()
        })
    );
    assert!(sentence(gguf.f32("answer").unwrap_err()).contains("is of type u32, a float"));
    assert!(sentence(gguf.str("words").unwrap_err()).contains("is of type array, a string"));
    assert_eq!(
        gguf.str("bad text"),
        Err(Error::NotUtf8 {
            key: "bad text".into()
        })
    );
}

#[test]
fn a_short_window_asks_for_more_and_no_more_than_the_file_has() {
    let file = whole().build();
    let header = parse(&file).unwrap().header_len_bytes() as usize;
    for have in 0..header {
        match Gguf::parse(&file[..have], file.len() as u64) {
            Err(Error::Truncated { needed_bytes }) => {
                assert!(needed_bytes > have as u64 && needed_bytes <= header as u64);
            }
            other => panic!("{have} bytes: {other:?}"),
        }
    }
    assert!(Gguf::parse(&file[..header], file.len() as u64).is_ok());
}

#[test]
fn a_header_is_read_in_growing_windows() {
    let words: Vec<String> = (0..100_000).map(|i| format!("word {i}")).collect();
    let file = whole().strs("many", &words).build();
    let gguf = Gguf::read(&mut file.as_slice()).unwrap();
    assert_eq!(gguf.array("many").unwrap().len(), words.len());
    assert!(gguf.header_len_bytes() > 1 << 20);
}

#[test]
fn a_vocabulary_alone_is_a_file() {
    let file = Builder::new().strs("tokenizer.ggml.tokens", &["a"]).build();
    assert_eq!(parse(&file).unwrap().tensors().count(), 0);
}

/// A card that fails at a byte.
struct Failing {
    len: u64,
}

impl ModelSource for Failing {
    type Error = PastEnd;

    fn len_bytes(&self) -> u64 {
        self.len
    }

    fn read_at(&mut self, offset: u64, _: &mut [u8]) -> Result<(), PastEnd> {
        Err(PastEnd { offset })
    }
}

#[test]
fn a_failing_source_is_passed_on() {
    let error = Gguf::read(&mut Failing { len: 1 << 30 }).unwrap_err();
    let sentence = "reading the model at byte 0: past the end of the file";
    assert_eq!(error.to_string(), sentence);
}

#[test]
fn strings_are_written_as_the_format_says() {
    assert_eq!(string("ab"), [2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b']);
}
