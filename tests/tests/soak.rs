//! A thousand generations among aborts, resets, bad lines and reloads: heap, stacks and arena stay as they are.
//!
//! Some minutes: `cargo test --package tests --test soak -- --ignored --nocapture`.

use ops::GgmlType;
use pilm::synth::{self, Shape, SplitMix64};
use protocol::event::{Done, ErrorCode, Finish, Line};
use protocol::request::{Logits, Sampling};
use protocol::scalar::Scalar;
use protocol::{Event, Id, Op, Request, Setting};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tests::boot::{assert_clean_log, boot};
use tests::card::{Card, MODEL};
use tests::requests::{info, load, load_op, refused, reset, set, text, tokens};
use xtask::card::CardFile;
use xtask::session::{PROMPT, Session};

const GENERATIONS: usize = 1000;
const TOKENS: usize = 16;
const OTHER: &str = "Other.f16.gguf";
const LONG: &str = "Long.gguf";
/// After so many, every buffer that grows with what is typed has its size.
const WARM: usize = 200;
/// As many as are kept.
const HISTORY_LINES: usize = 64;
const EVERY: usize = 100;
const REPLY: Duration = Duration::from_secs(60);

/// Lines of a program and of a person that ask for nothing that can be.
const BAD_LINES: [&[u8]; 8] = [
    b"{",
    b"{\"op\":\"dance\",\"id\":1}",
    b"{\"op\":\"load\",\"name\":\"nothing\"}",
    b"{\"op\":\"load\",\"name\":\"Bad.gguf\"}",
    b"{\"op\":\"complete\",\"ids\":[99999]}",
    b"/xyzzy",
    b"/set temperature hot",
    b"caf\xE9",
];

/// What a board says of its memory.
#[derive(Debug)]
struct Memory {
    heap_bytes: usize,
    stack_bytes: Vec<usize>,
}

/// Less than a byte and a half for each generation: an allocator rounds, and an interrupt finds a stack deeper.
const FLAT_BYTES: usize = 1024;

impl Memory {
    fn is_as_flat_as(&self, before: &Memory) -> bool {
        let stacks = self.stack_bytes.iter().zip(&before.stack_bytes);
        let all = stacks.chain([(&self.heap_bytes, &before.heap_bytes)]);
        all.into_iter()
            .all(|(now, before)| *now <= before + FLAT_BYTES)
    }
}

struct Soak {
    pi: Session,
    random: SplitMix64,
    /// Answers at temperature 0, by model.
    answers: HashMap<String, String>,
    model: &'static str,
    n_stopped: usize,
    n_reloads: usize,
    n_resets: usize,
    n_bad_lines: usize,
}

impl Soak {
    fn below(&mut self, n: u64) -> u64 {
        self.random.next_u64() % n
    }

    fn types(&mut self, line: &[u8]) {
        self.pi.qemu().send(&[line, b"\r"].concat()).unwrap();
        self.pi.qemu().expect(PROMPT, REPLY).unwrap();
    }

    /// Memory with the first model, an empty context, and the same lines in the history of the up key.
    fn memory(&mut self) -> Memory {
        self.load(MODEL);
        reset(&mut self.pi);
        for n in 0..HISTORY_LINES {
            self.types(format!("/{n:05}").as_bytes());
        }
        let health = info(&mut self.pi).health;
        Memory {
            heap_bytes: health.heap_used_bytes.unwrap(),
            stack_bytes: health.stacks.iter().map(|stack| stack.used_bytes).collect(),
        }
    }

    /// Bytes of the arena that a model leaves: a context larger than memory is refused with their number.
    fn arena_left(&mut self) -> u64 {
        set(&mut self.pi, Setting::Context, 1usize << 27);
        let error = refused(&mut self.pi, load_op(LONG));
        assert_eq!(error.code, ErrorCode::LoadFailed, "{error}");
        let said = error.message.split_once(" needed and ");
        let left = said.and_then(|(_, rest)| rest.split(' ').next());
        let left = left.and_then(|left| left.parse().ok());
        set(&mut self.pi, Setting::Context, "auto");
        left.unwrap_or_else(|| panic!("{error}"))
    }

    fn load(&mut self, model: &'static str) {
        assert_eq!(load(&mut self.pi, model).model.file, model);
        self.model = model;
        self.n_reloads += 1;
    }

