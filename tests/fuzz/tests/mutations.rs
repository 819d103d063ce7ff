//! Seeded changes of every file of the corpus: little, but at every run of the tests and without a fuzzer.
//!
//! `PILM_MUTATIONS=100000` makes more of each file.

use std::env;
use std::fs;
use std::path::Path;

/// Changed files of each one.
const FEW: u64 = 30;

/// A xorshift generator (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// Bytes are replaced, flipped, put in, taken out, repeated, or come out of `other`.
    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = (at + self.below(17)).min(bytes.len());
            let from = self.below(other.len() + 1);
            let piece = &other[from..(from + self.below(17)).min(other.len())];
            match self.below(6) {
                0 if at < bytes.len() => bytes[at] = self.below(256) as u8,
                1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                2 => bytes.insert(at, [0, 0xFF, 0x80, 0x7F][self.below(4)]),
                3 => drop(bytes.drain(at..end)),
                4 => bytes.extend_from_within(at..end),
                _ => drop(bytes.splice(at..end, piece.iter().copied())),
            }
        }
    }
}

fn mutate(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect();
    files.sort();
    let n = env::var("PILM_MUTATIONS").map_or(FEW, |n| n.parse().unwrap());
    let mut random = Random(0x5049_4C4D);
    for i in 0..files.len() {
        let mut bytes = files[i].clone();
        for round in 0..n {
            let other = random.below(files.len());
            random.change(&mut bytes, &files[other]);
            let shown = bytes.clone();
            if let Err(cause) = std::panic::catch_unwind(|| check(&shown)) {
                println!("{target}, file {i} of the sorted ones, round {round}: {bytes:02x?}");
                std::panic::resume_unwind(cause);
            }
            // Not too far from what somebody wrote.
            if random.below(8) == 0 {
                bytes.clone_from(&files[i]);
            }
        }
    }
}

#[test]
fn answers() {
    mutate("answers", fuzz::answers::check);
}

#[test]
fn card() {
    mutate("card", fuzz::card::check);
}

#[test]
fn editor() {
    mutate("editor", fuzz::editor::check);
}

#[test]
fn gguf() {
    mutate("gguf", fuzz::gguf::check);
}

#[test]
fn request() {
    mutate("request", fuzz::request::check);
}

#[test]
fn template() {
    mutate("template", fuzz::template::check);
}

#[test]
fn tokenizer() {
    mutate("tokenizer", fuzz::tokenizer::check);
}

#[test]
fn tree() {
    mutate("tree", fuzz::tree::check);
}
