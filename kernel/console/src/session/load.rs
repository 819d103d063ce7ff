//! Finding a model file and loading it.

use super::banner;
use super::events::Events;
use super::info::ModelFacts;
use super::platform::{Concern, ModelFile, Platform};
use super::screen::{Size, say};
use super::seat::Seat;
use super::shell::{Asked, Shell};
use crate::settings;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt::{self, Write};
use llm::chat::Family;
use llm::engine::{Engine, LoadError, LoadOptions};
use llm::gguf::{Gguf, read_header};
use llm::kv_cache::KvType;
use llm::models::read_config;
use llm::source::ModelSource;
use ops::GgmlType;
use ops::arena::{Arena, Line};

/// Time between two signs of progress.
const PROGRESS_US: u64 = 500_000;

/// Why no file was found, or why it is not worth loading.
pub(super) enum FindError<E> {
    /// The card cannot be read.
    Card(E),
    /// No file has this name.
    NoSuchModel { name: String, files: Vec<ModelFile> },
    /// More than one file has a name like this.
    Ambiguous { name: String, files: Vec<ModelFile> },
    /// The file is no model that can run here.
    Unusable { file: String, error: LoadError },
}

impl<E> FindError<E> {
    /// The `code` of the error event.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Card(_) => "card",
            Self::NoSuchModel { .. } | Self::Ambiguous { .. } => "no_such_model",
            Self::Unusable { .. } => "load_failed",
        }
    }
}

impl<E: fmt::Display> fmt::Display for FindError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, files: &[ModelFile]| {
            files
                .iter()
                .try_for_each(|file| write!(f, " {}", file.name))
        };
        match self {
            Self::Card(error) => error.fmt(f),
            Self::NoSuchModel { files, .. } if files.is_empty() => {
                f.write_str("the card has no .gguf file: copy one into its top folder")
            }
            Self::NoSuchModel { name, files } => {
                write!(f, "no model file is called {name:?}; there are")?;
                list(f, files)
            }
            Self::Ambiguous { name, files } => {
                write!(f, "{name:?} fits")?;
                list(f, files)?;
                f.write_str(": say more of the name")
            }
            Self::Unusable { file, error } => write!(f, "{file}: {error}"),
        }
    }
}

/// The file meant by `name`: a name, a number in the list, or a part of one name.
fn pick<E>(name: &str, files: Vec<ModelFile>) -> Result<String, FindError<E>> {
    let wanted = name.to_lowercase();
    if let Some(file) = files.iter().find(|file| file.name.to_lowercase() == wanted) {
        return Ok(file.name.clone());
    }
    if let Ok(number) = name.parse::<usize>()
        && let Some(file) = number.checked_sub(1).and_then(|index| files.get(index))
    {
        return Ok(file.name.clone());
    }
    let fits: Vec<ModelFile> = files
        .iter()
        .filter(|file| file.name.to_lowercase().contains(&wanted))
        .cloned()
        .collect();
    match fits.as_slice() {
        [] => Err(FindError::NoSuchModel {
            name: name.to_string(),
            files,
        }),
        [file] => Ok(file.name.clone()),
        _ => Err(FindError::Ambiguous {
            name: name.to_string(),
            files: fits,
        }),
    }
}

/// Finds the file meant by `name` and reads its header: a model that cannot run is refused while the one
/// before is still there.
///
/// # Errors
/// [`FindError`].
pub(super) fn find<P: Platform>(
    platform: &P,
    name: &str,
) -> Result<String, FindError<P::CardError>> {
    let files = platform.models().map_err(FindError::Card)?;
    let file = pick(name, files)?;
    let mut described = Ok(ModelFacts::default());
    let read = platform.read_model(&file, &mut |source| {
        described = describe(source, &file);
        Concern::Pieces
    });
    match (read, described) {
        (Err(error), _) => Err(FindError::Card(error)),
        (Ok(()), Err(error)) => Err(FindError::Unusable { file, error }),
        (Ok(()), Ok(_)) => Ok(file),
    }
}

