//! Any bytes as a GGUF file.

use std::fmt::Display;

use llm::chat::ChatTemplate;
use llm::engine::LoadError;
use llm::gguf::{Error, Gguf, Value};
use llm::models::read_config;
use llm::tokenizer::{TokenId, Tokenizer};

/// A file is read or refused; what is read keeps its promises.
pub fn check(data: &[u8]) {
    let file_len = data.len() as u64;
    check_windows(data);
    let gguf = match Gguf::parse(data, file_len) {
        Ok(gguf) => gguf,
        Err(error) => {
            assert!(
                !matches!(error, Error::Truncated { .. }),
                "all bytes were there"
            );
            return check_sentence(&error);
        }
    };
    let mut places: Vec<(u64, u64)> = Vec::new();
    for tensor in gguf.tensors() {
        let end = tensor.offset_bytes + tensor.len_bytes;
        assert!(end <= file_len && tensor.offset_bytes.is_multiple_of(gguf.alignment()));
        assert!(tensor.cols() * tensor.rows() == tensor.n_elements());
        assert_eq!(gguf.tensor(&tensor.name), Some(tensor));
        places.push((tensor.offset_bytes, end));
    }
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    for (key, value) in gguf.iter() {
        assert!(gguf.get(key).is_some());
        if let Value::Array(array) = value {
            let strings = array.strings().map_or(0, Iterator::count);
            let numbers = array.numbers().map_or(0, Iterator::count);
            assert!(strings + numbers == array.len() || strings + numbers == 0);
        }
    }
    match read_config(&gguf) {
        Ok(config) => assert!(config.n_heads.is_multiple_of(config.n_kv_heads)),
        Err(error) => check_sentence(&error),
    }
    if let Err(error) = ChatTemplate::from_gguf(&gguf) {
        check_sentence(&error);
    }
    match Tokenizer::from_gguf(&gguf) {
        Ok(tokenizer) => check_tokenizer(&tokenizer),
        Err(error) => check_sentence(&error),
    }
}

/// A part of the file asks for more, or says the same as the whole.
fn check_windows(data: &[u8]) {
    let file_len = data.len() as u64;
    let whole = Gguf::parse(data, file_len);
    for len in [
        0,
        data.len() / 3,
        data.len() / 2,
        data.len().saturating_sub(1),
    ] {
        match Gguf::parse(&data[..len], file_len) {
            Err(Error::Truncated { needed_bytes }) => {
                assert!(needed_bytes > len as u64 && needed_bytes <= file_len);
            }
            Err(error) => assert_eq!(Some(&error), whole.as_ref().err()),
            Ok(gguf) => assert_eq!(
                Some(gguf.header_len_bytes()),
                whole.as_ref().ok().map(Gguf::header_len_bytes)
            ),
        }
    }
    let mut source = data;
    match (Gguf::read(&mut source), whole) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(found.header_len_bytes(), expected.header_len_bytes());
            assert!(found.tensors().eq(expected.tensors()));
            // NaN is not equal to itself.
            let shown = |gguf: &Gguf<'_>| format!("{:?}", gguf.iter().collect::<Vec<_>>());
            assert_eq!(shown(&found), shown(&expected));
        }
        (Err(LoadError::Gguf(found)), Err(expected)) => assert_eq!(found, expected),
        (found, _) => panic!("{found:?} is not what parsing gives"),
    }
}

fn check_tokenizer(tokenizer: &Tokenizer) {
    let text = "Hello, world! 1234 <s> é\u{301}\n\n  x";
    for parse_special in [false, true] {
        for id in tokenizer.encode(text, parse_special) {
            assert!(id.index() < tokenizer.vocab_size());
        }
    }
    for id in [0, 1, tokenizer.vocab_size() as u32, u32::MAX] {
        tokenizer.decode_bytes(TokenId(id));
    }
    assert!(tokenizer.eog_ids().iter().all(|id| tokenizer.is_eog(*id)));
}

/// An error is one line of printable text, whatever the file's names hold.
fn check_sentence(error: &dyn Display) {
    let sentence = error.to_string();
    assert!(!sentence.is_empty());
    assert!(!sentence.contains(char::is_control), "{sentence:?}");
}
