//! The client against a firmware of this process, over good and bad wires.

mod speed;
mod wire;

use link::{Error, Link, Options, Step, Transport};
use ops::crc32c::extend;
use protocol::event::{Done, ErrorCode, Finish};
use protocol::request::{Ask, Complete, Info, Load, Logits, Positions, Reset, Sampling, Set};
use protocol::scalar::Scalar;
use protocol::{Event, Op, Request, crc_line};
use std::io;
use std::time::{Duration, Instant};
use wire::Host;

/// The longest request.
const MAX_REQUEST_BYTES: usize = 1024;

fn options() -> Options {
    Options {
        quiet: Duration::from_millis(100),
        patience: Duration::from_secs(60),
        // the longest event is lost every second time on the worst of these wires
        attempts: 200,
        ..Options::default()
    }
}

fn link(host: Host) -> Link<Host> {
    Link::new(host, options())
}

/// One byte in `bytes_per_fault` is hit.
fn linked(seed: u64, bytes_per_fault: u64) -> Link<Host> {
    link(Host::start(seed, bytes_per_fault))
}

/// The events of an answer, and how it ended.
fn answer(link: &mut Link<Host>, op: Op) -> (Vec<Event<'static>>, Option<Finish>) {
    let mut events = Vec::new();
    let done = link
        .ask_with(op, &mut |event| events.push(event))
        .unwrap_or_else(|error| panic!("{error}"));
    (events, done.finish_reason)
}

fn complete(text: String, max_tokens: usize) -> Op {
    let prompt = Complete {
        prompt: Some(text),
        ..Complete::default()
    };
    let sampling = Sampling {
        max_tokens: Some(max_tokens),
        temperature: Some(1.0),
        seed: Some(max_tokens as u64),
        ignore_eos: true,
        ..Sampling::default()
    };
    let logits = Logits {
        top_logits: max_tokens % 3,
        ..Logits::default()
    };
    Op::Complete(prompt, sampling, logits)
}

/// The `n`-th of various requests, up to the longest one.
fn request(n: usize) -> Op {
    let text = "The river ran down \u{1F30A}. ".repeat(1 + n % 30);
    let op = match n % 5 {
        0 => Op::Tokenize(protocol::request::Tokenize {
            text,
            special: false,
        }),
        _ => complete(text, 5 + n % 40),
    };
    let line = protocol::Request::unnamed(op.clone());
    let n_bytes = serde_json::to_string(&line).expect("JSON").len() + 20;
    assert!(n_bytes <= MAX_REQUEST_BYTES, "{n_bytes}");
    op
}

/// As many answers over a bad wire as over a good one; faults on the bad one.
fn compare(n_requests: usize, bytes_per_fault: u64) -> u64 {
    let mut good = linked(1, 0);
    let mut bad = linked(2, bytes_per_fault);
    bad.transport().slow_down();
    for n in 0..n_requests {
        let expected = answer(&mut good, request(n));
        let found = answer(&mut bad, request(n));
        assert_eq!(found, expected, "request {n}");
    }
    bad.transport().n_faults()
}

#[test]
fn two_hundred_answers_are_those_of_a_good_wire() {
    let n_faults = compare(200, 10_000);
    assert!(n_faults > 40, "{n_faults}");
}

#[test]
fn a_wire_ten_times_as_bad_makes_it_slower_and_not_wrong() {
    let n_faults = compare(30, 1_000);
    assert!(n_faults > 60, "{n_faults}");
}

#[test]
fn an_answer_goes_on_where_it_broke_off() {
    let op = complete("One day".to_owned(), 40);
    let expected = answer(&mut linked(1, 0), op.clone());
    for after in [0, 10, 300, 1000, 2000] {
        let mut link = linked(1, 0);
        link.connect().expect("it answers");
        link.transport().cut_to_host(after, 150);
        assert_eq!(answer(&mut link, op.clone()), expected, "{after}");
    }
}

#[test]
fn a_lost_end_and_a_lost_request_are_asked_again() {
    let op = complete("One day".to_owned(), 10);
    let expected = answer(&mut linked(1, 0), op.clone());
    let mut link = linked(1, 0);
    link.connect().expect("it answers");
    // nothing of the request, its beginning, its middle, its line end
    let line = {
        let before = link.transport().n_bytes().0;
        answer(&mut link, op.clone());
        link.transport().n_bytes().0 - before
    };
    for (after, n) in [(0, line), (0, 1), (line / 2, 1), (line - 1, 1)] {
        link.transport().cut_to_board(after, n);
        assert_eq!(answer(&mut link, op.clone()), expected, "{after} {n}");
    }
    // the end: all bytes of the answer but the last ones
    let answer_bytes = {
        let before = link.transport().n_bytes().1;
        answer(&mut link, op.clone());
        link.transport().n_bytes().1 - before
    };
    link.transport().cut_to_host(answer_bytes - 350, 250);
    assert_eq!(answer(&mut link, op), expected);
}