/// The model to start with: the one that is set, or the only one. What stands in the way is said.
pub(super) fn first<P: Platform>(shell: &Shell<'_, P>) -> Option<String> {
    if let Some(name) = &shell.settings.model {
        match find(shell.platform, name) {
            Ok(name) => return Some(name),
            Err(error) => say!(shell.screen, "{error}"),
        }
        return None;
    }
    match shell.platform.models() {
        Ok(files) if files.len() == 1 => files.into_iter().next().map(|file| file.name),
        Ok(files) if files.is_empty() => {
            say!(
                shell.screen,
                "the card has no .gguf file: copy one into its top folder"
            );
            None
        }
        Ok(_) => {
            say!(
                shell.screen,
                "the card has several models; type a number to load one:"
            );
            shell.list_models(None);
            None
        }
        Err(error) => {
            say!(shell.screen, "{error}");
            None
        }
    }
}

/// What the header of a model file says.
fn describe(source: &mut dyn ModelSource, file: &str) -> Result<ModelFacts, LoadError> {
    let header = read_header(source)?;
    let gguf = Gguf::parse(&header, source.len_bytes())?;
    let config = read_config(&gguf)?;
    let matrices = || gguf.tensors().filter(|tensor| tensor.rows() > 1);
    Ok(ModelFacts {
        file: file.to_string(),
        name: gguf.optional_str("general.name")?.map(String::from),
        architecture: config.architecture,
        format: type_mix(matrices().map(|tensor| (tensor.ggml_type, tensor.len_bytes))),
        parameters: gguf.tensors().map(|tensor| tensor.n_elements()).sum(),
        tensor_bytes: gguf.tensors().map(|tensor| tensor.len_bytes).sum(),
        bytes_per_token: gguf.bytes_per_token(),
        trained_len: config.max_seq_len,
        attention_pieces: config.n_layers * config.n_kv_heads,
        vocab_size: config.vocab_size,
        ..ModelFacts::default()
    })
}

/// The names of the matrices' types, the largest share first.
fn type_mix(matrices: impl Iterator<Item = (GgmlType, u64)>) -> String {
    let mut types: Vec<(GgmlType, u64)> = Vec::new();
    for (ggml_type, bytes) in matrices {
        match types.iter_mut().find(|(known, _)| *known == ggml_type) {
            Some((_, sum)) => *sum += bytes,
            None => types.push((ggml_type, bytes)),
        }
    }
    types.sort_by_key(|&(_, bytes)| core::cmp::Reverse(bytes));
    let mut text = String::new();
    for (index, (ggml_type, _)) in types.iter().enumerate() {
        let plus = if index > 0 { " + " } else { "" };
        // A String takes everything.
        let _ = write!(text, "{plus}{ggml_type}");
    }
    text
}

/// Loads a model file into `ram` and tells who asked for it.
pub(super) fn load<'e, P: Platform>(
    shell: &Shell<'_, P>,
    ram: &'e mut [Line],
    file: &str,
    asked: &Asked,
) -> Option<Seat<'e>> {
    let progress = Progress {
        shell,
        file,
        asked,
        shown_at_us: Cell::new(shell.platform.now_us()),
        is_shown: Cell::new(false),
    };
    match open(shell, ram, file, &progress) {
        Ok(seat) => {
            progress.end();
            match asked {
                Asked::Program(id) => {
                    let events = Events::new(shell.screen, id);
                    events.event("loaded", |event| {
                        event.object("model", |object| seat.facts.write(object, 0));
                        let emulated = shell.platform.facts().emulated;
                        event.object("timing", |object| {
                            seat.facts.write_timing(object, emulated);
                        });
                    });
                    events.event("done", |_| {});
                }
                Asked::Start if shell.settings.quiet => {}
                Asked::Start | Asked::Person => {
                    banner::model(shell.screen, &seat.facts, shell.platform.facts())
                }
            }
            Some(seat)
        }
        Err(error) => {
            progress.end();
            match asked {
                Asked::Program(id) => Events::new(shell.screen, id).error(error.code(), error),
                Asked::Start | Asked::Person => {
                    say!(shell.screen, "{error}");
                    say!(
                        shell.screen,
                        "no model is loaded; /models lists those on the card"
                    );
                }
            }
            None
        }
    }
}

