//! Every generation of kernels on the board's processor: its bits, and its measurement.

use ops::GgmlType;
use ops::matrix::Kernels;
use pilm::synth::{self, Shape};
use protocol::event::Finish;
use protocol::request::{self, Positions};
use protocol::settings::KernelSet;
use protocol::{Event, Op, Setting};
use tests::boot::{assert_clean_log, boot, machine, session};
use tests::card::{Card, MODEL};
use tests::host;
use tests::requests::{self, crc32c, events, info, likeliest, load, reset, set};
use xtask::card::CardFile;
use xtask::session::Session;

/// Batches that are not whole, and a last tile that is not.
const PROMPT_TOKENS: u32 = 39;

fn ids() -> Vec<u32> {
    (0..PROMPT_TOKENS).map(|i| 5 + (i * 37) % 400).collect()
}

/// The checksum after the prompt, worked in at once, and after each token that follows.
fn checksums(pi: &mut Session) -> Vec<u32> {
    reset(pi);
    let prompt = requests::ids(&ids());
    let op = Op::Complete(prompt, likeliest(4), crc32c(Positions::Last));
    requests::checksums(&events(pi, op).0)
}

#[test]
fn each_generation_gives_the_bits_that_it_gives_on_the_host() {
    let models: Vec<(String, Vec<u8>)> = [
        (Shape::llama_grouped(), GgmlType::Q8_0),
        (Shape::qwen2(), GgmlType::Q4_0),
        (Shape::qwen2(), GgmlType::Q4_1),
        (Shape::llama_wide(), GgmlType::Q6_K),
    ]
    .iter()
    .enumerate()
    .map(|(i, (shape, ggml_type))| (format!("m{i}.gguf"), synth::bytes(shape, *ggml_type)))
    .collect();
    let files: Vec<_> = models
        .iter()
        .map(|(name, bytes)| CardFile::bytes(name, bytes.clone()))
        .collect();
    let card = Card::with(&files);
    let mut pi = boot(&card);
    for (name, bytes) in &models {
        load(&mut pi, name);
        let mut found = Vec::new();
        for kernels in Kernels::ALL {
            set(&mut pi, Setting::Kernels, kernels.to_string());
            let here = checksums(&mut pi);
            let expected = host::checksums_by(kernels, bytes, &ids(), 2);
            assert_eq!(here.len(), 4, "{name} {kernels}");
            assert_eq!(Some(&here[0]), expected.last(), "{name} {kernels}");
            found.push(here);
        }
        assert_eq!(found[0], found[2], "{name}: scalar and tuned");
        assert_ne!(found[1][0], found[2][0], "{name}: plain is more exact");
    }
    assert_clean_log(&mut pi);
}

#[test]
fn generations_are_compared_and_no_speed_is_claimed() {
    let card = Card::with_model(&Shape::llama_tied(), GgmlType::Q8_0);
    let mut pi = session(&machine(&card).append("pilm.kernels=plain"));
    assert_eq!(info(&mut pi).settings.kernels, KernelSet::Dequantize);
    let op = Op::Kernels(request::Kernels { runs: Some(2) });
    let (records, done) = events(&mut pi, op);
    assert_eq!(done.finish_reason, Some(Finish::Stop));
    assert_eq!(records.len(), 3 * 2 * 4, "generations, loads, cores");
    for record in records {
        let Event::Kernels(record) = record else {
            panic!("{record:?}");
        };
        let runs = record.samples.runs + record.samples.void_runs;
        assert!(runs >= 2, "{record:?}");
        assert_eq!((record.emulated, record.model.as_str()), (true, MODEL));
        assert_eq!(record.mean_gb_per_s, None, "no speed: {record:?}");
        let error = record.max_relative_error.unwrap();
        match record.kernels {
            KernelSet::Dequantize => assert!(error < 1e-6, "{record:?}"),
            _ => assert!((1e-4..2e-2).contains(&error), "{record:?}"),
        }
        if record.kernels == KernelSet::Reference {
            assert_eq!(record.speedup_over_reference, Some(1.0), "{record:?}");
        }
    }
    let text = pi.qemu();
    text.send_line("/kernels 1").unwrap();
    let text = text
        .expect(xtask::session::PROMPT, std::time::Duration::from_secs(300))
        .unwrap();
    assert!(text.contains("the ratios are the emulator's"), "{text}");
    assert!(!text.contains("GB/s"), "{text}");
    assert_clean_log(&mut pi);
}
