//! `cargo xtask run`: boot in QEMU, ask, answer.

use crate::card::CardFile;
use crate::session::{PROMPT, Session, token_text};
use crate::setup::{emulator, model};
use crate::voice::Voice;
use crate::workspace::output_dir;
use crate::{firmware, image, terminal};
use anstream::adapter::strip_str;
use anyhow::{Context, Result, anyhow, bail, ensure};
use link::terminal::Watch;
use llm::sampler;
use protocol::Op;
use protocol::request::{Complete, Logits, Sampling};
use qemu::{Machine, Qemu};
use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::Builder;

/// What is asked when nothing else is.
const DEMO_QUESTION: &str = "What is gravity? Answer in one sentence.";
/// Longest answer if nothing else is asked for.
const DEMO_TOKENS: usize = 64;
/// For loading the model, and for the answer, on a slow host.
const PATIENCE: Duration = Duration::from_secs(600);

/// What to boot and what to ask.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Ask this, print the answer, and end. Without it: one demo question, then the console is yours; where standard
    /// input is no terminal, its lines are typed instead, text or JSON, and its end is the end.
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Give PROMPT to the model as it is, without the chat template.
    #[arg(long, requires = "prompt")]
    raw: bool,
    /// Longest answer, in tokens [default: 64; without a limit where there is a terminal]
    #[arg(long, value_name = "N")]
    max_tokens: Option<usize>,
    /// Randomness of the choice of tokens, 0 to 5; 0 always takes the likeliest.
    #[arg(long, value_name = "T", value_parser = parse_temperature)]
    temperature: Option<f32>,
    /// Start of the random numbers.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Print the answer's text and nothing else.
    #[arg(long, requires = "prompt")]
    quiet: bool,
    /// Print the path of a pseudo-terminal that has the UART, for any terminal or program to open; Ctrl-C ends.
    #[arg(long, conflicts_with_all = ["prompt", "quiet"])]
    pty: bool,
    /// Model to put on the card instead of the default one (GGUF).
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Cores that compute, 1 to 4.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    cores: Option<u8>,
    /// Size of the card: a power of two such as 64M or 4G [default: the smallest that fits]
    #[arg(long, value_name = "SIZE", value_parser = image::parse_size)]
    sd_size: Option<u64>,
}

/// Boots the firmware with a model and asks it.
///
/// # Errors
/// Something that is needed cannot be made or installed, the firmware does not come up, or it answers with an error.
pub fn run(options: &Options) -> Result<()> {
    let voice = Voice::new(options.quiet);
    image::check_first(options.model.as_slice(), options.sd_size)?;
    emulator::ensure(voice)?;
    let model = options.model.clone();
    let model = model.map_or_else(|| model::ensure(voice), Ok)?;
    let model = CardFile::path(image::file_name(&model)?, &model);
    let firmware = firmware::build(voice)?;
    // one of its own, so that runs side by side do not meet; removed when dropped
    let card = Builder::new()
        .prefix("run-")
        .suffix(".img")
        .tempfile_in(output_dir())?;
    let mut files = image::firmware_files(&firmware);
    files.push(model);
    image::write_card(voice, &files, options.sd_size, card.path())?;
    let machine = options.machine(Machine::new(&firmware.image_path).card(card.path()));
    voice.say("Booting in QEMU");
    let pi = machine.boot()?;
    let prompt = Complete {
        prompt: options.prompt.clone(),
        raw: Some(options.raw),
        ..Complete::default()
    };
    match options.prompt {
        _ if options.pty => on_pty(voice, pi),
        Some(_) => answer(voice, pi, prompt),
        None => demo(voice, pi),
    }
}

fn parse_temperature(text: &str) -> Result<f32> {
    let temperature: f32 = text.parse()?;
    let range = sampler::Settings::TEMPERATURE;
    ensure!(
        range.contains(&temperature),
        "a temperature is {} to {}",
        range.start(),
        range.end()
    );
    Ok(temperature)
}

impl Options {
    /// Settings that hold from the start go on the kernel's command line.
    fn machine(&self, mut machine: Machine) -> Machine {
        let mut set = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                machine = machine.clone().append(&format!("pilm.{name}={value}"));
            }
        };
        set("cores", self.cores.map(|n| n.to_string()));
        set("temperature", self.temperature.map(|t| t.to_string()));
        set("seed", self.seed.map(|s| s.to_string()));
        if self.pty {
            // whoever opens it has Ctrl-C and columns of its own
            set("max_tokens", self.max_tokens.map(|n| n.to_string()));
            return machine;
        }
        let interactive = self.prompt.is_none() && terminal::is_interactive();
        // where nobody can press Ctrl-C, an answer has an end
        let max_tokens = self.max_tokens.or((!interactive).then_some(DEMO_TOKENS));
        set("max_tokens", max_tokens.map(|n| n.to_string()));
        if interactive {
            set("columns", terminal::columns().map(|n| n.to_string()));
        }
        machine
    }
}

