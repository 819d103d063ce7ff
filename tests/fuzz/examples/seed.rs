//! Writes the seeds: `cargo run -p fuzz --example seed FOLDER` makes FOLDER/gguf and so on.

use std::fs;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).expect("name a folder"));
    for target in ["gguf", "tokenizer", "template"] {
        fs::create_dir_all(folder.join(target))?;
    }
    for (target, seeds) in fuzz::seeds::named() {
        fs::create_dir_all(folder.join(target))?;
        for (name, content) in seeds {
            fs::write(folder.join(target).join(name), content)?;
        }
    }
    for (name, content) in fuzz::seeds::gguf() {
        fs::write(folder.join("gguf").join(name), content)?;
    }
    for (i, content) in fuzz::seeds::tokenizer().iter().enumerate() {
        fs::write(folder.join(format!("tokenizer/text{i:02}")), content)?;
    }
    let templates =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../kernel/llm/tests/templates");
    for entry in fs::read_dir(templates)? {
        let entry = entry?;
        fs::copy(
            entry.path(),
            folder.join("template").join(entry.file_name()),
        )?;
    }
    Ok(())
}
