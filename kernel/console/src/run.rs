//! The loop: input to requests, steps, events to output.

mod at_once;
mod requests;

use crate::answers::Answers;
use crate::board::Board;
use crate::command;
use crate::input_queue::{InputQueue, Next, PASTE_MARKS_ON};
use crate::line_editor::Input;
use crate::person::{Client, Person};
use crate::screen::{Screen, say};
use alloc::vec::Vec;
use ops::arena::Line;
use protocol::event::Event;
use protocol::request::Models;
use protocol::settings::Section;
use protocol::{Op, Request, Setting, Settings};
use session::{Session, SessionState, Step};

/// What is shown where a person types.
const PROMPT: &str = "> ";

/// Asks the terminal to mark pasted text no longer.
const PASTE_MARKS_OFF: &str = "\x1b[?2004l";

/// The speed of the serial line where nobody has set one.
const DEFAULT_BAUD: u32 = 115_200;

/// Memory for measurements and for the selftest: far more than the caches hold, and little of the RAM.
const SCRATCH_BYTES: usize = 32 << 20;

/// Why the console was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The board is to be restarted.
    Reboot,
    /// Nothing more will be typed.
    End,
}

/// Runs the console. `ram` is what a model and its context may use.
pub fn run<B: Board>(board: &B, ram: &mut [Line]) -> Exit {
    let screen = Screen::new(board.serial());
    let (settings, sections) = read_settings(board, screen);
    if let Some(baud) = settings.baud {
        change_speed(board, Some(screen), baud);
    }
    if settings.log {
        screen.put(&board.details());
    }
    let quiet = settings.quiet;
    let mut console = Console {
        board,
        screen,
        input: InputQueue::new(board.serial(), PROMPT, settings.columns, !quiet),
        person: Person::new(screen, board.facts()),
        answers: Answers::new(board.serial()),
        client: Client::Start { quiet },
        is_busy: false,
        is_ready_due: settings.ready,
        is_speed_due: false,
        reported_lost: 0,
    };
    if !quiet {
        // A paste may come before the first prompt.
        screen.put(PASTE_MARKS_ON);
        console.person.banner();
    }
    let first = match &settings.model {
        Some(name) => command::load(name),
        None => Op::Models(Models {}),
    };
    let mut state = SessionState::new(settings, sections);
    let scratch = (SCRATCH_BYTES / Line::BYTES).min(ram.len() / 2);
    let (ram, scratch) = ram.split_at_mut(ram.len() - scratch);
    let mut first = Some(Request::unnamed(first));
    let exit = loop {
        // The model before is gone here, and all of the RAM is free again.
        let mut session = Session::new(board, state, ram, scratch);
        first
            .take()
            .into_iter()
            .for_each(|request| session.submit(request));
        let exit = console.serve(&mut session);
        state = session.into_state();
        if let Some(exit) = exit {
            break exit;
        }
    };
    if !quiet {
        screen.put(PASTE_MARKS_OFF);
    }
    exit
}

/// Goes on at another speed; `told` is told so.
fn change_speed<B: Board>(board: &B, told: Option<Screen<'_>>, baud: u32) {
    if let Some(screen) = told {
        say!(screen, "going on at {baud} baud");
    }
    if !board.set_baud(baud)
        && let Some(screen) = told
    {
        say!(screen, "the serial line cannot run at {baud} baud");
    }
}

/// The settings of the kernel command line and of `pilm.txt`.
fn read_settings<B: Board>(board: &B, screen: Screen<'_>) -> (Settings, Vec<Section>) {
    let mut settings = Settings::default();
    let mut sections = Vec::new();
    settings.apply_command_line(board.command_line(), &mut |error| {
        say!(screen, "kernel command line: {error}")
    });
    match board.options_file() {
        Ok(Some(text)) => {
            sections = settings.apply_file(&text, &mut |error| say!(screen, "pilm.txt: {error}"));
        }
        Ok(None) => {}
        Err(error) => say!(screen, "{error}"),
    }
    (settings, sections)
}

