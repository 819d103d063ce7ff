//! One event of each kind with all of its fields.

use protocol::Event;
use protocol::event::{
    Action, Bench, Changed, Check, CheckKind, Chunk, Counts, Done, Error, ErrorCode, Finish,
    Generated, Info, Kernels, Limits, Loaded, Log, Logits, Lost, Membw, ModelEntry, Models, Phase,
    Ppl, Progress, Ready, Samples, Sd, SdCard, SdErrors, SdRead, SdTransfer, SdWords, Text, Texts,
    Timing, Token, Tokens, Top, TopEntry, Usage,
};
use protocol::facts::{BoardFacts, Conditions, Health, LoadTiming, ModelFacts, Stack};
use protocol::settings::KernelSet;
use protocol::{Setting, Settings};

/// The events, in the order of the documentation.
pub fn events() -> Vec<Event<'static>> {
    let conditions = Conditions {
        version: "0.1.0".into(),
        revision: Some(0xa03111),
        gpu_firmware: Some(1_700_000_000),
        command_line: Some("console=serial0".into()),
        clock_hz: Some(1_500_000_000),
        celsius_before: Some(40.5),
        celsius: Some(41.5),
        throttled_before: Some(0),
        throttled: Some(0),
    };
    let samples = Samples {
        runs: 1,
        void_runs: 0,
        samples_s: vec![0.5],
        mean_s: Some(0.5),
        sd_s: Some(0.0),
        min_s: Some(0.5),
        p50_s: Some(0.5),
        p99_s: Some(0.5),
    };
    vec![
        Event::Token(Token {
            token: 1,
            text: "a".into(),
            thinking: true,
        }),
        Event::Chunk(Chunk {
            tokens: Texts {
                ids: vec![(1, 3), (2, 0), (3, 1)].into(),
                text: "\u{20AC}a".into(),
            },
            thinking: true,
        }),
        Event::Text(Text { text: "a".into() }),
        Event::Logits(Logits {
            position: 3,
            crc32c: Some(0x1234_5678),
            log_sum_exp: Some(0.75),
            top: Some(Top {
                entries: vec![
                    TopEntry {
                        id: 1,
                        logit: 0.5,
                        n_bytes: 2,
                    },
                    TopEntry {
                        id: 2,
                        logit: 0.25,
                        n_bytes: 1,
                    },
                ]
                .into(),
                bytes: vec![0xC3, 0x0A, 0xFF].into(),
            }),
        }),
        Event::Counts(Counts {
            phase: Phase::Prefill,
            core: 1,
            gemv_rows: 2,
            attention_blocks: 3,
            barriers: 4,
            tensor_bytes: 5,
        }),
        Event::Tokens(Tokens {
            count: 2,
            ids: vec![1, 2],
        }),
        Event::Progress(Progress {
            done_bytes: 1,
            total_bytes: 2,
        }),
        Event::Loaded(Box::new(Loaded {
            model: model(),
            timing: LoadTiming::default(),
        })),
        Event::Models(Models {
            models: vec![ModelEntry {
                name: "a.gguf".into(),
                bytes: 1,
                loaded: true,
            }],
        }),
        Event::Info(Box::new(info())),
        Event::Log(Log {
            lines: vec!["a".into()],
        }),
        Event::Settings(Changed::new(Setting::Temperature, &Settings::default())),
        Event::Bench(Box::new(Bench {
            phase: Phase::Decode,
            cores: 1,
            tokens: 2,
            context_start: 3,
            reused_tokens: 0,
            irqs_in_window: Some(0),
            emulated: false,
            model: "a.gguf".into(),
            format: "Q8_0".into(),
            kv: "f16".into(),
            context_len: 64,
            kernels: KernelSet::Int8,
            bytes_per_token: 4,
            conditions: conditions.clone(),
            samples: samples.clone(),
            tokens_per_s: Some(2.5),
        })),
        Event::Kernels(Box::new(Kernels {
            kernels: KernelSet::Int8,
            tensor: "ffn_up".into(),
            format: "Q8_0".into(),
            rows: 1,
            cols: 2,
            measured_rows: 1,
            read_bytes: 3,
            tokens: 4,
            cores: 1,
            irqs_in_window: Some(0),
            emulated: false,
            model: "a.gguf".into(),
            conditions,
            samples: samples.clone(),
            speedup_over_reference: Some(8.5),
            max_relative_error: Some(0.001),
            compared_values: 5,
            mean_gb_per_s: Some(3.5),
        })),
        Event::Ppl(Ppl {
            chunk: 1,
            chunks: 2,
            tokens: 255,
            perplexity: 18.5,
            standard_error: 0.5,
            mean_nll: 2.5,
        }),
        Event::Membw(Membw {
            action: Action::Copy,
            cores: 1,
            buffer_bytes: 2,
            moved_bytes: 3,
            emulated: false,
            version: "0.1.0".into(),
            revision: Some(0xa03111),
            samples,
            mean_gb_per_s: Some(3.5),
        }),
        Event::Sd(Box::new(sd())),
        Event::SdRead(Box::new(SdRead {
            transfer: SdTransfer::Dma,
            read_bytes: 1,
            emulated: false,
            read_s: 0.5,
            mb_per_s: Some(22.5),
            errors: SdErrors::default(),
            compared_bytes: 1,
            differing_bytes: 1,
            first_difference: Some(2),
            version: "0.1.0".into(),
            revision: Some(0xa03111),
        })),
        Event::Selftest(Check::new(CheckKind::Bits, "gemv", 1, 0.0, 0.0)),
        Event::Lost(Lost { bytes: 1 }),
        Event::Ready(Ready {
            model: Some("a.gguf".into()),
        }),
        Event::Done(Done {
            finish_reason: Some(Finish::ContextFull),
            generated: Some(Generated {
                usage: Usage::default(),
                timing: Timing {
                    prefill_tokens_per_s: Some(1.5),
                    decode_tokens_per_s: Some(2.5),
                    ..Timing::default()
                },
                seed: 1,
                heap_growth_bytes: Some(0),
            }),
            text_tokens: Some(1),
            right: Some(true),
            failed: Some(0),
            aborted: Some(false),
        }),
        Event::Error(Error::new(ErrorCode::BadJson, "a")),
    ]
}

fn info() -> Info {
    Info {
        firmware: "PiLM".into(),
        version: "0.1.0".into(),
        board: BoardFacts {
            warnings: vec!["a".into()],
            max_baud: Some(1),
            ..BoardFacts::default()
        },
        health: Health {
            stacks: vec![Stack {
                used_bytes: 1,
                bytes: 2,
            }],
            ..Health::default()
        },
        model: Some(model()),
        settings: Settings::default(),
        limits: Limits::THIS,
    }
}

fn sd() -> Sd {
    Sd {
        words_as_left: Some(SdWords::default()),
        card: Some(SdCard::default()),
        ..Sd::default()
    }
}

fn model() -> ModelFacts {
    ModelFacts {
        load_pieces: Some(1),
        ..ModelFacts::default()
    }
}
