//! A Hugging Face directory made from a synthetic model converts back to that model.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ops::GgmlType;
use pilm::architecture::Architecture;
use pilm::convert::{Source, convert};
use pilm::editable::{Editable, Tensor};
use pilm::requantize::Target;
use pilm::synth::{Shape, THINKING, Vocabulary, bytes};
use serde_json::{Value as Json, json};

/// A directory that is removed when the test ends.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("pilm-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn hf_name(name: &str) -> String {
    let Some(rest) = name.strip_prefix("blk.") else {
        return match name {
            "token_embd.weight" => "model.embed_tokens.weight",
            "output_norm.weight" => "model.norm.weight",
            "output.weight" => "lm_head.weight",
            other => panic!("{other}"),
        }
        .to_owned();
    };
    let (layer, part) = rest.split_once('.').unwrap();
    let (part, kind) = part.split_once('.').unwrap();
    let part = match part {
        "attn_norm" => "input_layernorm",
        "ffn_norm" => "post_attention_layernorm",
        "attn_q_norm" => "self_attn.q_norm",
        "attn_k_norm" => "self_attn.k_norm",
        "attn_q" => "self_attn.q_proj",
        "attn_k" => "self_attn.k_proj",
        "attn_v" => "self_attn.v_proj",
        "attn_output" => "self_attn.o_proj",
        "ffn_gate" => "mlp.gate_proj",
        "ffn_up" => "mlp.up_proj",
        "ffn_down" => "mlp.down_proj",
        other => panic!("{other}"),
    };
    format!("model.layers.{layer}.{part}.{kind}")
}

fn write_safetensors(path: &Path, tensors: &[&Tensor]) {
    let (mut table, mut data) = (BTreeMap::new(), Vec::new());
    for tensor in tensors {
        let start = data.len();
        data.extend(tensor.values.iter().flat_map(|v| v.to_le_bytes()));
        let shape: Vec<u64> = tensor.dims.iter().rev().copied().collect();
        let entry = json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()] });
        table.insert(hf_name(&tensor.name), entry);
    }
    let table = serde_json::to_vec(&table).unwrap();
    let mut file = (table.len() as u64).to_le_bytes().to_vec();
    file.extend(table);
    file.extend(data);
    fs::write(path, file).unwrap();
}

/// The model as a checkpoint of one file, or of two with an index.
fn write_directory(dir: &Path, shape: &Shape, model: &Editable, sharded: bool) {
    let mut tensors = model.tensors.clone();
    if shape.architecture == Architecture::Llama {
        // A checkpoint's rows are half-split: row `part · half + i` is GGUF row `2i + part`.
        let half = shape.head_dim / 2;
        for tensor in &mut tensors {
            if tensor.name.ends_with("attn_q.weight") || tensor.name.ends_with("attn_k.weight") {
                tensor.reorder_rows(|row| {
                    let (head, within) = (row / shape.head_dim, row % shape.head_dim);
                    head * shape.head_dim + within % half * 2 + within / half
                });
            }
        }
    }
    let all: Vec<&Tensor> = tensors.iter().collect();
    if sharded {
        let (first, second) = all.split_at(all.len() / 2);
        let mut map = BTreeMap::new();
        for (name, part) in [("a.safetensors", first), ("b.safetensors", second)] {
            write_safetensors(&dir.join(name), part);
            map.extend(part.iter().map(|t| (hf_name(&t.name), name)));
        }
        let index = json!({ "weight_map": map }).to_string();
        fs::write(dir.join("model.safetensors.index.json"), index).unwrap();
    } else {
        write_safetensors(&dir.join("model.safetensors"), &all);
    }
    let class = match shape.architecture {
        Architecture::Llama => "LlamaForCausalLM",
        Architecture::Qwen2 => "Qwen2ForCausalLM",
        Architecture::Qwen3 => "Qwen3ForCausalLM",
    };
    let config = json!({
        "architectures": [class], "hidden_act": "silu", "hidden_size": shape.dim,
        "intermediate_size": shape.hidden_dim, "num_hidden_layers": shape.n_layers,
        "num_attention_heads": shape.n_heads, "num_key_value_heads": shape.n_kv_heads,
        "head_dim": shape.head_dim, "vocab_size": shape.vocab_size,
        "max_position_embeddings": shape.max_seq_len, "rope_theta": shape.rope_theta,
        "rms_norm_eps": shape.rms_norm_eps, "tie_word_embeddings": shape.tied
    });
    fs::write(dir.join("config.json"), config.to_string()).unwrap();
    fs::write(dir.join("tokenizer.json"), tokenizer(shape).to_string()).unwrap();
    let chat = model.header.get("tokenizer.chat_template").unwrap();
    let tokenizer_config = json!({
        "bos_token": "<|im_start|>", "eos_token": { "content": "<|im_end|>" },
        "unk_token": "<|endoftext|>", "add_bos_token": false,
        "chat_template": chat.as_str().unwrap()
    });
    fs::write(
        dir.join("tokenizer_config.json"),
        tokenizer_config.to_string(),
    )
    .unwrap();
}