/// The console.
struct Console<'b, B: Board> {
    board: &'b B,
    screen: Screen<'b>,
    input: InputQueue<'b>,
    person: Person<'b>,
    answers: Answers<'b>,
    /// Who has asked what is being answered.
    client: Client,
    /// Whether the input knows of a request that runs.
    is_busy: bool,
    /// Whether an event is to say when everything before it is over.
    is_ready_due: bool,
    /// Whether the serial line has a new speed, which is used when all events of its request have been sent.
    is_speed_due: bool,
    /// Lost bytes that have been reported.
    reported_lost: u32,
}

impl<'b, B: Board> Console<'b, B> {
    /// Answers until another model is to be loaded (`None`), or until the end.
    fn serve(&mut self, session: &mut Session<'_, 'b, B>) -> Option<Exit> {
        loop {
            self.show_events(session);
            if !session.is_running() {
                if core::mem::take(&mut self.is_busy) {
                    self.input.end();
                }
            } else if !core::mem::replace(&mut self.is_busy, true) {
                self.input.begin(self.client.id(), session.can_stop());
            }
            self.attend(session);
            let step = self.step(session);
            match step {
                Step::Busy => {}
                Step::Reload => {
                    self.person.reload();
                    return None;
                }
                Step::Reboot => {
                    self.show_events(session);
                    return Some(Exit::Reboot);
                }
                Step::Idle => {
                    let Some(input) = self.next_input(session) else {
                        return Some(Exit::End);
                    };
                    self.take_input(input, session);
                }
            }
        }
    }

    /// Does the next piece of work; during a load it looks for what acts at once, too.
    fn step(&mut self, session: &mut Session<'_, 'b, B>) -> Step {
        session.step(&mut |loading| {
            self.attend_loading(loading);
            let Some(progress) = loading.progress else {
                return;
            };
            match self.client {
                Client::Program(_) => self.answers.event(loading.id, &Event::Progress(progress)),
                Client::Start { quiet: true } => {}
                Client::Start { .. } | Client::Person(_) => {
                    self.person.progress(loading.file, progress);
                }
            }
        })
    }

    /// Waits for the next line, when everything before is over.
    fn next_input(&mut self, session: &Session<'_, 'b, B>) -> Option<Input> {
        if core::mem::take(&mut self.is_speed_due) {
            let baud = session.settings().baud.unwrap_or(DEFAULT_BAUD);
            // a program has its `done`
            let told = (!self.serves_program()).then_some(self.screen);
            change_speed(self.board, told, baud);
        }
        if core::mem::take(&mut self.is_ready_due) {
            self.say_ready(session);
        }
        loop {
            let (board, reported) = (self.board, self.reported_lost);
            let next = self.input.next_input(&|| board.lost_bytes() != reported);
            self.report_lost();
            match next {
                Next::Input(input) => return Some(input),
                Next::Lost => {}
                Next::End => return None,
            }
        }
    }

    /// Shows all events that there are, in the words of who has asked.
    fn show_events(&mut self, session: &mut Session<'_, 'b, B>) {
        while let Some((id, event)) = session.take() {
            // Showing it takes time, in which bytes arrive.
            self.input.drain();
            let changed = match &event {
                Event::Settings(changed) => Setting::named(&changed.key),
                _ => None,
            };
            let next = match (&self.client, &event) {
                (_, Event::Notice(notice)) => {
                    say!(self.screen, "{notice}");
                    None
                }
                (Client::Program(_), Event::TextReady(_)) => None,
                (Client::Program(_), event) => {
                    self.answers.event(id, event);
                    None
                }
                (client, event) => self.person.event(client, event),
            };
            if let Some(op) = next {
                session.submit(Request::unnamed(op));
            }
            if let Some(setting) = changed {
                self.apply(setting, session);
            }
        }
    }

    /// What a changed setting changes at once.
    fn apply(&mut self, setting: Setting, session: &Session<'_, 'b, B>) {
        let settings = session.settings();
        if setting == Setting::Columns {
            self.input.editor.set_columns(settings.columns);
        }
        if setting == Setting::Baud && session.board().max_baud.is_some() {
            self.is_speed_due = true;
        }
        if let Client::Person(_) = self.client {
            self.person.changed(
                setting,
                settings,
                session.model(),
                session.has_conversation(),
            );
        }
    }
}
