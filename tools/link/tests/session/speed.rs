//! A line that can be faster, and ends of it that do not agree.

use crate::options;
use link::{FAST_BAUD, Link, Options, Transport};
use ops::crc32c::extend;
use protocol::event::{Changed, Done, Error, ErrorCode, Info, Limits};
use protocol::facts::{BoardFacts, Health};
use protocol::{Event, Op, Request, Setting, Settings, crc_line};
use std::io;
use std::time::Duration;

const SLOW_BAUD: u32 = 115_200;

/// A board with a speed of its own, and the port to it.
struct Port {
    board_baud: u32,
    max_baud: Option<u32>,
    /// The change that the board does not hear.
    misses_change: bool,
    /// The end of the change that is lost on its way.
    loses_end: bool,
    baud: u32,
    max_port_baud: u32,
    arriving: Vec<u8>,
}

impl Port {
    fn new(max_baud: Option<u32>) -> Self {
        Self {
            board_baud: SLOW_BAUD,
            max_baud,
            misses_change: false,
            loses_end: false,
            baud: SLOW_BAUD,
            max_port_baud: FAST_BAUD,
            arriving: Vec::new(),
        }
    }

    fn answer(&mut self, request: &Request, events: &[Event<'_>]) {
        for (n, event) in events.iter().enumerate() {
            let mut line = String::new();
            crc_line::write(&mut line, extend, &request.id, n as u32, event).expect("a String");
            self.arriving.extend_from_slice(line.as_bytes());
            self.arriving.push(b'\n');
        }
    }

    fn info(&self) -> Event<'static> {
        Event::Info(Box::new(Info {
            firmware: "PiLM".into(),
            version: String::new(),
            board: BoardFacts {
                max_baud: self.max_baud,
                ..BoardFacts::default()
            },
            health: Health::default(),
            model: None,
            settings: Settings::default(),
            limits: Limits::THIS,
        }))
    }

    fn change(&mut self, request: &Request, value: &str) {
        let mut settings = Settings::default();
        if let Err(error) = settings.set("baud", value) {
            let error = Error::new(ErrorCode::BadValue, error);
            return self.answer(request, &[Event::Error(error)]);
        }
        let changed = Event::Settings(Changed::new(Setting::Baud, &settings));
        match self.loses_end {
            true => self.answer(request, &[changed]),
            false => self.answer(request, &[changed, Event::Done(Done::default())]),
        }
        self.board_baud = settings.baud.expect("a speed");
    }
}

impl Transport for Port {
    fn read(&mut self, buf: &mut [u8], _: Duration) -> io::Result<usize> {
        let n = self.arriving.len().min(buf.len());
        buf[..n].copy_from_slice(&self.arriving[..n]);
        self.arriving.drain(..n);
        Ok(n)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let text = crc_line::split(bytes.trim_ascii()).map(|(text, _)| text);
        let Some(Ok(request)) = text.map(Request::parse) else {
            return Ok(());
        };
        if self.baud != self.board_baud {
            return Ok(());
        }
        match &request.op {
            Op::Info(_) => {
                let info = self.info();
                self.answer(&request, &[info, Event::Done(Done::default())]);
            }
            Op::Set(_) if self.misses_change => {}
            Op::Set(set) => {
                let value = set.value.word();
                self.change(&request, &value);
            }
            _ => self.answer(&request, &[Event::Done(Done::default())]),
        }
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn baud(&self) -> Option<u32> {
        Some(self.baud)
    }

    fn set_baud(&mut self, baud: u32) -> io::Result<()> {
        if baud > self.max_port_baud {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.baud = baud;
        Ok(())
    }
}

fn link(port: Port) -> Link<Port> {
    let options = Options {
        quiet: Duration::from_millis(2),
        ..options()
    };
    Link::new(port, options)
}

#[test]
fn a_line_is_fast_where_board_and_port_can_be() {
    let ports = [
        (Port::new(Some(3_000_000)), true),
        (Port::new(Some(FAST_BAUD)), true),
        (Port::new(Some(FAST_BAUD - 1)), false),
        (Port::new(None), false),
        (
            Port {
                max_port_baud: 460_800,
                ..Port::new(Some(3_000_000))
            },
            false,
        ),
        (
            Port {
                loses_end: true,
                ..Port::new(Some(3_000_000))
            },
            true,
        ),
        (
            Port {
                misses_change: true,
                ..Port::new(Some(3_000_000))
            },
            false,
        ),
    ];
    for (port, is_fast) in ports {
        let mut link = link(port);
        assert_eq!(link.speed_up().expect("it answers"), is_fast);
        let port = link.transport();
        let baud = if is_fast { FAST_BAUD } else { SLOW_BAUD };
        assert_eq!([port.baud, port.board_baud], [baud, baud]);
    }
}

#[test]
fn a_board_that_has_restarted_is_found_at_its_first_speed() {
    let mut link = link(Port::new(Some(3_000_000)));
    assert!(link.speed_up().expect("it answers"));
    link.transport().board_baud = SLOW_BAUD;
    link.connect().expect("it is found");
    assert_eq!(link.transport().baud, SLOW_BAUD);
    assert!(link.speed_up().expect("it answers"));
}
