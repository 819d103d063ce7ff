//! `tokenizer.json` as `tokenizer.ggml.*` keys.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::slice::from_ref;

use llm::tokenizer::TokenKind;
use serde_json::Value as Json;

use super::{Error, json, optional_json};
use crate::gguf_writer::{Header, Value};

/// Sets every tokenizer key. `vocab_size` may exceed the vocabulary: models pad their matrices.
pub(super) fn describe(
    tokenizer_dir: &Path,
    model_dir: &Path,
    vocab_size: usize,
    header: &mut Header,
) -> Result<(), Error> {
    let tokenizer = json(&tokenizer_dir.join("tokenizer.json"))?;
    let model = &tokenizer["model"];
    if model["type"].as_str().unwrap_or("BPE") != "BPE" {
        return refuse(format!("model type {} (BPE is supported)", model["type"]));
    }
    let sentencepiece = model["byte_fallback"] == true;
    let (tokens, mut types) = vocabulary(&tokenizer, vocab_size)?;
    let merges = merges(model)?;
    let mut set = |key: &str, value| header.set(format!("tokenizer.ggml.{key}"), value);
    if sentencepiece {
        for (token, kind) in tokens.iter().zip(&mut types) {
            if *kind == TokenKind::Normal && is_byte(token) {
                *kind = TokenKind::Byte;
            }
        }
        if let Some(unknown) = model["unk_token"].as_str()
            && let Some(id) = tokens.iter().position(|t| t == unknown)
        {
            types[id] = TokenKind::Unknown;
        }
        set("model", Value::str("llama"));
        set("pre", Value::str("default"));
        set("scores", Value::f32s(scores(&tokens, &merges)));
        set("add_space_prefix", Value::bool(adds_space(&tokenizer)));
    } else {
        let joined = merges.iter().map(|(left, right)| format!("{left} {right}"));
        set("model", Value::str("gpt2"));
        set("pre", Value::str(pre_tokenizer(&tokenizer)?));
        set("merges", Value::strings(joined));
        set("add_space_prefix", Value::bool(false));
    }
    let ids = tokens.iter().map(String::as_str).zip(0..).collect();
    special_ids(tokenizer_dir, model_dir, &ids, header)?;
    header.set("tokenizer.ggml.tokens", Value::strings(tokens.iter()));
    let types = types.into_iter().map(|kind| kind as i32);
    header.set("tokenizer.ggml.token_type", Value::i32s(types));
    Ok(())
}

fn refuse<T>(what: String) -> Result<T, Error> {
    Err(Error::Tokenizer { what })
}

/// Texts and types by id; ids without a token are unused.
fn vocabulary(tokenizer: &Json, vocab_size: usize) -> Result<(Vec<String>, Vec<TokenKind>), Error> {
    let mut tokens: Vec<String> = (0..vocab_size).map(|id| format!("[PAD{id}]")).collect();
    let mut types = vec![TokenKind::Unused; vocab_size];
    let mut set = |id: Option<u64>, text: &str, kind| match id {
        Some(id) if (id as usize) < vocab_size => {
            text.clone_into(&mut tokens[id as usize]);
            types[id as usize] = kind;
            Ok(())
        }
        _ => refuse(format!("token {text:?} has no id below {vocab_size}")),
    };
    let Some(vocab) = tokenizer["model"]["vocab"].as_object() else {
        return refuse("model.vocab is missing".into());
    };
    for (text, id) in vocab {
        set(id.as_u64(), text, TokenKind::Normal)?;
    }
    for added in tokenizer["added_tokens"].as_array().into_iter().flatten() {
        let kind = if added["special"] == true {
            TokenKind::Control
        } else {
            TokenKind::UserDefined
        };
        set(
            added["id"].as_u64(),
            added["content"].as_str().unwrap_or_default(),
            kind,
        )?;
    }
    Ok((tokens, types))
}

