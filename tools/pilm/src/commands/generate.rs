//! `pilm generate MODEL --prompt P`

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use llm::chat::{Message, Role};
use llm::engine::LoadOptions;
use llm::lookup::Lookup;
use llm::repetition::Repetition;
use llm::sampler::{Sampler, Settings};
use llm::tokenizer::TokenId;
use pilm::session::Session;
use session::Utf8Stream;

use super::model::{KernelsArgs, ModelArgs};

const NOT_FINITE: &str = "the model's logits are not finite: the file is damaged";

/// Answer one prompt, or continue it with --raw.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    kernels: KernelsArgs,
    /// What to say.
    #[arg(long)]
    prompt: String,
    /// Instructions before it.
    #[arg(long, conflicts_with = "raw")]
    system: Option<String>,
    /// Most tokens of the answer.
    #[arg(long, default_value_t = 128)]
    max_tokens: usize,
    /// 0 always takes the most likely token.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    temperature: f32,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Continue the prompt as it is, without a chat format.
    #[arg(long)]
    raw: bool,
    /// Let the model think before it answers, where its chat format has a switch for that.
    #[arg(long, conflicts_with = "raw")]
    think: bool,
    /// Guess up to N tokens from what has been said and check them in one pass: the same answer from fewer
    /// passes where the text repeats itself.
    #[arg(
        long,
        alias = "guess",
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = 0,
        default_missing_value = "7",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(0..=Lookup::MAX_DRAFT as u64)
    )]
    speculate: usize,
    /// Print the ids of prompt and answer to standard error.
    #[arg(long)]
    show_ids: bool,
    /// No line with counts and times.
    #[arg(long)]
    quiet: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let settings = Settings {
        temperature: args.temperature,
        seed: args.seed,
        ..Settings::GREEDY
    };
    settings.check()?;
    let options = LoadOptions::default();
    args.model.with_session(&options, |session| {
        session.engine.set_kernels(args.kernels.kernels);
        answer(session, args, settings)
    })
}

fn prompt_ids(session: &Session<'_>, args: &Args) -> Vec<TokenId> {
    let tokenizer = session.engine.tokenizer();
    if args.raw {
        let bos = tokenizer.bos().filter(|_| tokenizer.add_bos());
        return bos
            .into_iter()
            .chain(tokenizer.encode(&args.prompt, false))
            .collect();
    }
    let system = args.system.as_deref().map(|content| Message {
        role: Role::System,
        content,
    });
    let user = Message {
        role: Role::User,
        content: &args.prompt,
    };
    let messages: Vec<Message<'_>> = system.into_iter().chain([user]).collect();
    session
        .engine
        .chat()
        .render(tokenizer, &messages, args.think)
}

fn answer(session: &mut Session<'_>, args: &Args, settings: Settings) -> Result<()> {
    let ids = prompt_ids(session, args);
    ensure!(!ids.is_empty(), "the prompt is empty");
    let mut sampler = Sampler::new(session.engine.config().vocab_size, settings);
    ids.iter().for_each(|id| sampler.accept(*id));
    let (engine, threads) = (&mut session.engine, &session.threads);

    let start = Instant::now();
    let mut chosen = sampler.sample(engine.prefill(&ids, threads)?);
    let prefill = start.elapsed();
    let mut stream = Utf8Stream::new();
    let mut made = Vec::new();
    let mut lookup = Lookup {
        max_draft: args.speculate,
        ..Lookup::default()
    };
    let mut repetition = Repetition::default();
    let mut failed = Ok(());
    let start = Instant::now();
    while made.len() < args.max_tokens {
        let id = chosen.context(NOT_FINITE)?;
        made.push(id);
        if engine.tokenizer().is_eog(id) {
            break;
        }
        stream.push(engine.tokenizer().decode_bytes(id), &mut |text| {
            failed = stdout::text!("{text}");
        });
        std::mem::replace(&mut failed, Ok(()))?;
        if repetition.push(id, engine.tokenizer().decode_bytes(id)) {
            eprintln!("ended: the answer repeats itself");
            break;
        }
        if made.len() == args.max_tokens || engine.pos() == engine.context_len() {
            break;
        }
        sampler.accept(id);
        chosen = sampler.sample(engine.decode_speculating(id, &mut lookup, threads)?);
    }
    let decode = start.elapsed();
    stream.finish(&mut |text| failed = stdout::text!("{text}"));
    failed?;
    stdout::line!()?;
    if args.show_ids {
        eprintln!("prompt {}\nanswer {}", list(&ids), list(&made));
    }
    if !args.quiet {
        let rate = |n: usize, time: std::time::Duration| n as f64 / time.as_secs_f64();
        let (n, steps) = (ids.len(), made.len().saturating_sub(1));
        // The first token is the prompt's: one alone has no rate.
        let answer = match made.len() {
            1 => "1 token".to_owned(),
            n => format!("{n} tokens at {:.1} tok/s", rate(steps, decode)),
        };
        eprintln!(
            "{n} prompt tokens at {:.1} tok/s, {answer}",
            rate(n, prefill)
        );
        if args.speculate > 0 {
            let Lookup {
                n_drafts,
                n_draft_tokens,
                n_accepted,
                ..
            } = lookup;
            let passes = steps as u64 - n_accepted;
            eprintln!(
                "{n_drafts} drafts of {n_draft_tokens} tokens, {n_accepted} accepted; {:.2} tokens per pass",
                steps as f64 / passes.max(1) as f64
            );
        }
    }
    Ok(())
}

fn list(ids: &[TokenId]) -> String {
    ids.iter()
        .map(|id| id.0.to_string())
        .collect::<Vec<_>>()
        .join(",")
}
