//! Finding a model file, and loading it.

use crate::chat::ActiveModel;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use lab::Machine;
use lab::machine::ModelEntry;
use llm::chat::Family;
use llm::engine::{Engine, LoadError, LoadOptions};
use llm::kv_cache::KvType;
use llm::model_file::ModelFile;
use llm::source::ModelSource;
use ops::arena::{Arena, Line};
use protocol::event::{Error, ErrorCode, Progress};
use protocol::facts::{LoadTiming, ModelFacts};
use protocol::{Settings, settings};

/// Time between two signs of progress.
const PROGRESS_US: u64 = 500_000;

/// A model file that can run here, under its name.
pub struct Opened<'m, M: Machine + 'm> {
    name: String,
    file: ModelFile<M::Source<'m>>,
    /// When it was opened: the header is a part of the load.
    opened_us: u64,
}

/// Opens the file meant by `name` and reads its header: a model that cannot run is refused while the one
/// before is still there.
///
/// # Errors
/// The card failed, no file fits the name, or the file cannot run.
pub(crate) fn open<'m, M: Machine>(
    machine: &'m M,
    name: &str,
) -> Result<Opened<'m, M>, Error<'static>> {
    let name = pick(name, machine.models().map_err(card_failed)?)?;
    let source = machine.open_model(&name).map_err(card_failed)?;
    let opened_us = machine.now_us();
    let file = ModelFile::open(source).map_err(|error| unusable(&name, error))?;
    Ok(Opened {
        name,
        file,
        opened_us,
    })
}

impl<M: Machine> Opened<'_, M> {
    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Loads it into `ram`; `meanwhile` is called after each chunk, with the progress from time to time.
    ///
    /// # Errors
    /// The card failed, or the file cannot run.
    pub fn load<'e>(
        mut self,
        machine: &M,
        settings: &Settings,
        ram: &'e mut [Line],
        meanwhile: &mut dyn FnMut(&str, Option<Progress>),
    ) -> Result<ActiveModel<'e>, Error<'static>> {
        let started_us = self.opened_us;
        let options = LoadOptions {
            context_len: settings.context,
            kv_type: settings.kv.map(|kv| match kv {
                settings::KvType::F32 => KvType::F32,
                settings::KvType::F16 => KvType::F16,
                settings::KvType::Int8 => KvType::I8,
            }),
            // All that there are: a session may change its mind about how many work.
            n_cores: Some(machine.facts().cores),
            timer: machine.timer(),
            ..LoadOptions::default()
        };
        let memory = core::ops::Range {
            start: ram.as_ptr().addr(),
            end: ram.as_ptr_range().end.addr(),
        };
        machine.set_read_only(memory.clone(), false);
        let mut reported_us = started_us;
        let loaded = Engine::load(
            &mut self.file,
            Arena::new(ram),
            &options,
            machine.cores(settings.cores),
            &mut |done_bytes, total_bytes| {
                let now_us = machine.now_us();
                let is_due = now_us >= reported_us + PROGRESS_US;
                if is_due {
                    reported_us = now_us;
                }
                let progress = is_due.then_some(Progress {
                    done_bytes,
                    total_bytes,
                });
                meanwhile(&self.name, progress);
            },
        );
        let said = self.file.facts().clone();
        let load_bytes = self.file.source().len_bytes();
        let load_pieces = self.file.source().n_pieces();
        let engine = match loaded {
            Ok(engine) => {
                self.file.finish().map_err(card_failed)?;
                engine
            }
            // What is not finite may be damage: the checksum tells.
            Err(error) if error.is_in_data() => {
                self.file.finish().map_err(card_failed)?;
                return Err(unusable(&self.name, error));
            }
            Err(error) => return Err(unusable(&self.name, error)),
        };
        // The weights come first; nothing writes them from here on.
        let weights_end = memory.start + engine.weight_bytes() as usize;
        machine.set_read_only(memory.start..weights_end, true);
        let seconds = |us: u64| us as f64 / 1e6;
        let times = engine.load_times();
        let total_s = seconds(machine.now_us().saturating_sub(started_us));
        let (chat, tokenizer) = (engine.chat(), engine.tokenizer());
        let family = chat.family();
        let facts = ModelFacts {
            file: self.name,
            name: said.name,
            architecture: Cow::Borrowed(said.architecture),
            format: said.format,
            requantized_from: said.requantized_from,
            parameters: said.parameters,
            tensor_bytes: said.tensor_bytes,
            bytes_per_token: said.bytes_per_token,
            context_used: 0,
            trained_len: said.trained_len,
            vocab_size: said.vocab_size,
            attention_pieces: said.attention_pieces,
            context_len: engine.context_len(),
            kv: Cow::Borrowed(engine.kv_type().name()),
            template: (family != Family::Raw).then(|| Cow::Borrowed(family.name())),
            tokenizer: Cow::Borrowed(tokenizer.description()),
            can_think: chat.can_think(),
            default_system: chat.default_system().map(String::from),
            load_bytes,
            load_pieces,
            load_s: total_s,
            load: LoadTiming {
                emulated: machine.facts().emulated,
                read_s: seconds(times.read_us),
                pack_s: seconds(times.pack_us),
                checksum_s: seconds(times.checksum_us),
                total_s,
            },
        };
        Ok(ActiveModel {
            engine,
            facts,
            conversation: Vec::new(),
        })
    }
}

fn card_failed(error: impl fmt::Display) -> Error<'static> {
    Error::new(ErrorCode::Card, error)
}

fn unusable<E: core::error::Error>(name: &str, error: LoadError<E>) -> Error<'static> {
    match error {
        LoadError::Source(error) => card_failed(error),
        error => Error::new(ErrorCode::LoadFailed, format_args!("{name}: {error}")),
    }
}

/// The file meant by `name`: a name, a number in the list, or a part of one name.
fn pick(name: &str, files: Vec<ModelEntry>) -> Result<String, Error<'static>> {
    let no_such = |message: fmt::Arguments<'_>| Error::new(ErrorCode::NoSuchModel, message);
    let wanted = name.to_lowercase();
    let same = files.iter().find(|file| file.name.to_lowercase() == wanted);
    let index = name
        .parse()
        .ok()
        .and_then(|number: usize| number.checked_sub(1));
    if let Some(file) = same.or_else(|| files.get(index?)) {
        return Ok(file.name.clone());
    }
    let fits: Vec<&ModelEntry> = files
        .iter()
        .filter(|file| file.name.to_lowercase().contains(&wanted))
        .collect();
    match fits.as_slice() {
        _ if files.is_empty() => Err(no_such(format_args!("{NO_FILE}"))),
        [] => Err(no_such(format_args!(
            "no model file is called {name:?}; there are{}",
            Names(&files.iter().collect::<Vec<_>>())
        ))),
        [file] => Ok(file.name.clone()),
        several => Err(no_such(format_args!(
            "{name:?} fits{}: say more of the name",
            Names(several)
        ))),
    }
}

/// What to do about a card without models.
const NO_FILE: &str = "the card has no .gguf file: copy one into its top folder";

struct Names<'n>(&'n [&'n ModelEntry]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|file| write!(f, " {}", file.name))
    }
}