    /// The next event of the request `id`.
    fn event(&mut self, id: &Id) -> Event<'static> {
        loop {
            let Line { id: of, event, .. } = self.pi.event().unwrap();
            if of == *id {
                return event;
            }
        }
    }

    /// One generation; sometimes it is stopped on its way, by an abort or by Ctrl-C.
    fn generate(&mut self, n: usize) {
        let id = Id::Text(format!("g{n}"));
        let is_greedy = self.below(2) == 0;
        let sampling = Sampling {
            temperature: Some(if is_greedy { 0.0 } else { 1.5 }),
            seed: Some(self.below(1000)),
            speculate: Some(Scalar::Bool(self.below(2) == 0)),
            ..tokens(TOKENS)
        };
        let op = Op::Complete(text("Once upon a time"), sampling, Logits::default());
        let request = Request { id: id.clone(), op };
        let line = serde_json::to_string(&request).unwrap();
        self.pi.qemu().send_line(&line).unwrap();
        let stop_at = match self.below(3) {
            0 => Some(self.below(TOKENS as u64) as usize),
            _ => None,
        };
        let (mut answer, mut n_tokens) = (String::new(), 0);
        if stop_at == Some(0) {
            self.stop(n);
        }
        let done = loop {
            match self.event(&id) {
                Event::Token(token) => {
                    answer.push_str(&token.text);
                    n_tokens += 1;
                    if stop_at == Some(n_tokens) {
                        self.stop(n);
                    }
                }
                Event::Text(text) => answer.push_str(&text.text),
                Event::Done(done) => break done,
                event => panic!("{event:?}"),
            }
        };
        if stop_at.is_none() {
            let growth = done.generated.unwrap().heap_growth_bytes;
            // what is typed meanwhile is kept
            assert_eq!(growth, Some(0), "{done:?}");
        }
        self.is_right(is_greedy, answer, &done);
    }

    fn stop(&mut self, n: usize) {
        match self.below(2) {
            0 => self.pi.qemu().send(b"\x03").unwrap(),
            _ => {
                let line = format!(r#"{{"op":"abort","id":"g{n}"}}"#);
                self.pi.qemu().send_line(&line).unwrap();
            }
        }
    }

    fn is_right(&mut self, is_greedy: bool, answer: String, done: &Done) {
        let generated = done.generated.unwrap();
        match done.finish_reason {
            Some(Finish::Abort) => self.n_stopped += 1,
            Some(Finish::Length) => {
                assert_eq!(generated.usage.completion_tokens, TOKENS, "{done:?}");
                if is_greedy {
                    let before = self.answers.entry(self.model.to_owned());
                    assert_eq!(*before.or_insert(answer.clone()), answer);
                }
            }
            _ => panic!("{done:?}"),
        }
    }

    /// What comes between two generations.
    fn between(&mut self) {
        match self.below(10) {
            0 => {
                let model = if self.below(2) == 0 { MODEL } else { OTHER };
                self.load(model);
            }
            1 | 2 => {
                reset(&mut self.pi);
                self.n_resets += 1;
            }
            3..=5 => {
                let line = BAD_LINES[self.below(BAD_LINES.len() as u64) as usize];
                self.types(line);
                self.n_bad_lines += 1;
            }
            _ => {}
        }
    }
}

fn card() -> Card {
    let tiny = synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0);
    let long = Shape {
        max_seq_len: 1 << 27,
        ..Shape::llama_tied()
    };
    let mut cut = tiny.clone();
    cut.truncate(cut.len() / 2);
    Card::with(&[
        CardFile::bytes(MODEL, tiny),
        CardFile::bytes(OTHER, synth::bytes(&Shape::qwen2(), GgmlType::F16)),
        CardFile::bytes(LONG, synth::bytes(&long, GgmlType::Q8_0)),
        CardFile::bytes("Bad.gguf", cut),
    ])
}

#[test]
#[ignore = "some minutes: see the top of the file"]
fn a_thousand_generations_leave_memory_as_it_was() {
    let card = card();
    let mut soak = Soak {
        pi: boot(&card),
        random: SplitMix64::new(1),
        answers: HashMap::new(),
        model: MODEL,
        n_stopped: 0,
        n_reloads: 0,
        n_resets: 0,
        n_bad_lines: 0,
    };
    let start = Instant::now();
    let arena = soak.arena_left();
    soak.load(MODEL);
    let mut warm = None;
    for n in 0..=GENERATIONS {
        if n.is_multiple_of(EVERY) {
            let memory = soak.memory();
            println!("{n:>5} generations: {memory:?}");
            if n == WARM {
                warm = Some(memory);
            } else if n > WARM {
                let warm = warm.as_ref().expect("taken before");
                assert!(memory.is_as_flat_as(warm), "{memory:?}, {warm:?} before");
            }
        }
        if n < GENERATIONS {
            soak.generate(n);
            soak.between();
        }
    }
    assert_eq!(soak.arena_left(), arena);
    println!(
        "{GENERATIONS} generations of {TOKENS} tokens, {} of them stopped, {} loads, {} resets, {} bad lines in {} s; \
         {arena} bytes of the arena left before and after",
        soak.n_stopped,
        soak.n_reloads,
        soak.n_resets,
        soak.n_bad_lines,
        start.elapsed().as_secs()
    );
    assert!(soak.n_stopped > 100 && soak.n_reloads > 50 && soak.n_bad_lines > 100);
    assert_clean_log(&mut soak.pi);
}
