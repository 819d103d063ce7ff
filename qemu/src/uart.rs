//! The guest's UART: what it has said, and what has been looked at.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

/// Why no more text is coming.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The deadline has passed.
    Deadline,
    /// The other end is closed.
    Closed,
}

/// Collects bytes from a stream on a thread of its own, so that waiting can end.
#[derive(Debug)]
pub(crate) struct Uart {
    chunks: Receiver<Vec<u8>>,
    /// Everything so far.
    heard: Vec<u8>,
    /// Bytes of `heard` that an earlier `expect` has consumed.
    consumed: usize,
}

impl Uart {
    pub(crate) fn listen(mut stream: impl Read + Send + 'static) -> Uart {
        let (to, chunks) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut buffer) {
                if to.send(buffer[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Uart {
            chunks,
            heard: Vec::new(),
            consumed: 0,
        }
    }

    /// Everything the guest has said so far.
    pub(crate) fn heard(&self) -> &[u8] {
        &self.heard
    }

    /// Takes what has arrived and what arrives until `deadline` or until there is something.
    pub(crate) fn read(&mut self, deadline: Instant) -> Result<Vec<u8>, Stop> {
        if self.consumed == self.heard.len() {
            self.receive(deadline)?;
        }
        let new = self.heard[self.consumed..].to_vec();
        self.consumed = self.heard.len();
        Ok(new)
    }

    /// As [`Uart::read`], as much as `buf` takes and up to the end of a line; how many bytes.
    pub(crate) fn read_into(&mut self, buf: &mut [u8], deadline: Instant) -> Result<usize, Stop> {
        // a CR waits for its LF, which would else be left in front of what is expected next
        while matches!(self.heard[self.consumed..], [] | [b'\r']) {
            self.receive(deadline)?;
        }
        let new = &self.heard[self.consumed..];
        let line_end = new.iter().position(|&byte| byte == b'\n');
        let n = line_end.map_or(new.len(), |at| at + 1).min(buf.len());
        let n = match new[..n] {
            [_, .., b'\r'] => n - 1,
            _ => n,
        };
        buf[..n].copy_from_slice(&new[..n]);
        self.consumed += n;
        Ok(n)
    }

    /// Consumes up to and including the first of `patterns` to appear; which one, and the text with it.
    pub(crate) fn expect_any(
        &mut self,
        patterns: &[&str],
        deadline: Instant,
    ) -> Result<(usize, String), Stop> {
        let mut scanned = self.consumed;
        loop {
            let first = patterns
                .iter()
                .enumerate()
                .filter_map(|(i, pattern)| {
                    // a pattern may straddle what was scanned before and what is new
                    let from = scanned.saturating_sub(pattern.len()).max(self.consumed);
                    let at = find(&self.heard[from..], pattern.as_bytes())?;
                    Some((from + at + pattern.len(), i))
                })
                .min();
            if let Some((end, i)) = first {
                let text = String::from_utf8_lossy(&self.heard[self.consumed..end]).into_owned();
                self.consumed = end;
                return Ok((i, text));
            }
            scanned = self.heard.len();
            self.receive(deadline)?;
        }
    }

    fn receive(&mut self, deadline: Instant) -> Result<(), Stop> {
        let wait = deadline.saturating_duration_since(Instant::now());
        match self.chunks.recv_timeout(wait) {
            Ok(chunk) => self.heard.extend_from_slice(&chunk),
            Err(RecvTimeoutError::Timeout) => return Err(Stop::Deadline),
            Err(RecvTimeoutError::Disconnected) => return Err(Stop::Closed),
        }
        while let Ok(chunk) = self.chunks.try_recv() {
            self.heard.extend_from_slice(&chunk);
        }
        Ok(())
    }
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len())
        .position(|window| window == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Cursor};
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    /// Gives one byte per read, so that patterns arrive in pieces.
    struct Drip(Cursor<Vec<u8>>);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(&mut buffer[..1])
        }
    }

    #[test]
    fn text_is_consumed_pattern_by_pattern() {
        let mut uart = Uart::listen(Drip(Cursor::new(b"boot\r\n> hello\r\n> ".to_vec())));
        assert_eq!(
            uart.expect_any(&["> "], soon()),
            Ok((0, "boot\r\n> ".to_owned()))
        );
        assert_eq!(
            uart.expect_any(&["> "], soon()),
            Ok((0, "hello\r\n> ".to_owned()))
        );
        assert_eq!(uart.expect_any(&["> "], soon()), Err(Stop::Closed));
        assert_eq!(uart.heard(), b"boot\r\n> hello\r\n> ");
    }

    #[test]
    fn a_buffer_gets_all_in_pieces_that_end_with_a_line() {
        let mut uart = Uart::listen(Cursor::new(b"abcde\nfg".to_vec()));
        let (mut buf, mut read) = ([0; 4], Vec::new());
        let end = loop {
            match uart.read_into(&mut buf, soon()) {
                Ok(n) => read.push(String::from_utf8_lossy(&buf[..n]).into_owned()),
                Err(stop) => break stop,
            }
        };
        assert_eq!(read, ["abcd", "e\n", "fg"]);
        assert_eq!(end, Stop::Closed);
    }

    #[test]
    fn a_line_is_read_with_its_whole_end() {
        let mut uart = Uart::listen(Drip(Cursor::new(b"done\r\n> ".to_vec())));
        let (mut buf, mut line) = ([0; 5], Vec::new());
        while !line.contains(&b'\r') {
            let n = uart.read_into(&mut buf, soon()).unwrap();
            line.extend_from_slice(&buf[..n]);
        }
        assert_eq!(uart.expect_any(&["\n> "], soon()), Err(Stop::Closed));
    }

    #[test]
    fn the_earliest_of_several_patterns_wins() {
        let mut uart = Uart::listen(Cursor::new(b"error: no card\r\n> ".to_vec()));
        assert_eq!(
            uart.expect_any(&["> ", "error"], soon()),
            Ok((1, "error".to_owned()))
        );
    }

    #[test]
    fn a_silent_guest_runs_into_the_deadline() {
        let (reader, _writer) = io::pipe().unwrap();
        let mut uart = Uart::listen(reader);
        let deadline = Instant::now() + Duration::from_millis(20);
        assert_eq!(uart.expect_any(&["x"], deadline), Err(Stop::Deadline));
    }
}
