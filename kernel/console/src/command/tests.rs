//! Text and commands are told apart, mistakes are named.

use super::{Action, CommandError, Line, command_name, help, load, parse, set};
use proptest::prelude::*;
use protocol::Op;
use protocol::request::{Bench, Kernels};

#[test]
fn text_and_commands_are_told_apart() {
    assert_eq!(parse("  "), Ok(Line::Blank));
    assert_eq!(parse("what is 1/2?"), Ok(Line::Text("what is 1/2?")));
    assert_eq!(parse(" /help"), Ok(Line::Text("/help")));
    assert_eq!(parse(" {x"), Ok(Line::Text("{x")));
    assert_eq!(parse("/HELP "), Ok(Line::Command(Action::Help)));
    assert_eq!(
        parse("/load My Model.gguf"),
        Ok(Line::Command(Action::Ask(load("My Model.gguf"))))
    );
    for line in [
        "/set temperature 0.7",
        "/set temperature=0.7",
        "/set temperature = 0.7",
        "/set temperature\t0.7",
        "/set\ttemperature \t= 0.7",
    ] {
        assert_eq!(
            parse(line),
            Ok(Line::Command(set("temperature", "0.7"))),
            "{line}"
        );
    }
    assert_eq!(parse("/system"), Ok(Line::Command(Action::ShowSystem)));
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
        Ok(Line::Command(Action::Ask(Op::Bench(Bench {
            runs: Some(3),
            ..Bench::default()
        }))))
    );
    assert_eq!(
        parse("/kernels 5"),
        Ok(Line::Command(Action::Ask(Op::Kernels(Kernels {
            runs: Some(5)
        }))))
    );
    assert!(matches!(
        parse("/reset now"),
        Err(CommandError::BadArgument { .. })
    ));
}

#[test]
fn every_listed_command_is_one() {
    for (usage, _) in help() {
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
