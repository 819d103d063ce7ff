//! `pilm tokenize MODEL TEXT` and `pilm tokenize MODEL --check GOLDEN`

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use llm::tokenizer::{TokenId, Tokenizer};
use serde::Deserialize;

use super::model::read_header;

/// Show the token ids of a text, or compare with stored ones.
#[derive(clap::Args)]
pub struct Args {
    /// GGUF file.
    model: PathBuf,
    /// Text to encode.
    #[arg(required_unless_present = "check")]
    text: Option<String>,
    /// Names of special tokens in the text become those tokens.
    #[arg(long)]
    special: bool,
    /// JSON file of texts and their ids (`items` with `text`, `ids`, `ids_specials_as_text`).
    #[arg(long, conflicts_with = "text")]
    check: Option<PathBuf>,
}

/// Texts with the ids that another tokenizer gave them.
#[derive(Deserialize)]
struct Golden {
    items: Vec<GoldenItem>,
}

#[derive(Deserialize)]
struct GoldenItem {
    text: String,
    /// With names of special tokens parsed.
    ids: Vec<u32>,
    /// With such names as text; the same as `ids` when absent.
    ids_specials_as_text: Option<Vec<u32>>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let name = args.model.display();
    let (gguf, _) = read_header(&args.model)?;
    let tokenizer = Tokenizer::from_gguf(&gguf).with_context(|| name.to_string())?;
    if let Some(golden) = &args.check {
        return check(&tokenizer, golden);
    }
    for id in tokenizer.encode(args.text.as_deref().unwrap_or_default(), args.special) {
        stdout::line!(
            "{:6} {:?}",
            id.0,
            String::from_utf8_lossy(tokenizer.decode_bytes(id))
        )?;
    }
    Ok(())
}

/// Compares both ways of encoding each text, and decodes the ids again.
fn check(tokenizer: &Tokenizer, path: &Path) -> Result<()> {
    let name = path.display();
    let golden = fs::read(path).with_context(|| format!("opening {name}"))?;
    let golden: Golden = serde_json::from_slice(&golden).with_context(|| name.to_string())?;
    let n = golden.items.len();
    ensure!(n > 0, "{name} has no items");
    // A file that knows the second way has it wherever the two differ.
    let knows_as_text = golden
        .items
        .iter()
        .any(|i| i.ids_specials_as_text.is_some());
    let (mut equal, mut equal_as_text, mut restored) = (0, 0, 0);
    for item in &golden.items {
        let ids = tokenizer.encode(&item.text, true);
        let as_text = tokenizer.encode(&item.text, false);
        equal += usize::from(report(&item.text, &ids, &item.ids)?);
        if knows_as_text {
            let wanted = item.ids_specials_as_text.as_ref().unwrap_or(&item.ids);
            equal_as_text += usize::from(report(&item.text, &as_text, wanted)?);
        }
        restored += usize::from(tokenizer.decode(&as_text) == item.text.as_bytes());
    }
    stdout::line!("{equal} of {n} texts have the stored ids")?;
    if knows_as_text {
        stdout::line!("{equal_as_text} of {n} with special tokens' names as text")?;
    }
    stdout::line!("{restored} of {n} decode to the same text")?;
    ensure!(
        equal == n && (equal_as_text == n || !knows_as_text),
        "ids differ from {name}"
    );
    Ok(())
}

/// Whether the ids are equal; prints the first place where they are not.
fn report(text: &str, found: &[TokenId], wanted: &[u32]) -> Result<bool, stdout::Error> {
    let found: Vec<u32> = found.iter().map(|id| id.0).collect();
    if found == wanted {
        return Ok(true);
    }
    let at = found.iter().zip(wanted).take_while(|(a, b)| a == b).count();
    let rest = |ids: &[u32]| ids.iter().skip(at).take(8).copied().collect::<Vec<u32>>();
    stdout::line!(
        "{text:?}: at {at} {:?} instead of {:?}",
        rest(&found),
        rest(wanted)
    )?;
    Ok(false)
}
