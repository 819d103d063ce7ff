//! A board without hardware: a serial line that types a script, and files in memory.

use crate::script::Step;
use console::{Serial, run};
use llm::engine::Timer;
use llm::source::PastEnd;
use ops::arena::Line;
use parallel::Cores;
use pilm::threads::Threads;
use protocol::facts::{BoardFacts, Health};
use session::machine::{Machine, ModelEntry, TextFile};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory of the session.
const RAM_BYTES: usize = 64 << 20;

/// The serial line of a script.
struct Wire<'s> {
    steps: &'s [Step],
    n_typed: Cell<usize>,
    arriving: RefCell<VecDeque<u8>>,
    looks: Cell<usize>,
    /// What came back before the first step, and after each step.
    shown: RefCell<Vec<Vec<u8>>>,
}

impl Wire<'_> {
    fn advance(&self, is_idle: bool) {
        let Some(step) = self.steps.get(self.n_typed.get()) else {
            return;
        };
        let is_due = match step.at_look {
            None => is_idle,
            Some(n) => is_idle || self.looks.get() >= n,
        };
        if is_due {
            self.n_typed.set(self.n_typed.get() + 1);
            self.arriving.borrow_mut().extend(step.bytes());
            self.looks.set(0);
            self.shown.borrow_mut().push(Vec::new());
        }
    }
}

impl Serial for Wire<'_> {
    fn read(&self) -> Option<u8> {
        if self.arriving.borrow().is_empty() {
            self.looks.set(self.looks.get() + 1);
            self.advance(false);
        }
        self.arriving.borrow_mut().pop_front()
    }

    fn write(&self, bytes: &[u8]) {
        if let Some(last) = self.shown.borrow_mut().last_mut() {
            last.extend_from_slice(bytes);
        }
    }

    fn wait(&self) {
        self.advance(true);
    }

    fn is_closed(&self) -> bool {
        self.n_typed.get() == self.steps.len() && self.arriving.borrow().is_empty()
    }
}

/// The board.
pub struct Board<'s> {
    wire: Wire<'s>,
    models: Vec<(&'static str, Vec<u8>)>,
    texts: Vec<(&'static str, Vec<u8>)>,
    teams: Vec<Threads>,
    facts: BoardFacts,
    now_us: Cell<u64>,
}

impl<'s> Board<'s> {
    /// A board that works with up to `n_cores` threads.
    pub fn new(
        models: Vec<(&'static str, Vec<u8>)>,
        texts: Vec<(&'static str, Vec<u8>)>,
        n_cores: usize,
        steps: &'s [Step],
    ) -> Self {
        Self {
            wire: Wire {
                steps,
                n_typed: Cell::new(0),
                arriving: RefCell::default(),
                looks: Cell::new(0),
                shown: RefCell::new(vec![Vec::new()]),
            },
            models,
            texts,
            teams: (1..=n_cores).map(Threads::new).collect(),
            facts: BoardFacts {
                version: "VERSION".to_owned(),
                name: "no board".to_owned(),
                ram_bytes: RAM_BYTES as u64,
                cores: n_cores,
                ..BoardFacts::default()
            },
            now_us: Cell::new(0),
        }
    }

    /// Runs the session to its end: what came back before the first step, and after each step.
    pub fn play(self) -> Vec<String> {
        run(&self, &mut vec![Line::ZERO; RAM_BYTES / Line::BYTES]);
        let shown = self.wire.shown.take();
        let text = |bytes| {
            let text = String::from_utf8(bytes).expect("the output is UTF-8");
            // Each prompt asks the terminal to mark pastes.
            text.replace("> \x1b[?2004h", "> ")
        };
        shown.into_iter().map(text).collect()
    }
}

impl Machine for Board<'_> {
    type CardError = PastEnd;
    type Source<'p>
        = &'p [u8]
    where
        Self: 'p;

    fn now_us(&self) -> u64 {
        self.now_us.set(self.now_us.get() + 1000);
        self.now_us.get()
    }

    fn timer(&self) -> Timer {
        static NOW: AtomicU64 = AtomicU64::new(0);
        || NOW.fetch_add(1000, Ordering::Relaxed)
    }

    fn cores(&self, n: Option<usize>) -> &dyn Cores {
        let n = n.unwrap_or(usize::MAX).clamp(1, self.teams.len());
        &self.teams[n - 1]
    }

    fn facts(&self) -> &BoardFacts {
        &self.facts
    }

    fn health(&self) -> Health {
        Health::default()
    }

    fn models(&self) -> Result<Vec<ModelEntry>, PastEnd> {
        let file = |(name, bytes): &(&str, Vec<u8>)| ModelEntry {
            name: (*name).to_owned(),
            len_bytes: bytes.len() as u64,
        };
        Ok(self.models.iter().map(file).collect())
    }

    fn open_model(&self, name: &str) -> Result<&[u8], PastEnd> {
        let mut models = self.models.iter();
        let found = models.find(|(known, _)| *known == name);
        Ok(&found.expect("the session opens what is listed").1)
    }

    fn text_file(&self, name: &str, _limit_bytes: usize) -> Result<TextFile, PastEnd> {
        let text = self.texts.iter().find(|(known, _)| *known == name);
        Ok(text.map_or(TextFile::Absent, |(_, bytes)| {
            TextFile::Whole(bytes.clone())
        }))
    }

    fn entropy(&self) -> u64 {
        7
    }
}

impl console::Board for Board<'_> {
    fn serial(&self) -> &dyn Serial {
        &self.wire
    }

    fn options_file(&self) -> Result<Option<String>, PastEnd> {
        Ok(None)
    }

    fn command_line(&self) -> &str {
        "pilm.columns=1000 pilm.model=a.gguf"
    }
}
