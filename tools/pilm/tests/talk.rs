//! `pilm ports` and `pilm talk`, called as a person calls them, with a firmware of this process at a pseudo-terminal.
#![cfg(unix)]

use console::Serial;
use link::Transport;
use link::pty::Pty;
use ops::GgmlType;
use pilm::board::Board;
use pilm::synth::{self, Shape};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The firmware's end.
struct Uart {
    pty: RefCell<Pty>,
    arrived: RefCell<VecDeque<u8>>,
    is_over: Arc<AtomicBool>,
}

impl Uart {
    fn receive(&self, timeout: Duration) {
        let mut buf = [0; 256];
        let n = self.pty.borrow_mut().read(&mut buf, timeout);
        let n = n.expect("a pseudo-terminal is never gone");
        self.arrived.borrow_mut().extend(&buf[..n]);
    }
}

impl Serial for Uart {
    fn read(&self) -> Option<u8> {
        if self.arrived.borrow().is_empty() {
            self.receive(Duration::ZERO);
        }
        self.arrived.borrow_mut().pop_front()
    }

    fn write(&self, bytes: &[u8]) {
        let written = self.pty.borrow_mut().write(bytes);
        written.expect("a pseudo-terminal is never gone");
    }

    fn wait(&self) {
        self.receive(Duration::from_millis(10));
    }

    fn is_closed(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// A firmware at a pseudo-terminal, which ends with it.
struct Firmware {
    path: PathBuf,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Firmware {
    fn start() -> Self {
        let pty = Pty::open().expect("there is one");
        let path = pty.path().to_owned();
        let is_over = Arc::new(AtomicBool::new(false));
        let uart = Uart {
            pty: RefCell::new(pty),
            arrived: RefCell::default(),
            is_over: is_over.clone(),
        };
        let thread = thread::spawn(move || {
            let model = synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0);
            let words = "pilm.columns=1000 pilm.model=a.gguf pilm.max_tokens=6";
            Board::new(uart, words, vec![("a.gguf", model)], Vec::new(), 1).run();
        });
        Self {
            path,
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Firmware {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.expect("it runs").expect("it does not panic");
        }
    }
}

fn pilm(args: &[&str], typed: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_pilm"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = program.stdin.take().expect("a pipe");
    stdin.write_all(typed.as_bytes()).expect("it reads");
    drop(stdin);
    program.wait_with_output().expect("it ends")
}

#[test]
fn lines_are_typed_and_everything_is_answered_before_it_ends() {
    let firmware = Firmware::start();
    let port = firmware.path.to_str().expect("text");
    let typed = "One day\n{\"id\":5,\"op\":\"set\",\"key\":\"seed\",\"value\":7}\n/raw and then\n";
    for _ in 0..2 {
        let output = pilm(&["talk", "--port", port], typed);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(shown.matches("6 answer tokens").count(), 2, "{shown}");
        assert!(shown.contains(r#"{"id":5,"event":"done"}"#), "{shown}");
    }
}

#[test]
fn ports_are_listed_one_a_line() {
    let output = pilm(&["ports"], "");
    assert!(output.status.success());
    let ports = String::from_utf8(output.stdout).expect("text");
    assert!(ports.lines().all(|port| !port.trim().is_empty()), "{ports}");
}

#[test]
fn a_port_that_is_not_there_is_named() {
    let output = pilm(&["talk", "--port", "/dev/no-such-port"], "");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("/dev/no-such-port"), "{said}");
    assert!(
        !pilm(&["talk"], "").status.success(),
        "one of both is needed"
    );
}
