//! A board without hardware: a scripted serial line, model files in memory, one core.

use crate::fake_slot::FakeSlot;
use console::board::{self, Serial};
use console::{Exit, run};
use llm::engine::Timer;
use llm::source::ModelSource;
use ops::arena::Line;
use parallel::{Cores, Serial as OneCore};
use protocol::facts::{BoardFacts, Health};
use session::machine::{Machine, ModelEntry, SdSlot, TextFile};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// What whoever sits at the other end does.
pub enum Step {
    /// Types.
    Type(&'static [u8]),
    /// Types at the n-th look for input after the step before.
    AtLook(usize, &'static [u8]),
}

/// The serial line of the script.
pub struct Wire {
    steps: RefCell<VecDeque<Step>>,
    arriving: RefCell<VecDeque<u8>>,
    shown: RefCell<Vec<u8>>,
    looks: Cell<usize>,
    /// What arrives behind the last step, some bytes with each piece that is written.
    pub meanwhile: RefCell<VecDeque<u8>>,
    /// Bytes that wait to be read; more are lost.
    pub room_bytes: Cell<usize>,
    lost_bytes: Cell<u32>,
    /// Bytes that leave between two looks for input; everything at once without.
    pub bytes_per_look: Option<usize>,
    /// Bytes that have not left, and the most that there were.
    backlog: Cell<usize>,
    pub max_backlog: Cell<usize>,
}

/// Bytes that arrive while one piece is written.
const BYTES_PER_PIECE: usize = 8;

impl Wire {
    fn arrive(&self, bytes: &[u8]) {
        let mut arriving = self.arriving.borrow_mut();
        for &byte in bytes {
            match arriving.len() < self.room_bytes.get() {
                true => arriving.push_back(byte),
                false => self.lost_bytes.set(self.lost_bytes.get() + 1),
            }
        }
    }

    fn advance(&self, idle: bool) {
        let mut steps = self.steps.borrow_mut();
        let is_due = match steps.front() {
            None => false,
            Some(Step::Type(_)) => idle,
            Some(Step::AtLook(n, _)) => self.looks.get() >= *n,
        };
        if is_due && let Some(Step::Type(bytes) | Step::AtLook(_, bytes)) = steps.pop_front() {
            self.arrive(bytes);
            self.looks.set(0);
        }
    }
}

impl Serial for Wire {
    fn read(&self) -> Option<u8> {
        if self.arriving.borrow().is_empty() {
            self.looks.set(self.looks.get() + 1);
            self.advance(false);
            let left = self.bytes_per_look.unwrap_or(usize::MAX);
            self.backlog.set(self.backlog.get().saturating_sub(left));
        }
        self.arriving.borrow_mut().pop_front()
    }
    fn write(&self, bytes: &[u8]) {
        self.shown.borrow_mut().extend_from_slice(bytes);
        self.backlog.set(self.backlog.get() + bytes.len());
        self.max_backlog
            .set(self.max_backlog.get().max(self.backlog.get()));
        if !self.steps.borrow().is_empty() {
            return;
        }
        let mut meanwhile = self.meanwhile.borrow_mut();
        let n = BYTES_PER_PIECE.min(meanwhile.len());
        let bytes: Vec<u8> = meanwhile.drain(..n).collect();
        self.arrive(&bytes);
    }
    fn is_behind(&self) -> bool {
        self.bytes_per_look.is_some() && self.backlog.get() > 0
    }
    fn wait(&self) {
        self.advance(true);
    }
    fn is_closed(&self) -> bool {
        self.steps.borrow().is_empty()
            && self.arriving.borrow().is_empty()
            && self.meanwhile.borrow().is_empty()
    }
}

/// Why the card cannot be read.
#[derive(Clone, Debug)]
pub struct NoCard;

impl fmt::Display for NoCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no card in the slot: put one in")
    }
}

