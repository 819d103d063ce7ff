//! Bytes that have arrived before their turn, and the lines among them that do not wait for it: Ctrl-C, and while
//! a request runs the ops `abort` and `info`.

use super::at_once::{AtOnce, Caller};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use ops::crc32c;
use protocol::crc_line::{Checked, LineCheck};
use protocol::event::Limits;
use protocol::request::Abort;
use protocol::{Id, Op, Request};

/// Ctrl-C.
pub const INTERRUPT: u8 = 0x03;

/// The most bytes that are kept.
pub const MAX_AHEAD_BYTES: usize = Limits::THIS.queue_bytes;

/// Stands where bytes are missing. It is in no UTF-8 text, so that two halves are not taken for a line.
const GAP: u8 = 0xFF;

/// The marks around a paste, as the last six bytes.
const PASTE_START: u64 = u64::from_be_bytes(*b"\0\0\x1b[200~");
const PASTE_END: u64 = u64::from_be_bytes(*b"\0\0\x1b[201~");
const SIX_BYTES: u64 = 0xFFFF_FFFF_FFFF;

/// The request that runs.
struct Running {
    id: Id,
    can_stop: bool,
}

/// The bytes.
pub struct Ahead {
    /// Which lines of programs are taken.
    pub lines: LineCheck,
    bytes: VecDeque<u8>,
    /// Empty; its memory is that of `bytes` when those are looked at anew.
    spare: VecDeque<u8>,
    /// How many were taken; all positions count from the first byte ever.
    taken: usize,
    /// Where the unfinished line starts.
    line_start: usize,
    /// The finished lines of programs, without their line ends.
    requests: VecDeque<Range<usize>>,
    /// The CR of a line that is gone was the last byte: its LF goes too.
    skip_lf: bool,
    /// The last six bytes.
    window: u64,
    /// Whether they lie between the marks of a paste.
    is_pasting: bool,
    /// Whether bytes are missing behind the last one.
    has_gap: bool,
    lost: usize,
    running: Option<Running>,
    /// The lines of the aborts in `at_once` that stop what runs, each with a line end. Nothing of them is allocated
    /// until it has stopped: its last event says how much the heap has grown.
    stops: VecDeque<u8>,
    at_once: VecDeque<AtOnce>,
}

impl Ahead {
    /// Nothing.
    pub fn new() -> Self {
        Self {
            lines: LineCheck::new(crc32c::extend),
            // Typing ahead takes no memory while the heap is watched.
            bytes: VecDeque::with_capacity(4096),
            spare: VecDeque::with_capacity(4096),
            taken: 0,
            line_start: 0,
            requests: VecDeque::with_capacity(64),
            skip_lf: false,
            window: 0,
            is_pasting: false,
            has_gap: false,
            lost: 0,
            running: None,
            stops: VecDeque::with_capacity(256),
            at_once: VecDeque::with_capacity(8),
        }
    }

    /// Adds a byte.
    pub fn keep(&mut self, byte: u8) {
        if self.swallows(byte) {
            return;
        }
        if byte == INTERRUPT {
            return self.interrupt();
        }
        if self.bytes.len() + 1 + usize::from(self.has_gap) > MAX_AHEAD_BYTES {
            self.lost += 1;
            self.has_gap = true;
            return;
        }
        if core::mem::take(&mut self.has_gap) {
            self.bytes.push_back(GAP);
        }
        self.bytes.push_back(byte);
        let line = self.line_start..self.end() - 1;
        let is_request = self.byte(line.start) == Some(b'{');
        if !is_request {
            self.look_for_paste(byte);
        }
        if !matches!(byte, b'\r' | b'\n') || self.is_pasting {
            return;
        }
        if is_request {
            match self.running.is_some() && self.act(&line) {
                true => self.skip_lf = byte == b'\r',
                false => self.requests.push_back(line),
            }
        }
        self.line_start = self.end();
    }

    /// Takes the oldest byte.
    pub fn pop(&mut self) -> Option<u8> {
        let byte = self.bytes.pop_front()?;
        self.taken += 1;
        self.line_start = self.line_start.max(self.taken);
        self.requests.pop_front_if(|line| line.start < self.taken);
        Some(byte)
    }

    /// Whether `byte`, which has just arrived, ends a line that is gone.
    pub fn swallows(&mut self, byte: u8) -> bool {
        core::mem::take(&mut self.skip_lf) && byte == b'\n'
    }

    /// Begins a time in which the request `id` runs, and looks at the lines that were sent before.
    pub fn begin(&mut self, id: Id, can_stop: bool) {
        self.running = Some(Running { id, can_stop });
        let mut bytes = core::mem::replace(&mut self.bytes, core::mem::take(&mut self.spare));
        self.requests.clear();
        let (has_gap, skip_lf) = (self.has_gap, self.skip_lf);
        (self.has_gap, self.skip_lf) = (false, false);
        (self.line_start, self.window, self.is_pasting) = (self.taken, 0, false);
        bytes.drain(..).for_each(|byte| self.keep(byte));
        self.spare = bytes;
        self.has_gap = has_gap;
        self.skip_lf |= skip_lf;
    }

