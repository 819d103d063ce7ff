//! Events to text for a person.

use crate::command::{self, Action};
use crate::info::{BoardLine, show_info};
use crate::records::{Status, bench_row, check_row, kernels_row, matrix_line, membw_row};
use crate::screen::{Screen, Size, counted, say};
use crate::sd::{SdReport, sd_read_row};
use alloc::string::String;
use core::fmt::Write;
use protocol::event::{Done, Error, ErrorCode, Event, Finish, Models, Ppl, Progress};
use protocol::facts::{BoardFacts, ModelFacts};
use protocol::settings::{Asker, Effect};
use protocol::{Id, Op, Setting, Settings};

/// Who has asked something, and so who gets the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Client {
    /// The start of the console.
    Start {
        /// Whether it says nothing of what goes well.
        quiet: bool,
    },
    /// A person; the name of the op.
    Person(&'static str),
    /// A program; the name of the request.
    Program(Id),
}

impl Client {
    /// The name of the request.
    pub fn id(&self) -> Id {
        match self {
            Self::Program(id) => id.clone(),
            _ => Id::None,
        }
    }

    /// Who wants an answer.
    pub fn asker(&self) -> Asker {
        match self {
            Self::Start { .. } | Self::Person(_) => Asker::Person,
            Self::Program(_) => Asker::Program,
        }
    }
}

/// Shows a person what happens.
pub struct Person<'b> {
    screen: Screen<'b>,
    board: &'b BoardFacts,
    /// The settings that say how the answer is shown.
    stats: bool,
    speculates: bool,
    is_sampled: bool,
    /// Whether a load has gone so far that the model before is gone.
    is_reloading: bool,
    /// Whether a row with progress is on show.
    has_progress: bool,
    /// The line with the matrix of the record before.
    matrix: String,
    /// The perplexity so far.
    ppl: Option<Ppl>,
}

impl<'b> Person<'b> {
    /// Text goes to `screen`.
    pub fn new(screen: Screen<'b>, board: &'b BoardFacts) -> Self {
        Self {
            screen,
            board,
            stats: true,
            speculates: false,
            is_sampled: false,
            is_reloading: false,
            has_progress: false,
            matrix: String::new(),
            ppl: None,
        }
    }

    /// The firmware and the board.
    pub fn banner(&self) {
        say!(self.screen, "\nPiLM {}", self.board.version);
        say!(self.screen, "board   {}", BoardLine(self.board));
        for warning in &self.board.warnings {
            say!(self.screen, "warning {warning}");
        }
    }

    /// Shows what needs no request.
    pub fn show(&self, action: &Action, settings: &Settings, model: Option<&ModelFacts>) {
        match action {
            Action::Help => self.help(),
            Action::ShowSystem => self.show_system(settings, model),
            Action::ShowSettings => {
                for &setting in Setting::ALL {
                    self.show_setting(setting, settings);
                }
            }
            Action::ShowSetting(key) => match Setting::named(key) {
                Some(setting) => {
                    self.show_setting(setting, settings);
                    say!(
                        self.screen,
                        "    {}; takes {}",
                        setting.about(),
                        setting.allowed()
                    );
                }
                None => say!(self.screen, "no setting is called {key:?}; /set lists all"),
            },
            Action::Ask(_) => {}
        }
    }

    fn help(&self) {
        for (usage, about) in command::help() {
            say!(self.screen, "{usage:<20} {about}");
        }
        self.screen
            .line("Ctrl-C stops an answer. A space before / or { makes text of a line.");
    }

    fn show_system(&self, settings: &Settings, model: Option<&ModelFacts>) {
        let own = model.and_then(|model| model.default_system.as_deref());
        match (settings.system.as_deref(), own) {
            (Some(""), _) => self.screen.line("no system prompt"),
            (Some(text), _) => say!(self.screen, "{text}"),
            (None, Some(text)) => say!(self.screen, "{text}\n    (the model's own)"),
            (None, None) => self
                .screen
                .line("no system prompt (the model has none of its own)"),
        }
    }

    fn show_setting(&self, setting: Setting, settings: &Settings) {
        let mut value = String::new();
        if settings.show(setting, &mut value).is_ok() {
            say!(self.screen, "{:<15} {value}", setting.key());
        }
    }

