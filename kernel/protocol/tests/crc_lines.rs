//! Lines with checksums: what is written is read, and what a bad wire makes of them is never taken for another line.

use link::bad_wire::BadWire;
use ops::crc32c::extend;
use proptest::prelude::*;
use protocol::crc_line::{self, BadCrc, Checked, LineCheck};
use protocol::event::{Line, Token};
use protocol::request::{Sampling, Tokenize};
use protocol::{Event, Id, Op, Request};

/// Lines over the bad wire.
const N_LINES: usize = 10_000;
/// One byte in so many is dropped, doubled, changed or late.
const BYTES_PER_FAULT: u64 = 60;

fn with_crc(text: &str) -> String {
    format!("{text} #{:08x}", extend(0, text.as_bytes()))
}

/// A request that tells its number twice: nothing damaged agrees with itself.
fn request(n: usize, random: &mut BadWire) -> Request {
    Request {
        id: Id::Number(n as i64),
        op: match n % 2 {
            0 => Op::Tokenize(Tokenize {
                text: format!("{n} \u{e9}{:x}", random.below(1 << 40)),
                special: false,
            }),
            _ => Op::Complete(
                protocol::request::Complete {
                    ids: Some(vec![n as u32, random.below(1000) as u32]),
                    ..Default::default()
                },
                Sampling {
                    max_tokens: Some(random.below(100) as usize),
                    ..Sampling::default()
                },
                Default::default(),
            ),
        },
    }
}

#[test]
fn a_bad_wire_never_makes_another_request_of_a_line() {
    let mut wire = BadWire::new(1, BYTES_PER_FAULT);
    let mut check = LineCheck::new(extend);
    check
        .take(with_crc(r#"{"op":"info"}"#).as_bytes())
        .expect("the first line is whole");
    let sent: Vec<Request> = (0..N_LINES).map(|n| request(n, &mut wire)).collect();
    let mut stream = Vec::new();
    for request in &sent {
        let text = serde_json::to_string(request).expect("JSON");
        stream.extend_from_slice(with_crc(&text).as_bytes());
        stream.push(b'\n');
    }
    let (mut n_taken, mut n_refused) = (0, 0);
    let mut arrived = Vec::new();
    wire.carry(&stream, &mut arrived);
    for line in arrived.split(|&byte| byte == b'\n') {
        let Ok(Checked { text, has_crc }) = check.take(line) else {
            n_refused += 1;
            continue;
        };
        assert!(has_crc);
        let taken = Request::parse(text).expect("a line with its checksum is whole");
        let Id::Number(n) = taken.id else {
            panic!("{taken:?}");
        };
        assert_eq!(taken, sent[n as usize]);
        n_taken += 1;
    }
    assert!(n_taken > N_LINES / 20, "{n_taken} whole lines");
    assert!(n_refused > N_LINES / 2, "{n_refused} damaged lines");
}

#[test]
fn without_checksums_a_bad_wire_gives_errors_and_no_panic() {
    let mut wire = BadWire::new(2, BYTES_PER_FAULT);
    let mut n_read = 0;
    for n in 0..N_LINES {
        let line = serde_json::to_vec(&request(n, &mut wire)).expect("JSON");
        let mut arrived = Vec::new();
        wire.carry(&line, &mut arrived);
        for line in arrived.split(|&byte| byte == b'\n') {
            let line = LineCheck::new(extend).take(line).map(|line| line.text);
            n_read += usize::from(line.is_ok_and(|line| Request::parse(line).is_ok()));
        }
    }
    assert!((1..N_LINES).contains(&n_read), "{n_read}");
}

#[test]
fn a_checksum_is_a_blank_a_number_sign_and_eight_digits() {
    assert_eq!(
        crc_line::split(b"{} #0123abCD"),
        Some((&b"{}"[..], 0x0123_ABCD))
    );
    for line in [
        "{}",
        "",
        " #123",
        "{} #0123abc",
        "{}#0123abcd",
        "{} #+123abcd",
        "{} #0123abcg",
        "{} #0123abcd ",
    ] {
        assert_eq!(crc_line::split(line.as_bytes()), None, "{line:?}");
    }
}

#[test]
fn one_line_with_a_checksum_makes_the_others_need_one() {
    let mut check = LineCheck::new(extend);
    let plain = br#"{"op":"info"}"#;
    let whole = with_crc(r#"{"op":"info"}"#);
    let taken = |has_crc| {
        Ok(Checked {
            text: &plain[..],
            has_crc,
        })
    };
    assert_eq!(check.take(plain), taken(false));
    let wrong = whole.replace("info", "inFo");
    assert!(matches!(
        check.take(wrong.as_bytes()),
        Err(BadCrc::Wrong { .. })
    ));
    assert_eq!(
        check.take(plain),
        taken(false),
        "a wrong one changes nothing"
    );
    assert_eq!(check.check(whole.as_bytes()), taken(true));
    assert!(!check.is_required(), "it was only looked at");
    assert_eq!(check.take(whole.as_bytes()), taken(true));
    assert_eq!(check.take(plain), Err(BadCrc::Missing));
    check.reset();
    assert_eq!(check.take(plain), taken(false));
}

proptest! {
    #[test]
    fn an_event_reads_back_with_its_number(text in any::<String>(), id in any::<i64>(), n in any::<u32>()) {
        let event = Event::Token(Token { token: 1, text: text.into(), thinking: false });
        let mut line = String::new();
        crc_line::write(&mut line, extend, &Id::Number(id), n, &event).expect("a String takes everything");
        let (json, crc) = crc_line::split(line.as_bytes()).expect("a checksum");
        prop_assert_eq!(crc, extend(0, json));
        let read: Line<'_> = serde_json::from_slice(json).expect("JSON");
        prop_assert_eq!(read, Line { id: Id::Number(id), n: Some(n), event });
    }
}
