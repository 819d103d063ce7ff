//! A model on the command line: which file, on how many threads, loaded with a progress bar.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use llm::engine::LoadOptions;
use pilm::file_source::FileSource;
use pilm::session::{Memory, Session};
use pilm::threads::Threads;

use super::output::progress_bar;

/// Arguments of every subcommand that runs a model.
#[derive(clap::Args)]
pub struct ModelArgs {
    /// GGUF file.
    pub model: PathBuf,
    /// Threads; without it one per processor.
    #[arg(long)]
    threads: Option<usize>,
}

impl ModelArgs {
    /// The pool to run on.
    pub fn threads(&self) -> Threads {
        self.threads
            .map_or_else(Threads::per_processor, Threads::new)
    }
}

/// Loads the model at `path` and hands it to `use_it`.
pub fn with_session<T>(
    path: &Path,
    threads: Threads,
    options: &LoadOptions,
    use_it: impl FnOnce(&mut Session<'_>) -> Result<T>,
) -> Result<T> {
    let name = path.display();
    let mut source = FileSource::open(path).with_context(|| format!("opening {name}"))?;
    let mut memory =
        Memory::for_model(&mut source, options, &threads).with_context(|| name.to_string())?;
    let bar = progress_bar("bytes");
    let session = Session::load(
        &mut source,
        &mut memory,
        options,
        threads,
        &mut |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        },
    );
    bar.finish_and_clear();
    use_it(&mut session.with_context(|| name.to_string())?)
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
