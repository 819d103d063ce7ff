use super::ahead::MAX_AHEAD_BYTES;
use super::{AtOnce, Caller, Input, InputQueue, Next, PASTE_MARKS_ON};
use crate::board::Serial;
use protocol::Id;
use std::cell::RefCell;
use std::collections::VecDeque;

#[derive(Default)]
struct Wire {
    typed: RefCell<VecDeque<u8>>,
    shown: RefCell<Vec<u8>>,
}

impl Wire {
    fn type_in(&self, bytes: &[u8]) {
        self.typed.borrow_mut().extend(bytes);
    }
    fn shown(&self) -> String {
        String::from_utf8(self.shown.take()).expect("text")
    }
}

impl Serial for Wire {
    fn read(&self) -> Option<u8> {
        self.typed.borrow_mut().pop_front()
    }
    fn write(&self, bytes: &[u8]) {
        self.shown.borrow_mut().extend_from_slice(bytes);
    }
    fn wait(&self) {}
    fn is_closed(&self) -> bool {
        true
    }
}

fn line(text: &str) -> Next {
    Next::Input(Input::Line(text.to_owned()))
}

fn request(text: &str) -> Next {
    Next::Input(Input::Json(text.into()))
}

fn next(input: &mut InputQueue<'_>) -> Next {
    input.next_input(&|| false)
}

fn caller(id: i64) -> Caller {
    Caller {
        id: Id::Number(id),
        has_crc: false,
    }
}

/// An input on `wire` while the request 7 runs.
fn busy(wire: &Wire) -> InputQueue<'_> {
    let mut input = InputQueue::new(wire, "> ", 80, false);
    input.begin(Id::Number(7), true);
    input
}

fn at_once(input: &mut InputQueue<'_>) -> Vec<AtOnce> {
    input.drain();
    core::iter::from_fn(|| input.at_once()).collect()
}

#[test]
fn typing_ahead_is_kept_and_shown_when_it_is_its_turn() {
    let wire = Wire::default();
    let mut input = busy(&wire);
    wire.type_in(b"next question\rand");
    assert_eq!(at_once(&mut input), []);
    input.end();
    assert_eq!(wire.shown(), "");
    assert_eq!(next(&mut input), line("next question"));
    assert_eq!(wire.shown(), "> next question\r\n");
}

#[test]
fn every_prompt_asks_for_marks_of_pastes_where_a_person_may_sit() {
    for (asks, marks) in [(true, PASTE_MARKS_ON), (false, "")] {
        let wire = Wire::default();
        wire.type_in(b"a\rb\r");
        let mut input = InputQueue::new(&wire, "> ", 80, asks);
        for text in ["a", "b"] {
            assert_eq!(next(&mut input), line(text));
            assert_eq!(wire.shown(), format!("> {marks}{text}\r\n"));
        }
    }
}

#[test]
fn the_last_line_needs_no_line_end() {
    let last = |bytes: &[u8]| {
        let wire = Wire::default();
        wire.type_in(bytes);
        let mut input = InputQueue::new(&wire, "> ", 80, false);
        let last = next(&mut input);
        assert_eq!(next(&mut input), Next::End);
        last
    };
    assert_eq!(last(b""), Next::End);
    assert_eq!(last(b"and"), line("and"));
    assert_eq!(last(b"{\"op\""), request("{\"op\""));
    assert_eq!(last(b"\x1b[200~pasted"), line("pasted\n"));
    let invalid = Input::InvalidUtf8 {
        count: 1,
        first: 0xE9,
    };
    assert_eq!(last(b"a\xE9"), Next::Input(invalid));
}

#[test]
fn control_c_drops_what_was_typed_before_and_names_every_request_of_it() {
    let wire = Wire::default();
    let mut input = busy(&wire);
    wire.type_in(b"dropped\r{\"id\":1,\"op\":\"reset\"}\r\n{oops}\n");
    wire.type_in(b"{\"id\":2,\"op\":\"load\",\"name\":\"a\"}\n{\"id\":3");
    wire.type_in(b"\x03kept\r");
    let no_one = Caller {
        id: Id::None,
        has_crc: false,
    };
    let dropped = [caller(1), no_one, caller(2)].map(AtOnce::Dropped);
    let mut expected = vec![AtOnce::Interrupt];
    expected.extend(dropped);
    assert_eq!(at_once(&mut input), expected);
    input.end();
    assert_eq!(next(&mut input), line("kept"));
    assert_eq!(next(&mut input), Next::End);
}

#[test]
fn lines_of_a_paste_are_no_requests() {
    let wire = Wire::default();
    let mut input = busy(&wire);
    wire.type_in(b"\x1b[200~a\n{\"id\":1,\"op\":\"abort\",\"target\":7}\n\x1b[201~\r\x03");
    assert_eq!(at_once(&mut input), [AtOnce::Interrupt]);
    // One whose end is lost ends with Ctrl-C.
    wire.type_in(b"\x1b[200~a\n\x03{\"id\":1,\"op\":\"info\"}\n");
    assert_eq!(
        at_once(&mut input),
        [AtOnce::Interrupt, AtOnce::Info(caller(1))]
    );
}

