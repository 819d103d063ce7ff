//! What does not wait for its turn: Ctrl-C, `abort`, `info`; and what no request has asked for: bytes that were
//! lost, and that the console is ready.

use super::Console;
use crate::board::Board;
use crate::input_queue::{AtOnce, Caller};
use crate::person::Client;
use crate::screen::{counted, say};
use alloc::boxed::Box;
use protocol::Id;
use protocol::event::{Done, Event, Info, Lost, Ready};
use session::{Loading, Session};

impl<'b, B: Board> Console<'b, B> {
    /// Takes in what has arrived and does what acts at once.
    pub(super) fn attend(&mut self, session: &mut Session<'_, 'b, B>) {
        self.input.drain();
        if self.serves_program() || !session.is_running() {
            self.report_lost();
        }
        while let Some(at_once) = self.input.at_once() {
            match at_once {
                AtOnce::Interrupt => {
                    session.stop();
                    if !matches!(self.client, Client::Start { .. }) {
                        session.drop_waiting();
                    }
                    self.show_events(session);
                    self.is_ready_due = true;
                }
                AtOnce::Stop { is_answered } => {
                    let is_stopped = session.stop();
                    let abort = self.input.take_stop();
                    self.show_events(session);
                    if is_answered || !is_stopped {
                        self.answer(AtOnce::Aborted(abort, is_stopped), &|| session.info());
                    }
                }
                other => {
                    self.begin_row(session.is_running());
                    self.answer(other, &|| session.info());
                }
            }
        }
    }

    /// The same during a load, which runs to its end.
    pub(super) fn attend_loading(&mut self, loading: &Loading<'_>) {
        self.input.drain();
        while let Some(at_once) = self.input.at_once() {
            self.begin_row(true);
            let at_once = match at_once {
                AtOnce::Interrupt => {
                    self.is_ready_due = true;
                    continue;
                }
                AtOnce::Stop { .. } => AtOnce::Aborted(self.input.take_stop(), false),
                other => other,
            };
            let board = self.board;
            self.answer(at_once, &|| session::info(board, loading.settings, None));
        }
    }

    fn answer(&mut self, at_once: AtOnce, info: &dyn Fn() -> Info) {
        let mut aside = |caller: Caller, events: &[Event<'_>]| {
            self.answers.aside(caller.has_crc, &caller.id, events);
        };
        match at_once {
            AtOnce::Info(caller) => {
                let info = Event::Info(Box::new(info()));
                aside(caller, &[info, Event::Done(Done::default())]);
            }
            AtOnce::Dropped(caller) => aside(caller, &[Event::Error(session::dropped())]),
            AtOnce::Aborted(abort, has_stopped) => {
                let done = Done {
                    aborted: Some(has_stopped),
                    ..Done::default()
                };
                aside(abort, &[Event::Done(done)]);
            }
            AtOnce::Interrupt | AtOnce::Stop { .. } => {}
        }
    }

    pub(super) fn serves_program(&self) -> bool {
        matches!(self.client, Client::Program(_))
    }

    /// Ends the row of a person's answer, so that a line of a program has its own.
    fn begin_row(&self, is_running: bool) {
        if is_running && !self.serves_program() {
            self.screen.put("\n");
        }
    }

    /// Says that everything before is over.
    pub(super) fn say_ready(&mut self, session: &Session<'_, 'b, B>) {
        let model = session.model().map(|model| model.file.clone());
        self.announce(&Event::Ready(Ready { model }));
    }

    /// Says it when received bytes were lost.
    pub(super) fn report_lost(&mut self) {
        let ahead = self.input.take_lost();
        let now = self.board.lost_bytes();
        let on_line = now.wrapping_sub(self.reported_lost) as usize;
        self.reported_lost = now;
        if ahead + on_line == 0 {
            return;
        }
        let bytes = ahead + on_line;
        self.announce(&Event::Lost(Lost { bytes }));
        if self.serves_program() {
            return;
        }
        if ahead > 0 {
            say!(
                self.screen,
                "{} lost: more was typed ahead than is kept",
                counted(ahead, "byte")
            );
        }
        if on_line > 0 {
            say!(
                self.screen,
                "lost or damaged while received: {}; what was typed may be incomplete",
                counted(on_line, "byte")
            );
        }
    }

    /// Writes an event that answers nobody.
    fn announce(&mut self, event: &Event<'_>) {
        let has_crc = self.input.lines().is_required();
        self.answers
            .aside(has_crc, &Id::None, core::slice::from_ref(event));
    }
}
