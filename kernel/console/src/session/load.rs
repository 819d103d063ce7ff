//! Finding a model file and loading it.

use super::banner;
use super::events::Events;
use super::info::ModelFacts;
use super::platform::{ModelFile, Platform};
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
use llm::kv_cache::KvType;
use llm::model_file;
use llm::source::ModelSource;
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
    Unusable { file: String, error: LoadError<E> },
}

impl<E> FindError<E> {
    /// What kept `file` from being loaded.
    fn of(file: &str, error: LoadError<E>) -> Self {
        match error {
            LoadError::Source(error) => Self::Card(error),
            error => Self::Unusable {
                file: file.to_string(),
                error,
            },
        }
    }

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

/// A model file that is open, and its name.
pub(super) struct Opened<'p, P: Platform + 'p> {
    name: String,
    model: Box<model_file::ModelFile<P::Source<'p>>>,
}

/// Opens the file meant by `name`: a model that cannot run is refused while the one before is still there.
///
/// # Errors
/// [`FindError`].
pub(super) fn open<'p, P: Platform>(
    platform: &'p P,
    name: &str,
) -> Result<Opened<'p, P>, FindError<P::CardError>> {
    let files = platform.models().map_err(FindError::Card)?;
    open_file(platform, pick(name, files)?)
}

/// Opens the file `name`.
fn open_file<P: Platform>(
    platform: &P,
    name: String,
) -> Result<Opened<'_, P>, FindError<P::CardError>> {
    let source = platform.open_model(&name).map_err(FindError::Card)?;
    match model_file::ModelFile::open(source) {
        Ok(model) => Ok(Opened {
            name,
            model: Box::new(model),
        }),
        Err(error) => Err(FindError::of(&name, error)),
    }
}

/// The model to start with: the one that is set, or the only one. What stands in the way is said.
pub(super) fn first<'p, P: Platform>(shell: &Shell<'p, P>) -> Option<Opened<'p, P>> {
    if let Some(name) = &shell.settings.model {
        return open(shell.platform, name)
            .inspect_err(|error| say!(shell.screen, "{error}"))
            .ok();
    }
    match shell.platform.models() {
        Ok(files) if files.len() == 1 => open_file(shell.platform, files[0].name.clone())
            .inspect_err(|error| report(shell, error, &Asked::Start))
            .ok(),
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

/// Loads a model file into `ram` and tells who asked for it.
pub(super) fn load<'e, P: Platform>(
    shell: &Shell<'_, P>,
    ram: &'e mut [Line],
    mut file: Opened<'_, P>,
    asked: &Asked,
) -> Option<Seat<'e>> {
    let name = file.name.clone();
    let progress = Progress {
        shell,
        file: &name,
        asked,
        shown_at_us: Cell::new(shell.platform.now_us()),
        is_shown: Cell::new(false),
    };
    let seat = sit_down(shell, ram, &mut file, &progress);
    let seat = finish(file, seat);
    progress.end();
    match seat {
        Ok(seat) => {
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
            report(shell, &error, asked);
            None
        }
    }
}

/// Says why no model is loaded.
fn report<P: Platform>(shell: &Shell<'_, P>, error: &FindError<P::CardError>, asked: &Asked) {
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
}

/// Compares the checksum of a file that was loaded, or whose data stopped the load.
fn finish<T, P: Platform>(
    file: Opened<'_, P>,
    loaded: Result<T, LoadError<P::CardError>>,
) -> Result<T, FindError<P::CardError>> {
    if loaded.as_ref().err().is_none_or(LoadError::is_in_data) {
        file.model.finish().map_err(FindError::Card)?;
    }
    loaded.map_err(|error| FindError::of(&file.name, error))
}

fn sit_down<'e, P: Platform>(
    shell: &Shell<'_, P>,
    ram: &'e mut [Line],
    file: &mut Opened<'_, P>,
    progress: &Progress<'_, '_, P>,
) -> Result<Seat<'e>, LoadError<P::CardError>> {
    let platform = shell.platform;
    let started = platform.now_us();
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
        &mut file.model,
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
        file: file.name.clone(),
        header: file.model.facts().clone(),
        context_len: engine.context_len(),
        kv: engine.kv_type().name(),
        template: (family != Family::Raw).then(|| family.name()),
        tokenizer: engine.tokenizer().description(),
        load_bytes: file.model.source().len_bytes(),
        load_us: platform.now_us().saturating_sub(started),
        load_times: engine.load_times(),
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