#[test]
fn an_abort_of_the_old_form_stops_its_own_request_only() {
    for (line, id, stops) in [
        (r#"{"op":"abort","id":7}"#, Id::Number(7), true),
        (r#"{"op":"abort"}"#, Id::None, true),
        (r#"{"op":"abort","id":8}"#, Id::None, false),
        (r#"{"op":"reset","id":7}"#, Id::None, false),
        (r#"{"op":"abort","id":7"#, Id::None, false),
    ] {
        let wire = Wire::default();
        let mut input = busy(&wire);
        wire.type_in(b"text\r\n");
        wire.type_in(line.as_bytes());
        assert_eq!(at_once(&mut input), [], "the line is not finished");
        wire.type_in(b"\r\n");
        let stop = AtOnce::Stop { is_answered: false };
        let expected: &[AtOnce] = if stops { &[stop] } else { &[] };
        assert_eq!(at_once(&mut input), expected, "{line}");
        if stops {
            let abort = Caller { id, has_crc: false };
            assert_eq!(input.take_stop(), abort);
        }
        input.end();
        assert_eq!(next(&mut input), self::line("text"));
        let rest = if stops { Next::End } else { request(line) };
        assert_eq!(
            next(&mut input),
            rest,
            "an abort that acted is not a request any more"
        );
    }
}

#[test]
fn an_abort_with_a_target_is_answered_whatever_it_finds() {
    let wire = Wire::default();
    let mut input = busy(&wire);
    wire.type_in(b"{\"id\":5,\"op\":\"reset\"}\r\n{\"id\":6,\"op\":\"models\"}\n");
    wire.type_in(b"{\"id\":8,\"op\":\"reset\"}\n");
    assert_eq!(at_once(&mut input), []);
    wire.type_in(b"{\"id\":10,\"op\":\"abort\",\"target\":7}\n");
    let stop = AtOnce::Stop { is_answered: true };
    assert_eq!(at_once(&mut input), [stop]);
    assert_eq!(input.take_stop(), caller(10));
    for (target, found) in [(6, true), (6, false), (5, true)] {
        let abort = format!("{{\"id\":11,\"op\":\"abort\",\"target\":{target}}}\r\n");
        wire.type_in(abort.as_bytes());
        let mut expected = vec![AtOnce::Aborted(caller(11), found)];
        if found {
            expected.insert(0, AtOnce::Dropped(caller(target)));
        }
        assert_eq!(at_once(&mut input), expected);
    }
    input.end();
    assert_eq!(next(&mut input), request("{\"id\":8,\"op\":\"reset\"}"));
    assert_eq!(next(&mut input), Next::End);
}

#[test]
fn during_a_load_only_an_abort_with_a_target_does_not_wait() {
    let wire = Wire::default();
    let mut input = InputQueue::new(&wire, "> ", 80, false);
    input.begin(Id::Number(7), false);
    wire.type_in(b"{\"op\":\"abort\"}\n{\"id\":9,\"op\":\"abort\",\"target\":7}\n");
    let stop = AtOnce::Stop { is_answered: true };
    assert_eq!(at_once(&mut input), [stop]);
    assert_eq!(input.take_stop(), caller(9));
    input.end();
    assert_eq!(next(&mut input), request("{\"op\":\"abort\"}"));
}

#[test]
fn info_does_not_wait_while_a_request_runs() {
    let wire = Wire::default();
    let mut input = busy(&wire);
    wire.type_in(b"{\"id\":2,\"op\":\"info\"}\r");
    assert_eq!(at_once(&mut input), [AtOnce::Info(caller(2))]);
    wire.type_in(b"\n{\"id\":1,\"op\":\"reset\"}\n{\"id\":3,\"op\":\"info\"}\n");
    assert_eq!(
        at_once(&mut input),
        [],
        "a request before it is to come first"
    );
    input.end();
    assert_eq!(next(&mut input), request("{\"id\":1,\"op\":\"reset\"}"));
    assert_eq!(at_once(&mut input), [], "nothing runs: in turn");
    assert_eq!(next(&mut input), request("{\"id\":3,\"op\":\"info\"}"));
}

#[test]
fn what_was_sent_right_behind_a_request_is_seen_when_it_begins() {
    let wire = Wire::default();
    let mut input = busy(&wire);
    wire.type_in(b"{\"op\":\"reset\",\"id\":1}\n{\"op\":\"abort\",\"id\":1}\n");
    assert_eq!(at_once(&mut input), []);
    input.end();
    assert!(matches!(next(&mut input), Next::Input(Input::Json(_))));
    input.begin(Id::Number(1), true);
    let [AtOnce::Stop { .. }] = at_once(&mut input)[..] else {
        panic!("no stop");
    };
}

#[test]
fn what_does_not_fit_is_counted_and_its_place_is_no_line() {
    let wire = Wire::default();
    let mut input = busy(&wire);
    let (whole, cut) = ("{\"id\":1,\"op\":\"reset\"}\n", "{\"id\":2,\"op\":");
    let filler = "x".repeat(MAX_AHEAD_BYTES - whole.len() - cut.len() - 1);
    wire.type_in(format!("{filler}\n{whole}{cut}").as_bytes());
    wire.type_in(b"12345");
    assert_eq!(at_once(&mut input), []);
    assert_eq!(input.take_lost(), 5);
    assert_eq!(input.take_lost(), 0);
    input.end();
    assert!(matches!(
        next(&mut input),
        Next::Input(Input::Overlong { .. })
    ));
    wire.type_in(b"\"info\"}\n");
    assert_eq!(at_once(&mut input), []);
    assert_eq!(next(&mut input), request(whole.trim_end()));
    let Next::Input(Input::Json(spliced)) = next(&mut input) else {
        panic!("no line");
    };
    assert!(std::str::from_utf8(&spliced).is_err(), "{spliced:?}");
}

#[test]
fn a_loss_is_told_before_a_line_ends() {
    let wire = Wire::default();
    let mut input = InputQueue::new(&wire, "> ", 80, false);
    wire.type_in(b"ab");
    assert_eq!(input.next_input(&|| true), Next::Lost);
    assert_eq!(wire.shown(), "> ab\r\n");
    wire.type_in(b"c\r");
    assert_eq!(next(&mut input), line("abc"));
    assert_eq!(wire.shown(), "> abc\r\n");
}
