//! Cards for tests; each is a file that goes with its value.

use ops::GgmlType;
use pilm::synth::{self, Shape};
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use xtask::card::{self, CardFile, MIN_BYTES};
use xtask::workspace::output_dir;

/// Name of the model on cards that have one.
pub const MODEL: &str = "Tiny.Q8_0.gguf";

/// A card image.
#[derive(Debug)]
pub struct Card {
    path: PathBuf,
}

impl Card {
    /// The smallest card, with `files`.
    pub fn with(files: &[CardFile]) -> Card {
        Card::sized(MIN_BYTES, files)
    }

    /// A card of `size_bytes` with `files`.
    ///
    /// # Panics
    /// The image cannot be written.
    pub fn sized(size_bytes: u64, files: &[CardFile]) -> Card {
        let card = Card { path: fresh_path() };
        card::write(&card.path, size_bytes, files, &mut |_| {})
            .unwrap_or_else(|error| panic!("{error:#}"));
        card
    }

    /// The smallest card, with one model of `shape` and `ggml_type`.
    pub fn with_model(shape: &Shape, ggml_type: GgmlType) -> Card {
        Card::with(&[CardFile::bytes(MODEL, synth::bytes(shape, ggml_type))])
    }

    /// A card of zeros: new, never formatted.
    ///
    /// # Panics
    /// The image cannot be written.
    pub fn blank() -> Card {
        Card::of_zeros(MIN_BYTES)
    }

    /// A card of `size_bytes` zeros.
    pub(crate) fn of_zeros(size_bytes: u64) -> Card {
        let card = Card { path: fresh_path() };
        let file = File::create(&card.path).expect("the card can be written");
        file.set_len(size_bytes).expect("the card can be written");
        card
    }

    /// Writes `bytes` over what is at `offset`.
    ///
    /// # Panics
    /// The image cannot be written.
    #[must_use]
    pub fn patched(self, offset: u64, bytes: &[u8]) -> Card {
        let mut file = File::options()
            .write(true)
            .open(&self.path)
            .expect("the card is there");
        file.seek(SeekFrom::Start(offset))
            .expect("it can be sought");
        file.write_all(bytes).expect("it can be written");
        self
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        // left behind it costs room in target/ and nothing else
        let _ = fs::remove_file(&self.path);
    }
}

fn fresh_path() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let dir = output_dir().join("test-cards");
    fs::create_dir_all(&dir).expect("target/ can be written");
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    dir.join(format!("{}-{n}.img", process::id()))
}
