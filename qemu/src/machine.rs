//! Starting a `raspi4b`, talking to it, and ending it.

use crate::args;
use crate::drive::{Drive, Slot};
use crate::error::Error;
use crate::log::Log;
use crate::seat::Seat;
use crate::uart::{Stop, Uart};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const PROGRAM: &str = "qemu-system-aarch64";

/// Version of the installed QEMU, as (major, minor); `None` if there is none.
pub fn version() -> Option<(u32, u32)> {
    let output = Command::new(PROGRAM).arg("--version").output().ok()?;
    parse_version(&String::from_utf8_lossy(&output.stdout))
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (_, rest) = text.split_once("version ")?;
    let mut numbers = rest.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A machine to be booted.
#[derive(Clone, Debug)]
pub struct Machine {
    flags: Vec<&'static str>,
    slot: Slot,
    kernel: PathBuf,
    card: Option<Drive>,
    append: String,
    icount: bool,
    extra: Vec<OsString>,
}

impl Machine {
    /// A `raspi4b` that boots the raw image `kernel`, without a card.
    pub fn new(kernel: impl Into<PathBuf>) -> Machine {
        Machine {
            flags: args::raspi4b(),
            slot: Slot::Machine,
            kernel: kernel.into(),
            card: None,
            append: String::new(),
            icount: false,
            extra: Vec::new(),
        }
    }

    /// A `virt` with an SD controller that has DMA, which starts the ELF `kernel`.
    pub fn virt(kernel: impl Into<PathBuf>) -> Machine {
        Machine {
            flags: args::virt(),
            slot: Slot::Only,
            ..Machine::new(kernel)
        }
    }

    /// Puts a card in. What the guest writes is lost with the machine: an image can be shared.
    #[must_use]
    pub fn card(mut self, image: impl Into<PathBuf>) -> Machine {
        let image = image.into();
        self.card = Some(Drive {
            image,
            errors: None,
        });
        self
    }

    /// Puts the card into a raspi4b's EMMC2, where a board has it, instead of the machine's own slot.
    #[must_use]
    pub fn on_emmc2(mut self) -> Machine {
        self.slot = Slot::Emmc2;
        self
    }

    /// Lets reads of the card fail on the host's side: by the rules in a file, QEMU's `blkdebug` has their syntax.
    ///
    /// # Panics
    /// There is no card.
    #[must_use]
    pub fn read_errors(mut self, rules: impl Into<PathBuf>) -> Machine {
        let card = self.card.as_mut().expect("a card is in");
        card.errors = Some(rules.into());
        self
    }

    /// Adds words to the kernel's command line.
    #[must_use]
    pub fn append(mut self, words: &str) -> Machine {
        if !self.append.is_empty() {
            self.append.push(' ');
        }
        self.append.push_str(words);
        self
    }

    /// One instruction, one nanosecond: runs are repeatable to the instruction, and instructions can be counted.
    #[must_use]
    pub fn icount(mut self) -> Machine {
        self.icount = true;
        self
    }

    /// A further argument of QEMU.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Machine {
        self.extra.push(arg.into());
        self
    }

    /// Boots it. On Linux it ends with the thread that calls this, whatever happens to that thread.
    ///
    /// # Errors
    /// QEMU is not there.
    pub fn boot(&self) -> Result<Qemu, Error> {
        let seat = Seat::take();
        let log = Log::new();
        let mut command = tied_to_us();
        command.args(&self.flags).arg("-D").arg(log.path());
        command.arg("-kernel").arg(&self.kernel);
        if let Some(card) = &self.card {
            command.args(card.args(self.slot));
        }
        if !self.append.is_empty() {
            command.arg("-append").arg(&self.append);
        }
        if self.icount {
            command.args(["-icount", "shift=0,sleep=off"]);
        }
        command.args(&self.extra);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|reason| Error::Start {
            program: PROGRAM.to_owned(),
            reason,
        })?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let stderr = child.stderr.take().expect("stderr is a pipe");
        Ok(Qemu {
            child,
            stdin,
            uart: Uart::listen(stdout),
            messages: Some(thread::spawn(move || read_all(stderr))),
            said: String::new(),
            log,
            _seat: seat,
        })
    }
}

/// QEMU, killed by the system when the thread that starts it ends: a test runner that is killed leaves none behind.
fn tied_to_us() -> Command {
    const TIE: &str = "setpriv";
    let probe = Command::new(TIE)
        .args(["--pdeathsig", "KILL", PROGRAM, "--version"])
        .output();
    if probe.is_ok_and(|output| output.status.success()) {
        let mut command = Command::new(TIE);
        command.args(["--pdeathsig", "KILL", PROGRAM]);
        command
    } else {
        Command::new(PROGRAM)
    }
}