fn open<'e, P: Platform>(
    shell: &Shell<'_, P>,
    ram: &'e mut [Line],
    file: &str,
    progress: &Progress<'_, '_, P>,
) -> Result<Seat<'e>, FindError<P::CardError>> {
    let mut ram = Some(ram);
    let mut seat = None;
    let read = shell.platform.read_model(file, &mut |source| {
        seat = ram
            .take()
            .map(|ram| sit_down(shell, ram, source, file, progress));
        match &seat {
            Some(Ok(_) | Err(LoadError::BadScale { .. } | LoadError::NotFinite { .. })) => {
                Concern::Whole
            }
            _ => Concern::Pieces,
        }
    });
    match (read, seat) {
        (Err(error), _) => Err(FindError::Card(error)),
        (Ok(()), Some(Ok(seat))) => Ok(seat),
        (Ok(()), Some(Err(error))) => Err(FindError::Unusable {
            file: file.to_string(),
            error,
        }),
        (Ok(()), None) => Err(FindError::NoSuchModel {
            name: file.to_string(),
            files: Vec::new(),
        }),
    }
}

fn sit_down<'e, P: Platform>(
    shell: &Shell<'_, P>,
    ram: &'e mut [Line],
    source: &mut dyn ModelSource,
    file: &str,
    progress: &Progress<'_, '_, P>,
) -> Result<Seat<'e>, LoadError> {
    let platform = shell.platform;
    let started = platform.now_us();
    let facts = describe(source, file)?;
    let options = LoadOptions {
        context_len: shell.settings.context,
        kv_type: shell.settings.kv.map(|kv| match kv {
            settings::KvType::F32 => KvType::F32,
            settings::KvType::F16 => KvType::F16,
            settings::KvType::I8 => KvType::I8,
        }),
        // All that there are: a session may change its mind about how many work.
        n_cores: Some(platform.facts().cores),
        timer: platform.timer(),
        ..LoadOptions::default()
    };
    let cores = platform.cores(shell.settings.cores);
    let memory = core::ops::Range {
        start: ram.as_ptr().addr(),
        end: ram.as_ptr_range().end.addr(),
    };
    platform.set_read_only(memory.clone(), false);
    let engine = Engine::load(
        source,
        Arena::new(ram),
        &options,
        cores,
        &mut |done, total| {
            progress.show(done, total);
        },
    )?;
    // The weights come first; nothing writes them from here on.
    let weights_end = memory.start + engine.weight_bytes() as usize;
    platform.set_read_only(memory.start..weights_end, true);
    let family = engine.chat().family();
    let facts = ModelFacts {
        context_len: engine.context_len(),
        kv: engine.kv_type().name(),
        template: (family != Family::Raw).then(|| family.name()),
        tokenizer: engine.tokenizer().description(),
        load_bytes: source.len_bytes(),
        load_us: platform.now_us().saturating_sub(started),
        load_times: engine.load_times(),
        ..facts
    };
    Ok(Seat::new(Box::new(engine), facts))
}

/// Shows how far a load is.
struct Progress<'a, 'p, P: Platform> {
    shell: &'a Shell<'p, P>,
    file: &'a str,
    asked: &'a Asked,
    /// When it was shown last, or when the load began.
    shown_at_us: Cell<u64>,
    is_shown: Cell<bool>,
}

impl<P: Platform> Progress<'_, '_, P> {
    fn show(&self, done: u64, total: u64) {
        let now = self.shell.platform.now_us();
        if now < self.shown_at_us.get() + PROGRESS_US {
            return;
        }
        self.shown_at_us.set(now);
        self.is_shown.set(true);
        match self.asked {
            Asked::Program(id) => Events::new(self.shell.screen, id).event("progress", |event| {
                event.field("done_bytes", done).field("total_bytes", total);
            }),
            Asked::Start if self.shell.settings.quiet => {}
            Asked::Start | Asked::Person => {
                let mut screen = self.shell.screen;
                // One row, written over and over; the line ends when the load does.
                let _ = write!(
                    screen,
                    "\rloading {}: {} of {}   ",
                    self.file,
                    Size(done),
                    Size(total)
                );
            }
        }
    }

    fn end(&self) {
        let is_row = match self.asked {
            Asked::Program(_) => false,
            Asked::Start => !self.shell.settings.quiet,
            Asked::Person => true,
        };
        if self.is_shown.get() && is_row {
            self.shell.screen.put("\n");
        }
    }
}