/// The board.
pub struct Board {
    pub wire: Wire,
    pub files: Option<Vec<(&'static str, Vec<u8>)>>,
    /// Files of the card that are no models.
    pub texts: Vec<(&'static str, Vec<u8>)>,
    pub options: Option<&'static str>,
    pub health: Health,
    /// What is known of the start-up.
    pub details: &'static str,
    pub command_line: &'static str,
    /// What the interrupt count grows by each time that it is read.
    pub irqs_per_look: u32,
    irqs: Cell<u32>,
    /// Whether output is held back.
    is_held: Cell<bool>,
    cores: OneCore,
    pub facts: BoardFacts,
    /// What is in the card slot, if there is one.
    pub slot: Option<RefCell<FakeSlot>>,
    /// In how many pieces each file is.
    pub n_pieces: Option<usize>,
    now_us: Cell<u64>,
    /// The speeds that the line was given, and how much had been shown before each.
    pub speeds: RefCell<Vec<(u32, usize)>>,
}

impl Board {
    pub fn new(files: Vec<(&'static str, Vec<u8>)>, steps: Vec<Step>) -> Self {
        Self {
            wire: Wire {
                steps: RefCell::new(steps.into()),
                arriving: RefCell::default(),
                shown: RefCell::default(),
                looks: Cell::new(0),
                meanwhile: RefCell::default(),
                room_bytes: Cell::new(usize::MAX),
                lost_bytes: Cell::new(0),
                bytes_per_look: None,
                backlog: Cell::new(0),
                max_backlog: Cell::new(0),
            },
            files: Some(files),
            texts: Vec::new(),
            options: None,
            health: Health::default(),
            details: "",
            command_line: "pilm.columns=1000",
            irqs_per_look: 0,
            irqs: Cell::new(0),
            is_held: Cell::new(false),
            cores: OneCore::new(),
            facts: BoardFacts {
                version: "0.0.0 (test)".into(),
                name: "no board".into(),
                ram_bytes: 8 << 20,
                cores: 1,
                ..BoardFacts::default()
            },
            slot: None,
            n_pieces: None,
            now_us: Cell::new(0),
            speeds: RefCell::default(),
        }
    }

    /// Runs the script to its end; all that was shown.
    pub fn play(&self) -> (String, Exit) {
        let mut ram = vec![Line::ZERO; (8 << 20) / Line::BYTES];
        let exit = run(self, &mut ram);
        assert!(!self.is_held.get(), "what was held back is let go again");
        let shown = String::from_utf8(self.wire.shown.take()).expect("the output is UTF-8");
        // Each prompt asks the terminal to mark pastes.
        let shown = shown.replace("> \x1b[?2004h", "> ");
        (shown.replace("\r\n", "\n"), exit)
    }
}

impl std::error::Error for NoCard {}

impl Machine for Board {
    type CardError = NoCard;
    type Source<'m> = OnCard<'m>;

    fn now_us(&self) -> u64 {
        self.now_us.set(self.now_us.get() + 1000);
        self.now_us.get()
    }
    fn timer(&self) -> Timer {
        static LOOKS: AtomicU64 = AtomicU64::new(0);
        || LOOKS.fetch_add(1000, Ordering::Relaxed)
    }
    fn cores(&self, _n: Option<usize>) -> &dyn Cores {
        &self.cores
    }
    fn facts(&self) -> &BoardFacts {
        &self.facts
    }
    fn health(&self) -> Health {
        self.health.clone()
    }
    fn details(&self) -> String {
        self.details.into()
    }
    fn models(&self) -> Result<Vec<ModelEntry>, NoCard> {
        let files = self.files.as_ref().ok_or(NoCard)?.iter();
        Ok(files
            .map(|(name, bytes)| ModelEntry {
                name: (*name).into(),
                len_bytes: bytes.len() as u64,
            })
            .collect())
    }
    fn open_model(&self, name: &str) -> Result<OnCard<'_>, NoCard> {
        let files = self.files.as_ref().ok_or(NoCard)?;
        let (_, bytes) = files
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or(NoCard)?;
        Ok(OnCard {
            bytes,
            n_pieces: self.n_pieces,
        })
    }
    fn text_file(&self, name: &str, limit_bytes: usize) -> Result<TextFile, NoCard> {
        let texts = self
            .files
            .as_ref()
            .map(|_| self.texts.iter())
            .ok_or(NoCard)?;
        let found = texts.clone().find(|(known, _)| *known == name);
        Ok(match found {
            None => TextFile::Absent,
            Some((_, bytes)) if bytes.len() > limit_bytes => TextFile::TooLong {
                len_bytes: bytes.len() as u64,
            },
            Some((_, bytes)) => TextFile::Whole(bytes.clone()),
        })
    }
    fn sd_slot(&self) -> Option<RefMut<'_, dyn SdSlot<Error = NoCard>>> {
        let slot = self.slot.as_ref()?.borrow_mut();
        Some(RefMut::map(slot, |slot| {
            slot as &mut dyn SdSlot<Error = NoCard>
        }))
    }
    fn hold_output(&self, hold: bool) {
        self.is_held.set(hold);
    }
    /// Asked at the ends of windows only.
    fn irqs_taken(&self) -> Option<u32> {
        assert!(self.is_held.get(), "the line is silent in windows");
        self.irqs.set(self.irqs.get() + self.irqs_per_look);
        Some(self.irqs.get())
    }
    fn entropy(&self) -> u64 {
        7
    }
}

/// A model file.
pub struct OnCard<'m> {
    bytes: &'m [u8],
    n_pieces: Option<usize>,
}

impl ModelSource for OnCard<'_> {
    type Error = NoCard;

    fn len_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn n_pieces(&self) -> Option<usize> {
        self.n_pieces
    }
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), NoCard> {
        self.bytes.read_at(offset, buf).map_err(|_| NoCard)
    }
}

impl board::Board for Board {
    fn set_baud(&self, baud: u32) -> bool {
        let n_shown = self.wire.shown.borrow().len();
        self.speeds.borrow_mut().push((baud, n_shown));
        true
    }
    fn lost_bytes(&self) -> u32 {
        self.wire.lost_bytes.get()
    }
    fn serial(&self) -> &dyn Serial {
        &self.wire
    }
    fn command_line(&self) -> &str {
        self.command_line
    }
    fn options_file(&self) -> Result<Option<String>, NoCard> {
        Ok(self.options.map(Into::into))
    }
}
