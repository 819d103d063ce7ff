//! Text and commands are told apart, mistakes are named.

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
