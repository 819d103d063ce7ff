//! A model on the command line: which file, on how many threads, loaded with a progress bar.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::builder::RangedU64ValueParser;
use llm::engine::LoadOptions;
use llm::gguf::Gguf;
use llm::kv_cache::KvType;
use llm::model_file::ModelFile;
use llm::source::ModelSource;
use ops::matrix::Kernels;
use parallel::MAX_CORES;
use pilm::file_source::FileSource;
use pilm::session::{Memory, Session};
use pilm::threads::Threads;

use super::output::progress_bar;

/// Numbers from 1 to `most`.
pub fn at_least_1(most: usize) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=most as u64)
}

/// Arguments of every subcommand that runs a model.
#[derive(clap::Args)]
pub struct ModelArgs {
    /// GGUF file.
    pub model: PathBuf,
    /// Threads; without it one per processor.
    #[arg(long, value_parser = at_least_1(MAX_CORES))]
    threads: Option<usize>,
}

/// What multiplies, for subcommands whose numbers may be another generation's.
#[derive(clap::Args)]
pub struct KernelsArgs {
    /// Kernels: reference, dequantize (weights made floats) or int8; reference and int8 give the same bits.
    #[arg(long, value_name = "SET", default_value_t)]
    pub kernels: Kernels,
}

impl ModelArgs {
    /// The pool to run on.
    pub fn threads(&self) -> Threads {
        self.threads
            .map_or_else(Threads::per_processor, Threads::new)
    }

    /// Loads the model and hands it to `use_it`.
    pub fn with_session<T>(
        &self,
        options: &LoadOptions,
        use_it: impl FnOnce(&mut Session<'_>) -> Result<T>,
    ) -> Result<T> {
        with_session(&self.model, self.threads(), options, use_it)
    }
}

/// A type of keys and values by its name.
pub fn parse_kv(name: &str) -> Result<KvType> {
    KvType::from_name(name).with_context(|| {
        let known = KvType::ALL.map(KvType::name).join(", ");
        format!("known are {known}")
    })
}

/// Loads the model at `path` and hands it to `use_it`.
pub fn with_session<T>(
    path: &Path,
    threads: Threads,
    options: &LoadOptions,
    use_it: impl FnOnce(&mut Session<'_>) -> Result<T>,
) -> Result<T> {
    let mut file = open(path)?;
    let mut memory = Memory::for_model(&file, options, &threads);
    use_it(&mut load(path, &mut file, &mut memory, options, threads)?)
}

/// Opens the model at `path`.
pub fn open(path: &Path) -> Result<ModelFile<FileSource>> {
    ModelFile::open(open_file(path)?).with_context(|| path.display().to_string())
}

/// Loads the model of `file`, which is at `path`, into `memory`.
pub fn load<'a>(
    path: &Path,
    file: &mut ModelFile<FileSource>,
    memory: &'a mut Memory,
    options: &LoadOptions,
    threads: Threads,
) -> Result<Session<'a>> {
    let bar = progress_bar("bytes");
    let session = Session::load(file, memory, options, threads, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    session.with_context(|| path.display().to_string())
}

/// The header of the model at `path`, and the file's length.
pub fn read_header(path: &Path) -> Result<(Gguf<'static>, u64)> {
    let mut source = open_file(path)?;
    let gguf = Gguf::read(&mut source).with_context(|| path.display().to_string())?;
    Ok((gguf, source.len_bytes()))
}

pub fn open_file(path: &Path) -> Result<FileSource> {
    FileSource::open(path).with_context(|| format!("opening {}", path.display()))
}

/// Token ids separated by commas or spaces.
pub fn parse_ids(text: &str) -> Result<Vec<u32>> {
    text.split([',', ' '])
        .filter(|part| !part.is_empty())
        .map(|part| {
            part.parse()
                .with_context(|| format!("{part:?} is no token id"))
        })
        .collect()
}