/// Merges in order: `"a b"` or `["a", "b"]` in the file.
fn merges(model: &Json) -> Result<Vec<(String, String)>, Error> {
    let Some(merges) = model["merges"].as_array() else {
        return refuse("model.merges is missing".into());
    };
    merges
        .iter()
        .map(|merge| {
            let pair = match merge.as_str() {
                Some(text) => text.split_once(' '),
                None => merge[0].as_str().zip(merge[1].as_str()),
            };
            pair.map(|(left, right)| (left.to_owned(), right.to_owned()))
                .ok_or_else(|| Error::Tokenizer {
                    what: format!("merge {merge} is no pair"),
                })
        })
        .collect()
}

/// `<0x00>` to `<0xFF>`.
fn is_byte(token: &str) -> bool {
    token
        .strip_prefix("<0x")
        .and_then(|t| t.strip_suffix('>'))
        .is_some_and(|hex| hex.len() == 2 && u8::from_str_radix(hex, 16).is_ok())
}

/// SentencePiece's scores: the earlier a token's first merge, the higher; 0 for the others.
fn scores(tokens: &[String], merges: &[(String, String)]) -> Vec<f32> {
    let mut first_merge: HashMap<String, usize> = HashMap::new();
    for (rank, (left, right)) in merges.iter().enumerate() {
        first_merge.entry(format!("{left}{right}")).or_insert(rank);
    }
    tokens
        .iter()
        .map(|t| first_merge.get(t).map_or(0.0, |rank| -(*rank as f32)))
        .collect()
}

/// Whether text gets a leading space before it is cut.
fn adds_space(tokenizer: &Json) -> bool {
    let in_normalizer = |n: &Json| n["type"] == "Prepend";
    let normalizer = &tokenizer["normalizer"];
    let parts = normalizer["normalizers"].as_array();
    let prepends = in_normalizer(normalizer) || parts.into_iter().flatten().any(in_normalizer);
    let scheme = tokenizer["pre_tokenizer"]["prepend_scheme"].as_str();
    prepends || scheme.is_some_and(|s| s != "never")
}

/// ggml's name of the splitting rule, recognised by its parts.
fn pre_tokenizer(tokenizer: &Json) -> Result<&'static str, Error> {
    let whole = &tokenizer["pre_tokenizer"];
    let parts: Vec<&Json> = match whole["pretokenizers"].as_array() {
        Some(parts) => parts.iter().collect(),
        None => vec![whole],
    };
    let kinds: Vec<&str> = parts.iter().filter_map(|p| p["type"].as_str()).collect();
    match kinds[..] {
        ["Digits", "ByteLevel"] if parts[0]["individual_digits"] == true => Ok("smollm"),
        ["ByteLevel"] => Ok("gpt-2"),
        ["Split", "ByteLevel"] => {
            let pattern = parts[0]["pattern"]["Regex"].as_str().unwrap_or_default();
            if !pattern.starts_with("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|") {
                refuse(format!("the split pattern {pattern} is not known"))
            } else if pattern.contains("|\\p{N}{1,3}|") {
                Ok("llama-bpe")
            } else if pattern.contains("|\\p{N}|") {
                Ok("qwen2")
            } else {
                refuse(format!("the split pattern {pattern} is not known"))
            }
        }
        _ => refuse(format!("the pre-tokenizer {kinds:?} is not known")),
    }
}