fn read_all(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    // QEMU's last words are a help in messages; a broken pipe takes nothing else with it
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A running QEMU and its UART. Dropping it ends the process.
#[derive(Debug)]
pub struct Qemu {
    child: Child,
    stdin: Option<ChildStdin>,
    uart: Uart,
    /// QEMU's own messages, complete when it has ended.
    messages: Option<JoinHandle<String>>,
    said: String,
    log: Log,
    _seat: Seat,
}

impl Qemu {
    /// Waits until the guest says `pattern`; the text up to and including it.
    ///
    /// # Errors
    /// [`Error::Timeout`] or [`Error::Ended`], with everything that was said.
    pub fn expect(&mut self, pattern: &str, timeout: Duration) -> Result<String, Error> {
        self.expect_any(&[pattern], timeout).map(|(_, text)| text)
    }

    /// Waits for the first of `patterns`; which one, and the text up to and including it.
    ///
    /// # Errors
    /// [`Error::Timeout`] or [`Error::Ended`], with everything that was said.
    pub fn expect_any(
        &mut self,
        patterns: &[&str],
        timeout: Duration,
    ) -> Result<(usize, String), Error> {
        let deadline = Instant::now() + timeout;
        match self.uart.expect_any(patterns, deadline) {
            Ok(found) => Ok(found),
            Err(Stop::Deadline) => Err(Error::Timeout {
                pattern: patterns.join(" | "),
                waited: timeout,
                transcript: self.transcript(),
            }),
            Err(Stop::Closed) => Err(self.ended(&patterns.join(" | "))),
        }
    }

    /// The next line, without its line ending.
    ///
    /// # Errors
    /// [`Error::Timeout`] or [`Error::Ended`], with everything that was said.
    pub fn line(&mut self, timeout: Duration) -> Result<String, Error> {
        let line = self.expect("\n", timeout)?;
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// What the guest says next, as it comes; empty if it says nothing within `timeout`.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn read(&mut self, timeout: Duration) -> Result<Vec<u8>, Error> {
        match self.uart.read(Instant::now() + timeout) {
            Ok(bytes) => Ok(bytes),
            Err(Stop::Deadline) => Ok(Vec::new()),
            Err(Stop::Closed) => Err(self.ended("more")),
        }
    }

    /// As [`Qemu::read`], into `buf`, and not beyond the end of a line, so that what comes after it can still be
    /// expected; how many bytes came.
    ///
    /// # Errors
    /// [`Error::Ended`].
    pub fn read_into(&mut self, buf: &mut [u8], timeout: Duration) -> Result<usize, Error> {
        match self.uart.read_into(buf, Instant::now() + timeout) {
            Ok(n) => Ok(n),
            Err(Stop::Deadline) => Ok(0),
            Err(Stop::Closed) => Err(self.ended("more")),
        }
    }

    /// Types bytes.
    ///
    /// # Errors
    /// QEMU has ended.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(stdin) = &mut self.stdin else {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
        };
        stdin.write_all(bytes)?;
        stdin.flush()?;
        Ok(())
    }

    /// Types a line and the return key.
    ///
    /// # Errors
    /// QEMU has ended.
    pub fn send_line(&mut self, line: &str) -> Result<(), Error> {
        self.send(format!("{line}\r").as_bytes())
    }

    /// Waits until QEMU ends by itself.
    ///
    /// # Errors
    /// [`Error::StillRunning`].
    pub fn wait(&mut self, timeout: Duration) -> Result<ExitStatus, Error> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(status) = self.child.try_wait()? {
                // what was said last is still in the pipe
                while self.uart.read(deadline).is_ok() {}
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(Error::StillRunning {
                    waited: timeout,
                    transcript: self.transcript(),
                });
            }
            // keep the pipe empty: a guest that waits for room never ends
            let _ = self.uart.read(Instant::now() + Duration::from_millis(20));
        }
    }

    /// Everything said so far on the UART, then QEMU's own messages if it has ended, then its log.
    pub fn transcript(&mut self) -> String {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            self.collect_messages();
        }
        let mut text = String::from_utf8_lossy(self.uart.heard()).into_owned();
        if !self.said.is_empty() {
            text.push_str("\n-- QEMU says:\n");
            text.push_str(&self.said);
        }
        if let Ok(lines) = self.log.unexpected()
            && !lines.is_empty()
        {
            text.push_str("\n-- QEMU logs:\n");
            text.push_str(&lines.join("\n"));
        }
        text
    }

    /// Lines of QEMU's log (guest errors, hardware it does not model) that the allow-list does not explain.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn unexpected_log(&self) -> Result<Vec<String>, Error> {
        Ok(self.log.unexpected()?)
    }

    fn ended(&mut self, pattern: &str) -> Error {
        // the UART is closed by QEMU's end, which the system reports a moment later
        let status = self.child.wait().ok();
        Error::Ended {
            pattern: pattern.to_owned(),
            status,
            transcript: self.transcript(),
        }
    }

    fn collect_messages(&mut self) {
        if let Some(messages) = self.messages.take() {
            self.said = messages.join().unwrap_or_default();
        }
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // it may have ended by itself; in both cases nothing is left to do
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.collect_messages();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let debian = "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\nCopyright";
        assert_eq!(parse_version(debian), Some((10, 0)));
        assert_eq!(parse_version("qemu-system-aarch64: not found"), None);
    }
}
