//! What a person can ask for besides talking to the model.

use alloc::string::{String, ToString};
use core::fmt;

/// A line of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    /// Nothing but blanks.
    Blank,
    /// Text for the model.
    Text(&'a str),
    /// A command.
    Command(Command<'a>),
}

/// A command; what follows its name is kept as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command<'a> {
    /// The list of commands.
    Help,
    /// What runs here.
    Info,
    /// Forgets the conversation.
    Reset,
    /// Restarts the board.
    Reboot,
    /// Shows or sets the system prompt.
    System(Option<&'a str>),
    /// Shows all settings, shows one, or sets one.
    Set(Option<(&'a str, Option<&'a str>)>),
    /// The model files on the card.
    Models,
    /// Loads a model file, by name or by number in the list.
    Load(&'a str),
    /// Compares every kernel with its reference.
    Selftest,
    /// Measures memory bandwidth.
    Membw,
    /// Measures prefill and decode; the number of runs.
    Bench(Option<usize>),
    /// Measures each generation of kernels; the number of runs.
    Kernels(Option<usize>),
    /// Perplexity on a text file of the card.
    Ppl(&'a str),
    /// Continues a text without the chat template.
    Raw(&'a str),
}

/// Why a line is not a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandError {
    /// No command has this name.
    Unknown {
        /// The name.
        name: String,
        /// A command with a similar name.
        similar: Option<&'static str>,
    },
    /// The command needs something after its name.
    NeedsArgument {
        /// The command.
        usage: &'static str,
    },
    /// What follows the name cannot be read.
    BadArgument {
        /// The command.
        usage: &'static str,
        /// What was typed.
        argument: String,
    },
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown {
                name,
                similar: Some(similar),
            } => {
                write!(
                    f,
                    "no command is called /{name}; did you mean {similar}? /help lists all"
                )
            }
            Self::Unknown {
                name,
                similar: None,
            } => {
                write!(
                    f,
                    "no command is called /{name}; /help lists all. A space before the / sends it to the model"
                )
            }
            Self::NeedsArgument { usage } => write!(f, "usage: {usage}"),
            Self::BadArgument { usage, argument } => {
                write!(f, "{argument:?} cannot be read; usage: {usage}")
            }
        }
    }
}

impl core::error::Error for CommandError {}

/// Every command as it is typed, with what it does.
pub const COMMANDS: &[(&str, &str)] = &[
    ("/help", "this list"),
    ("/info", "firmware, board, memory and model"),
    ("/reset", "forgets the conversation"),
    (
        "/system [TEXT]",
        "shows or sets the system prompt; `default` is the model's own",
    ),
    ("/set [NAME [VALUE]]", "shows or changes settings"),
    ("/models", "the model files on the card"),
    ("/load NAME", "loads a model file, by name or number"),
    ("/raw TEXT", "continues TEXT without the chat template"),
    ("/selftest", "compares every kernel with its reference"),
    ("/membw", "measures memory bandwidth"),
    ("/bench [RUNS]", "measures prefill and decode"),
    (
        "/kernels [RUNS]",
        "measures each generation of kernels on the model's weights",
    ),
    ("/ppl FILE", "perplexity on a text file of the card"),
    ("/reboot", "restarts the board"),
];

/// The usage line of the command called `name`.
fn usage(name: &str) -> Option<&'static str> {
    COMMANDS
        .iter()
        .map(|&(usage, _)| usage)
        .find(|usage| command_name(usage) == name)
}

