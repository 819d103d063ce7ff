//! Guessed tokens change nothing but the number of batches.

use llm::engine::{Engine, LoadOptions};
use llm::lookup::Lookup;
use llm::tokenizer::TokenId;
use ops::GgmlType;
use ops::crc32c::crc32c_f32;
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
    let mut id = run.take(engine.prefill(prompt, threads, &|| false).unwrap());
    while run.ids.len() < N_TOKENS {
        id = run.take(engine.decode(id, threads).unwrap());
    }
    run
}

fn guessing(
    engine: &mut Engine<'_>,
    threads: &Threads,
    prompt: &[TokenId],
    lookup: &mut Lookup,
) -> Run {
    let mut run = Run::default();
    let first = run.take(engine.prefill(prompt, threads, &|| false).unwrap());
    let mut context = [prompt, &[first]].concat();
    while run.ids.len() < N_TOKENS {
        let id = context[context.len() - 1];
        let guess = lookup.guess(&context).to_vec();
        let mut next = |logits: &[f32]| {
            (run.ids.len() < N_TOKENS).then(|| {
                let id = run.take(logits);
                context.push(id);
                id
            })
        };
        let confirmed = engine
            .decode_with_guess(id, &guess, threads, &mut next)
            .unwrap();
        lookup.count(guess.len(), confirmed);
        let (_, held) = context.split_last().unwrap();
        assert!(run.ids.len() == N_TOKENS || engine.held() == held);
    }
    run
}

#[test]
fn ids_and_logits_are_those_of_plain_decoding() {
    let mut lookup = Lookup {
        shortest: 1,
        ..Lookup::default()
    };
    for shape in [Shape::llama_grouped(), Shape::qwen2()] {
        let file = bytes(&shape, GgmlType::Q8_0);
        let options = LoadOptions {
            context_len: Some(128),
            ..LoadOptions::default()
        };
        let mut source = &file[..];
        let mut memory = Memory::for_model(&mut source, &options, &Threads::new(1)).unwrap();
        let threads = Threads::new(1);
        let session = Session::load(&mut source, &mut memory, &options, threads, &mut |_, _| ());
        let Session {
            mut engine,
            threads,
        } = session.unwrap();
        for n in 0..N_PROMPTS {
            let prompt = prompt(n, shape.vocab_size);
            engine.truncate(0);
            let expected = plain(&mut engine, &threads, &prompt);
            engine.truncate(0);
            let found = guessing(&mut engine, &threads, &prompt, &mut lookup);
            assert_eq!(found, expected, "{} prompt {n}", shape.name);
        }
    }
    assert!(lookup.n_confirmed > 0, "{lookup:?}");
    assert!(lookup.n_confirmed < lookup.n_guessed, "{lookup:?}");
}
