//! `cargo xtask count`: instructions per token, counted in QEMU.
//!
//! With `-icount shift=0` one instruction takes one nanosecond of the guest's time, so that the times
//! that the firmware reports are instruction counts. One core computes; the others sleep in `wfi` and
//! count nothing. A decoded token includes the choice of the token and its text on the UART.
//!
//! Most of the time goes into working in 1024 positions: QEMU runs some 70 million of the kernels'
//! vector instructions a second, with `-icount` or without. So the context of one position is kept
//! for the next, and the weight types run side by side.

mod bars;
mod conversation;
mod figures;
mod pieces;
pub mod work;

use crate::setup::{emulator, model};
use crate::voice::Voice;
use crate::workspace::output_dir;
use crate::{figures as data, firmware, image};
use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use conversation::{Conversation, STEPS};
pub use figures::Figures;
use figures::ModelFigures;
use ops::matrix::Kernels;
use qemu::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use work::{ModelFacts, Work};

/// Length of the prompt whose tokens are counted.
const PROMPT_TOKENS: usize = 128;
/// The cores of the board.
const ALL_CORES: usize = 4;
/// A GGUF's description is within so many bytes of its start.
const HEADER_BYTES: u64 = 16 << 20;
/// The figures' file, and the section of docs/speed.md.
pub const FIGURES: &str = "count";

/// What to count.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Positions at which a token is decoded.
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "16,256,1024",
        value_parser = clap::value_parser!(u16).range(1..=4000)
    )]
    positions: Vec<u16>,
    /// Guesses whose check in one pass is counted too, in tokens.
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(0..=7)
    )]
    guesses: Vec<u16>,
    /// Weight types; what is written of the others stays.
    #[arg(
        long,
        value_name = "TYPE",
        value_delimiter = ',',
        default_value = "q8_0,q4_1,f16"
    )]
    types: Vec<WeightType>,
    /// Generation of kernels that multiplies: tuned, or as a control plain or scalar.
    #[arg(long, value_name = "GENERATION", default_value_t)]
    kernels: Kernels,
    /// Write the figures to docs/figures and render docs/speed.md.
    #[arg(long)]
    pub write: bool,
}

/// The default model with other weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
enum WeightType {
    /// What set-up makes.
    #[value(name = "q8_0")]
    Q8_0,
    /// The file as it is shipped, its head in Q8_0.
    #[value(name = "q4_1")]
    Q4_1,
    /// Made here.
    #[value(name = "f16")]
    F16,
}

impl WeightType {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value
            .expect("every type can be asked for")
            .get_name()
            .to_owned()
    }

    fn file(self, voice: Voice) -> Result<PathBuf> {
        match self {
            WeightType::Q8_0 => model::ensure(voice),
            WeightType::Q4_1 => model::ensure_shipped(voice),
            WeightType::F16 => model::ensure_converted(voice, "F16"),
        }
    }
}

/// One model to count, and where.
struct Job {
    /// The weight type, with the generation of kernels where that is not the tuned one.
    name: String,
    machine: Machine,
    facts: ModelFacts,
}

/// The description at the start of the model file at `path`.
fn model_facts(path: &Path) -> Result<ModelFacts> {
    let file = File::open(path)?;
    let len_bytes = file.metadata()?.len();
    let mut header = Vec::new();
    file.take(HEADER_BYTES).read_to_end(&mut header)?;
    ModelFacts::parse(&header, len_bytes)
}