fn command_name(usage: &str) -> &str {
    usage
        .split(' ')
        .next()
        .unwrap_or(usage)
        .trim_start_matches('/')
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
    let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
    let lower = name.to_ascii_lowercase();
    let Some(usage) = usage(&lower) else {
        return Err(CommandError::Unknown {
            name: name.to_string(),
            similar: similar(&lower),
        });
    };
    let bad = |argument: &str| CommandError::BadArgument {
        usage,
        argument: argument.to_string(),
    };
    let command = match lower.as_str() {
        "system" => Command::System(argument),
        "set" => Command::Set(
            argument.map(|argument| match argument.split_once([' ', '=']) {
                Some((key, value)) => (
                    key.trim(),
                    Some(value.trim().trim_start_matches('=').trim()),
                ),
                None => (argument, None),
            }),
        ),
        "load" => Command::Load(argument.ok_or(CommandError::NeedsArgument { usage })?),
        "raw" => Command::Raw(argument.ok_or(CommandError::NeedsArgument { usage })?),
        "ppl" => Command::Ppl(argument.ok_or(CommandError::NeedsArgument { usage })?),
        "bench" | "kernels" => {
            let runs = match argument {
                Some(runs) => Some(runs.parse().map_err(|_| bad(runs))?),
                None => None,
            };
            match lower.as_str() {
                "bench" => Command::Bench(runs),
                _ => Command::Kernels(runs),
            }
        }
        // The rest takes nothing, and says so rather than ignore what was typed.
        _ => match (argument, lower.as_str()) {
            (Some(argument), _) => return Err(bad(argument)),
            (None, "help") => Command::Help,
            (None, "info") => Command::Info,
            (None, "reset") => Command::Reset,
            (None, "reboot") => Command::Reboot,
            (None, "models") => Command::Models,
            (None, "membw") => Command::Membw,
            (None, "selftest") => Command::Selftest,
            (None, _) => {
                return Err(CommandError::Unknown {
                    name: name.to_string(),
                    similar: None,
                });
            }
        },
    };
    Ok(Line::Command(command))
}

/// The command whose name is nearest to `name`, if it is near.
fn similar(name: &str) -> Option<&'static str> {
    COMMANDS
        .iter()
        .map(|&(usage, _)| usage.split(' ').next().unwrap_or(usage))
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
mod tests {
    use super::{COMMANDS, Command, CommandError, Line, command_name, parse};
    use proptest::prelude::*;

    #[test]
    fn text_and_commands_are_told_apart() {
        assert_eq!(parse("  "), Ok(Line::Blank));
        assert_eq!(parse("what is 1/2?"), Ok(Line::Text("what is 1/2?")));
        assert_eq!(parse(" /help"), Ok(Line::Text("/help")));
        assert_eq!(parse(" {x"), Ok(Line::Text("{x")));
        assert_eq!(parse("/HELP "), Ok(Line::Command(Command::Help)));
        assert_eq!(
            parse("/load My Model.gguf"),
            Ok(Line::Command(Command::Load("My Model.gguf")))
        );
        for set in [
            "/set temperature 0.7",
            "/set temperature=0.7",
            "/set temperature = 0.7",
        ] {
            assert_eq!(
                parse(set),
                Ok(Line::Command(Command::Set(Some((
                    "temperature",
                    Some("0.7")
                ))))),
                "{set}"
            );
        }
        assert_eq!(parse("/system"), Ok(Line::Command(Command::System(None))));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(
            parse("/hlep"),
            Err(CommandError::Unknown {
                name: "hlep".into(),
                similar: Some("/help")
            })
        );
        assert_eq!(
            parse("/usr/bin/env"),
            Err(CommandError::Unknown {
                name: "usr/bin/env".into(),
                similar: None
            })
        );
        assert_eq!(
            parse("/load"),
            Err(CommandError::NeedsArgument {
                usage: "/load NAME"
            })
        );
        assert!(matches!(
            parse("/bench many"),
            Err(CommandError::BadArgument { .. })
        ));
        assert_eq!(
            parse("/bench 3"),
            Ok(Line::Command(Command::Bench(Some(3))))
        );
        assert_eq!(
            parse("/kernels 5"),
            Ok(Line::Command(Command::Kernels(Some(5))))
        );
        assert!(matches!(
            parse("/reset now"),
            Err(CommandError::BadArgument { .. })
        ));
    }

    #[test]
    fn every_listed_command_is_one() {
        for &(usage, _) in COMMANDS {
            let line = format!("/{} 1", command_name(usage));
            let bare = format!("/{}", command_name(usage));
            let is_command = |line: &str| !matches!(parse(line), Err(CommandError::Unknown { .. }));
            assert!(is_command(&line) && is_command(&bare), "{usage}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_strange(line in any::<String>(), name in "/[a-z]{0,40}") {
            let _ = parse(&line);
            prop_assert!(!matches!(parse(&name), Ok(Line::Text(_))), "a line with / never goes to the model");
        }
    }
}
