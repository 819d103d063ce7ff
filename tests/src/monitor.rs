//! QEMU's monitor, for what a person's hand does to a board: cards are pulled out and pushed in.

use qemu::Machine;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
/// QEMU's name for the drive of the slot.
const SLOT: &str = "sd0";

/// The place of a monitor's socket; goes with its value.
#[derive(Debug)]
pub struct MonitorSocket(PathBuf);

impl MonitorSocket {
    /// A socket next to the card image `beside`.
    pub fn new(beside: &Path) -> MonitorSocket {
        MonitorSocket(beside.with_extension("qmp"))
    }

    /// Lets `machine` listen there.
    #[must_use]
    pub fn attach(&self, machine: Machine) -> Machine {
        let socket = format!("unix:{},server=on,wait=off", self.0.display());
        machine.arg("-qmp").arg(socket)
    }

    /// Connects to the machine, once it is booting.
    ///
    /// # Panics
    /// Nobody listens.
    pub fn connect(&self) -> Monitor {
        let deadline = Instant::now() + PATIENCE;
        let stream = loop {
            match UnixStream::connect(&self.0) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < deadline, "the monitor: {error}"),
            }
            thread::sleep(Duration::from_millis(50));
        };
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket has a time-out");
        let reader = BufReader::new(stream.try_clone().expect("a socket can be shared"));
        let mut monitor = Monitor { stream, reader };
        monitor.next_line();
        monitor.execute("qmp_capabilities", json!({}));
        monitor
    }
}

impl Drop for MonitorSocket {
    fn drop(&mut self) {
        // left behind it costs a name in target/ and nothing else
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A connected monitor.
#[derive(Debug)]
pub struct Monitor {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
}

impl Monitor {
    /// Pulls the card out.
    pub fn eject(&mut self) {
        self.execute("eject", json!({"device": SLOT, "force": true}));
    }

    /// Pushes a card in.
    pub fn insert(&mut self, image: &Path) {
        let arguments = json!({"device": SLOT, "filename": image, "format": "raw"});
        self.execute("blockdev-change-medium", arguments);
    }

    /// Where each core is.
    ///
    /// # Panics
    /// The monitor does not say.
    pub fn program_counters(&mut self) -> Vec<u64> {
        let command = json!({"command-line": "info registers -a"});
        let answer = self.execute("human-monitor-command", command);
        let registers = answer.as_str().expect("text for people");
        let counters = registers.split("PC=").skip(1);
        counters
            .map(|rest| {
                let digits = rest.get(..16).expect("16 digits");
                u64::from_str_radix(digits, 16).expect("a number")
            })
            .collect()
    }

    fn execute(&mut self, command: &str, arguments: Value) -> Value {
        let request = json!({"execute": command, "arguments": arguments});
        writeln!(self.stream, "{request}").expect("the monitor listens");
        loop {
            let answer = self.next_line();
            assert!(answer.get("error").is_none(), "{command}: {answer}");
            if let Some(answer) = answer.get("return") {
                return answer.clone();
            }
        }
    }

    fn next_line(&mut self) -> Value {
        let mut line = String::new();
        self.reader
            .read_line(&mut line)
            .expect("the monitor answers");
        serde_json::from_str(&line).expect("the monitor speaks JSON")
    }
}
