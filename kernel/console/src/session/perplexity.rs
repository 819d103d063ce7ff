//! `/ppl`: how well the loaded model foretells a text of the card, as `pilm ppl` measures it on the host.
//!
//! Chunk after chunk is evaluated from an empty context. Logits are scored as they come, so that no more of
//! them are in memory than the decoder gives at once. Whatever the context held is gone afterwards.

use super::events::Events;
use super::generate::Failure;
use super::platform::{Phase, Platform};
use super::screen::say;
use super::seat::Seat;
use super::shell::Shell;
use crate::json::{Id, Object};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use llm::engine::EngineError;
use llm::perplexity::{CHUNK_LEN, Mean, first_scored, nll, perplexity, standard_error};
use llm::tokenizer::TokenId;

/// Longest text that is read: the usual test sets have less.
const MAX_TEXT_BYTES: usize = 2 << 20;
/// Positions that are worked in between two looks for a stop.
const STEP: usize = 8;

/// A text, ready to be measured on.
struct Measured {
    /// Whole chunks only.
    ids: Vec<TokenId>,
    /// Tokens of the whole text.
    text_tokens: usize,
}

impl Measured {
    fn chunks(&self) -> usize {
        self.ids.len() / CHUNK_LEN
    }
}

/// Why there is no perplexity.
enum PplError<E> {
    /// The card cannot be read, or the file is too long.
    Card(E),
    /// No file has this name.
    NoSuchFile { file: String },
    /// The file is no text.
    NotUtf8 { file: String, at: usize },
    /// Encoding the text might take more memory than there is.
    OutOfMemory {
        file: String,
        needed_bytes: usize,
        free_bytes: usize,
    },
    /// The text is no whole chunk.
    TooShort { file: String, tokens: usize },
    /// A chunk does not fit into the context.
    ContextTooShort { context_len: usize },
    /// No chunk was asked for.
    NoChunks,
}

impl<E> PplError<E> {
    /// The `code` of the error event.
    fn code(&self) -> &'static str {
        match self {
            Self::Card(_) => "card",
            Self::NoSuchFile { .. } => "no_such_file",
            Self::NotUtf8 { .. } | Self::OutOfMemory { .. } | Self::TooShort { .. } => "bad_file",
            Self::ContextTooShort { .. } => "context_too_short",
            Self::NoChunks => "bad_value",
        }
    }
}

impl<E: fmt::Display> fmt::Display for PplError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Card(error) => error.fmt(f),
            Self::NoSuchFile { file } => write!(
                f,
                "no file is called {file:?} in the card's top folder: copy the text there"
            ),
            Self::NotUtf8 { file, at } => write!(
                f,
                "{file:?} is not UTF-8 at byte {at}: convert it to UTF-8 text"
            ),
            Self::OutOfMemory {
                file,
                needed_bytes,
                free_bytes,
            } => write!(
                f,
                "{file:?} may need {needed_bytes} bytes to be cut into tokens and {free_bytes} are free: shorten it"
            ),
            Self::TooShort { file, tokens } => write!(
                f,
                "{file:?} has {tokens} tokens and a chunk has {CHUNK_LEN}: take a longer text"
            ),
            Self::ContextTooShort { context_len } => write!(
                f,
                "the context takes {context_len} tokens and a chunk has {CHUNK_LEN}: /set context {CHUNK_LEN} and \
                 /load the model again, or take a model with a longer context"
            ),
            Self::NoChunks => f.write_str("\"chunks\" must be above 0"),
        }
    }
}

