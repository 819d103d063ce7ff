//! The program, called as a person calls it, on synthetic models.

mod usage;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Output};

use ops::GgmlType;
use pilm::npy;
use pilm::perplexity::{Measured, table};
use pilm::synth::{Shape, bytes};

/// A folder with one model, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn with_model(name: &str, shape: &Shape, ggml_type: GgmlType) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("pilm-program-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("model.gguf"), bytes(shape, ggml_type)).unwrap();
        Folder(folder)
    }

    fn pilm(&self, args: &[&str]) -> Output {
        let program = env!("CARGO_BIN_EXE_pilm");
        Command::new(program)
            .args(args)
            .current_dir(&self.0)
            .output()
            .unwrap()
    }

    /// What a successful call prints.
    fn printed(&self, args: &[&str]) -> String {
        let output = self.pilm(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a failing call says.
    fn refused(&self, args: &[&str]) -> String {
        let output = self.pilm(args);
        assert!(!output.status.success(), "{args:?} succeeded");
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn inspect_shows_shape_tokenizer_and_types() {
    let folder = Folder::with_model("inspect", &Shape::qwen2(), GgmlType::Q4_1);
    let shown = folder.printed(&["inspect", "model.gguf"]);
    for expected in [
        "qwen2: 2 layers, dim 64, hidden 160, 4 heads of 16, 2 KV heads",
        "gpt2/qwen2, 512 tokens, answers end with <|endoftext|> <|im_end|>",
        "ChatML",
        "Q4_1: 15 tensors",
        "tied to the embedding",
    ] {
        assert!(shown.contains(expected), "{expected:?} in {shown}");
    }
    let all = folder.printed(&["inspect", "model.gguf", "--all"]);
    assert!(all.contains("blk.1.attn_q.bias") && all.contains("qwen2.rope.freq_base"));
}

#[test]
fn a_reader_that_leaves_ends_the_program_without_a_word() {
    let folder = Folder::with_model("closed", &Shape::llama_tied(), GgmlType::Q8_0);
    for args in [
        "inspect model.gguf",
        "tokenize model.gguf abc",
        "logits model.gguf --ids 40,300",
        "generate model.gguf --prompt abc --max-tokens 4",
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_pilm"))
            .args(args.split(' '))
            .current_dir(&folder.0)
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args}");
        assert_eq!(output.status.code(), Some(128 + 13), "{args}");
    }
}

#[test]
fn quantize_then_logits_give_the_quantized_models_checksum() {
    let folder = Folder::with_model("quantize", &Shape::llama_tied(), GgmlType::F32);
    folder.printed(&["quantize", "model.gguf", "q8.gguf", "--type", "q8_0"]);
    let expected = bytes(&Shape::llama_tied(), GgmlType::Q8_0);
    assert_eq!(fs::read(folder.0.join("q8.gguf")).unwrap(), expected);
    assert!(!folder.0.join("q8.gguf.part").exists());

    let ids = ["logits", "q8.gguf", "--ids", "40,300,41,260"];
    let one = folder.printed(&[&ids[..], &["--threads", "1", "--batch", "1"]].concat());
    let two = folder.printed(&[&ids[..], &["--threads", "2", "--out", "all.npy"]].concat());
    assert_eq!(one, two);
    assert_eq!(one.lines().count(), 5);
    let (shape, values) = npy::parse(&fs::read(folder.0.join("all.npy")).unwrap()).unwrap();
    assert_eq!(shape, [4, 512]);
    let last = ops::crc32c::crc32c_f32(&values[3 * 512..]);
    assert!(one.ends_with(&format!("logits: {last:08x}\n")), "{one}");
}

#[test]
fn generate_repeats_itself_for_a_seed() {
    let folder = Folder::with_model("generate", &Shape::llama_grouped(), GgmlType::Q8_0);
    let ask = |more: &[&str]| {
        let question = [
            "generate",
            "model.gguf",
            "--prompt",
            "Hello",
            "--max-tokens",
            "12",
        ];
        folder.printed(&[&question[..], &["--quiet"], more].concat())
    };
    let greedy = ask(&[]);
    assert_eq!(greedy, ask(&["--threads", "3"]));
    assert_eq!(greedy, ask(&["--speculate"]));
    assert_eq!(greedy, ask(&["--speculate=3"]));
    assert_eq!(greedy, ask(&["--guess=3"]));
    assert!(greedy.trim().len() > 5, "{greedy:?}");
    let drawn = ask(&["--temperature", "1", "--seed", "7"]);
    assert_eq!(drawn, ask(&["--temperature", "1", "--seed", "7"]));
    assert_ne!(drawn, ask(&["--temperature", "1", "--seed", "8"]));
    assert_ne!(greedy, ask(&["--raw"]));
}

#[test]
fn tokenize_checks_stored_ids() {
    let folder = Folder::with_model("tokenize", &Shape::llama_tied(), GgmlType::F16);
    let shown = folder.printed(&["tokenize", "model.gguf", "the core"]);
    let ids: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let golden = |ids: &str| format!(r#"{{"items":[{{"text":"the core","ids":[{ids}]}}]}}"#);
    fs::write(folder.0.join("right.json"), golden(&ids.join(","))).unwrap();
    fs::write(folder.0.join("wrong.json"), golden("1,2,3")).unwrap();
    let right = folder.printed(&["tokenize", "model.gguf", "--check", "right.json"]);
    assert!(
        right.starts_with("1 of 1 texts have the stored ids"),
        "{right}"
    );
    let wrong = folder.refused(&["tokenize", "model.gguf", "--check", "wrong.json"]);
    assert!(wrong.contains("ids differ"), "{wrong}");
}

#[test]
fn perplexity_against_itself_is_no_distance() {
    let folder = Folder::with_model("ppl", &Shape::llama_tied(), GgmlType::F32);
    fs::write(
        folder.0.join("text.txt"),
        "The river ran down from the hills. ".repeat(30),
    )
    .unwrap();
    let ppl = [
        "ppl",
        "model.gguf",
        "text.txt",
        "--context",
        "64",
        "--chunks",
        "3",
    ];
    let shown = folder.printed(&[&ppl[..], &["--base", "model.gguf"]].concat());
    assert!(
        shown.contains("3 chunks of 64") && shown.contains("over 93 tokens"),
        "{shown}"
    );
    assert!(shown.contains("same top 1   1.00000"), "{shown}");
    assert!(shown.contains("KL           0.000000"), "{shown}");
}

#[test]
fn perplexity_of_several_runs_is_a_table_and_a_file_of_chunks() {
    let folder = Folder::with_model("ppls", &Shape::llama_tied(), GgmlType::F32);
    let coarse = bytes(&Shape::llama_tied(), GgmlType::Q8_0);
    fs::write(folder.0.join("q8.gguf"), coarse).unwrap();
    let text = "The river ran down from the hills. ".repeat(30);
    fs::write(folder.0.join("text.txt"), text).unwrap();
    let ppl = [
        "ppl",
        "q8.gguf",
        "text.txt",
        "--context",
        "64",
        "--chunks",
        "2",
    ];
    let more = [
        "--kv",
        "f16,f32",
        "--beside",
        "model.gguf",
        "--base",
        "model.gguf",
    ];
    let out = ["--markdown", "--per-chunk", "chunks.csv"];
    let shown = folder.printed(&[&ppl[..], &more, &out].concat());
    for row in [
        "| model.gguf | f32 | ",
        "| q8.gguf | f16 | ",
        "| q8.gguf | f32 | ",
    ] {
        assert!(shown.contains(row), "{row} in {shown}");
    }
    assert!(
        shown.contains("| 0.000000 ± 0.000000 | 1.00000 |"),
        "{shown}"
    );
    let printed = folder.printed(&[&ppl[..], &more, &["--json"]].concat());
    let measured: Measured = serde_json::from_str(&printed).unwrap();
    assert_eq!((measured.n_chunks, measured.runs.len()), (2, 4));
    assert!(measured.noise.is_some());
    assert!(shown.ends_with(&table(&measured.runs)), "{shown}");
    let chunks = fs::read_to_string(folder.0.join("chunks.csv")).unwrap();
    let lines: Vec<&str> = chunks.lines().collect();
    // A head, and in each chunk three runs of the positions 32..=62.
    assert_eq!(lines.len(), 1 + 2 * 3);
    assert!(lines[1].starts_with("1,q8.gguf,f16,31,"), "{chunks}");
    assert!(lines[6].starts_with("2,model.gguf,f32,31,") && lines[6].ends_with(",1.000000"));
}
