//! What a person typed, and the answer.

use super::answer::ToPerson;
use super::generate::{Failure, Plan};
use super::info;
use super::load;
use super::outcome::Finish;
use super::platform::Platform;
use super::screen::{Size, say};
use super::seat::Seat;
use super::shell::{Asked, Exit, Next, Shell};
use crate::command::{self, COMMANDS, Command};
use crate::json::{Id, LogitsRequest};
use crate::settings::{Effect, Setting};
use alloc::string::String;
use alloc::vec::Vec;
use llm::tokenizer::TokenId;
use ops::arena::Line;

impl<'p, P: Platform> Shell<'p, P> {
    /// Answers a line.
    pub(super) fn person(
        &mut self,
        line: &str,
        seat: Option<&mut Seat<'_>>,
        scratch: &mut [Line],
    ) -> Option<Next<'p, P>> {
        match command::parse(line) {
            Ok(command::Line::Blank) => None,
            Ok(command::Line::Text(text)) => {
                match seat {
                    Some(seat) => self.converse(text, seat),
                    // The list at the start is a menu: a number picks.
                    None if text.trim().parse::<usize>().is_ok() => {
                        return self.command(Command::Load(text.trim()), None, scratch);
                    }
                    None => self.no_model(),
                }
                None
            }
            Ok(command::Line::Command(command)) => self.command(command, seat, scratch),
            Err(error) => {
                say!(self.screen, "{error}");
                None
            }
        }
    }

    fn command(
        &mut self,
        command: Command<'_>,
        seat: Option<&mut Seat<'_>>,
        scratch: &mut [Line],
    ) -> Option<Next<'p, P>> {
        match command {
            Command::Help => self.help(),
            Command::Info => {
                let model = seat.map(|seat| (&seat.facts, seat.model.pos()));
                info::show(
                    self.screen,
                    self.platform.facts(),
                    &self.platform.health(),
                    &self.settings,
                    model,
                );
            }
            Command::Reset => {
                if let Some(seat) = seat {
                    seat.forget();
                }
                say!(self.screen, "the conversation is forgotten");
            }
            Command::Selftest => self.selftest(scratch, seat),
            Command::Membw => self.membw(scratch),
            Command::Bench(runs) => match seat {
                Some(seat) => self.bench(runs, seat),
                None => self.no_model(),
            },
            Command::Kernels(runs) => match seat {
                Some(seat) => self.kernels(runs, seat, scratch),
                None => self.no_model(),
            },
            Command::Ppl(file) => match seat {
                Some(seat) => self.ppl(file, seat),
                None => self.no_model(),
            },
            Command::Reboot => return Some(Next::Exit(Exit::Reboot)),
            Command::System(None) => self.show_system(seat.as_deref()),
            Command::System(Some(text)) => self.set("system", text, seat),
            Command::Set(None) => {
                for &setting in Setting::ALL {
                    self.show_setting(setting);
                }
            }
            Command::Set(Some((key, None))) => match Setting::named(key) {
                Some(setting) => {
                    self.show_setting(setting);
                    say!(
                        self.screen,
                        "    {}; takes {}",
                        setting.about(),
                        setting.allowed()
                    );
                }
                None => say!(self.screen, "no setting is called {key:?}; /set lists all"),
            },
            Command::Set(Some((key, Some(value)))) => self.set(key, value, seat),
            Command::Models => self.list_models(seat.as_deref()),
            Command::Load(name) => match load::open(self.platform, name) {
                Ok(file) => {
                    return Some(Next::Load {
                        file,
                        asked: Asked::Person,
                    });
                }
                Err(error) => say!(self.screen, "{error}"),
            },
            Command::Raw(text) => match seat {
                Some(seat) => {
                    let ids = seat.raw_prompt(text, false);
                    if let Err(error) = self.answer(&ids, false, seat) {
                        say!(self.screen, "{error}");
                    }
                }
                None => self.no_model(),
            },
        }
        None
    }

    fn help(&self) {
        for (usage, about) in COMMANDS {
            say!(self.screen, "{usage:<20} {about}");
        }
        say!(
            self.screen,
            "Ctrl-C stops an answer. A space before / or {{ makes text of a line."
        );
    }

    fn no_model(&self) {
        say!(
            self.screen,
            "no model is loaded: /models lists those on the card, /load NAME loads one"
        );
    }

    fn show_setting(&self, setting: Setting) {
        let mut value = String::new();
        if self.settings.write_value(setting, &mut value).is_ok() {
            say!(self.screen, "{:<15} {value}", setting.key());
        }
    }

    fn show_system(&self, seat: Option<&Seat<'_>>) {
        match (
            self.settings.system.as_deref(),
            seat.and_then(|seat| seat.model.template().default_system()),
        ) {
            (Some(""), _) => say!(self.screen, "no system prompt"),
            (Some(text), _) => say!(self.screen, "{text}"),
            (None, Some(text)) => say!(self.screen, "{text}\n    (the model's own)"),
            (None, None) => say!(
                self.screen,
                "no system prompt (the model has none of its own)"
            ),
        }
    }

    fn set(&mut self, key: &str, value: &str, seat: Option<&mut Seat<'_>>) {
        match self.settings.set(key, value) {
            Ok(setting) => {
                self.apply(setting);
                self.show_setting(setting);
                match setting.effect() {
                    Effect::Now => {}
                    Effect::Reset if seat.is_none_or(|seat| seat.conversation.is_empty()) => {}
                    Effect::Reset => say!(
                        self.screen,
                        "    takes effect with the next conversation: /reset"
                    ),
                    Effect::Load => say!(self.screen, "    takes effect with the next /load"),
                    Effect::Boot => say!(
                        self.screen,
                        "    takes effect at the start only: put it into pilm.txt"
                    ),
                }
            }
            Err(error) => say!(self.screen, "{error}"),
        }
    }

    /// What a changed setting changes at once.
    pub(super) fn apply(&mut self, setting: Setting) {
        if setting == Setting::Columns {
            self.inbox
                .borrow_mut()
                .editor
                .set_columns(self.settings.columns);
        }
    }

    pub(super) fn list_models(&self, seat: Option<&Seat<'_>>) {
        match self.platform.models() {
            Err(error) => say!(self.screen, "{error}"),
            Ok(files) if files.is_empty() => {
                say!(
                    self.screen,
                    "the card has no .gguf file: copy one into its top folder"
                );
            }
            Ok(files) => {
                for (index, file) in files.iter().enumerate() {
                    let is_loaded = seat.is_some_and(|seat| seat.facts.file == file.name);
                    let mark = if is_loaded { "  (loaded)" } else { "" };
                    say!(
                        self.screen,
                        "{:>2}  {}  {}{mark}",
                        index + 1,
                        file.name,
                        Size(file.len_bytes)
                    );
                }
            }
        }
    }

    fn converse(&mut self, text: &str, seat: &mut Seat<'_>) {
        let prompt = seat.ask(text, self.settings.system.as_deref());
        match self.answer(&prompt, true, seat) {
            Ok(answer) => seat.settle(prompt, &answer),
            Err(Failure::PromptTooLong {
                tokens,
                context_len,
            }) if !seat.conversation.is_empty() => say!(
                self.screen,
                "the context is full: with this question the conversation has {tokens} tokens and {context_len} fit. \
                 /reset starts a new one"
            ),
            Err(error) => say!(self.screen, "{error}"),
        }
    }

    /// Generates for a person; the ids of the answer.
    fn answer(
        &mut self,
        prompt: &[TokenId],
        is_chat: bool,
        seat: &mut Seat<'_>,
    ) -> Result<Vec<TokenId>, Failure> {
        let settings = self.settings.clone();
        let seed = self.seed(&settings);
        let plan = Plan {
            prompt,
            max_tokens: settings.max_tokens.unwrap_or(usize::MAX),
            seed,
            ignore_eos: false,
            trim_leading_space: is_chat && seat.model.tokenizer().has_leading_space(),
            logits: LogitsRequest::default(),
            counts: false,
        };
        let mut sink = ToPerson {
            screen: self.screen,
            ids: Vec::with_capacity(seat.model.context_len() + 1),
        };
        let outcome = self.generate(Id::None, &settings, &plan, seat, &mut sink)?;
        self.screen.put("\n");
        if settings.stats {
            say!(self.screen, "{}", outcome.status(self.platform.facts()));
        }
        if is_chat && outcome.finish == Finish::ContextFull {
            say!(
                self.screen,
                "the context is full: /reset starts a new conversation"
            );
        }
        Ok(sink.ids)
    }
}