    /// Shows a setting that has changed.
    pub fn changed(
        &self,
        setting: Setting,
        settings: &Settings,
        model: Option<&ModelFacts>,
        has_conversation: bool,
    ) {
        self.show_setting(setting, settings);
        let changes_nothing = setting == Setting::Think && settings.think;
        if changes_nothing && model.is_some_and(|model| !model.can_think) {
            let note = "    the loaded model has no switch for thinking: it changes nothing there";
            self.screen.line(note);
        }
        let when = match setting.effect() {
            Effect::Reset if has_conversation => "with the next conversation: /reset",
            Effect::Now | Effect::Reset => return,
            Effect::Load => "with the next /load",
            Effect::Boot => "at the start only: put it into pilm.txt",
        };
        say!(self.screen, "    takes effect {when}");
    }

    /// Says what a person has to know before the request is answered.
    pub fn begin(&mut self, op: &Op, settings: &Settings, model: Option<&ModelFacts>) {
        self.stats = settings.stats;
        self.speculates = settings.speculate > 0;
        self.is_sampled = settings.temperature_for(Asker::Person) > 0.0;
        self.matrix.clear();
        self.ppl = None;
        // A program may have loaded a model meanwhile.
        self.is_reloading = false;
        match op {
            Op::Bench(bench) if model.is_some() => {
                let plan = bench.plan(self.board.emulated);
                say!(
                    self.screen,
                    "{} of {} and {} per core count, {} kernels; Ctrl-C stops",
                    counted(plan.runs, "run"),
                    counted(plan.prompt_tokens, "prompt token"),
                    counted(plan.tokens, "answer token"),
                    settings.kernels
                );
            }
            Op::Kernels(_) if model.is_some() && self.board.emulated => self
                .screen
                .line("emulated: no speeds; the ratios are the emulator's, not the board's"),
            Op::Selftest(_) if model.is_none() => self
                .screen
                .line("no model is loaded: the card and the cores' shares are not checked"),
            _ => {}
        }
    }

    /// The model before is gone.
    pub fn reload(&mut self) {
        self.is_reloading = true;
    }

    /// Shows how far a load is.
    pub fn progress(&mut self, file: &str, progress: Progress) {
        self.has_progress = true;
        let (done, total) = (Size(progress.done_bytes), Size(progress.total_bytes));
        // One row, written over and over; the line ends when the load does.
        let _ = write!(self.screen, "\rloading {file}: {done} of {total}   ");
    }

    /// Shows an event; what is to be done next.
    pub fn event(&mut self, client: &Client, event: &Event<'_>) -> Option<Op> {
        let is_quiet = *client == Client::Start { quiet: true };
        match event {
            Event::Token(token) => self.screen.put_untrusted(&token.text),
            Event::Chunk(chunk) => self.screen.put_untrusted(&chunk.tokens.text),
            Event::Text(text) => self.screen.put_untrusted(&text.text),
            Event::Info(info) => show_info(self.screen, info),
            Event::Log(log) if log.lines.is_empty() => {
                self.screen.line("nothing is known of the start-up here");
            }
            Event::Log(log) => log.lines.iter().for_each(|line| self.screen.line(line)),
            Event::Models(models) => return self.models(client, models),
            Event::Loaded(loaded) => {
                self.end_of_progress();
                if !is_quiet {
                    self.loaded(&loaded.model);
                }
            }
            Event::Bench(bench) if bench.samples.runs + bench.samples.void_runs > 0 => {
                say!(self.screen, "{}", bench_row(bench));
            }
            Event::Membw(membw) if membw.samples.runs > 0 => {
                say!(self.screen, "{}", membw_row(membw));
            }
            Event::Sd(sd) => say!(self.screen, "{}", SdReport(sd)),
            Event::SdRead(read) => say!(self.screen, "{}", sd_read_row(read)),
            Event::Kernels(kernels) => {
                // Two types may have matrices of one name.
                let matrix = matrix_line(kernels);
                if self.matrix != matrix {
                    say!(self.screen, "{matrix}");
                    self.matrix = matrix;
                }
                if kernels.max_relative_error.is_some() {
                    say!(self.screen, "{}", kernels_row(kernels));
                }
            }
            Event::TextReady(text) => say!(
                self.screen,
                "{}, {} of {}; the conversation is forgotten; Ctrl-C stops",
                counted(text.text_tokens, "token"),
                counted(text.chunks, "chunk"),
                text.chunk_len
            ),
            Event::Ppl(ppl) => {
                self.ppl = Some(*ppl);
                say!(
                    self.screen,
                    "chunk {} of {}: perplexity {:.4} +- {:.4}",
                    ppl.chunk,
                    ppl.chunks,
                    ppl.perplexity,
                    ppl.standard_error
                );
            }
            Event::Selftest(check) => say!(self.screen, "{}", check_row(check)),
            Event::Done(done) => self.done(client, done),
            Event::Error(error) => self.error(client, error),
            // Nothing was measured; or a person has not asked for it.
            Event::Bench(_) | Event::Membw(_) => {}
            Event::Logits(_) | Event::Counts(_) | Event::Tokens(_) | Event::Progress(_) => {}
            Event::Settings(_) | Event::Notice(_) | Event::Lost(_) | Event::Ready(_) => {}
        }
        None
    }

