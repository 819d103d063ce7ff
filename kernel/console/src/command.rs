//! What a person can ask for besides talking to the model: one row each.

use alloc::format;
use alloc::string::{String, ToString};
use protocol::Op;
use protocol::request::{
    Bench, Complete, Info, Kernels, Load, Log, Logits, Membw, Models, Ppl, Reboot, Reset, Sampling,
    Sd, Selftest, Set,
};
use protocol::scalar::Scalar;

/// A line of a person.
#[derive(Debug, Clone, PartialEq)]
pub enum Line<'a> {
    /// Nothing but blanks.
    Blank,
    /// Text for the model.
    Text(&'a str),
    /// A command.
    Command(Action),
}

/// What a command is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Shows the list of commands.
    Help,
    /// Shows the system prompt.
    ShowSystem,
    /// Shows all settings.
    ShowSettings,
    /// Shows one setting.
    ShowSetting(String),
    /// Asks the session.
    Ask(Op),
}

/// What is done with the words behind a command's name; `None` if they cannot be read.
type Meaning = fn(&str) -> Option<Action>;

/// Every command: as it is typed (in brackets what may be left out), what it does, and what its words mean.
const COMMANDS: &[(&str, &str, Meaning)] = &[
    ("/help", "this list", |_| Some(Action::Help)),
    ("/info", "firmware, board, memory and model", |_| {
        ask(Op::Info(Info {}))
    }),
    (
        "/log",
        "details of the start-up, for a report about a board",
        |_| ask(Op::Log(Log {})),
    ),
    ("/reset", "forgets the conversation", |_| {
        ask(Op::Reset(Reset {}))
    }),
    (
        "/system [TEXT]",
        "shows or sets the system prompt; `default` is the model's own",
        |text| match text {
            "" => Some(Action::ShowSystem),
            text => Some(set("system", text)),
        },
    ),
    (
        "/set [NAME [VALUE]]",
        "shows or changes settings",
        |words| match words.split_once(|c: char| c == '=' || c.is_whitespace()) {
            None if words.is_empty() => Some(Action::ShowSettings),
            None => Some(Action::ShowSetting(words.to_string())),
            Some((key, value)) => {
                let value = value.trim().trim_start_matches('=').trim();
                Some(set(key.trim(), value))
            }
        },
    ),
    ("/models", "the model files on the card", |_| {
        ask(Op::Models(Models {}))
    }),
    (
        "/load NAME",
        "loads a model file, by name or number",
        |name| ask(load(name)),
    ),
    (
        "/raw TEXT",
        "continues TEXT without the chat template",
        |text| {
            let complete = Complete {
                prompt: Some(text.to_string()),
                ..Complete::default()
            };
            ask(Op::Complete(
                complete,
                Sampling::default(),
                Logits::default(),
            ))
        },
    ),
    (
        "/selftest",
        "compares every kernel with its reference",
        |_| ask(Op::Selftest(Selftest {})),
    ),
    ("/membw", "measures memory bandwidth", |_| {
        ask(Op::Membw(Membw::default()))
    }),
    (
        "/sd",
        "what card and controller say, and their speed",
        |_| ask(Op::Sd(Sd {})),
    ),
    ("/bench [RUNS]", "measures prefill and decode", |runs| {
        let bench = Bench {
            runs: number(runs)?,
            ..Bench::default()
        };
        ask(Op::Bench(bench))
    }),
    (
        "/kernels [RUNS]",
        "measures each set of kernels on the model's weights",
        |runs| {
            ask(Op::Kernels(Kernels {
                runs: number(runs)?,
            }))
        },
    ),
    (
        "/ppl FILE",
        "perplexity on a text file of the card",
        |file| {
            let file = file.to_string();
            ask(Op::Ppl(Ppl { file, chunks: None }))
        },
    ),
    ("/reboot", "restarts the board", |_| {
        ask(Op::Reboot(Reboot {}))
    }),
];

