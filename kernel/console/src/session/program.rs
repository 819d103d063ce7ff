//! What a program asked, and the events that answer it.

use super::answer::ToProgram;
use super::events::Events;
use super::generate::Plan;
use super::info;
use super::load;
use super::platform::Platform;
use super::seat::Seat;
use super::shell::{Asked, Exit, Next, Shell};
use crate::json::{
    CompleteRequest, Id, LogitsRequest, Message, Op, Prompt, Request, RequestError, Sampling,
};
use crate::settings::{Effect, Setting};
use alloc::string::String;
use alloc::vec::Vec;
use llm::tokenizer::TokenId;
use ops::arena::Line;

impl<'p, P: Platform> Shell<'p, P> {
    /// Answers a request line.
    pub(super) fn program(
        &mut self,
        line: &[u8],
        seat: Option<&mut Seat<'_>>,
        scratch: &mut [Line],
    ) -> Option<Next<'p, P>> {
        let Request { id, op } = match Request::parse(line) {
            Ok(request) => request,
            Err((id, error)) => {
                Events::new(self.screen, &id).error(error.code(), error);
                return None;
            }
        };
        let events = Events::new(self.screen, &id);
        let done = || events.event("done", |_| {});
        match op {
            Op::Info => {
                let health = self.platform.health();
                let model = seat.map(|seat| (&seat.facts, seat.model.pos()));
                events.event("info", |event| {
                    info::write(event, self.platform.facts(), &health, &self.settings, model)
                });
                done();
            }
            Op::Models => match self.platform.models() {
                Ok(files) => {
                    events.event("models", |event| {
                        event.array("models", |array| {
                            for file in &files {
                                let is_loaded = seat
                                    .as_ref()
                                    .is_some_and(|seat| seat.facts.file == file.name);
                                array.object(|object| {
                                    object
                                        .field("name", file.name.as_str())
                                        .field("bytes", file.len_bytes)
                                        .field("loaded", is_loaded);
                                });
                            }
                        });
                    });
                    done();
                }
                Err(error) => events.error("card", error),
            },
            Op::Load { name } => match load::open(self.platform, &name) {
                Ok(file) => {
                    return Some(Next::Load {
                        file,
                        asked: Asked::Program(id),
                    });
                }
                Err(error) => events.error(error.code(), error),
            },
            Op::Reset => {
                if let Some(seat) = seat {
                    seat.forget();
                }
                done();
            }
            Op::Abort => events.event("done", |event| {
                event.field("aborted", false);
            }),
            Op::Set { key, value } => match self.settings.set(&key, &value) {
                Ok(setting) => {
                    self.apply(setting);
                    self.report_setting(&events, setting);
                    done();
                }
                Err(error) => events.error("bad_value", error),
            },
            Op::Reboot => {
                done();
                return Some(Next::Exit(Exit::Reboot));
            }
            Op::Selftest => self.selftest_events(&events, &id, scratch, seat),
            Op::Membw(request) => self.membw_events(&events, &id, request, scratch),
            op => match seat {
                Some(seat) => self.ask_model(op, &id, seat, scratch),
                None => events.error(
                    "no_model",
                    "no model is loaded: see the ops models and load",
                ),
            },
        }
        None
    }

    fn report_setting(&self, events: &Events<'_>, setting: Setting) {
        let effect = match setting.effect() {
            Effect::Now => "now",
            Effect::Reset => "reset",
            Effect::Load => "load",
            Effect::Boot => "boot",
        };
        events.event("settings", |event| {
            event.field("key", setting.key()).field("effect", effect);
            self.settings.write_field(setting, event);
        });
    }

    /// Ops that need a model.
    fn ask_model(&mut self, op: Op, id: &Id, seat: &mut Seat<'_>, scratch: &mut [Line]) {
        let events = Events::new(self.screen, id);
        match op {
            Op::Tokenize { text, special } => {
                let ids = seat.model.tokenizer().encode(&text, special);
                events.event("tokens", |event| {
                    event.field("count", ids.len()).array("ids", |array| {
                        ids.iter().for_each(|id| {
                            array.push(id.0);
                        });
                    });
                });
                events.event("done", |_| {});
            }
            Op::Detokenize { ids } => {
                let ids: Vec<TokenId> = ids.into_iter().map(TokenId).collect();
                let bytes = seat.model.tokenizer().decode(&ids);
                events.event("text", |event| {
                    event.field("text", &*String::from_utf8_lossy(&bytes));
                });
                events.event("done", |_| {});
            }
            Op::Complete(CompleteRequest {
                prompt,
                sampling,
                logits,
            }) => {
                let (ids, is_chat) = match prompt {
                    Prompt::Ids(ids) => (ids.into_iter().map(TokenId).collect(), false),
                    Prompt::Raw { text, special } => (seat.raw_prompt(&text, special), false),
                    Prompt::Question(text) => {
                        let question = [Message {
                            role: String::from("user"),
                            content: text,
                        }];
                        match seat.render(&question, self.settings.system.as_deref()) {
                            Ok(ids) => (ids, true),
                            Err(error) => return events.error(error.code(), error),
                        }
                    }
                };
                self.answer_program(&ids, is_chat, &sampling, logits, id, seat);
            }
            Op::Chat {
                messages,
                sampling,
                logits,
            } => match seat.render(&messages, self.settings.system.as_deref()) {
                Ok(ids) => self.answer_program(&ids, true, &sampling, logits, id, seat),
                Err(error) => events.error(error.code(), error),
            },
            Op::Bench(request) => self.bench_events(&events, id, request, seat),
            Op::Kernels { runs } => self.kernels_events(&events, id, runs, seat, scratch),
            Op::Ppl { file, chunks } => self.ppl_events(&events, id, &file, chunks, seat),
            // The other ops were answered before.
            _ => {}
        }
    }

    fn answer_program(
        &mut self,
        prompt: &[TokenId],
        is_chat: bool,
        sampling: &Sampling,
        logits: LogitsRequest,
        id: &Id,
        seat: &mut Seat<'_>,
    ) {
        let events = Events::new(self.screen, id);
        let settings = match sampling.over(&self.settings) {
            Ok(settings) => settings,
            Err(error) => return refuse(&events, &error),
        };
        let seed = self.seed(&settings);
        let plan = Plan {
            prompt,
            max_tokens: settings.max_tokens.unwrap_or(usize::MAX),
            seed,
            ignore_eos: sampling.ignore_eos,
            trim_leading_space: is_chat && seat.model.tokenizer().has_leading_space(),
            logits,
            counts: sampling.counts,
        };
        let mut sink = ToProgram {
            events,
            wanted: logits,
        };
        match self.generate(id.clone(), &settings, &plan, seat, &mut sink) {
            Ok(outcome) => events.event("done", |event| {
                outcome.write_fields(event, self.platform.facts())
            }),
            Err(error) => events.error(error.code(), error),
        }
    }
}

fn refuse(events: &Events<'_>, error: &RequestError) {
    events.error(error.code(), error);
}
