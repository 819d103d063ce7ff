use super::{End, LEAVE, Notice, Screen, Watch, join};
use crate::transport::Transport;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn a_text_is_seen_in_pieces_and_at_the_end_only() {
    let mut watch = Watch::new("\n> ");
    assert!(!watch.sees(b"boot\r\n"));
    assert!(!watch.sees(b">"));
    assert!(watch.sees(b" "));
    assert!(!watch.sees(b"x\n> y"));
    assert!(watch.sees(b"z\n> "));
    assert!(watch.sees(b"\x1b[?20"));
    assert!(watch.sees(b"04h"));
    assert!(!watch.sees(b"y"));
    assert!(watch.sees(b"\r\n\x1b[K> \x1b[?2004h"));
}

/// Reads that are due, a failure where there is `None`; everything that was written.
struct Script {
    reads: VecDeque<Option<&'static str>>,
    written: Vec<u8>,
    comes_back_after: Option<u32>,
}

impl Transport for Script {
    fn read(&mut self, buf: &mut [u8], _: Duration) -> io::Result<usize> {
        match self.reads.pop_front() {
            Some(Some(text)) => {
                buf[..text.len()].copy_from_slice(text.as_bytes());
                Ok(text.len())
            }
            Some(None) => Err(ErrorKind::NotConnected.into()),
            None => Ok(0),
        }
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written.extend_from_slice(bytes);
        Ok(())
    }
    fn reopen(&mut self) -> io::Result<()> {
        match &mut self.comes_back_after {
            None => Err(ErrorKind::Unsupported.into()),
            Some(0) => Ok(()),
            Some(n) => {
                *n -= 1;
                Err(ErrorKind::NotFound.into())
            }
        }
    }
}

/// What was shown.
struct Shown(String);

impl Screen for Shown {
    fn is_at_prompt(&self) -> bool {
        !self.0.ends_with("working")
    }
    fn show(&mut self, bytes: &[u8]) -> io::Result<Option<String>> {
        self.0.push_str(&String::from_utf8_lossy(bytes));
        Ok((self.0.ends_with("ask> ")).then(|| "question".to_owned()))
    }
    fn notice(&mut self, notice: Notice<'_>) -> io::Result<()> {
        self.0.push_str(match notice {
            Notice::Waiting(_) => "[waiting]",
            Notice::Back => "[back]",
        });
        Ok(())
    }
}

/// How it ends, what was shown, what was written.
fn joined(
    reads: &[Option<&'static str>],
    typed: &[&[u8]],
    comes_back_after: Option<u32>,
) -> (End, String, String) {
    let mut script = Script {
        reads: reads.iter().copied().collect(),
        written: Vec::new(),
        comes_back_after,
    };
    let (to, keys) = channel();
    for &bytes in typed {
        to.send(bytes.to_vec()).expect("it is received");
    }
    drop(to);
    let mut shown = Shown(String::new());
    let end = join(&mut script, &keys, &mut shown).expect("it is shown");
    let written = String::from_utf8(script.written).expect("text");
    (end, shown.0, written)
}

#[test]
fn keys_go_out_up_to_the_leaving_one() {
    let typed: [&[u8]; 3] = [b"a", &[b'b', LEAVE, b'c'], b"d"];
    let (end, shown, written) = joined(&[Some("x"), Some("y"), Some("z")], &typed, None);
    assert_eq!(
        (end, shown.as_str(), written.as_str()),
        (End::Left, "xy", "ab")
    );
}

#[test]
fn without_more_keys_what_is_said_is_still_shown() {
    let (end, shown, written) = joined(&[Some("x"), Some("y"), Some("z")], &[b"a"], None);
    assert_eq!(
        (end, shown.as_str(), written.as_str()),
        (End::Left, "xyz", "a")
    );
}

#[test]
fn what_is_asked_is_answered_before_it_ends() {
    let mut reads = vec![Some("working")];
    reads.extend([Some(""); 30]);
    reads.push(Some("done"));
    let (end, shown, _) = joined(&reads, &[b"a"], None);
    assert_eq!((end, shown.as_str()), (End::Left, "workingdone"));
}

#[test]
fn a_line_is_typed_where_the_screen_says_so() {
    let written = joined(&[Some("ask> "), Some("yes")], &[], None).2;
    assert_eq!(written, "question\r");
}

#[test]
fn a_line_that_goes_away_is_waited_for() {
    let (end, shown, written) = joined(&[Some("x"), None, Some("y")], &[b"a"], Some(0));
    assert_eq!(
        (end, shown.as_str(), written.as_str()),
        (End::Left, "x[back]y", "a")
    );
    let typed: [&[u8]; 4] = [b"a", b"lost", b"lost", &[LEAVE]];
    let (end, shown, written) = joined(&[Some("x"), None], &typed, Some(9));
    assert_eq!(
        (end, shown.as_str(), written.as_str()),
        (End::Left, "x[waiting]", "a")
    );
    let (end, ..) = joined(&[None], &[b"a"], None);
    assert_eq!(end, End::Gone);
}
