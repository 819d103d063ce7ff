//! The tokenizer against Hugging Face's ids, on files that the project does not carry.
//!
//! `PILM_ORACLE=strings.json PILM_MODEL=model.gguf cargo test -p llm --test tokenizer_oracle -- --ignored`
//! where the JSON file has `items`, each with `text`, `ids` (special tokens parsed) and, where they
//! differ, `ids_specials_as_text`. A file without any of the latter says nothing about plain text.

use std::fs;

use llm::gguf::{self, Gguf};
use llm::tokenizer::Tokenizer;

#[test]
#[ignore = "needs PILM_ORACLE and PILM_MODEL"]
fn ids_equal_the_oracle() {
    let path = |name| std::env::var(name).unwrap_or_else(|_| panic!("set {name} to a file"));
    let oracle: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path("PILM_ORACLE")).unwrap()).unwrap();
    let model = fs::read(path("PILM_MODEL")).unwrap();
    let header = gguf::read_header(&mut model.as_slice()).unwrap();
    let file = Gguf::parse(&header, model.len() as u64).unwrap();
    let start = std::time::Instant::now();
    let tokenizer = Tokenizer::from_gguf(&file).unwrap();
    println!(
        "{:?} to build, {} bytes of heap",
        start.elapsed(),
        tokenizer.heap_bytes()
    );

    let ids = |value: &serde_json::Value| -> Vec<u32> {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_u64().unwrap() as u32)
            .collect()
    };
    let items = oracle["items"].as_array().unwrap();
    let has_plain = items
        .iter()
        .any(|item| item.get("ids_specials_as_text").is_some());
    let (mut failures, mut lossy) = (0, 0);
    for item in items {
        let text = item["text"].as_str().unwrap();
        let parsed = ids(&item["ids"]);
        let plain = item
            .get("ids_specials_as_text")
            .map_or_else(|| parsed.clone(), ids);
        for (parse_special, expected) in [(true, parsed), (false, plain)] {
            if !parse_special && !has_plain {
                continue;
            }
            let found = tokenizer.encode(text, parse_special);
            if found.iter().map(|id| id.0).ne(expected.iter().copied()) {
                failures += 1;
                println!(
                    "{text:?} special={parse_special}\n  found    {found:?}\n  expected {expected:?}"
                );
            }
        }
        let decoded = tokenizer.decode(&tokenizer.encode(text, false));
        if decoded != text.as_bytes() {
            lossy += 1;
            println!(
                "{text:?} comes back as {:?}",
                String::from_utf8_lossy(&decoded)
            );
        }
    }
    println!(
        "{} strings, {failures} differ, {lossy} do not come back",
        items.len()
    );
    assert!(!items.is_empty());
    assert_eq!(failures, 0);
}
