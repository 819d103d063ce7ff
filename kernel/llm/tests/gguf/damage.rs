//! What is refused of a damaged file, and how it is told.

use llm::gguf::{self, Error};

use super::support::{Builder, kind};
use super::{F32, Q8_0, error, parse, whole};

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
