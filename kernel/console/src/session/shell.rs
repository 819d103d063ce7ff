//! The loop around everything: load a model, answer lines, load another.

use super::banner;
use super::events::Events;
use super::inbox::Inbox;
use super::load::{self, Opened};
use super::platform::Platform;
use super::screen::{Screen, say};
use super::seat::Seat;
use crate::json::Id;
use crate::line_editor::Input;
use crate::settings::Settings;
use core::cell::RefCell;
use ops::arena::Line;

/// What is shown where a person types.
const PROMPT: &str = "> ";

/// Asks the terminal to mark pasted text (xterm's mode 2004), and no longer to.
const PASTE_MARKS_ON: &str = "\x1b[?2004h";
const PASTE_MARKS_OFF: &str = "\x1b[?2004l";

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The board is to be restarted.
    Reboot,
    /// Nothing more will be typed.
    End,
}

/// What comes after the lines that one model answered.
pub(super) enum Next<'p, P: Platform + 'p> {
    /// Load a model; who asked for it.
    Load { file: Opened<'p, P>, asked: Asked },
    /// The end.
    Exit(Exit),
}

/// Who asked for something, and so who gets the answer.
#[derive(Debug, Clone)]
pub(super) enum Asked {
    Start,
    Person,
    Program(Id),
}

/// What outlives a model.
pub(super) struct Shell<'p, P: Platform> {
    pub platform: &'p P,
    pub screen: Screen<'p>,
    pub inbox: RefCell<Inbox<'p>>,
    pub settings: Settings,
    /// Number of answers that were asked for without a seed.
    pub draws: u64,
    /// Lost bytes that have been reported.
    pub reported_lost: u32,
}

/// Runs a session. `ram` is what a model and its context may use.
pub fn run<P: Platform>(platform: &P, ram: &mut [Line]) -> Exit {
    let screen = Screen::new(platform.serial());
    let mut settings = Settings::default();
    settings.apply_command_line(platform.command_line(), &mut |error| {
        say!(screen, "kernel command line: {error}")
    });
    match platform.options_file() {
        Ok(Some(text)) => {
            settings.apply_file(&text, &mut |error| say!(screen, "pilm.txt: {error}"))
        }
        Ok(None) => {}
        // The list of models meets the same card and reports it.
        Err(_) => {}
    }
    let mut shell = Shell {
        platform,
        screen,
        inbox: RefCell::new(Inbox::new(platform.serial(), PROMPT, settings.columns)),
        settings,
        draws: 0,
        reported_lost: 0,
    };
    if let Some(baud) = shell.settings.baud {
        say!(screen, "going on at {baud} baud");
        if !platform.set_baud(baud) {
            say!(screen, "the serial line cannot run at {baud} baud");
        }
    }
    if !shell.settings.quiet {
        // The terminal marks what is pasted from here on, so that its line ends enter nothing.
        screen.put(PASTE_MARKS_ON);
        banner::board(screen, platform.facts());
    }
    let (ram, scratch) = set_aside(ram);
    let mut next = load::first(&shell).map(|file| (file, Asked::Start));
    loop {
        // The model before is gone here, and all of the RAM is free again.
        let seat = next.and_then(|(file, asked)| load::load(&shell, ram, file, &asked));
        match shell.serve(seat, scratch) {
            Next::Load { file, asked } => next = Some((file, asked)),
            Next::Exit(exit) => {
                if !shell.settings.quiet {
                    screen.put(PASTE_MARKS_OFF);
                }
                return exit;
            }
        }
    }
}

/// Memory for measurements and for the selftest: far more than the caches hold, and little of the RAM.
const SCRATCH_BYTES: usize = 32 << 20;

/// Cuts the scratch memory off.
fn set_aside(ram: &mut [Line]) -> (&mut [Line], &mut [Line]) {
    let scratch = (SCRATCH_BYTES / Line::BYTES).min(ram.len() / 2);
    ram.split_at_mut(ram.len() - scratch)
}

impl<'p, P: Platform> Shell<'p, P> {
    fn serve(&mut self, mut seat: Option<Seat<'_>>, scratch: &mut [Line]) -> Next<'p, P> {
        loop {
            let input = self.inbox.borrow_mut().next();
            self.report_lost();
            if let Some(seat) = &mut seat {
                seat.model.set_kernels(self.settings.kernels);
            }
            let next = match input {
                None => Some(Next::Exit(Exit::End)),
                Some(Input::Line(line)) => self.person(&line, seat.as_mut(), scratch),
                Some(Input::Json(line)) => self.program(&line, seat.as_mut(), scratch),
                Some(input) => {
                    self.refuse(&input);
                    None
                }
            };
            if let Some(next) = next {
                return next;
            }
        }
    }

    /// Says it when received bytes were lost.
    fn report_lost(&mut self) {
        let ahead = self.inbox.borrow_mut().take_lost();
        if ahead > 0 {
            say!(
                self.screen,
                "{ahead} bytes were lost: more was typed ahead than is kept"
            );
        }
        let on_line = self.platform.lost_bytes();
        if on_line != self.reported_lost {
            let lost = on_line.wrapping_sub(self.reported_lost);
            say!(
                self.screen,
                "{lost} received bytes were lost or damaged: what was typed may be incomplete"
            );
            self.reported_lost = on_line;
        }
    }

    /// The seed of the next answer: the setting, or one that the clock gives.
    pub(super) fn seed(&mut self, settings: &Settings) -> u64 {
        settings.seed.unwrap_or_else(|| {
            self.draws += 1;
            // 2^64 divided by the golden ratio: neighbouring numbers give distant seeds. 53 bits remain, so
            // that every JSON reader can hand the seed back unchanged.
            let number = self.platform.entropy().wrapping_add(self.draws);
            number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11
        })
    }

    /// Says what is wrong with what was typed.
    fn refuse(&self, input: &Input) {
        match *input {
            Input::Overlong {
                json: true,
                limit,
                dropped,
            } => {
                Events::new(self.screen, &Id::None).error(
                    "overlong",
                    format_args!(
                        "the line has {dropped} bytes more than the {limit} that a request may have"
                    ),
                );
            }
            Input::Overlong {
                json: false,
                limit,
                dropped,
            } => say!(
                self.screen,
                "the line has {dropped} bytes more than the {limit} that it may have; nothing was sent. The up key gives \
                 its beginning back"
            ),
            Input::InvalidUtf8 { count, first } => say!(
                self.screen,
                "{count} bytes (the first is 0x{first:02X}) are not UTF-8; nothing was sent. Set the terminal to UTF-8; \
                 the up key gives the line back"
            ),
            Input::EndOfInput => say!(
                self.screen,
                "\n/reboot restarts the board; to leave, close the terminal program"
            ),
            Input::Interrupt | Input::Line(_) | Input::Json(_) => {}
        }
    }
}
