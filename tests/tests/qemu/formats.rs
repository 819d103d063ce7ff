//! A model of each architecture, weight type and tokenizer runs in the machine with the host's tokens and logits.

use ops::GgmlType::{self, BF16, F16, F32, Q1_0, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0};
use pilm::editable::Editable;
use pilm::gguf_writer::Value as Metadata;
use pilm::synth::{self, Shape, Vocabulary};
use protocol::request::{Positions, Tokenize};
use protocol::{Event, Op, Setting, event};
use std::collections::BTreeSet;
use tests::boot::{assert_clean_log, boot};
use tests::card::Card;
use tests::host;
use tests::requests::{self, crc32c, events, load, set, tokens};
use xtask::card::CardFile;

const TYPES: [GgmlType; 12] = [
    F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, Q1_0,
];
/// As files spell them in `tokenizer.ggml.pre`.
const PRE_TOKENIZERS: [&str; 5] = ["smollm", "qwen2", "llama-bpe", "gpt-2", "default"];

/// Merges of which each way of cutting allows others: runs of digits, a mark before a letter.
const TELLING_MERGES: [(&str, &str); 4] = [("1", "2"), ("12", "3"), ("123", "4"), ("(", "x")];
/// What the ways of cutting, Unicode normalisation, byte fallback and control tokens can go wrong on.
const TEXT: &str = "  Once upon a time, it's 1234 f(x), don't!!\n\n \tThe caf\u{e9} e\u{301}t\u{e9} 日本 🦀<|im_end|> </s>";

struct Model {
    name: String,
    bytes: Vec<u8>,
}

/// Qwen2 with rows of 256, the block of the K types.
fn qwen2_wide() -> Shape {
    let Shape {
        dim,
        hidden_dim,
        n_layers,
        head_dim,
        ..
    } = Shape::llama_wide();
    Shape {
        dim,
        hidden_dim,
        n_layers,
        head_dim,
        ..Shape::qwen2()
    }
}

fn of_every_type() -> Vec<Model> {
    let mut models = Vec::new();
    for shape in [Shape::llama_wide(), qwen2_wide(), Shape::qwen3_wide()] {
        let architecture = shape.architecture.name();
        for ggml_type in TYPES {
            models.push(Model {
                name: format!("{architecture}-{ggml_type:?}.gguf"),
                bytes: synth::bytes(&shape, ggml_type),
            });
        }
        let mixed = synth::write_mixed(&shape, &synth::q4_k_m, Vec::new(), &mut |_, _| ());
        models.push(Model {
            name: format!("{architecture}-Q4_K_M.gguf"),
            bytes: mixed.expect("rows of whole blocks"),
        });
    }
    models
}

fn of_every_pre_tokenizer() -> Vec<Model> {
    let shape = Shape::llama_tied();
    let Vocabulary {
        mut tokens,
        mut merges,
        ..
    } = Vocabulary::train(shape.vocab_size, shape.vocabulary);
    tokens.truncate(tokens.len() - TELLING_MERGES.len());
    merges.truncate(merges.len() - TELLING_MERGES.len());
    for (left, right) in TELLING_MERGES {
        tokens.push(format!("{left}{right}"));
        merges.push(format!("{left} {right}"));
    }
    let file = synth::bytes(&shape, F32);
    let mut model = Editable::parse(&file).expect("a sound file");
    let header = &mut model.header;
    header.set("tokenizer.ggml.tokens", Metadata::strings(&tokens));
    header.set("tokenizer.ggml.merges", Metadata::strings(&merges));
    PRE_TOKENIZERS
        .iter()
        .map(|pre| {
            model.header.set("tokenizer.ggml.pre", Metadata::str(pre));
            Model {
                name: format!("{pre}.gguf"),
                bytes: model.write(Q8_0).expect("a type that can be made"),
            }
        })
        .collect()
}

fn of_sentence_piece() -> Vec<Model> {
    let file = synth::bytes(&Shape::llama_sentence_piece(), F32);
    let mut model = Editable::parse(&file).expect("a sound file");
    [true, false]
        .into_iter()
        .map(|space| {
            let key = "tokenizer.ggml.add_space_prefix";
            model.header.set(key, Metadata::bool(space));
            Model {
                name: format!("SentencePiece-{space}.gguf"),
                bytes: model.write(Q8_0).expect("a type that can be made"),
            }
        })
        .collect()
}

#[test]
fn every_format_gives_the_tokens_and_logits_of_the_host() {
    let (types, cuts, pieces) = (
        of_every_type(),
        of_every_pre_tokenizer(),
        of_sentence_piece(),
    );
    let ids = |model: &Model| host::tokens(&model.bytes, TEXT).0;
    let ways: BTreeSet<_> = cuts.iter().chain(&pieces).map(ids).collect();
    assert_eq!(ways.len(), PRE_TOKENIZERS.len() + pieces.len());

    let models: Vec<Model> = types.into_iter().chain(cuts).chain(pieces).collect();
    let files: Vec<_> = models
        .iter()
        .map(|model| CardFile::bytes(&model.name, model.bytes.clone()))
        .collect();
    let card = Card::with(&files);
    let mut session = boot(&card);
    set(&mut session, Setting::Cores, 4usize);
    let mut checksums = BTreeSet::new();
    for Model { name, bytes } in &models {
        let (ids, prompt) = host::tokens(bytes, TEXT);
        let expected = host::checksums(bytes, &prompt, 2).pop();

        load(&mut session, name);
        let text = TEXT.to_owned();
        let op = Op::Tokenize(Tokenize {
            text,
            special: false,
        });
        let count = ids.len();
        let expected_ids = Event::Tokens(event::Tokens { count, ids });
        assert_eq!(requests::event(&mut session, op), expected_ids, "{name}");
        let op = Op::Complete(requests::text(TEXT), tokens(0), crc32c(Positions::Last));
        let (found, done) = events(&mut session, op);
        let usage = done.generated.expect("an answer's numbers").usage;
        assert_eq!(usage.prompt_tokens, prompt.len(), "{name}");
        let logits = requests::checksums(&found);
        assert_eq!(logits, [expected.expect("a prompt")], "{name}");
        println!("{name}: {} tokens, {:08x}", prompt.len(), logits[0]);
        checksums.insert(logits[0]);
    }
    // or a load that changes nothing would pass
    assert_eq!(checksums.len(), models.len());
    assert_clean_log(&mut session);
}
