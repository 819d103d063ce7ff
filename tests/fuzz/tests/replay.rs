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
fn seeds_are_as_committed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (target, seeds) in fuzz::seeds::named() {
        for (name, content) in seeds {
            let committed = fs::read(corpus.join(target).join(name)).unwrap();
            assert!(committed == content, "{target}/{name}");
        }
    }
}

#[test]
fn answers() {
    replay("answers", fuzz::answers::check);
}

#[test]
fn editor() {
    replay("editor", fuzz::editor::check);
}

#[test]
fn request() {
    replay("request", fuzz::request::check);
}

#[test]
fn tree() {
    replay("tree", fuzz::tree::check);
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
