//! The default model, once: the same bits in QEMU as on the host, with four cores and with one.

use serde_json::json;
use std::fs;
use tests::boot::boot;
use tests::card::Card;
use tests::host;
use xtask::card::{CardFile, fitting_size};
use xtask::setup::model;
use xtask::voice::Voice;

#[test]
fn the_default_model_answers_with_the_bits_of_the_host() {
    let path = model::ensure(Voice::new(true)).unwrap_or_else(|error| panic!("{error:#}"));
    let files = [CardFile::path("default.gguf", &path)];
    let card = Card::sized(fitting_size(&files).unwrap(), &files);
    let mut pi = boot(&card);

    let mut ids = Vec::new();
    let request = json!({"op": "tokenize", "text": "Gravity is a force that"});
    pi.ask_with(request, &mut |event| {
        if let Some(tokens) = event["ids"].as_array() {
            ids.extend(
                tokens
                    .iter()
                    .filter_map(|id| id.as_u64())
                    .map(|id| id as u32),
            );
        }
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
    assert!(ids.len() > 3, "{ids:?}");

    let expected = host::checksums(&fs::read(&path).unwrap(), &ids, 2);
    for cores in [4, 1] {
        for request in [
            json!({"op": "set", "key": "cores", "value": cores}),
            json!({"op": "reset"}),
        ] {
            pi.ask(request).unwrap_or_else(|error| panic!("{error:#}"));
        }
        let mut found = Vec::new();
        let request = json!({"op": "complete", "ids": ids, "max_tokens": 0,
            "logits_crc32c": true, "logits_positions": "all"});
        pi.ask_with(request, &mut |event| {
            found.extend(event["crc32c"].as_str().map(str::to_owned));
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!(found, expected, "{cores} cores");
    }
}