    /// Ends it.
    pub fn stop_watching(&mut self) {
        self.running = None;
    }

    /// What acts before its turn, in the order of arrival.
    pub fn at_once(&mut self) -> Option<AtOnce> {
        self.at_once.pop_front()
    }

    /// How many bytes did not fit since the last call.
    pub fn take_lost(&mut self) -> usize {
        core::mem::take(&mut self.lost)
    }

    fn look_for_paste(&mut self, byte: u8) {
        self.window = (self.window << 8 | u64::from(byte)) & SIX_BYTES;
        self.is_pasting = match self.window {
            PASTE_START => true,
            PASTE_END => false,
            _ => self.is_pasting,
        };
    }

    /// Drops everything.
    fn interrupt(&mut self) {
        self.at_once.push_back(AtOnce::Interrupt);
        while let Some(line) = self.requests.pop_front() {
            let (caller, _) = self.read(&line);
            self.at_once.push_back(AtOnce::Dropped(caller));
        }
        self.bytes.clear();
        (self.line_start, self.window) = (self.taken, 0);
        (self.is_pasting, self.has_gap) = (false, false);
    }

    /// Where the next byte will stand.
    fn end(&self) -> usize {
        self.taken + self.bytes.len()
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at - self.taken).copied()
    }

    /// Who sent the abort of the oldest [`AtOnce::Stop`] that was taken.
    pub fn take_stop(&mut self) -> Caller {
        let len = self.stops.iter().position(|&byte| byte == b'\n');
        let line: Vec<u8> = self.stops.drain(..len.unwrap_or(0)).collect();
        self.stops.pop_front();
        self.read_line(&line).0
    }

    fn keep_stop(&mut self, line: &Range<usize>) {
        let bytes = self.bytes.range(self.range(line));
        self.stops.extend(bytes);
        self.stops.push_back(b'\n');
    }

    /// Where `line` is in `bytes`.
    fn range(&self, line: &Range<usize>) -> Range<usize> {
        line.start - self.taken..line.end - self.taken
    }

    /// Who sent `line`, and what it asks for, if it can be read.
    fn read(&self, line: &Range<usize>) -> (Caller, Option<Op>) {
        let bytes: Vec<u8> = self.bytes.range(self.range(line)).copied().collect();
        self.read_line(&bytes)
    }

    fn read_line(&self, bytes: &[u8]) -> (Caller, Option<Op>) {
        let (parsed, has_crc) = match self.lines.check(bytes) {
            Ok(Checked { text, has_crc }) => (Request::parse(text), has_crc),
            Err(_) => {
                let (id, has_crc) = (Id::None, true);
                return (Caller { id, has_crc }, None);
            }
        };
        let (id, op) = match parsed {
            Ok(Request { id, op }) => (id, Some(op)),
            Err(rejected) => (rejected.id, None),
        };
        (Caller { id, has_crc }, op)
    }

    /// Takes `line`, which has just ended, if it does not wait for its turn; whether it was one.
    fn act(&mut self, line: &Range<usize>) -> bool {
        let Some(running) = &self.running else {
            return false;
        };
        let (caller, op) = self.read(line);
        let act = match op {
            // It would tell what those before it change.
            Some(Op::Info(_)) if self.requests.is_empty() => AtOnce::Info(caller),
            Some(Op::Abort(Abort { target: None }))
                if running.can_stop && (caller.id == Id::None || caller.id == running.id) =>
            {
                self.keep_stop(line);
                AtOnce::Stop { is_answered: false }
            }
            Some(Op::Abort(Abort {
                target: Some(target),
            })) => match target == running.id {
                true => {
                    self.keep_stop(line);
                    AtOnce::Stop { is_answered: true }
                }
                false => AtOnce::Aborted(caller, self.remove(&target)),
            },
            // One that is damaged too: it is answered in its turn.
            _ => return false,
        };
        self.at_once.push_back(act);
        // What was dropped lies before it.
        let start = self.end() - line.len() - 1;
        self.bytes.truncate(start - self.taken);
        true
    }

    /// Drops the first request called `id`; whether there is one.
    fn remove(&mut self, id: &Id) -> bool {
        let mut callers = self.requests.iter().map(|line| self.read(line).0);
        let Some((at, caller)) = callers
            .by_ref()
            .enumerate()
            .find(|(_, caller)| caller.id == *id)
        else {
            return false;
        };
        let Some(line) = self.requests.remove(at) else {
            return false;
        };
        let is_crlf = self.byte(line.end) == Some(b'\r') && self.byte(line.end + 1) == Some(b'\n');
        let len = line.len() + 1 + usize::from(is_crlf);
        let start = line.start - self.taken;
        self.bytes.drain(start..start + len);
        for later in &mut self.requests {
            if later.start > line.start {
                *later = later.start - len..later.end - len;
            }
        }
        self.at_once.push_back(AtOnce::Dropped(caller));
        true
    }
}