#[test]
fn what_acts_twice_is_not_asked_again() {
    let mut link = linked(1, 0);
    answer(&mut link, set("max_tokens", Scalar::Text("3".to_owned())));
    link.transport().cut_to_host(100, 150);
    let ask = Op::Ask(Ask {
        text: "and then".to_owned(),
    });
    let error = link.ask_with(ask.clone(), &mut |_| {}).expect_err("a loss");
    assert!(matches!(error, Error::Uncertain { op: "ask" }), "{error}");
    let (events, finish) = answer(&mut link, ask);
    assert_eq!(events.len(), 3);
    assert_eq!(finish, Some(Finish::Length));
}

fn set(key: &str, value: Scalar) -> Op {
    let key = key.to_owned();
    Op::Set(Set { key, value })
}

#[test]
fn all_positions_are_told_again_from_the_start() {
    let op = |n: u32| {
        let prompt = Complete {
            ids: Some((n..n + 40).collect()),
            ..Complete::default()
        };
        let logits = Logits {
            logits_crc32c: true,
            logits_positions: Positions::All,
            ..Logits::default()
        };
        Op::Complete(
            prompt,
            Sampling {
                max_tokens: Some(0),
                ..Sampling::default()
            },
            logits,
        )
    };
    let expected = answer(&mut linked(1, 0), op(5));
    assert_eq!(expected.0.len(), 40);
    let mut link = linked(1, 0);
    link.connect().expect("it answers");
    link.transport().cut_to_host(1500, 100);
    assert_eq!(answer(&mut link, op(5)), expected);
}

#[test]
fn a_load_is_asked_again_if_its_result_was_lost() {
    let load = Op::Load(Load {
        name: "a".to_owned(),
    });
    let is_loaded = |events: &[Event<'_>]| {
        let loaded = events
            .iter()
            .filter(|event| matches!(event, Event::Loaded(_)));
        loaded.count() == 1
    };
    for after in [0, 60, 200, 400] {
        let mut link = linked(1, 0);
        link.connect().expect("it answers");
        link.transport().cut_to_host(after, 200);
        assert!(is_loaded(&answer(&mut link, load.clone()).0), "{after}");
    }
}

/// An answer during which `disturb` happens, and one without it.
fn disturbed(disturb: impl Fn(&Host)) {
    let op = complete("One day".to_owned(), 600);
    let expected = answer(&mut linked(1, 0), op.clone());
    let mut link = linked(1, 0);
    let mut answer = link.ask(op).expect("it is sent");
    let mut events = Vec::new();
    let finish = loop {
        match answer.next(Duration::from_secs(1)).expect("an answer") {
            Step::Event(event) => events.push(event),
            Step::Waiting => {}
            Step::Done(done) => break done.finish_reason,
        }
        if events.len() == 20 {
            disturb(answer.link().transport());
        }
    };
    assert_eq!((events, finish), expected);
}

#[test]
fn a_line_that_was_gone_is_opened_again() {
    disturbed(|host| host.unplug(3));
}

#[test]
fn a_byte_that_became_ctrl_c_ends_no_answer() {
    disturbed(|host| host.inject(0x03));
}

#[test]
fn an_answer_can_be_stopped_and_the_link_goes_on() {
    let op = complete("One day".to_owned(), 100_000);
    for bytes_per_fault in [0, 500] {
        let mut link = linked(3, bytes_per_fault);
        let mut answer = link.ask(op.clone()).expect("it is sent");
        let mut n_events = 0;
        let done = loop {
            match answer.next(Duration::from_secs(1)).expect("an answer") {
                Step::Event(_) => n_events += 1,
                Step::Waiting => {}
                Step::Done(done) => break done,
            }
            if n_events == 10 {
                answer.stop().expect("it is sent");
            }
        };
        assert_eq!(done.finish_reason, Some(Finish::Abort));
        let events = self::answer(&mut link, Op::Info(Info {})).0;
        assert!(matches!(events[..], [Event::Info(_)]), "{events:?}");
    }
}

