//! `cargo xtask first-questions`: what people type first, answered by the default model as it is set for a person; no
//! answer may repeat itself.

use crate::setup::model;
use crate::voice::Voice;
use crate::workspace::cargo;
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::process::Stdio;

/// Usual ones: greetings, facts, lists, texts, code.
const QUESTIONS: [&str; 30] = [
    "What is the capital of France?",
    "Hello, who are you?",
    "Write a haiku about the sea.",
    "Explain recursion in two sentences.",
    "What is 2+2?",
    "Tell me a joke.",
    "Write a Python function that reverses a string.",
    "List five fruits.",
    "Translate \"good morning\" into German.",
    "How does a Raspberry Pi boot?",
    "What is gravity?",
    "Hi!",
    "Why is the sky blue?",
    "Give me a recipe for pancakes.",
    "Who was Albert Einstein?",
    "What can you do?",
    "Tell me a story about a dragon.",
    "How do I learn to play the guitar?",
    "What is the difference between a virus and a bacterium?",
    "Write a poem about autumn.",
    "Name the planets of the solar system.",
    "What is machine learning?",
    "Count from 1 to 20.",
    "How far away is the moon?",
    "What should I cook tonight?",
    "Write a short email to my boss asking for a day off.",
    "Explain photosynthesis to a child.",
    "What are the benefits of exercise?",
    "Who wrote Romeo and Juliet?",
    "How do computers work?",
];

/// What is asked, and how.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Seed of the first round of questions; the next round has the next seed.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// How often all questions are asked.
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: u64,
    /// More settings, as on the kernel command line.
    #[arg(long, value_name = "WORDS", default_value = "")]
    set: String,
}

/// Asks, on the host, and prints how each answer ended.
///
/// # Errors
/// The console cannot be run, or an answer repeats itself.
pub fn ask(options: &Options) -> Result<()> {
    let model = model::ensure(Voice::new(false))?;
    let mut repeating = 0;
    for seed in (options.seed..).take(options.rounds as usize) {
        let settings = format!(
            "pilm.quiet pilm.columns=1000 pilm.seed={seed} {}",
            options.set
        );
        let mut chat = cargo()
            .args([
                "run",
                "--quiet",
                "--profile",
                "host",
                "--package",
                "pilm",
                "--",
                "chat",
            ])
            .arg(&model)
            .args(["--set", &settings])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cargo cannot be started")?;
        // the console reads ahead only so far, and its answers are long: one thread types, this one listens
        let mut keyboard = chat.stdin.take().context("the console has no input")?;
        let typist = std::thread::spawn(move || {
            QUESTIONS
                .iter()
                .try_for_each(|question| write!(keyboard, "{question}\n/reset\n"))
        });
        let output = chat.wait_with_output()?;
        ensure!(
            output.status.success() && typist.join().is_ok_and(|typed| typed.is_ok()),
            "the console of pilm ended early"
        );
        let shown = String::from_utf8_lossy(&output.stdout);
        let ends = ends(&shown);
        ensure!(
            ends.len() == QUESTIONS.len(),
            "{} questions and {} answers",
            QUESTIONS.len(),
            ends.len()
        );
        for (question, end) in QUESTIONS.iter().zip(&ends) {
            stdout::line!("{question:<56} {end}")?;
        }
        repeating += ends.iter().filter(|end| repeats(end)).count();
    }
    let asked = QUESTIONS.len() as u64 * options.rounds;
    stdout::line!("{asked} questions, {repeating} answers that repeat themselves")?;
    ensure!(repeating == 0, "answers repeat themselves");
    Ok(())
}

/// The line after each answer.
fn ends(shown: &str) -> Vec<&str> {
    shown
        .lines()
        .filter(|line| line.starts_with('[') && line.contains(" answer tokens"))
        .collect()
}

fn repeats(end: &str) -> bool {
    end.starts_with("[cut: it repeats itself")
}

#[cfg(test)]
mod tests {
    use super::{ends, repeats};

    #[test]
    fn an_answer_that_repeats_itself_is_counted() {
        let shown = "> Hi!\n[Hello](x)\n[34 prompt + 9 answer tokens | seed 1 | context 42/4096]\n> /reset\n\
                     > Sing!\nla la la\n[cut: it repeats itself | 30 prompt + 48 answer tokens | context 78/4096]\n";
        let ends = ends(shown);
        assert_eq!(ends.len(), 2);
        assert_eq!([repeats(ends[0]), repeats(ends[1])], [false, true]);
    }
}
