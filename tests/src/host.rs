//! The firmware's engine on the host, for comparison.

use llm::engine::LoadOptions;
use llm::gguf::Gguf;
use llm::model_file::ModelFile;
use llm::perplexity::CHUNK_LEN;
use llm::tokenizer::Tokenizer;
use ops::crc32c::crc32c_f32;
use ops::matrix::Kernels;
use pilm::decoder::Decoder;
use pilm::perplexity::{Perplexity, perplexity};
use pilm::session::{Memory, Session};
use pilm::threads::Threads;

/// Checksums of the logits after each of `ids`, computed here on `n_cores` threads with the options that the firmware
/// takes.
///
/// # Panics
/// The model is unusable.
pub fn checksums(model: &[u8], ids: &[u32], n_cores: usize) -> Vec<u32> {
    checksums_by(Kernels::Int8, model, ids, n_cores)
}

/// [`checksums`] by another generation of kernels.
///
/// # Panics
/// The model is unusable.
pub fn checksums_by(kernels: Kernels, model: &[u8], ids: &[u32], n_cores: usize) -> Vec<u32> {
    let mut checksums = Vec::new();
    with_session(model, n_cores, |session| {
        session.engine.set_kernels(kernels);
        session
            .prefill(ids, 0, &mut |_, logits| {
                checksums.push(crc32c_f32(logits));
            })
            .unwrap_or_else(|error| panic!("{error}"));
    });
    checksums
}

/// Perplexity on the first `n_chunks` chunks of `text`, as `pilm ppl` measures it.
///
/// # Panics
/// The model is unusable.
pub fn perplexity_on(model: &[u8], text: &str, n_chunks: usize) -> Perplexity {
    let mut result = Perplexity::default();
    with_session(model, 1, |session| {
        let ids = session.engine.tokenizer().encode(text, false);
        let ids: Vec<u32> = ids.iter().map(|id| id.0).collect();
        let session = std::slice::from_mut(session);
        let results = perplexity(None, session, &ids, CHUNK_LEN, n_chunks, &mut |_, _| Ok(()))
            .unwrap_or_else(|error| panic!("{error}"));
        result = results[0];
    });
    result
}

fn with_session(model: &[u8], n_cores: usize, work: impl FnOnce(&mut Session<'_>)) {
    let options = LoadOptions::default();
    let mut file = ModelFile::open(model).unwrap_or_else(|error| panic!("{error}"));
    let threads = Threads::new(n_cores);
    let mut memory = Memory::for_model(&file, &options, &threads);
    let mut session = Session::load(&mut file, &mut memory, &options, threads, &mut |_, _| {})
        .unwrap_or_else(|error| panic!("{error}"));
    work(&mut session);
}

/// The tokens of `text`, and those of a raw prompt of it: with the beginning-of-sequence token if the model asks for
/// one.
///
/// # Panics
/// The model is unusable.
pub fn tokens(model: &[u8], text: &str) -> (Vec<u32>, Vec<u32>) {
    let gguf = Gguf::parse(model, model.len() as u64).unwrap_or_else(|error| panic!("{error}"));
    let tokenizer = Tokenizer::from_gguf(&gguf).unwrap_or_else(|error| panic!("{error}"));
    let ids: Vec<u32> = tokenizer
        .encode(text, false)
        .iter()
        .map(|id| id.0)
        .collect();
    let bos = tokenizer.bos().filter(|_| tokenizer.add_bos());
    let prompt = bos.iter().map(|id| id.0).chain(ids.clone()).collect();
    (ids, prompt)
}
