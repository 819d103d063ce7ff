//! A model of several chunks: core 0 reads while the others pack and take its checksum.

use llm::gguf::Gguf;
use ops::GgmlType;
use ops::crc32c::Crc32c;
use pilm::synth::{self, Shape};
use serde_json::{Value, json};
use std::time::Duration;
use tests::boot::{assert_clean_log, boot};
use tests::card::Card;
use tests::host;
use xtask::card::CardFile;
use xtask::session::PROMPT;

/// Three chunks and a bit.
fn shape() -> Shape {
    Shape {
        dim: 256,
        hidden_dim: 768,
        n_layers: 4,
        ..Shape::llama_wide()
    }
}

const IDS: [u32; 4] = [5, 6, 7, 300];
const REPLY: Duration = Duration::from_secs(20);

/// A scale that is no number stops a load half-way: with a checksum the file is told to be damaged, and
/// without one what is wrong in it.
#[test]
fn damage_that_stops_a_load_is_told_from_a_file_badly_made() {
    let mut model = synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0);
    let mut crc = Crc32c::new();
    crc.update(&model);
    let gguf = Gguf::parse(&model, model.len() as u64).expect("a sound header");
    let tensor = gguf.tensor("blk.0.attn_q.weight").expect("a layer");
    let scale = tensor.offset_bytes as usize;
    model[scale..scale + 2].copy_from_slice(&0x7C00u16.to_le_bytes());
    let card = Card::with(&[
        CardFile::bytes("Copied.gguf", model.clone()),
        CardFile::bytes("Copied.gguf.crc32c", format!("{:08x}\n", crc.value())),
        CardFile::bytes("Made.gguf", model),
    ]);
    let mut pi = boot(&card);
    let mut refused = |name| {
        pi.ask(json!({"op": "load", "name": name}))
            .expect_err("it has an infinite scale")
            .to_string()
    };
    let copied = refused("Copied.gguf");
    assert!(copied.contains("CRC-32C"), "{copied}");
    let made = refused("Made.gguf");
    assert!(made.contains("blk.0.attn_q.weight"), "{made}");
    assert_clean_log(&mut pi);
}

#[test]
fn four_cores_pack_and_check_what_the_first_one_reads() {
    let model = synth::bytes(&shape(), GgmlType::F16);
    assert!(model.len() > 6 << 20, "{} bytes", model.len());
    let mut damaged = model.clone();
    // In a weight of the last chunk: it stays a number, and only the checksum shows it.
    let at = model.len() - 40_001;
    damaged[at - at % 2] ^= 1;
    let mut crc = Crc32c::new();
    crc.update(&model);
    let checksum = format!("{:08x}\n", crc.value());
    let card = Card::with(&[
        CardFile::bytes("Damaged.gguf", damaged),
        CardFile::bytes("Damaged.gguf.crc32c", checksum.clone()),
        CardFile::bytes("Sound.gguf", model.clone()),
        CardFile::bytes("Sound.gguf.crc32c", checksum),
    ]);
    let mut pi = boot(&card);

    let refused = pi
        .ask(json!({"op": "load", "name": "Damaged.gguf"}))
        .expect_err("its checksum is another")
        .to_string();
    assert!(refused.contains("CRC-32C"), "{refused}");

    let expected = host::checksums(&model, &IDS, 1);
    for cores in [4, 2, 1] {
        pi.ask(json!({"op": "set", "key": "cores", "value": cores}))
            .unwrap_or_else(|error| panic!("{error:#}"));
        let mut loaded = Value::Null;
        let request = json!({"op": "load", "name": "Sound.gguf"});
        pi.ask_with(request, &mut |event| {
            if event["event"] == "loaded" {
                loaded = event.clone();
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error:#}"));
        let timing = &loaded["timing"];
        assert_eq!(timing["emulated"], true, "{loaded}");
        let seconds = ["read_s", "pack_s", "checksum_s", "total_s"];
        let seconds = seconds.map(|part| timing[part].as_f64().unwrap_or_default());
        assert!(seconds.iter().all(|&s| s > 0.0), "{loaded}");
        assert!(seconds[0] < seconds[3], "{loaded}");

        let mut found = Vec::new();
        let request = json!({"op": "complete", "ids": IDS, "max_tokens": 0,
            "logits_crc32c": true, "logits_positions": "all"});
        pi.ask_with(request, &mut |event| {
            found.extend(event["crc32c"].as_str().map(str::to_owned));
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!(found, expected, "loaded on {cores} cores");
    }
    pi.qemu().send_line("/info").unwrap();
    let info = pi.qemu().expect(PROMPT, REPLY).unwrap();
    assert!(info.contains("beside it packing"), "{info}");
    assert_clean_log(&mut pi);
}
