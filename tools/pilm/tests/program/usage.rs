//! What the program says of wrong words, and of the right ones.

use std::fs;
use std::path::Path;

use ops::GgmlType;
use pilm::quantize::TYPES;
use pilm::synth::Shape;

use super::Folder;

#[test]
fn bad_input_is_one_clear_line() {
    let folder = Folder::with_model("bad", &Shape::llama_tied(), GgmlType::Q8_0);
    let model = fs::read(folder.0.join("model.gguf")).unwrap();
    fs::write(folder.0.join("short.gguf"), &model[..model.len() - 100]).unwrap();
    fs::write(folder.0.join("other.gguf"), b"not a model at all").unwrap();
    fs::write(folder.0.join("empty.txt"), "").unwrap();
    fs::write(folder.0.join("short.txt"), "hi").unwrap();
    fs::write(
        folder.0.join("text.txt"),
        "The river ran down. ".repeat(300),
    )
    .unwrap();
    for (args, expected) in [
        (&["inspect", "none.gguf"][..], "opening none.gguf"),
        (&["generate", "short.gguf", "--prompt", "x"], "truncated"),
        (&["inspect", "other.gguf"], "not a GGUF file"),
        (
            &["logits", "model.gguf", "--ids", "1,x"],
            "\"x\" is no token id",
        ),
        (&["logits", "model.gguf", "--ids", "512"], "token 512"),
        (
            &["quantize", "model.gguf", "model.gguf", "--type", "f16"],
            "is the input",
        ),
        (
            &[
                "generate",
                "model.gguf",
                "--prompt",
                "x",
                "--temperature",
                "5.1",
            ],
            "temperature is 5.1; choose a number from 0 to 5",
        ),
        (
            &["ppl", "model.gguf", "text.txt", "--chunks", "0"],
            "--chunks must be at least 1",
        ),
        (
            &["ppl", "model.gguf", "text.txt", "--context", "513"],
            "--context must be at most 512: more positions model.gguf does not have",
        ),
        (&["ppl", "model.gguf", "empty.txt"], "empty.txt is empty"),
        (
            &["ppl", "model.gguf", "short.txt"],
            "tokens, less than one chunk of 512; choose a smaller --context",
        ),
        (
            &["synth", "o.gguf", "--shape", "qwen2", "--type", "q4_k_m"],
            "64 values, which is no multiple of the type's 256-value blocks; choose a type of smaller blocks",
        ),
    ] {
        let said = folder.refused(args);
        assert!(
            said.starts_with("pilm: ") && said.contains(expected),
            "{args:?}: {said}"
        );
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    }
}

#[test]
fn a_directory_is_no_model() {
    let folder = Folder::with_model("directory", &Shape::llama_tied(), GgmlType::Q8_0);
    fs::create_dir(folder.0.join("dir")).unwrap();
    fs::write(folder.0.join("text.txt"), "text").unwrap();
    for args in [
        "inspect dir",
        "tokenize dir x",
        "chat dir",
        "generate dir --prompt x",
        "logits dir --ids 1",
        "ppl dir text.txt",
        "quantize dir o.gguf --type f16",
    ] {
        let args: Vec<&str> = args.split(' ').collect();
        let said = folder.refused(&args);
        let expected = "pilm: opening dir: it is a directory; name the GGUF file in it\n";
        assert_eq!(said, expected, "{args:?}");
    }
}

#[test]
fn numbers_have_ranges_and_both_ends_work() {
    let folder = Folder::with_model("ranges", &Shape::llama_tied(), GgmlType::Q8_0);
    let generate = ["generate", "model.gguf", "--prompt", "x", "--max-tokens=1"];
    let logits = ["logits", "model.gguf", "--ids", "1"];
    for (args, option, range) in [
        (&generate[..], "--threads", 1..=16),
        (&logits, "--batch", 1..=4096),
        (&generate, "--speculate", 0..=7),
    ] {
        let said = |n: i32| {
            let output = folder.pilm(&[args, &[&format!("{option}={n}")]].concat());
            let said = String::from_utf8(output.stderr).unwrap();
            (output.status.success(), said)
        };
        for n in [*range.start(), *range.end()] {
            let (taken, said) = said(n);
            assert!(taken, "{option}={n}: {said}");
        }
        let beyond = [range.start() - 1, range.end() + 1].into_iter();
        for n in beyond.filter(|n| *n >= 0) {
            let (taken, said) = said(n);
            let expected = format!("{n} is not in {range:?}");
            assert!(!taken && said.contains(&expected), "{option}: {said}");
        }
    }
}

#[test]
fn synth_makes_every_type_and_lists_them() {
    let folder = Folder::with_model("synth", &Shape::llama_tied(), GgmlType::Q8_0);
    let said = folder.refused(&["synth", "o.gguf", "--shape=llama-wide", "--type=foo"]);
    let types = TYPES.map(|t| t.name().to_lowercase()).into_iter();
    for name in types.chain(["q4_k_m".into()]) {
        assert!(said.contains(&name), "{name} in {said}");
        let word = format!("--type={name}");
        folder.printed(&["synth", "o.gguf", "--shape=llama-wide", &word]);
        let shown = folder.printed(&["inspect", "o.gguf"]);
        let first = if name == "q4_k_m" { "q4_k" } else { &*name };
        let line = format!("weights      {}: ", first.to_uppercase());
        assert!(shown.contains(&line), "{line} in {shown}");
    }
    folder.printed(&["synth", "o.gguf", "--shape=llama-wide", "--type=Q8_0"]);
}

/// Every option stands in the subcommand's lines of the README, or in the sentence below them.
#[test]
fn the_readme_names_every_option() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("tools/pilm/README.md")).unwrap();
    let (lines, below) = readme
        .split_once("```\n")
        .unwrap()
        .1
        .split_once("```")
        .unwrap();
    let folder = Folder::with_model("readme", &Shape::llama_tied(), GgmlType::Q8_0);
    let commands = folder.printed(&["--help"]);
    let commands = commands
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1);
    let commands: Vec<&str> = commands
        .map_while(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        let own = lines
            .split("pilm ")
            .filter(|line| line.starts_with(&format!("{command} ")));
        let own = own.collect::<String>();
        let help = folder.printed(&[command, "--help"]);
        let listed = help
            .lines()
            .filter(|line| line.trim_start().starts_with('-'));
        let words =
            listed.flat_map(|line| line.split(|c: char| c.is_whitespace() || "[]=,".contains(c)));
        for option in words.filter(|word| word.starts_with("--") && *word != "--help") {
            let said_below = below.contains(option) && below.contains(&format!("`{command}`"));
            assert!(own.contains(option) || said_below, "{command} {option}");
        }
    }
}
