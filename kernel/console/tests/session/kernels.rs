//! Generations of kernels: chosen, and measured.

use crate::bench_board::{Board, Step};
use crate::{events, program, tiny};
use ops::GgmlType;
use pilm::synth::{self, Shape};
use serde_json::{Value, json};

fn crcs(events: &[Value], id: u64) -> Vec<&str> {
    let mine = events.iter().filter(|event| event["id"] == id);
    mine.filter_map(|event| event["crc32c"].as_str()).collect()
}

#[test]
fn a_generation_is_chosen_and_gives_its_bits() {
    let events = program(vec![Step::Type(
        br#"{"id":1,"op":"complete","ids":[5,6,7],"max_tokens":3,"logits_crc32c":true,"ignore_eos":true}
{"op":"set","key":"kernels","value":"scalar"}
{"id":2,"op":"complete","ids":[5,6,7],"max_tokens":3,"logits_crc32c":true,"ignore_eos":true}
{"id":9,"op":"set","key":"kernels","value":"plain"}
{"id":3,"op":"complete","ids":[5,6,7],"max_tokens":3,"logits_crc32c":true,"ignore_eos":true}
{"op":"bench","runs":1,"prompt_tokens":2,"tokens":1}
{"id":8,"op":"info"}
{"op":"set","key":"kernels","value":"fast"}
"#,
    )]);
    let [tuned, scalar, plain] = [1, 2, 3].map(|id| crcs(&events, id));
    assert_eq!(tuned.len(), 3);
    assert_eq!(scalar, tuned);
    assert_eq!(plain.len(), 3);
    assert_ne!(plain[0], tuned[0]);
    let find = |name: &str| {
        let named = |event: &&Value| event["event"] == name;
        events.iter().rfind(named).unwrap_or(&Value::Null)
    };
    let done = |id: u64| {
        let ends = |event: &&Value| event["id"] == id && event["event"] == "done";
        events.iter().find(ends).expect("an end")
    };
    assert_eq!(
        [2, 3].map(|id| &done(id)["usage"]["reused_tokens"]),
        [&json!(2), &json!(0)],
        "what has other bits is worked in anew"
    );
    assert_eq!(find("bench")["kernels"], "dequantize");
    assert_eq!(find("info")["settings"]["kernels"], "dequantize");
    assert_eq!(find("error")["code"], "bad_value");
    let setting = events.iter().find(|event| event["id"] == 9);
    assert_eq!(setting.expect("an answer")["effect"], "now");
}

#[test]
fn every_generation_is_measured_on_every_weight_type() {
    let mixed = synth::write_mixed(
        &Shape::llama_wide(),
        &synth::q4_k_m,
        Vec::new(),
        &mut |_, _| (),
    )
    .expect("a model");
    let mut board = Board::new(
        vec![("mixed.gguf", mixed)],
        vec![Step::Type(
            b"{\"id\":1,\"op\":\"kernels\",\"runs\":2}\n{\"id\":2,\"op\":\"kernels\",\"runs\":0}\n",
        )],
    );
    board.options = Some("quiet = on");
    let events = events(&board.play().0);
    let records: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "kernels")
        .collect();
    let formats: std::collections::BTreeSet<&str> = records
        .iter()
        .filter_map(|record| record["format"].as_str())
        .collect();
    assert!(
        formats.contains("Q4_K") && formats.contains("Q6_K"),
        "{formats:?}"
    );
    assert_eq!(records.len(), formats.len() * 3 * 2, "generations, loads");
    for record in &records {
        assert_eq!(
            record["samples_s"].as_array().map(Vec::len),
            Some(2),
            "{record}"
        );
        assert!(record["mean_gb_per_s"].as_f64() > Some(0.0), "{record}");
        assert_eq!(
            record["speedup_over_reference"], 1.0,
            "the clock of the script: {record}"
        );
        assert!(record["compared_values"].as_u64() > Some(0), "{record}");
    }
    let error = |format: &str, kernels: &str, tokens: u64| {
        let record = records.iter().find(|record| {
            record["format"] == format && record["kernels"] == kernels && record["tokens"] == tokens
        });
        record
            .and_then(|record| record["max_relative_error"].as_f64())
            .expect("an error")
    };
    for format in formats {
        for tokens in [1, 4] {
            let [scalar, plain, tuned] =
                ["reference", "dequantize", "int8"].map(|kernels| error(format, kernels, tokens));
            assert_eq!(scalar, tuned, "{format}");
            assert!(plain < 1e-6, "{format}: {plain:e}");
            let is_float = format == "F32";
            assert!(
                is_float || (1e-4..2e-2).contains(&tuned),
                "{format}: {tuned:e}"
            );
        }
    }
    let of = |id: u64| {
        events
            .iter()
            .rfind(|event| event["id"] == id)
            .expect("an end")
    };
    assert_eq!(of(1)["finish_reason"], "stop");
    assert_eq!(of(2)["code"], "bad_value");
}

#[test]
fn a_person_sees_ratios_and_errors() {
    let mut board = Board::new(
        vec![("tiny.gguf", tiny())],
        vec![Step::Type(b"/set kernels plain\r/info\r/kernels 2\r")],
    );
    let (shown, _) = board.play();
    assert!(shown.contains("kernels  dequantize"), "{shown}");
    assert!(shown.contains("token_embd Q8_0, 512 x "), "{shown}");
    for generation in ["reference ", "dequantize", "int8      "] {
        let line = format!("\n{generation}  4 tokens  1 core   ");
        assert!(shown.contains(&line), "{shown}");
    }
    assert!(shown.contains("x  1.00  error "), "{shown}");

    board = Board::new(
        vec![("tiny.gguf", tiny())],
        vec![Step::Type(b"/kernels 1\r")],
    );
    board.irqs_per_look = 1;
    let (shown, _) = board.play();
    assert!(
        shown.contains("no sample") && shown.contains("(3 void)"),
        "{shown}"
    );

    let float = synth::bytes(&Shape::llama_tied(), GgmlType::F32);
    let steps = vec![Step::Type(b"/kernels 900\r"), Step::AtLook(20, b"\x03")];
    let (shown, _) = Board::new(vec![("f.gguf", float)], steps).play();
    assert!(shown.contains("\nstopped\n"), "{shown}");
}
