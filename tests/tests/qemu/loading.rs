//! A model of several chunks: core 0 reads while the others pack and take its checksum.

use llm::gguf::Gguf;
use ops::GgmlType;
use ops::crc32c::Crc32c;
use pilm::synth::{self, Shape};
use protocol::Setting;
use protocol::event::ErrorCode;
use protocol::facts::LoadTiming;
use std::time::Duration;
use tests::boot::{assert_clean_log, boot};
use tests::card::Card;
use tests::host;
use tests::layout::in_pieces;
use tests::requests::{info, load, load_op, prompt_checksums, refused, set};
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

/// A scale that is NaN stops a load half-way: with a checksum the file is told to be damaged, and
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
    for (name, code, reason) in [
        ("Copied.gguf", ErrorCode::Card, "CRC-32C"),
        ("Made.gguf", ErrorCode::LoadFailed, "blk.0.attn_q.weight"),
    ] {
        let error = refused(&mut pi, load_op(name));
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.contains(reason), "{error}");
    }
    assert_clean_log(&mut pi);
}

#[test]
fn a_model_in_many_pieces_is_loaded_and_told_of() {
    let model = synth::bytes(&shape(), GgmlType::Q8_0);
    let mut pi = boot(&in_pieces("Pieces.gguf", &model));
    let n = model.len().div_ceil(512);
    let line = format!(
        "Pieces.gguf lies on the card in {n} pieces, which slows its load down: copy it again"
    );
    assert_eq!(
        pi.boot_text().matches(&line).count(),
        1,
        "{}",
        pi.boot_text()
    );
    let loaded = info(&mut pi).model.expect("it is loaded");
    assert_eq!(loaded.load_pieces, Some(n));
    assert_eq!(
        prompt_checksums(&mut pi, &IDS),
        host::checksums(&model, &IDS, 2)
    );
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

    let error = refused(&mut pi, load_op("Damaged.gguf"));
    assert_eq!(error.code, ErrorCode::Card, "{error}");
    assert!(error.message.contains("CRC-32C"), "{error}");

    let expected = host::checksums(&model, &IDS, 1);
    for cores in [4usize, 2, 1] {
        set(&mut pi, Setting::Cores, cores);
        let timing = load(&mut pi, "Sound.gguf").timing;
        assert!(timing.emulated, "{timing:?}");
        let LoadTiming {
            read_s,
            pack_s,
            checksum_s,
            total_s,
            ..
        } = timing;
        let seconds = [read_s, pack_s, checksum_s, total_s];
        assert!(seconds.iter().all(|&s| s > 0.0), "{timing:?}");
        assert!(read_s < total_s, "{timing:?}");
        let found = prompt_checksums(&mut pi, &IDS);
        assert_eq!(found, expected, "loaded on {cores} cores");
    }
    pi.qemu().send_line("/info").unwrap();
    let info = pi.qemu().expect(PROMPT, REPLY).unwrap();
    assert!(info.contains("beside it packing"), "{info}");
    assert_clean_log(&mut pi);
}
