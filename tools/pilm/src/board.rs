//! A board without hardware: a serial line of the caller's, threads for cores, and files in memory.

use crate::threads::Threads;
use console::{Exit, Serial, run};
use llm::engine::Timer;
use llm::source::PastEnd;
use ops::arena::Line;
use parallel::Cores;
use protocol::facts::{BoardFacts, Health};
use session::machine::{Machine, ModelEntry, TextFile};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory of the session.
const RAM_BYTES: usize = 64 << 20;

/// A file of the card: its name and its bytes.
pub type File = (&'static str, Vec<u8>);

/// The board.
pub struct Board<S> {
    serial: S,
    command_line: &'static str,
    models: Vec<File>,
    texts: Vec<File>,
    teams: Vec<Threads>,
    facts: BoardFacts,
    now_us: Cell<u64>,
}

impl<S: Serial> Board<S> {
    /// A board that works with up to `n_cores` threads.
    pub fn new(
        serial: S,
        command_line: &'static str,
        models: Vec<File>,
        texts: Vec<File>,
        n_cores: usize,
    ) -> Self {
        Self {
            serial,
            command_line,
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

    /// The serial line.
    pub fn serial(&self) -> &S {
        &self.serial
    }

    /// Runs the console until it is left.
    pub fn run(&self) -> Exit {
        run(self, &mut vec![Line::ZERO; RAM_BYTES / Line::BYTES])
    }
}

impl<S: Serial> Machine for Board<S> {
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
        let file = |(name, bytes): &File| ModelEntry {
            name: (*name).to_owned(),
            len_bytes: bytes.len() as u64,
        };
        Ok(self.models.iter().map(file).collect())
    }

    fn open_model(&self, name: &str) -> Result<&[u8], PastEnd> {
        let mut models = self.models.iter();
        let found = models.find(|(known, _)| *known == name);
        // The session opens what is listed; an empty file is no model.
        Ok(found.map_or(&[], |(_, bytes)| bytes))
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

impl<S: Serial> console::Board for Board<S> {
    fn serial(&self) -> &dyn Serial {
        &self.serial
    }

    fn options_file(&self) -> Result<Option<String>, PastEnd> {
        Ok(None)
    }

    fn command_line(&self) -> &str {
        self.command_line
    }
}
