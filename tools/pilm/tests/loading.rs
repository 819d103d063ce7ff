//! What a load leaves in memory does not depend on how many cores pack, nor on where chunks end.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use llm::checked::Checked;
use llm::engine::{Engine, LoadError, LoadOptions, LoadTimes};
use llm::gguf::Gguf;
use llm::model_file::ModelFile;
use llm::source::{ModelSource, PastEnd};
use ops::GgmlType;
use ops::arena::{Arena, Line};
use ops::crc32c::Crc32c;
use pilm::synth::{Shape, bytes, q4_k_m, write_mixed};
use pilm::threads::Threads;

/// Less than a group of rows, ends within blocks and scales, many tensors at a time, one chunk.
const CHUNKS: [usize; 5] = [613, 4096, 10_001, 65_536, 2 << 20];

fn options(chunk_bytes: usize) -> LoadOptions {
    LoadOptions {
        context_len: Some(64),
        chunk_bytes,
        ..LoadOptions::default()
    }
}

/// What is in memory after a load.
#[derive(PartialEq)]
struct Loaded {
    weights: Vec<Line>,
    times: LoadTimes,
}

fn load<S: ModelSource>(
    source: S,
    n_cores: usize,
    options: &LoadOptions,
) -> Result<Loaded, LoadError<S::Error>> {
    load_file(&mut ModelFile::open(source)?, n_cores, options)
}

fn load_file<S: ModelSource>(
    file: &mut ModelFile<S>,
    n_cores: usize,
    options: &LoadOptions,
) -> Result<Loaded, LoadError<S::Error>> {
    let mut lines = vec![Line::ZERO; (24 << 20) / Line::BYTES];
    let threads = Threads::new(n_cores);
    let engine = Engine::load(
        file,
        Arena::new(&mut lines),
        options,
        &threads,
        &mut |_, _| (),
    )?;
    let (weight_bytes, times) = (engine.weight_bytes(), engine.load_times());
    drop(engine);
    lines.truncate(weight_bytes as usize / Line::BYTES);
    Ok(Loaded {
        weights: lines,
        times,
    })
}

fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(bytes);
    crc.value()
}

/// Models of several types: of blocks of 32 and of 256, of floats, with vectors, biases and norms of heads between.
fn models() -> Vec<Vec<u8>> {
    let mixed = write_mixed(&Shape::llama_wide(), &q4_k_m, Vec::new(), &mut |_, _| ()).unwrap();
    vec![
        bytes(&Shape::llama_tied(), GgmlType::Q8_0),
        bytes(&Shape::qwen2(), GgmlType::Q4_1),
        bytes(&Shape::qwen3_tied(), GgmlType::Q5_0),
        bytes(&Shape::llama_untied(), GgmlType::F16),
        mixed,
    ]
}

#[test]
fn weights_and_checksum_do_not_depend_on_cores_or_chunks() {
    for file in models() {
        let expected = load(file.as_slice(), 1, &options(2 << 20)).unwrap();
        let whole = crc32c(&file);
        for chunk_bytes in CHUNKS {
            // Threads are started anew for each chunk: of small ones there are many.
            let most_cores = if chunk_bytes < 10_000 { 2 } else { 4 };
            for n_cores in 1..=most_cores {
                let mut opened = ModelFile::open(Checked::new(file.as_slice())).unwrap();
                let found = load_file(&mut opened, n_cores, &options(chunk_bytes)).unwrap();
                assert!(
                    found.weights == expected.weights,
                    "{chunk_bytes} bytes, {n_cores} cores"
                );
                let unread = opened.source().unread_bytes();
                assert!(unread < 32, "{unread} bytes without a checksum");
                assert_eq!(opened.source().crc32c(), Ok(whole));
            }
        }
    }
}

#[test]
fn a_changed_byte_is_in_the_checksum_wherever_it_is() {
    let file = bytes(&Shape::llama_tied(), GgmlType::Q8_0);
    let whole = crc32c(&file);
    let gguf = Gguf::parse(&file, file.len() as u64).unwrap();
    let data = gguf.tensors().next().unwrap().offset_bytes as usize;
    // In chunks and shares of every kind: nothing else would notice.
    for at in (data..file.len()).step_by(4_111) {
        let mut damaged = file.clone();
        damaged[at] ^= 0x10;
        let mut opened = ModelFile::open(Checked::new(damaged.as_slice())).unwrap();
        match load_file(&mut opened, 3, &options(20_000)) {
            Ok(_) => assert_ne!(opened.source().crc32c().unwrap(), whole, "byte {at}"),
            Err(other) => assert!(other.is_in_data(), "{other}"),
        }
    }
}

