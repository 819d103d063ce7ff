//! The events of one request, each once and in order, whatever the wire does.

use crate::client::{Link, Watch};
use crate::error::Error;
use crate::lines::Heard;
use crate::repeat::Repeat;
use crate::transport::Transport;
use protocol::event::{Done, ErrorCode, Finish, Line, Token};
use protocol::request::{Abort, Reset};
use protocol::{Event, Id, Op};
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// What comes next of an answer.
#[derive(Debug)]
pub enum Step {
    /// An event.
    Event(Event<'static>),
    /// Nothing came in time; the request is still under way.
    Waiting,
    /// The end.
    Done(Done),
}

/// An answer under way.
#[derive(Debug)]
pub struct Answer<'l, T> {
    link: &'l mut Link<T>,
    op: Op,
    repeat: Repeat,
    /// The request's name, another each time that it is asked.
    id: i64,
    /// The number of the next event, this time.
    next_n: u32,
    /// The number of the first event that the caller does not have.
    wanted_n: u32,
    /// Whether an event was lost, this time.
    is_damaged: bool,
    /// Whether the caller wants no more, and when that was said last.
    is_stopped: bool,
    stop_sent_at: Option<Instant>,
    /// Events of an answer that is given as a whole, at its end.
    held: Vec<Event<'static>>,
    ready: VecDeque<Event<'static>>,
    end: Option<Done>,
    has_loaded: bool,
    /// How often it was asked again since something new came.
    attempts: u32,
    watch: Watch,
}

impl<'l, T: Transport> Answer<'l, T> {
    pub(crate) fn begin(link: &'l mut Link<T>, op: Op) -> Result<Self, Error> {
        let watch = Watch::new(link.options());
        let mut answer = Self {
            link,
            repeat: Repeat::of(&op),
            op,
            id: 0,
            next_n: 0,
            wanted_n: 0,
            is_damaged: false,
            is_stopped: false,
            stop_sent_at: None,
            held: Vec::new(),
            ready: VecDeque::new(),
            end: None,
            has_loaded: false,
            attempts: 0,
            watch,
        };
        let sent = answer.send();
        answer.over_io(sent)?;
        Ok(answer)
    }