    /// The files on the card; at the start the only one is loaded.
    fn models(&self, client: &Client, models: &Models) -> Option<Op> {
        let is_start = matches!(client, Client::Start { .. });
        match models.models.as_slice() {
            [] => self
                .screen
                .line("the card has no .gguf file: copy one into its top folder"),
            [only] if is_start => return Some(command::load(&only.name)),
            files => {
                if is_start {
                    self.screen
                        .line("the card has several models; type a number to load one:");
                }
                for (index, file) in files.iter().enumerate() {
                    let mark = if file.loaded { "  (loaded)" } else { "" };
                    let size = Size(file.bytes);
                    say!(self.screen, "{:>2}  {}  {size}{mark}", index + 1, file.name);
                }
            }
        }
        None
    }

    fn loaded(&self, model: &ModelFacts) {
        say!(self.screen, "model   {}", crate::info::Summary(model));
        let size = Size(model.load_bytes);
        if self.board.emulated {
            say!(self.screen, "loaded  {size}");
        } else {
            let seconds = model.load_s;
            let rate = model.load_bytes as f64 / (seconds * 1e6).max(1.0);
            say!(
                self.screen,
                "loaded  {size} in {seconds:.1} s ({rate:.1} MB/s)"
            );
        }
    }

    fn end_of_progress(&mut self) {
        self.is_reloading = false;
        if core::mem::take(&mut self.has_progress) {
            self.screen.put("\n");
        }
    }

    fn done(&mut self, client: &Client, done: &Done) {
        let stopped = done.finish_reason == Some(Finish::Abort);
        if let (Some(generated), Some(finish)) = (&done.generated, done.finish_reason) {
            self.screen.put("\n");
            if self.stats {
                let status = Status {
                    generated,
                    finish,
                    speculates: self.speculates,
                    is_sampled: self.is_sampled,
                };
                say!(self.screen, "{status}");
            }
            if finish == Finish::Repetition {
                self.screen.line(
                    "ended: the answer repeats itself; /set stop_repetition off lets it go on",
                );
            }
            if *client == Client::Person("ask") && finish == Finish::ContextFull {
                self.screen
                    .line("the context is full: /reset starts a new conversation");
            }
            return;
        }
        if let Some(failed) = done.failed {
            match failed {
                0 if stopped => self.screen.line("stopped; what was checked is right"),
                0 => self.screen.line("everything is right"),
                n => say!(
                    self.screen,
                    "WRONG: {}; do not trust this machine's answers",
                    counted(n, "check")
                ),
            }
            return;
        }
        if let Some(ppl) = self.ppl.take() {
            say!(
                self.screen,
                "perplexity   {:.4} +- {:.4} over {} tokens (mean nll {:.6})",
                ppl.perplexity,
                ppl.standard_error,
                ppl.tokens,
                ppl.mean_nll
            );
        }
        if stopped {
            self.screen.line("stopped");
        }
        if *client == Client::Person("reset") {
            self.screen.line("the conversation is forgotten");
        }
    }

    fn error(&mut self, client: &Client, error: &Error<'_>) {
        let is_gone = self.is_reloading
            || (matches!(client, Client::Start { .. }) && error.code == ErrorCode::LoadFailed);
        self.end_of_progress();
        match error.code {
            ErrorCode::NoModel => self
                .screen
                .line("no model is loaded: /models lists those on the card, /load NAME loads one"),
            _ => say!(self.screen, "{}", error.message),
        }
        if is_gone {
            self.screen
                .line("no model is loaded; /models lists those on the card");
        }
    }
}
