//! A board without hardware: a serial line that types a script, and files in memory.

use crate::script::Step;
use console::session::{BoardFacts, Concern, Health, ModelFile, Platform, Serial, run};
use llm::engine::Timer;
use llm::source::ModelSource;
use ops::arena::Line;
use parallel::Cores;
use pilm::threads::Threads;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
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
                board: "no board".to_owned(),
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
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        shown.into_iter().map(text).collect()
    }
}

impl Platform for Board<'_> {
    type CardError = Infallible;

    fn serial(&self) -> &dyn Serial {
        &self.wire
    }

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

    fn models(&self) -> Result<Vec<ModelFile>, Infallible> {
        let file = |(name, bytes): &(&str, Vec<u8>)| ModelFile {
            name: (*name).to_owned(),
            len_bytes: bytes.len() as u64,
        };
        Ok(self.models.iter().map(file).collect())
    }

    fn read_model(
        &self,
        name: &str,
        read: &mut dyn FnMut(&mut dyn ModelSource) -> Concern,
    ) -> Result<(), Infallible> {
        let (_, bytes) = self
            .models
            .iter()
            .find(|(known, _)| *known == name)
            .expect("the session opens what is listed");
        read(&mut bytes.as_slice());
        Ok(())
    }

    fn options_file(&self) -> Result<Option<String>, Infallible> {
        Ok(None)
    }

    fn text_file(&self, name: &str, _limit_bytes: usize) -> Result<Option<Vec<u8>>, Infallible> {
        let text = self.texts.iter().find(|(known, _)| *known == name);
        Ok(text.map(|(_, bytes)| bytes.clone()))
    }

    fn command_line(&self) -> &str {
        "pilm.columns=1000 pilm.model=a.gguf"
    }

    fn entropy(&self) -> u64 {
        7
    }
}