/// Asks in JSON lines; the answer's text is all that goes to stdout.
fn answer(voice: Voice, pi: Qemu, prompt: Complete) -> Result<()> {
    let bar = voice.spinner("Loading the model");
    let session = Session::wait_for_prompt(pi);
    bar.finish_and_clear();
    let mut session = session?;
    let start = as_shown(session.boot_text().trim_end_matches(PROMPT));
    voice.say(&start);
    let waiting = voice.spinner("Reading the prompt");
    let op = Op::Complete(prompt, Sampling::default(), Logits::default());
    let result = session.ask_with(op, &mut |event| {
        if !waiting.is_finished() {
            waiting.finish_and_clear();
        }
        Ok(stdout::text!("{}", token_text(&event))?)
    });
    waiting.finish_and_clear();
    // when quiet, nobody has read why there is no model
    let done = result.map_err(|error| match voice.is_quiet() {
        true => anyhow!("{error}; the firmware started with\n{start}"),
        false => error,
    })?;
    stdout::line!()?;
    let generated = done.generated.context("an answer without numbers")?;
    voice.say(format!(
        "[{} prompt tokens, {} answer tokens, ended by {}]",
        generated.usage.prompt_tokens,
        generated.usage.completion_tokens,
        serde_json::to_string(&done.finish_reason)?.trim_matches('"')
    ));
    Ok(())
}

/// What a terminal shows of `text` in the end: of a line that is written over, its last state.
fn as_shown(text: &str) -> String {
    let text = strip_str(text).to_string();
    let lines = text.trim().lines().map(|line| {
        let mut states = line.split('\r').map(str::trim_end);
        states.rfind(|state| !state.is_empty()).unwrap_or_default()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Types a question as a person would; the console is the person's, if there is one.
fn demo(voice: Voice, mut pi: Qemu) -> Result<()> {
    if terminal::is_interactive() {
        voice.say("[After the first answer the console is yours: /help lists its commands. Ctrl-] leaves.]");
        terminal::attach(&mut pi, DEMO_QUESTION)?;
        voice.say("\n[Left.]");
        return Ok(());
    }
    show_until_prompt(&mut pi)?;
    if !io::stdin().is_terminal() && type_lines(&mut pi, io::stdin().lock())? > 0 {
        return Ok(stdout::line!()?);
    }
    pi.send_line(DEMO_QUESTION)?;
    let answer = show_until_prompt(&mut pi)?;
    stdout::line!()?;
    ensure!(
        answer.contains(" answer tokens"),
        "there was no answer: the reason is above"
    );
    Ok(())
}

/// Types each of `lines` and shows what comes back; how many there were.
///
/// # Errors
/// A line is no text, or the firmware does not come back to its prompt.
pub fn type_lines(pi: &mut Qemu, lines: impl BufRead) -> Result<usize> {
    let mut n_lines = 0;
    for line in lines.lines() {
        pi.send_line(&line.context("standard input is text")?)?;
        n_lines += 1;
        match show_until_prompt(pi).map_err(|error| error.downcast()) {
            Ok(_) => {}
            // a line has restarted the board: nothing is wrong with that here
            Err(Ok(qemu::Error::Ended { .. })) => break,
            Err(Ok(error)) => return Err(error.into()),
            Err(Err(error)) => return Err(error),
        }
    }
    Ok(n_lines)
}

/// Joins the UART and a pseudo-terminal until QEMU ends.
#[cfg(unix)]
fn on_pty(voice: Voice, mut pi: Qemu) -> Result<()> {
    let mut pty = link::pty::Pty::open().context("a pseudo-terminal")?;
    stdout::line!("{}", pty.path().display())?;
    voice.say("[Open it with a terminal program, or with `pilm talk --port`. Ctrl-C ends.]");
    loop {
        link::pty::carry(&mut pi, &mut pty, Duration::from_millis(5))?;
    }
}

#[cfg(not(unix))]
fn on_pty(_: Voice, _: Qemu) -> Result<()> {
    bail!("this system has no pseudo-terminals")
}

/// Shows what the firmware says up to its next prompt, and returns it.
fn show_until_prompt(pi: &mut Qemu) -> Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut prompt = Watch::new(PROMPT);
    let mut line = Vec::new();
    let mut said = String::new();
    loop {
        let bytes = pi.read(Duration::from_millis(200))?;
        let is_done = prompt.sees(&bytes);
        // no terminal: whole lines, each in its last state
        line.extend(bytes);
        if let Some(end) = line.iter().rposition(|&byte| byte == b'\n') {
            let whole: Vec<u8> = line.drain(..=end).collect();
            let whole = as_shown(&String::from_utf8_lossy(&whole));
            stdout::line!("{whole}")?;
            said.push_str(&whole);
        }
        if is_done {
            stdout::text!("{}", String::from_utf8_lossy(&line))?;
            return Ok(said);
        }
        if Instant::now() > deadline {
            bail!("the firmware has not come to its prompt within {PATIENCE:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_written_over_is_shown_once() {
        let text = "\r\nPiLM\r\nloading 1 of 2  \rloading 2 of 2  \r\n";
        assert_eq!(as_shown(text), "PiLM\nloading 2 of 2");
    }

    #[test]
    fn what_steers_a_terminal_is_left_out() {
        let text = "no card\r\n\x1b[?2004hready\x1b[1;31m!\x1b[0m\x1b[";
        assert_eq!(as_shown(text), "no card\nready!");
    }

    #[test]
    fn a_temperature_is_what_the_firmware_takes() {
        assert_eq!(parse_temperature("0.7").unwrap(), 0.7);
        for bad in ["-0.1", "9", "nan", "warm"] {
            assert!(parse_temperature(bad).is_err(), "{bad}");
        }
    }
}