impl<P: Platform> Shell<'_, P> {
    /// `/ppl`.
    pub(super) fn ppl(&mut self, file: &str, seat: &mut Seat<'_>) {
        let text = match self.read_text(file, None, seat) {
            Ok(text) => text,
            Err(error) => return say!(self.screen, "{error}"),
        };
        let chunks = text.chunks();
        say!(
            self.screen,
            "{} tokens, {chunks} chunks of {CHUNK_LEN}; the conversation is forgotten; Ctrl-C stops",
            text.text_tokens
        );
        let screen = self.screen;
        let measured = self.score(&text, &Id::None, seat, &mut |done, nll| {
            say!(
                screen,
                "chunk {done} of {chunks}: perplexity {:.4} +- {:.4}",
                perplexity(nll),
                standard_error(nll)
            );
        });
        match measured {
            Ok((nll, _)) if nll.n() == 0 => say!(screen, "stopped"),
            Ok((nll, stopped)) => {
                say!(
                    screen,
                    "perplexity   {:.4} +- {:.4} over {} tokens (mean nll {:.6})",
                    perplexity(&nll),
                    standard_error(&nll),
                    nll.n(),
                    nll.mean()
                );
                if stopped {
                    say!(screen, "stopped");
                }
            }
            Err(failure) => say!(screen, "{failure}"),
        }
    }

    /// The op `ppl`.
    pub(super) fn ppl_events(
        &mut self,
        events: &Events<'_>,
        id: &Id,
        file: &str,
        chunks: Option<usize>,
        seat: &mut Seat<'_>,
    ) {
        let text = match self.read_text(file, chunks, seat) {
            Ok(text) => text,
            Err(error) => return events.error(error.code(), error),
        };
        let measured = self.score(&text, id, seat, &mut |done, nll| {
            events.event("ppl", |event| {
                event.field("chunk", done).field("chunks", text.chunks());
                write_fields(event, nll);
            });
        });
        match measured {
            Ok((_, stopped)) => events.event("done", |event| {
                event
                    .field("finish_reason", if stopped { "abort" } else { "stop" })
                    .field("text_tokens", text.text_tokens);
            }),
            Err(failure) => events.error(failure.code(), failure),
        }
    }

    /// Reads the text and cuts it into tokens; the conversation is still there if that fails.
    fn read_text(
        &self,
        file: &str,
        chunks: Option<usize>,
        seat: &Seat<'_>,
    ) -> Result<Measured, PplError<P::CardError>> {
        let context_len = seat.model.context_len();
        if context_len < CHUNK_LEN {
            return Err(PplError::ContextTooShort { context_len });
        }
        if chunks == Some(0) {
            return Err(PplError::NoChunks);
        }
        let name = || file.to_string();
        let bytes = self
            .platform
            .text_file(file, MAX_TEXT_BYTES)
            .map_err(PplError::Card)?
            .ok_or_else(|| PplError::NoSuchFile { file: name() })?;
        let text = core::str::from_utf8(&bytes).map_err(|error| PplError::NotUtf8 {
            file: name(),
            at: error.valid_up_to(),
        })?;
        let tokenizer = seat.model.tokenizer();
        let health = self.platform.health();
        if let (Some(used), Some(all)) = (health.heap_used_bytes, health.heap_bytes) {
            let needed_bytes = tokenizer.encoding_bytes(text);
            let free_bytes = all.saturating_sub(used);
            if needed_bytes > free_bytes {
                return Err(PplError::OutOfMemory {
                    file: name(),
                    needed_bytes,
                    free_bytes,
                });
            }
        }
        let mut ids = tokenizer.encode(text, false);
        let tokens = ids.len();
        let chunks = (tokens / CHUNK_LEN).min(chunks.unwrap_or(usize::MAX));
        if chunks == 0 {
            return Err(PplError::TooShort {
                file: name(),
                tokens,
            });
        }
        ids.truncate(chunks * CHUNK_LEN);
        Ok(Measured {
            ids,
            text_tokens: tokens,
        })
    }

    /// `−ln p` of the scored tokens, of whole chunks only, and whether it was stopped before the last.
    fn score(
        &mut self,
        text: &Measured,
        id: &Id,
        seat: &mut Seat<'_>,
        each_chunk: &mut dyn FnMut(usize, &Mean),
    ) -> Result<(Mean, bool), Failure> {
        seat.forget();
        self.inbox.borrow_mut().begin(id.clone());
        let mut total = Mean::default();
        let mut done = Ok(());
        for (n, chunk) in text.ids.chunks_exact(CHUNK_LEN).enumerate() {
            let mut with_chunk = total;
            done = self.score_chunk(chunk, seat, &mut with_chunk);
            if done.is_err() {
                break;
            }
            total = with_chunk;
            each_chunk(n + 1, &total);
        }
        self.platform.mark(Phase::Other);
        self.inbox.borrow_mut().end();
        seat.model.clear();
        match done {
            Ok(()) => Ok((total, false)),
            Err(EngineError::Stopped) => Ok((total, true)),
            Err(error) => Err(Failure::Model(error)),
        }
    }

    fn score_chunk(
        &self,
        chunk: &[TokenId],
        seat: &mut Seat<'_>,
        scores: &mut Mean,
    ) -> Result<(), EngineError> {
        let cores = self.platform.cores(self.settings.cores);
        let stop = || self.inbox.borrow_mut().poll();
        let (unscored, scored) = chunk.split_at(first_scored(CHUNK_LEN));
        seat.model.clear();
        self.platform.mark(Phase::Prefill);
        seat.model.prefill(unscored, cores, &stop)?;
        // The last token is foretold; nothing comes after it.
        for step in scored[..scored.len() - 1].chunks(STEP) {
            if stop() {
                return Err(EngineError::Stopped);
            }
            seat.model
                .logits_of_all(step, cores, &mut |position, logits| {
                    scores.add(nll(logits, chunk[position + 1].0));
                })?;
        }
        Ok(())
    }
}

fn write_fields(event: &mut Object<'_>, nll: &Mean) {
    event
        .field("tokens", nll.n())
        .field("perplexity", perplexity(nll))
        .field("standard_error", standard_error(nll))
        .field("mean_nll", nll.mean());
}
