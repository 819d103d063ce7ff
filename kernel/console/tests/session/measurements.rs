//! Measurements: every sample, and what voids or ends one.

use crate::bench_board::{Board, Step};
use crate::{events, program, tiny};
use serde_json::Value;

#[test]
fn measurements_keep_every_sample_and_end_once() {
    let events = program(vec![Step::Type(
        b"{\"id\":1,\"op\":\"bench\",\"runs\":3,\"prompt_tokens\":8,\"tokens\":2}\n\
          {\"id\":2,\"op\":\"membw\",\"runs\":2,\"bytes\":65536}\n\
          {\"id\":3,\"op\":\"bench\",\"runs\":0}\n\
          {\"id\":4,\"op\":\"bench\",\"tokens\":100000}\n\
          {\"id\":5,\"op\":\"membw\",\"bytes\":1}\n",
    )]);
    let of = |id: u64, name: &str| -> Vec<&Value> {
        events
            .iter()
            .filter(|event| event["id"] == id && event["event"] == name)
            .collect()
    };
    let phases: Vec<&Value> = of(1, "bench").iter().map(|event| &event["phase"]).collect();
    assert_eq!(phases, ["prefill", "decode"]);
    for record in of(1, "bench") {
        assert_eq!(
            record["samples_s"].as_array().map(Vec::len),
            Some(3),
            "{record}"
        );
        assert_eq!(record["reused_tokens"], 0);
        assert_eq!(record["model"], "tiny.gguf");
        assert_eq!(record["kernels"], "int8");
        assert!(record["tokens_per_s"].as_f64() > Some(0.0), "{record}");
    }
    assert_eq!(of(1, "done").len(), 1);
    let actions: Vec<&Value> = of(2, "membw")
        .iter()
        .map(|event| &event["action"])
        .collect();
    assert_eq!(actions, ["read", "write", "copy"]);
    assert_eq!(of(2, "done").len(), 1);
    for id in 3..=5 {
        assert_eq!(of(id, "error")[0]["code"], "bad_value");
    }
}

#[test]
fn a_run_with_an_interrupt_in_it_is_void() {
    let mut board = Board::new(
        vec![("tiny.gguf", tiny())],
        vec![Step::Type(
            b"{\"op\":\"bench\",\"runs\":2,\"prompt_tokens\":4,\"tokens\":2}\n",
        )],
    );
    board.irqs_per_look = 1;
    let events = events(&board.play().0);
    let records: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "bench")
        .collect();
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!(
            (&record["runs"], &record["void_runs"]),
            (&Value::from(0), &Value::from(2))
        );
    }
}

#[test]
fn a_measurement_can_be_stopped() {
    let events = program(vec![
        Step::Type(b"{\"id\":1,\"op\":\"bench\",\"runs\":900,\"prompt_tokens\":8,\"tokens\":2}\n"),
        Step::AtLook(20, b"{\"id\":1,\"op\":\"abort\"}\n"),
    ]);
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "done")
        .collect();
    assert_eq!(done.len(), 1);
    assert_eq!(done[0]["finish_reason"], "abort");
}
