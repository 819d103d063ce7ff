//! Every file of the corpus, once.

use std::fs;
use std::path::Path;

fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let mut files = 0;
    for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        check(&fs::read(&path).unwrap());
        files += 1;
    }
    assert!(files > 0, "{} is empty", folder.display());
}

#[test]
fn card() {
    replay("card", fuzz::card::check);
}

#[test]
fn seeds_of_card_are_as_committed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/card");
    for (name, content) in fuzz::card_seeds::seeds() {
        assert!(fs::read(folder.join(name)).unwrap() == content, "{name}");
    }
}

#[test]
fn gguf() {
    replay("gguf", fuzz::gguf::check);
}

#[test]
fn tokenizer() {
    replay("tokenizer", fuzz::tokenizer::check);
}

#[test]
fn template() {
    replay("template", fuzz::template::check);
}
