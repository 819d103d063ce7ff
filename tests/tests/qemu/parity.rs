//! The firmware computes the bits that the host computes, with any number of cores and in any batch.

use ops::GgmlType;
use pilm::synth::{self, Shape};
use protocol::request::Positions;
use protocol::{Event, Op, Setting};
use tests::boot::{assert_clean_log, boot};
use tests::card::Card;
use tests::host;
use tests::requests::{
    checksums, crc32c, events, ids, likeliest, load, prompt_checksums, reset, set,
};
use xtask::card::CardFile;

/// Long enough for two blocks of attention and for batches that are not whole.
const PROMPT_TOKENS: u32 = 75;
/// Decoded one by one.
const DECODED_TOKENS: usize = 12;

struct Model {
    name: String,
    bytes: Vec<u8>,
}

fn models() -> Vec<Model> {
    let shapes = [
        (Shape::llama_grouped(), GgmlType::Q8_0),
        (Shape::llama_tied(), GgmlType::F32),
        (Shape::llama_untied(), GgmlType::F16),
        (Shape::qwen2(), GgmlType::Q8_0),
        (Shape::qwen3_tied(), GgmlType::Q8_0),
        (Shape::qwen3_untied(), GgmlType::F16),
        (Shape::qwen3_wide(), GgmlType::Q1_0),
    ];
    shapes
        .into_iter()
        .enumerate()
        .map(|(i, (shape, ggml_type))| Model {
            name: format!("m{i}.gguf"),
            bytes: synth::bytes(&shape, ggml_type),
        })
        .collect()
}

/// Any ids that every tiny vocabulary has.
fn prompt() -> Vec<u32> {
    (0..PROMPT_TOKENS).map(|i| 5 + (i * 37) % 400).collect()
}

#[test]
fn logits_are_those_of_the_host_with_one_to_four_cores() {
    let models = models();
    let files: Vec<_> = models
        .iter()
        .map(|model| CardFile::bytes(&model.name, model.bytes.clone()))
        .collect();
    let card = Card::with(&files);
    let mut session = boot(&card);
    let ids = prompt();
    for model in &models {
        let expected = host::checksums(&model.bytes, &ids, 2);
        assert_eq!(expected.len(), ids.len());
        load(&mut session, &model.name);
        for cores in 1..=4usize {
            set(&mut session, Setting::Cores, cores);
            reset(&mut session);
            let found = prompt_checksums(&mut session, &ids);
            assert_eq!(found, expected, "{} on {cores} cores", model.name);
        }
    }
    assert_clean_log(&mut session);
}

#[test]
fn tokens_one_by_one_give_the_logits_of_a_batch() {
    let model = synth::bytes(&Shape::llama_grouped(), GgmlType::Q8_0);
    let card = Card::with_model(&Shape::llama_grouped(), GgmlType::Q8_0);
    let mut session = boot(&card);
    let start = &prompt()[..3];
    let op = Op::Complete(
        ids(start),
        likeliest(DECODED_TOKENS),
        crc32c(Positions::Last),
    );
    let (events, _) = events(&mut session, op);
    let one_by_one = checksums(&events);
    let tokens = events.iter().filter_map(|event| match event {
        Event::Token(token) => Some(token.token),
        _ => None,
    });
    let tokens: Vec<_> = tokens.collect();
    assert_eq!(tokens.len(), DECODED_TOKENS);
    assert_eq!(one_by_one.len(), DECODED_TOKENS);

    let mut all = start.to_vec();
    all.extend(&tokens[..DECODED_TOKENS - 1]);
    reset(&mut session);
    let batch = prompt_checksums(&mut session, &all);
    assert_eq!(batch[start.len() - 1..], one_by_one);
    assert_eq!(batch, host::checksums(&model, &all, 1));
}
