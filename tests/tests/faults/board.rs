//! Boards that are up. Cases share them: what changes is the card.

use ops::GgmlType;
use ops::crc32c::Crc32c;
use pilm::synth::{self, Shape};
use protocol::Op;
use protocol::event::ErrorCode;
use serde_json::{Value, json};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;
use tests::boot::{assert_clean_log, machine, session};
use tests::card::{Card, MODEL};
use tests::host;
use tests::monitor::{Monitor, MonitorSocket};
use tests::requests::{info, load, prompt_checksums, refused, reset};
use xtask::card::CardFile;
use xtask::session::{PROMPT, Session};

const REPLY: Duration = Duration::from_secs(120);
/// As many as QEMUs may run at once.
const AT_ONCE: usize = 2;
/// The question that is asked after each fault.
const IDS: [u32; 12] = [5, 42, 79, 116, 153, 190, 227, 264, 301, 338, 375, 6];

/// The model that nothing is wrong with.
pub fn tiny() -> Vec<u8> {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    let bytes = BYTES.get_or_init(|| synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0));
    bytes.clone()
}

/// The smallest card, with that model and `files`.
pub fn card_with(files: &[CardFile]) -> Card {
    let mut all = vec![CardFile::bytes(MODEL, tiny())];
    all.extend_from_slice(files);
    Card::with(&all)
}

/// The checksum of a file, or of a line.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(bytes);
    crc.value()
}

/// The answer without a fault, as the host computes it.
fn expected() -> &'static [u32] {
    static CHECKSUMS: OnceLock<Vec<u32>> = OnceLock::new();
    CHECKSUMS.get_or_init(|| host::checksums(&tiny(), &IDS, 2))
}

/// A board that is up, with [`tiny`] loaded.
pub struct Board {
    pi: Session,
    hand: Monitor,
}

impl Board {
    /// Boots one with `card` and `words` on the command line. Its QEMU would end with the thread that starts it:
    /// the thread stays.
    fn boot(card: Card, words: &str) -> Board {
        let words = words.to_owned();
        let (to, from) = channel();
        thread::spawn(move || {
            let socket = MonitorSocket::new(card.path());
            let pi = session(&socket.attach(machine(&card)).append(&words));
            let hand = socket.connect();
            to.send(Board { pi, hand }).expect("a case waits for it");
            loop {
                thread::park();
            }
        });
        from.recv().expect("the board comes up")
    }

    /// What it said up to its first prompt.
    pub fn boot_text(&self) -> &str {
        self.pi.boot_text()
    }

    /// Pulls the card out.
    pub fn eject(&mut self) {
        self.hand.eject();
    }

    /// Puts `card` in, in place of the one that is in.
    pub fn insert(&mut self, card: &Card) {
        self.hand.eject();
        self.hand.insert(card.path());
    }

    /// Types `bytes`; what is shown up to the next prompt, without the row that was typed.
    pub fn types(&mut self, bytes: &[u8]) -> Vec<String> {
        self.pi.qemu().send(bytes).unwrap();
        let text = self.pi.qemu().expect(PROMPT, REPLY).unwrap();
        let rows = text.lines().skip(1).filter(|row| *row != "> ");
        let is_progress = |row: &str| row.starts_with("\rloading ");
        rows.filter(|row| !is_progress(row))
            .map(str::to_owned)
            .collect()
    }

    /// Types a line and the return key.
    pub fn types_line(&mut self, line: &str) -> Vec<String> {
        self.types(format!("{line}\r").as_bytes())
    }

    /// Sends a line of a program; the events that answer it.
    pub fn sends(&mut self, line: &[u8]) -> Vec<Value> {
        self.pi.qemu().send(&[line, b"\n"].concat()).unwrap();
        let text = self.pi.qemu().expect(PROMPT, REPLY).unwrap();
        let events = text.lines().filter(|row| row.starts_with('{'));
        // a checksum may stand behind the event
        let event = |row: &str| serde_json::Deserializer::from_str(row).into_iter().next();
        events
            .map(|row| event(row).expect(row).expect(row))
            .collect()
    }

    /// Sends a line of a program that is answered by an error alone.
    pub fn refuses(
        &mut self,
        line: impl AsRef<[u8]>,
        id: impl Into<Value>,
        code: &str,
        message: &str,
    ) {
        let error = json!({"id": id.into(), "event": "error", "code": code, "message": message});
        let line = line.as_ref();
        assert_eq!(self.sends(line), [error], "{}", line.escape_ascii());
    }

    /// There is no model, and it is said to a program.
    pub fn has_lost_its_model(&mut self) {
        let error = refused(
            &mut self.pi,
            Op::Ask(protocol::request::Ask { text: "x".into() }),
        );
        assert_eq!(error.code, ErrorCode::NoModel, "{error}");
    }

    /// A person and a program are answered, the program with the bits of the host.
    fn is_sound(&mut self) {
        let help = self.types_line("/help");
        assert!(help.iter().any(|row| row.starts_with("/info ")), "{help:?}");
        if info(&mut self.pi).model.is_none() {
            self.insert(&card_with(&[]));
            load(&mut self.pi, MODEL);
        }
        reset(&mut self.pi);
        assert_eq!(prompt_checksums(&mut self.pi, &IDS), expected());
        assert_clean_log(&mut self.pi);
    }
}

/// The boards of all cases.
struct Pool {
    idle: Vec<Board>,
    /// Those that are up, or coming up.
    n_boards: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    idle: Vec::new(),
    n_boards: 0,
});
static GIVEN_BACK: Condvar = Condvar::new();

/// The place of a board in the pool. A board whose case fails goes, and another one comes up.
struct Place(Option<Board>);

impl Place {
    fn take() -> Place {
        let pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |pool: &mut Pool| pool.idle.is_empty() && pool.n_boards == AT_ONCE;
        let pool = GIVEN_BACK.wait_while(pool, is_full);
        let mut pool = pool.unwrap_or_else(PoisonError::into_inner);
        let board = pool.idle.pop();
        pool.n_boards += usize::from(board.is_none());
        Place(board)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let board = self.0.take().filter(|_| !thread::panicking());
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        match board {
            Some(board) => pool.idle.push(board),
            None => pool.n_boards -= 1,
        }
        GIVEN_BACK.notify_one();
    }
}

/// Runs `case` on a board, which has to be sound afterwards.
pub fn with_board(case: impl FnOnce(&mut Board)) {
    let mut place = Place::take();
    let board = place
        .0
        .get_or_insert_with(|| Board::boot(card_with(&[]), ""));
    case(board);
    board.is_sound();
}

/// What a board says that starts with `files` and `words`; it has to be sound then.
pub fn boot_text(files: &[CardFile], words: &str) -> String {
    let mut place = Place::take();
    // the machine before gives its place up
    place.0 = None;
    let mut board = Board::boot(card_with(files), words);
    board.is_sound();
    board.boot_text().to_owned()
}
