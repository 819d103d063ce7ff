//! The loop: input to requests, steps, events to output.

mod requests;

use crate::answers::Answers;
use crate::board::Board;
use crate::command::{self, Action};
use crate::input_queue::InputQueue;
use crate::line_editor::Input;
use crate::person::{Client, Person};
use crate::screen::{Screen, counted, say};
use alloc::string::String;
use alloc::vec::Vec;
use ops::arena::Line;
use protocol::crc_line::BadCrc;
use protocol::event::{Error, ErrorCode, Event};
use protocol::request::{Ask, Models};
use protocol::settings::Section;
use protocol::{Id, Op, Request, Setting, Settings};
use session::{Session, SessionState, Step};

/// What is shown where a person types.
const PROMPT: &str = "> ";

/// Asks the terminal to mark pasted text (xterm's mode 2004), and no longer to.
const PASTE_MARKS_ON: &str = "\x1b[?2004h";
const PASTE_MARKS_OFF: &str = "\x1b[?2004l";

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
        say!(screen, "going on at {baud} baud");
        if !board.set_baud(baud) {
            say!(screen, "the serial line cannot run at {baud} baud");
        }
    }
    if settings.log {
        screen.put(&board.details());
    }
    let quiet = settings.quiet;
    let mut console = Console {
        board,
        screen,
        input: InputQueue::new(board.serial(), PROMPT, settings.columns),
        person: Person::new(screen, board.facts()),
        answers: Answers::new(board.serial()),
        client: Client::Start { quiet },
        is_busy: false,
        reported_lost: 0,
    };
    if !quiet {
        // The terminal marks what is pasted from here on, so that its line ends enter nothing.
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
    /// Whether the input looks for a stop.
    is_busy: bool,
    /// Lost bytes that have been reported.
    reported_lost: u32,
}

impl<'b, B: Board> Console<'b, B> {
    /// Answers until another model is to be loaded (`None`), or until the end.
    fn serve(&mut self, session: &mut Session<'_, 'b, B>) -> Option<Exit> {
        loop {
            self.show_events(session);
            if session.can_stop() {
                if !self.is_busy {
                    self.input.begin(self.client.id());
                    self.is_busy = true;
                }
                if self.input.poll() {
                    session.stop();
                    continue;
                }
            } else if core::mem::take(&mut self.is_busy) {
                self.input.end();
            }
            let (person, answers, client) = (&mut self.person, &mut self.answers, &self.client);
            let step = session.step(&mut |id, file, progress| match client {
                Client::Program(_) => answers.event(id, &Event::Progress(progress)),
                Client::Start { quiet: true } => {}
                Client::Start { .. } | Client::Person(_) => person.progress(file, progress),
            });
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
                    let Some(input) = self.input.next_input() else {
                        return Some(Exit::End);
                    };
                    self.report_lost();
                    self.take_input(input, session);
                }
            }
        }
    }

    /// Turns a line into a request, or answers it.
    fn take_input(&mut self, input: Input, session: &mut Session<'_, 'b, B>) {
        if self.input.lines.is_required() && requests::needs_crc(&input) {
            return self.refuse_line(BadCrc::Missing);
        }
        match input {
            Input::Json(line) => self.take_request(&line, session),
            Input::Line(line) => match command::parse(&line) {
                Ok(command::Line::Blank) => {}
                Ok(command::Line::Text(text)) => {
                    let text = match session.model() {
                        // The list at the start is a menu: a number picks.
                        None if text.trim().parse::<usize>().is_ok() => command::load(text.trim()),
                        _ => Op::Ask(Ask {
                            text: String::from(text),
                        }),
                    };
                    self.ask(text, session);
                }
                Ok(command::Line::Command(Action::Ask(op))) => self.ask(op, session),
                Ok(command::Line::Command(action)) => {
                    self.person
                        .show(&action, session.settings(), session.model())
                }
                Err(error) => say!(self.screen, "{error}"),
            },
            Input::Overlong {
                json: Some(start),
                limit,
                dropped,
            } => {
                let id = Request::parse(&start)
                    .map_or_else(|rejected| rejected.id, |request| request.id);
                let message = format_args!(
                    "the line has {} more than the {limit} that a request may have",
                    counted(dropped, "byte")
                );
                self.answers.begin(self.input.lines.is_required());
                self.refuse(&id, Error::new(ErrorCode::Overlong, message));
            }
            Input::Overlong {
                json: None,
                limit,
                dropped,
            } => say!(
                self.screen,
                "the line has {} more than the {limit} that it may have; nothing was sent. The up key gives its \
                 beginning back",
                counted(dropped, "byte")
            ),
            Input::InvalidUtf8 { count, first } => say!(
                self.screen,
                "not UTF-8: {} (the first is 0x{first:02X}); nothing was sent. Set the terminal to UTF-8; the up key \
                 gives the line back",
                counted(count, "byte")
            ),
            Input::EndOfInput => self
                .screen
                .line("\n/reboot restarts the board; to leave, close the terminal program"),
            Input::Interrupt => {}
        }
    }

    fn submit(&mut self, request: Request, session: &mut Session<'_, 'b, B>) {
        if let Op::Reset(_) = request.op {
            self.input.lines.reset();
        }
        session.submit_for(self.client.asker(), request);
    }

    /// Submits what a person asks.
    fn ask(&mut self, op: Op, session: &mut Session<'_, 'b, B>) {
        if let Err(error) = op.check() {
            return say!(self.screen, "{error}");
        }
        self.person.begin(&op, session.settings(), session.model());
        self.client = Client::Person(op.name());
        self.submit(Request::unnamed(op), session);
    }

    fn refuse(&mut self, id: &Id, error: Error<'_>) {
        self.answers.event(id, &Event::Error(error));
    }

    /// Shows all events that there are, in the words of who has asked.
    fn show_events(&mut self, session: &mut Session<'_, 'b, B>) {
        while let Some((id, event)) = session.take() {
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
        if let Client::Person(_) = self.client {
            self.person.changed(
                setting,
                settings,
                session.model(),
                session.has_conversation(),
            );
        }
    }

    /// Says it when received bytes were lost.
    fn report_lost(&mut self) {
        let ahead = self.input.take_lost();
        if ahead > 0 {
            say!(
                self.screen,
                "{} lost: more was typed ahead than is kept",
                counted(ahead, "byte")
            );
        }
        let on_line = self.board.lost_bytes();
        if on_line != self.reported_lost {
            let lost = on_line.wrapping_sub(self.reported_lost);
            say!(
                self.screen,
                "lost or damaged while received: {}; what was typed may be incomplete",
                counted(lost as usize, "byte")
            );
            self.reported_lost = on_line;
        }
    }
}
