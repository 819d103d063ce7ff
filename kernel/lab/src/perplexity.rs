//! How well the loaded model predicts a text, as `pilm ppl` measures it on the host.
//!
//! Chunk after chunk is evaluated from an empty context. Logits are scored as they come, so that no more of
//! them are in memory than the decoder gives at once. Whatever the context held is gone afterwards.

use crate::experiment::{Experiment, Lab, model_failed};
use crate::machine::{Machine, TextFile};
use alloc::vec::Vec;
use llm::perplexity::{CHUNK_LEN, Mean, first_scored, nll, perplexity, standard_error};
use llm::tokenizer::TokenId;
use protocol::event::{Done, Error, ErrorCode, Event, Phase, Ppl, TextReady};
use protocol::request;

/// Longest text that is read: the usual test sets have less.
const MAX_TEXT_BYTES: usize = 2 << 20;
/// Positions that are worked in by one step.
const STEP: usize = 8;

/// The measurement under way.
pub struct TextBench {
    /// Whole chunks only.
    ids: Vec<TokenId>,
    /// Tokens of the whole text.
    text_tokens: usize,
    /// Tokens that are worked in or scored.
    done: usize,
    /// `−ln p` of the scored tokens: of whole chunks, and with the chunk under way.
    whole: Mean,
    scores: Mean,
}

impl TextBench {
    /// Reads the text and cuts it into tokens; the context is still there if that fails.
    ///
    /// # Errors
    /// No model, no such file, no text, or one that is too short or too long.
    pub fn new<M: Machine>(
        request: &request::Ppl,
        lab: &mut Lab<'_, '_, M>,
    ) -> Result<Self, Error<'static>> {
        let machine = lab.machine;
        let engine = &lab.subject()?.engine;
        let context_len = engine.context_len();
        if context_len < CHUNK_LEN {
            let message = format_args!(
                "the context takes {context_len} tokens and a chunk has {CHUNK_LEN}: /set context {CHUNK_LEN} and \
                 /load the model again, or take a model with a longer context"
            );
            return Err(Error::new(ErrorCode::ContextTooShort, message));
        }
        let file = &request.file;
        let read = machine.text_file(file, MAX_TEXT_BYTES);
        let bytes = match read.map_err(|error| Error::new(ErrorCode::Card, error))? {
            TextFile::Whole(bytes) => bytes,
            TextFile::Absent => {
                let message = format_args!(
                    "no file is called {file:?} in the card's top folder: copy the text there"
                );
                return Err(Error::new(ErrorCode::NoSuchFile, message));
            }
            TextFile::TooLong { len_bytes } => {
                let message = format_args!(
                    "{file:?} has {len_bytes} bytes: no more than {MAX_TEXT_BYTES} are read, shorten it"
                );
                return Err(Error::new(ErrorCode::BadFile, message));
            }
        };
        let text = core::str::from_utf8(&bytes).map_err(|error| {
            let at = error.valid_up_to();
            let message =
                format_args!("{file:?} is not UTF-8 at byte {at}: convert it to UTF-8 text");
            Error::new(ErrorCode::BadFile, message)
        })?;
        let tokenizer = engine.tokenizer();
        let health = machine.health();
        if let (Some(used), Some(all)) = (health.heap_used_bytes, health.heap_bytes) {
            let needed = tokenizer.encoding_bytes(text);
            let free = all.saturating_sub(used);
            if needed > free {
                let message = format_args!(
                    "{file:?} may need {needed} bytes to be cut into tokens and {free} are free: shorten it"
                );
                return Err(Error::new(ErrorCode::BadFile, message));
            }
        }
        let mut ids = tokenizer.encode(text, false);
        let text_tokens = ids.len();
        let chunks = (text_tokens / CHUNK_LEN).min(request.chunks.unwrap_or(usize::MAX));
        if chunks == 0 {
            let message = format_args!(
                "{file:?} has {text_tokens} tokens and a chunk has {CHUNK_LEN}: take a longer text"
            );
            return Err(Error::new(ErrorCode::BadFile, message));
        }
        ids.truncate(chunks * CHUNK_LEN);
        lab.report.event(Event::TextReady(TextReady {
            text_tokens,
            chunks,
            chunk_len: CHUNK_LEN,
        }));
        Ok(Self {
            ids,
            text_tokens,
            done: 0,
            whole: Mean::default(),
            scores: Mean::default(),
        })
    }
}

impl<M: Machine> Experiment<M> for TextBench {
    /// A batch of tokens that are not scored, or some that are.
    fn step(&mut self, lab: &mut Lab<'_, '_, M>) -> Result<bool, Error<'static>> {
        if self.done == self.ids.len() {
            return Ok(true);
        }
        let machine = lab.machine;
        let cores = machine.cores(lab.cores);
        let engine = &mut lab.subject()?.engine;
        let (start, at) = (self.done / CHUNK_LEN * CHUNK_LEN, self.done % CHUNK_LEN);
        let chunk = &self.ids[start..start + CHUNK_LEN];
        if at == 0 {
            engine.truncate(0);
            machine.mark(Phase::Prefill);
        }
        if at < first_scored(CHUNK_LEN) {
            let end = (at + engine.batch()).min(first_scored(CHUNK_LEN));
            engine.feed(&chunk[at..end], cores).map_err(model_failed)?;
            self.done = start + end;
            return Ok(false);
        }
        // The last token is predicted; nothing comes after it.
        let end = (at + STEP).min(CHUNK_LEN - 1);
        let scores = &mut self.scores;
        let scored = engine.logits_of_all(&chunk[at..end], cores, &mut |position, logits| {
            scores.add(nll(logits, chunk[position + 1].0));
        });
        scored.map_err(model_failed)?;
        self.done = start + end;
        if end == CHUNK_LEN - 1 {
            self.done += 1;
            self.whole = self.scores;
            lab.report.event(Event::Ppl(Ppl {
                chunk: self.done / CHUNK_LEN,
                chunks: self.ids.len() / CHUNK_LEN,
                tokens: self.whole.n(),
                perplexity: perplexity(&self.whole),
                standard_error: standard_error(&self.whole),
                mean_nll: self.whole.mean(),
            }));
        }
        Ok(false)
    }

    fn end(&mut self, stopped: bool, lab: &mut Lab<'_, '_, M>) -> Done {
        lab.machine.mark(Phase::Other);
        if let Some(subject) = &mut lab.subject {
            subject.engine.truncate(0);
        }
        Done {
            text_tokens: Some(self.text_tokens),
            ..Done::measured(stopped)
        }
    }
}