    /// The next event, or the end, or nothing within `timeout`. After the end there is nothing to wait for.
    ///
    /// # Errors
    /// The answer is an error, or does not come.
    pub fn next(&mut self, timeout: Duration) -> Result<Step, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Step::Event(event));
            }
            if let Some(done) = &self.end {
                return Ok(Step::Done(*done));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.link.line(left.min(self.watch.left()));
            match line {
                Ok(Some(heard)) => {
                    let taken = self.take(heard)?;
                    self.over_io(taken)?;
                }
                Ok(None) => {
                    if self.watch.is_due(self.link.options())? && self.link.options().crc {
                        let sent = self.link.probe();
                        self.over_io(sent)?;
                    }
                    if left.is_zero() {
                        return Ok(Step::Waiting);
                    }
                }
                Err(error) => self.over_io(Err(error))?,
            }
        }
    }

    /// The link that it comes over.
    pub fn link(&mut self) -> &mut Link<T> {
        self.link
    }

    /// Stops it; its end is still to come.
    ///
    /// # Errors
    /// The line is gone.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.is_stopped = true;
        self.stop_sent_at = None;
        let sent = self.send_stop();
        self.over_io(sent)
    }

    /// Goes on after a failure of the transport, if it can be opened again.
    fn over_io(&mut self, done: io::Result<()>) -> Result<(), Error> {
        let mut done = done;
        while let Err(error) = done {
            self.link.reconnect(error)?;
            done = self.again()?;
        }
        Ok(())
    }

    /// Sends the request under a new name.
    fn send(&mut self) -> io::Result<()> {
        self.id = self.link.new_id();
        self.next_n = 0;
        self.is_damaged = false;
        self.has_loaded = false;
        self.stop_sent_at = None;
        self.held.clear();
        self.link.send(self.id, &self.op)
    }

    /// Asks for the end, unless that was done a moment ago.
    fn send_stop(&mut self) -> io::Result<()> {
        let quiet = self.link.options().quiet;
        if self.stop_sent_at.is_some_and(|at| at.elapsed() < quiet) {
            return Ok(());
        }
        self.stop_sent_at = Some(Instant::now());
        self.link.send(self.id, &Op::Abort(Abort::default()))
    }

    /// Asks again: what was asked is over, and a part of the answer is not here.
    fn again(&mut self) -> Result<io::Result<()>, Error> {
        if self.is_stopped {
            self.end = Some(Done {
                finish_reason: Some(Finish::Abort),
                ..Done::default()
            });
            return Ok(Ok(()));
        }
        if self.repeat == Repeat::Never {
            return Err(Error::Uncertain { op: self.op.name() });
        }
        self.attempts += 1;
        if self.attempts > self.link.options().attempts {
            return Err(Error::Lossy {
                attempts: self.attempts,
            });
        }
        if self.repeat == Repeat::Whole {
            // with what the context holds, less would be told
            self.link.ask_with(Op::Reset(Reset {}), &mut |_| {})?;
            self.link.connect()?;
        }
        self.watch.heard(self.link.options());
        Ok(self.send())
    }

    /// Takes a line.
    fn take(&mut self, heard: Heard) -> Result<io::Result<()>, Error> {
        let has_crc = self.link.options().crc;
        let line = match heard {
            Heard::Event(line) => line,
            Heard::Unreadable(line) if !has_crc => return Err(Error::Unknown { line }),
            Heard::Unreadable(_) | Heard::Text => return Ok(Ok(())),
        };
        self.watch.heard(self.link.options());
        match *line {
            Line {
                id: Id::Number(id),
                n,
                event,
            } if id == self.id && (n.is_some() || !has_crc) => self.own(n, event),
            // The answer to a probe: in order, so what was asked before it is over.
            Line {
                id: Id::Number(id), ..
            } if has_crc && id > self.id => self.again(),
            // Whether it was the request or something else that was damaged, the answer to a probe tells.
            Line {
                event: Event::Error(error),
                ..
            } if has_crc && error.code == ErrorCode::BadCrc => Ok(self.link.probe()),
            _ => Ok(Ok(())),
        }
    }

    /// Takes an event of this request.
    fn own(&mut self, n: Option<u32>, event: Event<'static>) -> Result<io::Result<()>, Error> {
        let is_end = matches!(event, Event::Done(_) | Event::Error(_));
        let n = n.unwrap_or(self.next_n);
        // What the caller has may be lost.
        let is_gap = n > self.next_n.max(self.wanted_n);
        self.is_damaged |= is_gap && self.repeat != Repeat::Load;
        if self.is_damaged {
            return match is_end {
                true => self.again(),
                false => Ok(self.send_stop()),
            };
        }
        self.next_n = n + 1;
        match event {
            Event::Done(done) => return self.done(done),
            Event::Error(error) => return Err(Error::Refused(error)),
            Event::Chunk(chunk) => {
                for (i, token) in (0..).zip(chunk.iter()) {
                    let token = Event::Token(Token {
                        text: token.text.into_owned().into(),
                        ..token
                    });
                    self.next_n = n + i + 1;
                    self.deliver(n + i, token);
                }
            }
            event => self.deliver(n, event),
        }
        match self.is_stopped {
            true => Ok(self.send_stop()),
            false => Ok(Ok(())),
        }
    }

    fn deliver(&mut self, n: u32, event: Event<'static>) {
        self.has_loaded |= matches!(event, Event::Loaded(_));
        if self.repeat == Repeat::Whole {
            self.held.push(event);
        } else if n >= self.wanted_n {
            self.wanted_n = n + 1;
            self.attempts = 0;
            self.ready.push_back(event);
        }
    }

    fn done(&mut self, done: Done) -> Result<io::Result<()>, Error> {
        let has_crc = self.link.options().crc;
        // A byte became a Ctrl-C, or this is the answer to an abort that came too late.
        let is_unwanted = done.finish_reason == Some(Finish::Abort) && !self.is_stopped;
        let is_of_abort = done.aborted.is_some() && !matches!(self.op, Op::Abort(_));
        let is_part = self.repeat == Repeat::Load && !self.has_loaded;
        if has_crc && (is_unwanted || is_of_abort || is_part) {
            return self.again();
        }
        self.ready.extend(self.held.drain(..));
        self.end = Some(done);
        Ok(Ok(()))
    }
}