fn ask(op: Op) -> Option<Action> {
    Some(Action::Ask(op))
}

/// A number that may be left out; `None` if it is none.
fn number(word: &str) -> Option<Option<usize>> {
    match word {
        "" => Some(None),
        word => word.parse().ok().map(Some),
    }
}

/// The request for a model file.
pub fn load(name: &str) -> Op {
    Op::Load(Load {
        name: name.to_string(),
    })
}

fn set(key: &str, value: &str) -> Action {
    Action::Ask(Op::Set(Set {
        key: key.to_string(),
        value: Scalar::Text(value.to_string()),
    }))
}

/// Every command as it is typed, with what it does.
pub fn help() -> impl Iterator<Item = (&'static str, &'static str)> {
    COMMANDS.iter().map(|&(usage, about, _)| (usage, about))
}

/// Why a line is not a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// No command has this name.
    #[error("no command is called /{name}; {}", what_instead(.similar))]
    Unknown {
        /// The name.
        name: String,
        /// A command with a similar name.
        similar: Option<&'static str>,
    },
    /// The command needs something after its name.
    #[error("usage: {usage}")]
    NeedsArgument {
        /// The command.
        usage: &'static str,
    },
    /// What follows the name cannot be read.
    #[error("{argument:?} cannot be read; usage: {usage}")]
    BadArgument {
        /// The command.
        usage: &'static str,
        /// What was typed.
        argument: String,
    },
}

fn what_instead(similar: &Option<&str>) -> String {
    match similar {
        Some(similar) => format!("did you mean {similar}? /help lists all"),
        None => String::from("/help lists all. A space before the / sends it to the model"),
    }
}

fn command_name(usage: &str) -> &str {
    let slashed = usage.split(' ').next().unwrap_or(usage);
    slashed.trim_start_matches('/')
}

/// Tells commands from text. A blank before a `/` or a `{` makes text of the line and is taken off.
///
/// # Errors
/// [`CommandError`]: a line that starts with `/` and is no command.
pub fn parse(line: &str) -> Result<Line<'_>, CommandError> {
    if line.trim().is_empty() {
        return Ok(Line::Blank);
    }
    if let Some(rest) = line.strip_prefix(' ')
        && rest.starts_with(['/', '{'])
    {
        return Ok(Line::Text(rest));
    }
    let Some(rest) = line.strip_prefix('/') else {
        return Ok(Line::Text(line));
    };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim();
    let lower = name.to_ascii_lowercase();
    let known = COMMANDS
        .iter()
        .find(|(usage, ..)| command_name(usage) == lower);
    let &(usage, _, meaning) = known.ok_or_else(|| CommandError::Unknown {
        name: name.to_string(),
        similar: similar(&lower),
    })?;
    let takes = usage.split_once(' ').map(|(_, takes)| takes);
    if argument.is_empty() && takes.is_some_and(|takes| !takes.starts_with('[')) {
        return Err(CommandError::NeedsArgument { usage });
    }
    // It says so rather than ignore what was typed.
    let is_taken = argument.is_empty() || takes.is_some();
    let action = is_taken.then(|| meaning(argument)).flatten();
    action
        .map(Line::Command)
        .ok_or_else(|| CommandError::BadArgument {
            usage,
            argument: argument.to_string(),
        })
}

/// The command whose name is nearest to `name`, if it is near.
fn similar(name: &str) -> Option<&'static str> {
    help()
        .map(|(usage, _)| usage.split(' ').next().unwrap_or(usage))
        .map(|command| (distance(name, &command[1..]), command))
        .min()
        .filter(|&(distance, _)| distance <= 2 && distance < name.len())
        .map(|(_, command)| command)
}

/// The number of letters to insert, delete or change to make `b` of `a` (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let mut row: [usize; 32] = core::array::from_fn(|column| column);
    let b = &b.as_bytes()[..b.len().min(row.len() - 1)];
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
