//! Requests of a program, and what comes back.

use protocol::event::{Done, Error, Info, Loaded, Logits};
use protocol::request::{self, Complete, Load, Positions, Reset, Sampling, Set};
use protocol::scalar::Scalar;
use protocol::{Event, Op, Setting};
use serde::Serialize;
use xtask::session::{Session, token_text};

/// The events of a request, and how it ended.
///
/// # Panics
/// The answer is an error, or does not come.
pub fn events(session: &mut Session, op: Op) -> (Vec<Event<'static>>, Done) {
    let mut events = Vec::new();
    let done = session
        .ask_with(op, &mut |event| {
            events.push(event);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error:#}"));
    (events, done)
}

/// The only event of a request that has one.
///
/// # Panics
/// There is another number of events, or an error.
pub fn event(session: &mut Session, op: Op) -> Event<'static> {
    let [event] = <[_; 1]>::try_from(events(session, op).0).expect("one event");
    event
}

/// Why a request fails.
///
/// # Panics
/// It does not, or no answer comes.
pub fn refused(session: &mut Session, op: Op) -> Error<'static> {
    let error = session.ask(op).expect_err("it cannot be done");
    error
        .downcast()
        .unwrap_or_else(|error| panic!("no answer: {error:#}"))
}

/// Empties the context.
///
/// # Panics
/// The firmware refuses.
pub fn reset(session: &mut Session) {
    assert_eq!(events(session, Op::Reset(Reset {})), Default::default());
}

/// Gives `setting` a value.
///
/// # Panics
/// The firmware refuses.
pub fn set(session: &mut Session, setting: Setting, value: impl Serialize) {
    let value = Scalar::of(&value);
    let key = setting.key().to_owned();
    match event(session, Op::Set(Set { key, value })) {
        Event::Settings(changed) => assert_eq!(changed.key, setting.key()),
        event => panic!("{event:?}"),
    }
}

/// The request to load the model called `name`.
pub fn load_op(name: &str) -> Op {
    Op::Load(Load { name: name.into() })
}

/// Loads the model called `name`.
///
/// # Panics
/// The firmware refuses.
pub fn load(session: &mut Session, name: &str) -> Box<Loaded> {
    let mut events = events(session, load_op(name)).0;
    match events.pop() {
        Some(Event::Loaded(loaded)) => loaded,
        event => panic!("{event:?}"),
    }
}

/// What runs in the machine.
///
/// # Panics
/// The firmware does not say.
pub fn info(session: &mut Session) -> Box<Info> {
    match event(session, Op::Info(request::Info {})) {
        Event::Info(info) => info,
        event => panic!("{event:?}"),
    }
}

/// The prompt of `ids`.
pub fn ids(ids: &[u32]) -> Complete {
    Complete {
        ids: Some(ids.to_vec()),
        ..Complete::default()
    }
}

/// The prompt of `text`, as it is.
pub fn text(text: &str) -> Complete {
    Complete {
        prompt: Some(text.to_owned()),
        ..Complete::default()
    }
}

/// So many tokens, whatever comes.
pub fn tokens(n: usize) -> Sampling {
    Sampling {
        max_tokens: Some(n),
        ignore_eos: true,
        ..Sampling::default()
    }
}

/// So many of the likeliest tokens.
pub fn likeliest(n: usize) -> Sampling {
    Sampling {
        temperature: Some(0.0),
        ..tokens(n)
    }
}

/// The checksums of the logits of these positions.
pub fn crc32c(logits_positions: Positions) -> request::Logits {
    request::Logits {
        logits_crc32c: true,
        logits_positions,
        ..request::Logits::default()
    }
}

/// The text of a completion, and how it ended.
///
/// # Panics
/// The answer is an error, or does not come.
pub fn complete(session: &mut Session, prompt: Complete, sampling: Sampling) -> (String, Done) {
    let op = Op::Complete(prompt, sampling, request::Logits::default());
    let (events, done) = events(session, op);
    (events.iter().map(token_text).collect(), done)
}

/// The checksums that are among `events`.
pub fn checksums(events: &[Event<'_>]) -> Vec<u32> {
    let checksum = |event: &Event<'_>| match event {
        Event::Logits(Logits { crc32c, .. }) => *crc32c,
        _ => None,
    };
    events.iter().filter_map(checksum).collect()
}

/// The checksums of the logits after each of `prompt`.
///
/// # Panics
/// The answer is an error, or does not come.
pub fn prompt_checksums(session: &mut Session, prompt: &[u32]) -> Vec<u32> {
    let op = Op::Complete(ids(prompt), tokens(0), crc32c(Positions::All));
    checksums(&events(session, op).0)
}