/// Counts, prints, and writes if asked to.
///
/// # Errors
/// Something cannot be built or made, the firmware fails, or a count misses its bar.
pub fn count(options: &Options) -> Result<()> {
    let voice = Voice::new(false);
    emulator::ensure(voice)?;
    let firmware = firmware::build(voice)?;
    let types: BTreeSet<_> = options.types.iter().copied().collect();
    let positions: BTreeSet<_> = options.positions.iter().map(|&p| usize::from(p)).collect();
    let jobs: Vec<Job> = types
        .into_iter()
        .map(|weight_type| prepare(voice, &firmware.image_path, weight_type, options.kernels))
        .collect::<Result<_>>()?;

    let mut failures = Vec::new();
    let mut figures = Figures::default();
    let count = |job| {
        let mut figures = ModelFigures::default();
        let result = count_model(voice, job, &positions, &options.guesses, &mut figures);
        (figures, result)
    };
    // as many at a time as the harness lets QEMUs run
    let counted: Vec<_> = thread::scope(|scope| {
        let spawn = |job| scope.spawn(move || count(job));
        let threads: Vec<_> = jobs.iter().map(spawn).collect();
        let results = threads.into_iter().map(thread::ScopedJoinHandle::join);
        results
            .map(|result| result.expect("counting does not panic"))
            .collect()
    });
    for (job, (counted, result)) in jobs.iter().zip(counted) {
        figures.extend(&job.name, counted);
        failures.extend(result.err().map(|error| format!("{}: {error:#}", job.name)));
    }
    if options.write {
        // what another run has counted stays, what this one has counted replaces it
        let mut all: Figures = data::read(FIGURES)?;
        all.merge(figures.clone());
        data::write(FIGURES, &all)?;
    }
    failures.extend(bars::misses(&figures));
    stdout::text!("{figures}")?;
    if !failures.is_empty() {
        bail!("{}", failures.join("\n"));
    }
    Ok(())
}

fn prepare(voice: Voice, kernel: &Path, weight_type: WeightType, kernels: Kernels) -> Result<Job> {
    let name = match kernels {
        Kernels::Int8 => weight_type.name(),
        kernels => format!("{}_{kernels}", weight_type.name()),
    };
    let model = weight_type.file(voice)?;
    let facts = model_facts(&model).with_context(|| format!("reading {}", model.display()))?;
    let files = image::model_files(&model)?;
    let path = output_dir().join(format!("count-{name}.img"));
    image::write_card(voice, &files, None, &path)?;
    let machine = Machine::new(kernel)
        .card(&path)
        .append(&format!("pilm.cores=1 pilm.kernels={kernels}"))
        .icount();
    Ok(Job {
        name,
        machine,
        facts,
    })
}

/// Counts one model: all of it, or up to an error.
fn count_model(
    voice: Voice,
    job: &Job,
    positions: &BTreeSet<usize>,
    guesses: &[u16],
    figures: &mut ModelFigures,
) -> Result<()> {
    let name = job.name.as_str();
    let last = positions.last().copied().context("no position to count")?;
    let mut conversation = Conversation::start(voice, name, &job.machine)?;
    let mut add = |fill: &dyn Fn(&mut ModelFigures)| {
        let mut counted = ModelFigures::default();
        fill(&mut counted);
        counted.lines(name).iter().for_each(|line| voice.say(line));
        figures.extend(counted);
    };
    let load = conversation.load()?;
    add(&|counted| counted.load = Some(load));
    for drafted in guesses.iter().map(|&n| usize::from(n)) {
        let pass = conversation.pass(drafted)?;
        add(&|counted| counted.pass = [(drafted, pass)].into());
    }
    conversation.plan(positions, PROMPT_TOKENS);
    for &position in positions.range(..PROMPT_TOKENS) {
        let (decode, _) = conversation.decode(position, STEPS)?;
        add(&|counted| counted.decode = [(position, decode)].into());
        let checked = conversation.decode_checked(position, STEPS)?;
        add(&|counted| counted.decode_checked = [(position, checked)].into());
    }
    // from an empty context, as the prompt of a first question
    let prefill = conversation.restart(PROMPT_TOKENS)?;
    add(&|counted| counted.prefill = [(PROMPT_TOKENS, prefill)].into());
    for &position in positions.range(PROMPT_TOKENS..) {
        let (decode, _) = conversation.decode(position, STEPS)?;
        add(&|counted| counted.decode = [(position, decode)].into());
    }

    let mut misses = Vec::new();
    for n_cores in [1, ALL_CORES] {
        conversation.use_cores(n_cores)?;
        let (_, cores) = conversation.decode(last, 1)?;
        let work = Work::new(&cores, n_cores, &job.facts)?;
        misses.extend(work.misses());
        let work = BTreeMap::from([(n_cores, work)]);
        add(&|counted| counted.work = [(last, work.clone())].into());
    }
    ensure!(misses.is_empty(), "{}", misses.join("; "));
    Ok(())
}

/// The section of docs/speed.md; `per_32` are the instructions of the Q8_0 loop for 32 weights.
pub fn section(figures: &Figures, per_32: f64) -> String {
    let pieces =
        pieces::table(figures, per_32).map_or_else(String::new, |table| format!("\n{table}"));
    format!("{}{pieces}\n```\n{figures}```\n", bars::table(figures))
}