/// The card was pulled out before a read.
#[derive(Debug, PartialEq)]
struct PulledOut {
    offset: u64,
}

impl fmt::Display for PulledOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}", self.offset)
    }
}

impl Error for PulledOut {}

/// Remembers what was asked of it, and fails from some byte on.
struct Watched<'f> {
    file: &'f [u8],
    fails_from: u64,
    reads: Vec<(u64, usize)>,
}

impl ModelSource for &mut Watched<'_> {
    type Error = PulledOut;

    fn len_bytes(&self) -> u64 {
        self.file.len_bytes()
    }

    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<(), PulledOut> {
        self.reads.push((offset, buf.len()));
        if offset + buf.len() as u64 > self.fails_from {
            return Err(PulledOut { offset });
        }
        self.file
            .read_at(offset, buf)
            .map_err(|PastEnd { offset }| PulledOut { offset })
    }
}

#[test]
fn a_source_that_fails_in_the_middle_ends_the_load() {
    let file = bytes(&Shape::llama_untied(), GgmlType::F32);
    // Behind what is read of the file for its header.
    for fails_from in (300_000..file.len() as u64).step_by(77_777) {
        for n_cores in [1, 3] {
            let mut source = Watched {
                file: &file,
                fails_from,
                reads: Vec::new(),
            };
            let result = load(&mut source, n_cores, &options(20_000)).map(|_| ());
            let (last, len) = *source.reads.last().unwrap();
            assert!((last..last + len as u64).contains(&fails_from));
            assert_eq!(result, Err(LoadError::Source(PulledOut { offset: last })));
        }
    }
}

#[test]
fn the_file_is_read_once_from_front_to_back_in_whole_chunks() {
    let file = bytes(&Shape::llama_untied(), GgmlType::F32);
    let mut source = Watched {
        file: &file,
        fails_from: u64::MAX,
        reads: Vec::new(),
    };
    load(&mut source, 2, &options(64 << 10)).unwrap();
    // The header's reads begin at 0 and double.
    let n_header = source
        .reads
        .iter()
        .scan(0, |end, &(at, len)| {
            let follows = at == *end;
            *end = at + len as u64;
            Some(follows)
        })
        .take_while(|follows| *follows)
        .count();
    let chunks = &source.reads[n_header..];
    assert!(chunks.len() > 5, "{chunks:?}");
    assert!(chunks[0].0.is_multiple_of(4096));
    let (last, whole) = chunks.split_last().unwrap();
    assert!(whole.iter().all(|&(_, len)| len == 64 << 10), "{chunks:?}");
    assert!(
        chunks
            .windows(2)
            .all(|pair| pair[1].0 == pair[0].0 + (64 << 10))
    );
    assert!(last.0 + last.1 as u64 <= file.len() as u64);
}

#[test]
fn a_damaged_row_is_named_by_every_core_and_chunk() {
    let mut file = bytes(&Shape::llama_tied(), GgmlType::Q8_0);
    let gguf = Gguf::parse(&file, file.len() as u64).unwrap();
    let info = gguf.tensor("token_embd.weight").unwrap();
    let (start, row_bytes) = (info.offset_bytes, info.len_bytes / info.rows());
    // Two rows are damaged: the first one is named.
    for row in [411, 203] {
        let at = (start + row * row_bytes) as usize;
        file[at..at + 2].copy_from_slice(&0x7C00u16.to_le_bytes());
    }
    for chunk_bytes in CHUNKS {
        for n_cores in [1, 3] {
            let error = load(file.as_slice(), n_cores, &options(chunk_bytes)).map(|_| ());
            let tensor = "token_embd.weight".to_owned();
            assert_eq!(error, Err(LoadError::BadScale { tensor, row: 203 }));
        }
    }
}

#[test]
fn the_parts_of_a_load_are_timed() {
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    let file = bytes(&Shape::llama_untied(), GgmlType::F32);
    let options = LoadOptions {
        timer: || LOOKS.fetch_add(1, Ordering::Relaxed),
        ..options(100_000)
    };
    let times = load(file.as_slice(), 1, &options).unwrap().times;
    // One look more at the end of each part than at its beginning: a part has taken 1.
    let n_chunks = times.read_us;
    assert!((5..20).contains(&n_chunks), "{times:?}");
    assert_eq!(
        (times.pack_us, times.checksum_us),
        (n_chunks + 1, n_chunks + 1)
    );
}
