//! `pilm chat MODEL`: the firmware's own console, with the host in place of the board.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use console::{Board, Serial};
use link::terminal::{RawMode, keys};
use llm::engine::Timer;
use llm::source::ModelSource;
use ops::arena::Line;
use parallel::{Cores, MAX_CORES};
use pilm::file_source::{FileError, FileSource};
use pilm::threads::Threads;
use protocol::facts::{BoardFacts, Health};
use session::machine::{Machine, ModelEntry, TextFile};

use super::model::open_file;

/// Memory beside the weights: KV cache, run state, scratch.
const BESIDE_WEIGHTS_BYTES: u64 = 512 << 20;

/// Talk to a model at the firmware's console; Ctrl-D leaves
#[derive(clap::Args)]
pub struct Args {
    /// GGUF file.
    model: PathBuf,
    /// Settings as on the kernel command line, such as "pilm.temperature=0.5".
    #[arg(long, value_name = "WORDS", default_value = "")]
    set: String,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let len_bytes = open_file(&args.model)?.len_bytes();
    // Teams have at most so many members: the processors beyond stay idle.
    let n_cores = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MAX_CORES);
    let raw = RawMode::enter_at_terminal().context("the terminal cannot be set up")?;
    let host = Host {
        model: ModelEntry {
            name: args
                .model
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            len_bytes,
        },
        path: args.model.clone(),
        line: StandardStreams::open(),
        pools: (0..n_cores).map(|_| OnceCell::new()).collect(),
        facts: BoardFacts {
            version: format!("{} (pilm)", env!("CARGO_PKG_VERSION")),
            name: "this computer".to_owned(),
            cores: n_cores,
            ram_bytes: len_bytes + BESIDE_WEIGHTS_BYTES,
            ..BoardFacts::default()
        },
        settings: args.set.clone(),
        started: Instant::now(),
    };
    let n_lines = (len_bytes + len_bytes / 8 + BESIDE_WEIGHTS_BYTES) as usize / Line::BYTES;
    console::run(&host, &mut vec![Line::ZERO; n_lines]);
    drop(raw);
    host.line.write(b"\n");
    Ok(())
}

/// The host as the session's machine.
struct Host {
    model: ModelEntry,
    path: PathBuf,
    line: StandardStreams,
    /// Teams of one, two, … threads, made when they are first wanted.
    pools: Vec<OnceCell<Threads>>,
    facts: BoardFacts,
    settings: String,
    started: Instant,
}

impl Machine for Host {
    type CardError = FileError;
    type Source<'p> = FileSource;

    fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    fn timer(&self) -> Timer {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        || START.elapsed().as_micros() as u64
    }

    fn cores(&self, n: Option<usize>) -> &dyn Cores {
        let n = n.unwrap_or(usize::MAX).clamp(1, self.pools.len());
        self.pools[n - 1].get_or_init(|| Threads::new(n))
    }

    fn facts(&self) -> &BoardFacts {
        &self.facts
    }

    fn health(&self) -> Health {
        Health::default()
    }

    fn models(&self) -> Result<Vec<ModelEntry>, FileError> {
        Ok(vec![self.model.clone()])
    }

    fn open_model(&self, _name: &str) -> Result<FileSource, FileError> {
        FileSource::open(&self.path).map_err(FileError::Model)
    }

    /// The model's folder is the card.
    fn text_file(&self, name: &str, limit_bytes: usize) -> Result<TextFile, FileError> {
        if Path::new(name).file_name() != Some(name.as_ref()) {
            return Ok(TextFile::Absent);
        }
        let path = self.path.with_file_name(name);
        let fail = |error| FileError::Text {
            name: name.to_owned(),
            error,
        };
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TextFile::Absent),
            file => file.map_err(fail)?,
        };
        let len_bytes = file.metadata().map_err(fail)?.len();
        if len_bytes > limit_bytes as u64 {
            return Ok(TextFile::TooLong { len_bytes });
        }
        let mut bytes = Vec::new();
        file.take(limit_bytes as u64)
            .read_to_end(&mut bytes)
            .map_err(fail)?;
        Ok(TextFile::Whole(bytes))
    }

    fn entropy(&self) -> u64 {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        time.map_or(0, |time| time.as_nanos() as u64)
    }
}

impl Board for Host {
    fn serial(&self) -> &dyn Serial {
        &self.line
    }

    fn options_file(&self) -> Result<Option<String>, FileError> {
        Ok(None)
    }

    fn command_line(&self) -> &str {
        &self.settings
    }
}

/// Ctrl-D: in raw mode the terminal passes it on, and it is the way out.
const LEAVE: u8 = 4;

/// Standard input and output as a serial line.
struct StandardStreams {
    keys: Receiver<Vec<u8>>,
    /// Bytes that have been taken in and not been read.
    arrived: RefCell<VecDeque<u8>>,
    closed: Cell<bool>,
    out: RefCell<io::Stdout>,
}

impl StandardStreams {
    fn open() -> Self {
        Self {
            keys: keys(),
            arrived: RefCell::default(),
            closed: Cell::new(false),
            out: RefCell::new(io::stdout()),
        }
    }
}

impl Serial for StandardStreams {
    fn read(&self) -> Option<u8> {
        let mut arrived = self.arrived.borrow_mut();
        if arrived.is_empty() && !self.closed.get() {
            match self.keys.try_recv() {
                Ok(bytes) => arrived.extend(bytes),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => self.closed.set(true),
            }
        }
        let byte = arrived.pop_front();
        if byte == Some(LEAVE) {
            arrived.clear();
            self.closed.set(true);
            return None;
        }
        byte
    }

    fn write(&self, bytes: &[u8]) {
        let mut out = self.out.borrow_mut();
        // Nobody is left to tell when the output is gone.
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    fn wait(&self) {
        if let Ok(bytes) = self.keys.recv_timeout(Duration::from_millis(200)) {
            self.arrived.borrow_mut().extend(bytes);
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.get()
    }
}
