//! GGUF files made in memory, whole or damaged, and tokenizers of the fixtures.
#![allow(dead_code, reason = "every test binary uses its own part")]

use llm::gguf::Gguf;
use llm::tokenizer::Tokenizer;
use serde_json::Value;

/// Numbers of the metadata types.
pub mod kind {
    pub const U8: u32 = 0;
    pub const I32: u32 = 5;
    pub const U32: u32 = 4;
    pub const F32: u32 = 6;
    pub const BOOL: u32 = 7;
    pub const STRING: u32 = 8;
    pub const ARRAY: u32 = 9;
    pub const U64: u32 = 10;
}

/// Writes a GGUF file byte by byte; nothing is checked.
#[derive(Clone, Debug)]
pub struct Builder {
    pub magic: [u8; 4],
    pub version: u32,
    pub n_metadata: Option<u64>,
    pub n_tensors: Option<u64>,
    pub alignment: usize,
    pub metadata: Vec<Vec<u8>>,
    pub tensors: Vec<Vec<u8>>,
    pub data: Vec<u8>,
}

pub fn string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

impl Builder {
    pub fn new() -> Self {
        Builder {
            magic: *b"GGUF",
            version: 3,
            n_metadata: None,
            n_tensors: None,
            alignment: 32,
            metadata: Vec::new(),
            tensors: Vec::new(),
            data: Vec::new(),
        }
    }

    pub fn raw(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        self.metadata
            .push([string(key), kind.to_le_bytes().to_vec(), value.to_vec()].concat());
        self
    }

    pub fn u32(self, key: &str, value: u32) -> Self {
        self.raw(key, kind::U32, &value.to_le_bytes())
    }

    pub fn f32(self, key: &str, value: f32) -> Self {
        self.raw(key, kind::F32, &value.to_le_bytes())
    }

    pub fn bool(self, key: &str, value: bool) -> Self {
        self.raw(key, kind::BOOL, &[u8::from(value)])
    }

    pub fn str(self, key: &str, value: &str) -> Self {
        self.raw(key, kind::STRING, &string(value))
    }

    pub fn array(self, key: &str, element: u32, elements: &[Vec<u8>]) -> Self {
        let head = [
            element.to_le_bytes().to_vec(),
            (elements.len() as u64).to_le_bytes().to_vec(),
        ];
        self.raw(
            key,
            kind::ARRAY,
            &[head.concat(), elements.concat()].concat(),
        )
    }

    pub fn strs<T: AsRef<str>>(self, key: &str, texts: &[T]) -> Self {
        let elements: Vec<Vec<u8>> = texts.iter().map(|text| string(text.as_ref())).collect();
        self.array(key, kind::STRING, &elements)
    }

    pub fn i32s(self, key: &str, numbers: &[i32]) -> Self {
        let elements: Vec<Vec<u8>> = numbers.iter().map(|n| n.to_le_bytes().to_vec()).collect();
        self.array(key, kind::I32, &elements)
    }

    pub fn f32s(self, key: &str, numbers: &[f32]) -> Self {
        let elements: Vec<Vec<u8>> = numbers.iter().map(|n| n.to_le_bytes().to_vec()).collect();
        self.array(key, kind::F32, &elements)
    }

    /// A line of the tensor table; `offset` is relative to the data.
    pub fn tensor(mut self, name: &str, dims: &[u64], type_id: u32, offset: u64) -> Self {
        let mut line = string(name);
        line.extend((dims.len() as u32).to_le_bytes());
        line.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
        line.extend(type_id.to_le_bytes());
        line.extend(offset.to_le_bytes());
        self.tensors.push(line);
        self
    }

    pub fn data(mut self, len: usize) -> Self {
        self.data = (0..len).map(|i| i as u8).collect();
        self
    }

    pub fn without(mut self, key: &str) -> Self {
        let key = string(key);
        self.metadata.retain(|line| !line.starts_with(&key));
        self
    }

    pub fn build(&self) -> Vec<u8> {
        let mut file = self.magic.to_vec();
        file.extend(self.version.to_le_bytes());
        file.extend(
            self.n_tensors
                .unwrap_or(self.tensors.len() as u64)
                .to_le_bytes(),
        );
        file.extend(
            self.n_metadata
                .unwrap_or(self.metadata.len() as u64)
                .to_le_bytes(),
        );
        file.extend(self.metadata.concat());
        file.extend(self.tensors.concat());
        if !self.data.is_empty() {
            file.resize(file.len().next_multiple_of(self.alignment), 0);
            file.extend(&self.data);
        }
        file
    }
}

