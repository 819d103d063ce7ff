//! The GGUF reader on whole and on damaged files.

mod support;

use llm::gguf::{self, Error, Gguf, Value};
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
fn every_truncation_is_told_with_both_lengths() {
    let file = whole().build();
    for have in 0..file.len() {
        match parse(&file[..have]) {
            Err(Error::FileTooShort {
                have_bytes,
                needed_bytes,
            }) => {
                assert_eq!(have_bytes, have as u64);
                assert!(needed_bytes > have_bytes && needed_bytes <= file.len() as u64);
            }
            other => panic!("{have} bytes: {other:?}"),
        }
    }
    let sentence = parse(&file[..100]).unwrap_err().to_string();
    assert!(
        sentence.contains("it has 100 bytes and needs"),
        "{sentence}"
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
fn wrong_beginnings_are_told_apart() {
    let starting = |magic: &[u8; 4]| Builder {
        magic: *magic,
        ..whole()
    };
    let says = |builder: &Builder, what: &str| {
        let sentence = error(builder).to_string();
        assert!(sentence.contains(what), "{sentence}");
    };
    says(&starting(b"PK\x03\x04"), "starts with \"PK\\x03\\x04\"");
    says(&starting(b"vers"), "Git LFS");
    says(&starting(b"tjgg"), "older than GGUF");
    says(
        &Builder {
            version: 1,
            ..whole()
        },
        "version 1",
    );
    says(
        &Builder {
            version: 3u32.swap_bytes(),
            ..whole()
        },
        "big-endian",
    );
    assert_eq!(
        parse(b"").unwrap_err(),
        Error::FileTooShort {
            have_bytes: 0,
            needed_bytes: 4
        }
    );
}

#[test]
fn absurd_counts_are_refused_before_anything_is_made_for_them() {
    for count in [1 << 20, u64::MAX, u64::MAX / 13 + 1] {
        let bad = error(&Builder {
            n_metadata: Some(count),
            ..whole()
        });
        assert!(
            matches!(
                bad,
                Error::CountTooLarge {
                    what: "metadata entries",
                    ..
                }
            ),
            "{bad}"
        );
        let bad = error(&Builder {
            n_tensors: Some(count),
            ..whole()
        });
        assert!(
            matches!(
                bad,
                Error::CountTooLarge {
                    what: "tensors",
                    ..
                }
            ),
            "{bad}"
        );
    }
    let array = |element: u32, len: u64| {
        let value = [element.to_le_bytes().to_vec(), len.to_le_bytes().to_vec()].concat();
        error(&whole().raw("array", kind::ARRAY, &value))
    };
    assert!(matches!(
        array(kind::U8, u64::MAX),
        Error::CountTooLarge { .. }
    ));
    assert!(matches!(
        array(kind::U64, 1 << 22),
        Error::FileTooShort { .. }
    ));
    assert!(matches!(
        array(kind::STRING, 1 << 20),
        Error::FileTooShort { .. }
    ));
    assert!(matches!(
        array(13, 0),
        Error::UnknownValueType { id: 13, .. }
    ));
    let long = u64::MAX.to_le_bytes();
    let text = error(&whole().raw("text", kind::STRING, &long));
    assert!(matches!(
        text,
        Error::StringTooLong {
            len_bytes: u64::MAX,
            ..
        }
    ));
}

#[test]
fn arrays_nest_only_so_far() {
    let mut value = [kind::U8.to_le_bytes().as_slice(), &1u64.to_le_bytes(), &[9]].concat();
    let nested = |value: &[u8]| {
        let head = [kind::ARRAY.to_le_bytes().as_slice(), &1u64.to_le_bytes()].concat();
        [head, value.to_vec()].concat()
    };
    for depth in 1..=gguf::MAX_ARRAY_NESTING + 1 {
        let file = Builder::new().raw("deep", kind::ARRAY, &value).build();
        assert_eq!(
            parse(&file).is_ok(),
            depth <= gguf::MAX_ARRAY_NESTING,
            "depth {depth}"
        );
        value = nested(&value);
    }
}

#[test]
fn damaged_metadata_is_named() {
    assert!(matches!(
        error(&whole().raw("flag", kind::BOOL, &[2])),
        Error::BadBool { .. }
    ));
    assert!(matches!(
        error(&whole().raw("odd", 99, &[])),
        Error::UnknownValueType { id: 99, .. }
    ));
    assert_eq!(
        error(&whole().u32("answer", 1)),
        Error::DuplicateKey {
            key: "answer".into()
        }
    );
    let mut builder = whole();
    builder.metadata[0][8] = 0xff;
    assert!(matches!(error(&builder), Error::NameNotUtf8 { .. }));
}

#[test]
fn alignment_is_a_power_of_two() {
    for alignment in [0, 3, 48, 1 << 21] {
        let bad = error(&whole().u32("general.alignment", alignment));
        assert_eq!(bad, Error::BadAlignment { alignment });
    }
    let builder = Builder {
        alignment: 64,
        ..whole()
    }
    .u32("general.alignment", 64);
    let file = builder.build();
    let gguf = parse(&file).unwrap();
    assert_eq!(gguf.alignment(), 64);
    assert_eq!(gguf.tensor("first").unwrap().offset_bytes % 64, 0);
    let unaligned = whole().u32("general.alignment", 128);
    assert!(matches!(
        error(&unaligned),
        Error::UnalignedTensor { alignment: 128, .. }
    ));
}

#[test]
fn damaged_tensors_are_named() {
    let with = |name: &str, dims: &[u64], type_id, offset| {
        error(&whole().tensor(name, dims, type_id, offset))
    };
    let third = || "third".to_string();
    assert_eq!(
        with("first", &[4], F32, 160),
        Error::DuplicateTensor {
            tensor: "first".into()
        }
    );
    assert_eq!(
        with("third", &[], F32, 160),
        Error::BadDims {
            tensor: third(),
            n_dims: 0
        }
    );
    assert_eq!(
        with("third", &[1; 5], F32, 160),
        Error::BadDims {
            tensor: third(),
            n_dims: 5
        }
    );
    assert_eq!(
        with("third", &[4, 0], F32, 160),
        Error::EmptyTensor { tensor: third() }
    );
    assert_eq!(
        with("third", &[4], 4, 160),
        Error::UnknownTensorType {
            tensor: third(),
            id: 4
        }
    );
    assert!(matches!(
        with("third", &[33], Q8_0, 160),
        Error::RaggedRow { row_len: 33, .. }
    ));
    assert_eq!(
        with("third", &[u64::MAX, 2], F32, 160),
        Error::ShapeOverflow { tensor: third() }
    );
    assert_eq!(
        with("third", &[1 << 62], F32, 160),
        Error::ShapeOverflow { tensor: third() }
    );
    assert_eq!(
        with("third", &[4], F32, u64::MAX - 31),
        Error::ShapeOverflow { tensor: third() }
    );
    assert!(matches!(
        with("third", &[4], F32, 33),
        Error::UnalignedTensor { offset: 33, .. }
    ));
    assert!(matches!(
        with("third", &[4], F32, 1 << 40),
        Error::FileTooShort { .. }
    ));
    assert_eq!(
        with("third", &[1], F32, 96),
        Error::OverlappingTensors {
            first: "second".into(),
            second: third()
        }
    );
    let long = "n".repeat(65);
    assert!(matches!(
        with(&long, &[4], F32, 160),
        Error::StringTooLong { max_bytes: 64, .. }
    ));
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
fn damage_anywhere_never_panics() {
    let file = whole().build();
    let mut state = 1u32;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let mut read = 0;
    for _ in 0..20_000 {
        let mut damaged = file.clone();
        for _ in 0..1 + random() % 4 {
            let at = random() as usize % damaged.len();
            damaged[at] = if random() % 2 == 0 {
                0xff
            } else {
                random() as u8
            };
        }
        if let Ok(gguf) = parse(&damaged) {
            read += 1;
            for tensor in gguf.tensors() {
                assert!(tensor.offset_bytes + tensor.len_bytes <= damaged.len() as u64);
            }
        }
    }
    assert!(
        read > 100,
        "damage to the data leaves the header whole: {read}"
    );
}

#[test]
fn strings_are_written_as_the_format_says() {
    assert_eq!(string("ab"), [2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b']);
}