#[test]
fn a_stop_that_comes_too_late_is_an_end_too() {
    let op = complete("One day".to_owned(), 9);
    let mut link = linked(1, 0);
    link.connect().expect("it answers");
    let before = link.transport().n_bytes().1;
    answer(&mut link, op.clone());
    let n_bytes = link.transport().n_bytes().1 - before;
    // the end is lost
    link.transport().cut_to_host(n_bytes - 350, 250);
    let mut answer = link.ask(op).expect("it is sent");
    for _ in 0..9 {
        let step = answer.next(Duration::from_secs(5)).expect("an answer");
        assert!(matches!(step, Step::Event(_)), "{step:?}");
    }
    std::thread::sleep(Duration::from_millis(50));
    answer.stop().expect("it is sent");
    match answer.next(Duration::from_secs(5)).expect("an answer") {
        Step::Done(done) => assert_eq!(done.finish_reason, Some(Finish::Abort)),
        step => panic!("{step:?}"),
    }
}

#[test]
fn a_damaged_request_is_not_waited_for() {
    let mut options = options();
    options.quiet = Duration::from_secs(30);
    let mut link = Link::new(Host::start(1, 0), options);
    link.connect().expect("it answers");
    link.transport().cut_to_board(20, 1);
    let since = Instant::now();
    assert_eq!(answer(&mut link, complete("a".to_owned(), 9)).0.len(), 9);
    assert!(since.elapsed() < Duration::from_secs(25));
}

#[test]
fn a_lost_line_end_costs_no_request() {
    let mut link = linked(1, 0);
    answer(&mut link, set("max_tokens", Scalar::Text("3".to_owned())));
    let ask = Op::Ask(Ask {
        text: "and then".to_owned(),
    });
    let before = link.transport().n_bytes().0;
    answer(&mut link, ask.clone());
    let n_bytes = link.transport().n_bytes().0 - before;
    link.transport().cut_to_board(n_bytes - 1, 1);
    assert_eq!(answer(&mut link, ask).0.len(), 3);
}

/// Answers small requests only.
struct Deaf(Vec<u8>);

impl Transport for Deaf {
    fn read(&mut self, buf: &mut [u8], _: Duration) -> io::Result<usize> {
        let n = self.0.len().min(buf.len());
        buf[..n].copy_from_slice(&self.0[..n]);
        self.0.drain(..n);
        Ok(n)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let text = crc_line::split(bytes.trim_ascii()).map(|(text, _)| text);
        let Some(Ok(request)) = text.map(Request::parse) else {
            return Ok(());
        };
        if let Op::Tokenize(_) = request.op {
            let mut line = String::new();
            let event = Event::Done(Done::default());
            crc_line::write(&mut line, extend, &request.id, 0, &event).expect("a String");
            self.0.extend_from_slice(line.as_bytes());
            self.0.push(b'\n');
        }
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_asked_in_vain_is_given_up() {
    let options = Options {
        quiet: Duration::from_millis(2),
        attempts: 5,
        ..options()
    };
    let mut link = Link::new(Deaf(Vec::new()), options);
    let error = link.ask_with(Op::Info(Info {}), &mut |_| {});
    assert!(
        matches!(error, Err(Error::Lossy { attempts: 6 })),
        "{error:?}"
    );
}

#[test]
fn an_error_is_an_answer() {
    let mut link = linked(1, 0);
    let error = link.ask_with(set("heat", Scalar::Bool(true)), &mut |_| {});
    match error.expect_err("no such setting") {
        Error::Refused(error) => assert_eq!(error.code, ErrorCode::BadValue),
        error => panic!("{error}"),
    }
}

#[test]
fn a_reset_gives_the_line_back_and_the_link_takes_it_again() {
    let mut link = linked(1, 0);
    assert_eq!(answer(&mut link, Op::Reset(Reset {})).0, []);
    let before = link.transport().n_bytes().0;
    answer(&mut link, Op::Info(Info {}));
    let sent = link.transport().n_bytes().0 - before;
    assert!(sent > 60, "it was asked whether it answers: {sent} bytes");
}

#[test]
fn a_line_that_loses_everything_is_silent() {
    let mut options = options();
    options.patience = Duration::from_millis(400);
    let mut link = Link::new(Host::start(1, 0), options);
    link.transport().cut_to_board(0, 1 << 40);
    let error = link.connect().expect_err("nothing comes");
    assert!(matches!(error, Error::Silent { .. }), "{error}");
}