/// A file of `tests/fixtures`.
pub fn json(name: &str) -> Value {
    let text = match name {
        "bpe512-smollm.json" => include_str!("../fixtures/bpe512-smollm.json"),
        "bpe512-smollm-golden.json" => include_str!("../fixtures/bpe512-smollm-golden.json"),
        "bpe512-qwen2.json" => include_str!("../fixtures/bpe512-qwen2.json"),
        "bpe512-qwen2-golden.json" => include_str!("../fixtures/bpe512-qwen2-golden.json"),
        "sentencepiece640.json" => include_str!("../fixtures/sentencepiece640.json"),
        _ => panic!("no fixture {name}"),
    };
    serde_json::from_str(text).unwrap()
}

/// A byte-level tokenizer.json as GGUF metadata.
pub fn byte_pair_builder(name: &str, pre: &str) -> Builder {
    byte_pair_builder_with(name, pre, &[])
}

/// The same, with user-defined tokens behind the others.
pub fn byte_pair_builder_with(name: &str, pre: &str, more: &[&str]) -> Builder {
    let file = json(name);
    let model = &file["model"];
    let mut tokens: Vec<(u64, String, i32)> = model["vocab"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(text, id)| (id.as_u64().unwrap(), text.clone(), 1))
        .collect();
    for added in file["added_tokens"].as_array().unwrap() {
        let id = added["id"].as_u64().unwrap();
        tokens.retain(|token| token.0 != id);
        let kind = if added["special"].as_bool().unwrap() {
            3
        } else {
            4
        };
        tokens.push((id, added["content"].as_str().unwrap().to_string(), kind));
    }
    tokens.sort();
    let next = tokens.len() as u64;
    tokens.extend(
        (next..)
            .zip(more)
            .map(|(id, text)| (id, text.to_string(), 4)),
    );
    let merges: Vec<String> = model["merges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|merge| match merge {
            Value::Array(pair) => format!(
                "{} {}",
                pair[0].as_str().unwrap(),
                pair[1].as_str().unwrap()
            ),
            other => other.as_str().unwrap().to_string(),
        })
        .collect();
    let id = |name: &str| tokens.iter().find(|token| token.1 == name).unwrap().0 as u32;
    Builder::new()
        .str(
            "general.architecture",
            if pre == "qwen2" { "qwen2" } else { "llama" },
        )
        .str("tokenizer.ggml.model", "gpt2")
        .str("tokenizer.ggml.pre", pre)
        .strs(
            "tokenizer.ggml.tokens",
            &tokens.iter().map(|t| t.1.clone()).collect::<Vec<_>>(),
        )
        .i32s(
            "tokenizer.ggml.token_type",
            &tokens.iter().map(|t| t.2).collect::<Vec<_>>(),
        )
        .strs("tokenizer.ggml.merges", &merges)
        .u32("tokenizer.ggml.bos_token_id", id("<|im_start|>"))
        .u32("tokenizer.ggml.eos_token_id", id("<|im_end|>"))
        .bool("tokenizer.ggml.add_bos_token", false)
}

pub fn tokenizer(builder: &Builder) -> Tokenizer {
    let file = builder.build();
    Tokenizer::from_gguf(&Gguf::parse(&file, file.len() as u64).unwrap()).unwrap()
}

/// The SentencePiece vocabulary as GGUF metadata.
pub fn sentence_piece_builder() -> Builder {
    let file = json("sentencepiece640.json");
    let strings = |key: &str| -> Vec<String> {
        file[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t.as_str().unwrap().to_string())
            .collect()
    };
    let scores: Vec<f32> = file["scores"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s.as_f64().unwrap() as f32)
        .collect();
    let kinds: Vec<i32> = file["types"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kind| kind.as_i64().unwrap() as i32)
        .collect();
    Builder::new()
        .str("tokenizer.ggml.model", "llama")
        .strs("tokenizer.ggml.tokens", &strings("tokens"))
        .f32s("tokenizer.ggml.scores", &scores)
        .i32s("tokenizer.ggml.token_type", &kinds)
        .u32("tokenizer.ggml.bos_token_id", 1)
        .u32("tokenizer.ggml.eos_token_id", 2)
        .u32("tokenizer.ggml.unknown_token_id", 0)
}