fn tokenizer(shape: &Shape) -> Json {
    let Vocabulary { tokens, merges, .. } = Vocabulary::train(shape.vocab_size, shape.vocabulary);
    let ids = tokens
        .iter()
        .enumerate()
        .map(|(id, token)| (token.clone(), id));
    let (added, vocab): (Vec<_>, Vec<_>) =
        ids.partition(|(token, _)| token.starts_with("<|") || THINKING.contains(&token.as_str()));
    let added: Vec<Json> = added
        .into_iter()
        .map(|(content, id)| json!({ "id": id, "content": content, "special": content.starts_with("<|") }))
        .collect();
    let byte_level = json!({ "type": "ByteLevel" });
    let split = match shape.architecture {
        Architecture::Llama => json!({ "type": "Digits", "individual_digits": true }),
        Architecture::Qwen2 | Architecture::Qwen3 => json!({ "type": "Split", "pattern": { "Regex":
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|\\s+" } }),
    };
    let vocab: BTreeMap<String, usize> = vocab.into_iter().collect();
    json!({
        "added_tokens": added,
        "pre_tokenizer": { "type": "Sequence", "pretokenizers": [split, byte_level] },
        "model": { "type": "BPE", "vocab": vocab, "merges": merges }
    })
}

fn round_trip(shape: &Shape, sharded: bool) {
    let dir = Dir::new(&format!(
        "{}-{sharded}",
        shape.name.replace([' ', ','], "-")
    ));
    let original = Editable::parse(&bytes(shape, GgmlType::F32)).unwrap();
    write_directory(&dir.0, shape, &original, sharded);
    let source = Source {
        dir: dir.0.clone(),
        tokenizer_dir: dir.0.clone(),
    };
    let target = Target {
        ggml_type: GgmlType::F32,
        pure: true,
    };
    let mut last = (0, 1);
    let file = convert(&source, target, Vec::new(), &mut |done, all| {
        last = (done, all)
    })
    .unwrap();
    assert_eq!(last.0, last.1);

    let converted = Editable::parse(&file).unwrap();
    let by_name = |model: &Editable| -> BTreeMap<String, Tensor> {
        model
            .tensors
            .iter()
            .map(|t| (t.name.clone(), t.clone()))
            .collect()
    };
    assert_eq!(by_name(&converted), by_name(&original));
    let arch = shape.architecture.name();
    for key in [
        "general.architecture",
        &format!("{arch}.block_count"),
        &format!("{arch}.context_length"),
        &format!("{arch}.attention.head_count_kv"),
        &format!("{arch}.attention.key_length"),
        &format!("{arch}.attention.layer_norm_rms_epsilon"),
        &format!("{arch}.rope.freq_base"),
        "tokenizer.ggml.model",
        "tokenizer.ggml.pre",
        "tokenizer.ggml.tokens",
        "tokenizer.ggml.token_type",
        "tokenizer.ggml.merges",
        "tokenizer.ggml.bos_token_id",
        "tokenizer.ggml.eos_token_id",
        "tokenizer.ggml.unknown_token_id",
        "tokenizer.ggml.add_bos_token",
        "tokenizer.chat_template",
    ] {
        assert_eq!(converted.header.get(key), original.header.get(key), "{key}");
    }
}

#[test]
fn llama_tied_in_one_file() {
    round_trip(&Shape::llama_tied(), false);
}

#[test]
fn llama_untied_in_two_files() {
    round_trip(&Shape::llama_untied(), true);
}

#[test]
fn qwen2_in_one_file() {
    round_trip(&Shape::qwen2(), false);
}

#[test]
fn qwen3_in_one_file() {
    round_trip(&Shape::qwen3_tied(), false);
}

#[test]
fn qwen3_untied_in_two_files() {
    round_trip(&Shape::qwen3_untied(), true);
}

#[test]
fn a_missing_tensor_and_a_stranger_are_named() {
    let shape = Shape::llama_tied();
    let original = Editable::parse(&bytes(&shape, GgmlType::F32)).unwrap();
    for (tied, named) in [
        (false, "lm_head.weight"),
        (true, "model.layers.1.mlp.up_proj.weight"),
    ] {
        let dir = Dir::new(&format!("broken-{tied}"));
        let shape = Shape {
            tied,
            ..shape.clone()
        };
        let mut model = original.clone();
        if tied {
            model.tensors.retain(|t| t.name != "blk.1.ffn_up.weight");
        }
        write_directory(&dir.0, &shape, &model, false);
        let source = Source {
            dir: dir.0.clone(),
            tokenizer_dir: dir.0.clone(),
        };
        let target = Target {
            ggml_type: GgmlType::Q8_0,
            pure: true,
        };
        let refused = convert(&source, target, Vec::new(), &mut |_, _| ()).unwrap_err();
        assert!(refused.to_string().contains(named), "{refused}");
    }
}

#[test]
fn signs_convert_to_themselves_and_nothing_else_to_signs() {
    let shape = Shape::llama_wide();
    let mut model = Editable::parse(&bytes(&shape, GgmlType::Q1_0)).unwrap();
    let dir = Dir::new("signs");
    let source = Source {
        dir: dir.0.clone(),
        tokenizer_dir: dir.0.clone(),
    };
    let target = Target {
        ggml_type: GgmlType::Q1_0,
        pure: false,
    };
    write_directory(&dir.0, &shape, &model, false);
    let file = convert(&source, target, Vec::new(), &mut |_, _| ()).unwrap();
    let converted = Editable::parse(&file).unwrap();
    assert!(
        model
            .tensors
            .iter()
            .all(|tensor| converted.tensors.contains(tensor))
    );

    model.ending_in("attn_v.weight").next().unwrap().values[300] *= 1.5;
    write_directory(&dir.0, &shape, &model, false);
    let refused = convert(&source, target, Vec::new(), &mut |_, _| ()).unwrap_err();
    assert!(refused.to_string().contains("attn_v.weight"), "{refused}");
}
