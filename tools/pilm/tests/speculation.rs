//! Draft tokens change nothing but the number of passes.

use llm::engine::{Engine, EngineError, LoadOptions};
use llm::lookup::Lookup;
use llm::model_file::ModelFile;
use llm::tokenizer::TokenId;
use ops::GgmlType;
use ops::crc32c::crc32c_f32;
use ops::matrix::Kernels;
use pilm::metrics::argmax;
use pilm::session::{Memory, Session};
use pilm::synth::{Shape, bytes};
use pilm::threads::Threads;

const N_PROMPTS: u32 = 20;
const N_TOKENS: usize = 60;

/// Greedy ids and a checksum of each token's logits.
#[derive(Debug, Default, PartialEq)]
struct Run {
    ids: Vec<TokenId>,
    sums: Vec<u32>,
}

impl Run {
    fn take(&mut self, logits: &[f32]) -> TokenId {
        let id = TokenId(argmax(logits) as u32);
        self.ids.push(id);
        self.sums.push(crc32c_f32(logits));
        id
    }
}

fn prompt(n: u32, vocab_size: usize) -> Vec<TokenId> {
    (0..10 + n)
        .map(|i| TokenId((i * i * 7 + n * 31) % vocab_size as u32))
        .collect()
}

fn plain(engine: &mut Engine<'_>, threads: &Threads, prompt: &[TokenId]) -> Run {
    let mut run = Run::default();
    let mut id = run.take(engine.prefill(prompt, threads).unwrap());
    while run.ids.len() < N_TOKENS {
        id = run.take(engine.decode(id, threads).unwrap());
    }
    run
}

fn speculating(
    engine: &mut Engine<'_>,
    threads: &Threads,
    prompt: &[TokenId],
    lookup: &mut Lookup,
) -> Run {
    let mut run = Run::default();
    let mut id = run.take(engine.prefill(prompt, threads).unwrap());
    while run.ids.len() < N_TOKENS {
        id = run.take(engine.decode_speculating(id, lookup, threads).unwrap());
        let (_, answered) = run.ids.split_last().unwrap();
        assert_eq!(engine.held(), [prompt, answered].concat());
    }
    run
}

/// A seeded model with room for 128 tokens.
fn with_engine(shape: &Shape, work: impl FnOnce(&mut Engine<'_>, &Threads)) {
    let file = bytes(shape, GgmlType::Q8_0);
    let options = LoadOptions {
        context_len: Some(128),
        ..LoadOptions::default()
    };
    let mut file = ModelFile::open(&file[..]).unwrap();
    let mut memory = Memory::for_model(&file, &options, &Threads::new(1));
    let threads = Threads::new(1);
    let mut session =
        Session::load(&mut file, &mut memory, &options, threads, &mut |_, _| ()).unwrap();
    work(&mut session.engine, &session.threads);
}

#[test]
fn ids_and_logits_are_those_of_plain_decoding() {
    let mut lookup = Lookup {
        shortest: 1,
        ..Lookup::default()
    };
    for shape in [
        Shape::llama_grouped(),
        Shape::qwen2(),
        Shape::qwen3_untied(),
    ] {
        with_engine(&shape, |engine, threads| {
            for (kernels, n) in (0..N_PROMPTS)
                .map(|n| (Kernels::Int8, n))
                .chain([(Kernels::Dequantize, 2), (Kernels::Reference, 3)])
            {
                engine.set_kernels(kernels);
                let prompt = prompt(n, shape.vocab_size);
                engine.truncate(0);
                let expected = plain(engine, threads, &prompt);
                engine.truncate(0);
                let found = speculating(engine, threads, &prompt, &mut lookup);
                assert_eq!(found, expected, "{} prompt {n} {kernels:?}", shape.name);
            }
        });
    }
    assert!(lookup.n_accepted > 0, "{lookup:?}");
    assert!(lookup.n_accepted < lookup.n_draft_tokens, "{lookup:?}");
}

/// The logits that [`Engine::decode`] gives after `ids`.
fn expected_after(engine: &mut Engine<'_>, threads: &Threads, ids: &[TokenId]) -> u32 {
    engine.truncate(0);
    crc32c_f32(engine.prefill(ids, threads).unwrap())
}

#[test]
fn a_draft_may_be_left_at_any_token() {
    let shape = Shape::llama_grouped();
    with_engine(&shape, |engine, threads| {
        let period: Vec<TokenId> = (5..14).map(TokenId).collect();
        let prompt = [&period[..], &period, &period[..1]].concat();
        let after = |engine: &mut Engine<'_>, n_taken: usize, other: TokenId| {
            engine.truncate(0);
            engine.prefill(&prompt, threads).unwrap();
            let mut lookup = Lookup::default();
            for id in &period[1..=n_taken] {
                engine
                    .decode_speculating(*id, &mut lookup, threads)
                    .unwrap();
            }
            assert_eq!(lookup.n_drafts, 1, "one pass serves all");
            assert_eq!(lookup.n_accepted, n_taken as u64 - 1);
            crc32c_f32(
                engine
                    .decode_speculating(other, &mut lookup, threads)
                    .unwrap(),
            )
        };
        for n_taken in 1..=Lookup::MAX_DRAFT {
            let ids = [&prompt, &period[1..=n_taken], &[TokenId(77)]].concat();
            let found = after(engine, n_taken, TokenId(77));
            assert_eq!(engine.held(), ids);
            assert_eq!(found, expected_after(engine, threads, &ids), "{n_taken}");
        }
    });
}

#[test]
fn what_else_is_run_forgets_the_draft() {
    let shape = Shape::llama_grouped();
    with_engine(&shape, |engine, threads| {
        let period: Vec<TokenId> = (5..14).map(TokenId).collect();
        let prompt = [&period[..], &period, &period[..2]].concat();
        let mut lookup = Lookup::default();
        engine.prefill(&prompt, threads).unwrap();
        let draft = |engine: &mut Engine<'_>, lookup: &mut Lookup| {
            engine
                .decode_speculating(period[2], lookup, threads)
                .map(crc32c_f32)
                .unwrap()
        };
        draft(engine, &mut lookup);
        // The draft was that 8 comes next; instead the context is cut and 8 comes there.
        engine.truncate(4);
        let found = engine.decode_speculating(period[3], &mut lookup, threads);
        let found = crc32c_f32(found.unwrap());
        let ids = [&period[..4], &[period[3]]].concat();
        assert_eq!(engine.held(), ids);
        assert_eq!(found, expected_after(engine, threads, &ids));
        assert_eq!(lookup.n_accepted, 0);
    });
}

#[test]
fn the_last_places_of_a_context_take_shorter_drafts() {
    let shape = Shape::llama_grouped();
    with_engine(&shape, |engine, threads| {
        let ids: Vec<TokenId> = (0..128).map(|i| TokenId(5 + i % 9)).collect();
        engine.prefill(&ids[..124], threads).unwrap();
        let mut lookup = Lookup::default();
        for id in &ids[124..] {
            engine
                .decode_speculating(*id, &mut lookup, threads)
                .unwrap();
        }
        assert_eq!(
            (lookup.n_drafts, lookup.n_draft_tokens, lookup.n_accepted),
            (1, 3, 3)
        );
        let full = engine.decode_speculating(ids[0], &mut lookup, threads);
        assert!(matches!(full, Err(EngineError::ContextFull { .. })));
    });
}