/// Ids of the tokens with a role, and the chat template.
fn special_ids(
    tokenizer_dir: &Path,
    model_dir: &Path,
    ids: &HashMap<&str, u32>,
    header: &mut Header,
) -> Result<(), Error> {
    let tokenizer_config =
        optional_json(&tokenizer_dir.join("tokenizer_config.json"))?.unwrap_or_default();
    let named = |key: &str| {
        let entry = &tokenizer_config[key];
        let text = entry.as_str().or(entry["content"].as_str())?;
        ids.get(text).copied()
    };
    let generation = optional_json(&model_dir.join("generation_config.json"))?.unwrap_or_default();
    let config = json(&model_dir.join("config.json"))?;
    let listed = |key: &str| -> Vec<u32> {
        let chosen = [&generation[key], &config[key]];
        let value = chosen.into_iter().find(|value| !value.is_null());
        let list = value.map_or(&[][..], |value| {
            value.as_array().map_or(from_ref(value), Vec::as_slice)
        });
        list.iter()
            .filter_map(Json::as_u64)
            .map(|id| id as u32)
            .collect()
    };
    let ends = listed("eos_token_id");
    let mut set = |key: &str, id: Option<u32>| {
        if let Some(id) = id {
            header.set(format!("tokenizer.ggml.{key}"), Value::u32(id));
        }
    };
    let end = named("eos_token").or(ends.first().copied());
    let begin = named("bos_token").or(listed("bos_token_id").first().copied());
    let other_end = ends.iter().copied().find(|id| Some(*id) != end);
    set("bos_token_id", begin);
    set("eos_token_id", end);
    set("eot_token_id", other_end);
    set("unknown_token_id", named("unk_token"));
    set("padding_token_id", named("pad_token"));
    if let Some(add) = tokenizer_config["add_bos_token"].as_bool() {
        header.set("tokenizer.ggml.add_bos_token", Value::bool(add));
    }
    let file = fs::read_to_string(tokenizer_dir.join("chat_template.jinja")).ok();
    let template = file.or(tokenizer_config["chat_template"]
        .as_str()
        .map(str::to_owned));
    if let Some(template) = template {
        header.set("tokenizer.chat_template", Value::str(&template));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{is_byte, merges, pre_tokenizer, scores};
    use serde_json::json;

    #[test]
    fn rules_are_recognised_by_their_parts() {
        let byte_level = json!({ "type": "ByteLevel", "use_regex": true });
        let digits = json!({ "type": "Digits", "individual_digits": true });
        let split = |numbers: &str| {
            let pattern = format!(
                "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{{L}}\\p{{N}}]?\\p{{L}}+|{numbers}| ?.+"
            );
            json!({ "type": "Split", "pattern": { "Regex": pattern } })
        };
        let sequence =
            |parts| json!({ "pre_tokenizer": { "type": "Sequence", "pretokenizers": parts } });
        for (tokenizer, name) in [
            (sequence(vec![digits, byte_level.clone()]), "smollm"),
            (json!({ "pre_tokenizer": byte_level.clone() }), "gpt-2"),
            (sequence(vec![split("\\p{N}"), byte_level.clone()]), "qwen2"),
            (
                sequence(vec![split("\\p{N}{1,3}"), byte_level.clone()]),
                "llama-bpe",
            ),
        ] {
            assert_eq!(pre_tokenizer(&tokenizer).unwrap(), name);
        }
        let unknown = json!({ "pre_tokenizer": { "type": "Whitespace" } });
        assert!(
            pre_tokenizer(&unknown)
                .unwrap_err()
                .to_string()
                .contains("Whitespace")
        );
    }

    #[test]
    fn merges_come_in_two_spellings() {
        let model = json!({ "merges": ["a b", ["ab", "c d"]] });
        let expected = [("a".into(), "b".into()), ("ab".into(), "c d".into())];
        assert_eq!(merges(&model).unwrap(), expected);
        assert!(merges(&json!({ "merges": ["ab"] })).is_err());
    }

    #[test]
    fn earlier_merges_score_higher() {
        let tokens = ["a", "b", "ab", "abb"].map(String::from);
        let merges = [("a".into(), "b".into()), ("ab".into(), "b".into())];
        assert_eq!(scores(&tokens, &merges), [0.0, 0.0, 0.0, -1.0]);
        assert!(is_byte("<0x0A>") && !is_byte("<0xZZ>") && !is_byte("<0x0AB>"));
    }
}
