//! A firmware in this process, and the wire to it.

use console::Serial;
use link::Transport;
use link::bad_wire::BadWire;
use ops::GgmlType;
use pilm::board::Board;
use pilm::synth::{self, Shape};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// One direction of the wire.
struct Way {
    wire: BadWire,
    arriving: VecDeque<u8>,
    n_bytes: u64,
    /// Bytes from this number on are lost, so many.
    cut: Option<(u64, u64)>,
}

impl Way {
    fn carry(&mut self, bytes: &[u8]) {
        let mut arrived = Vec::new();
        for &byte in bytes {
            self.n_bytes += 1;
            let is_cut = self
                .cut
                .is_some_and(|(from, n)| (from..from + n).contains(&self.n_bytes));
            if !is_cut {
                self.wire.carry(&[byte], &mut arrived);
            }
        }
        self.arriving.extend(arrived);
    }
}

struct State {
    to_board: Way,
    to_host: Way,
    /// The line is behind now and then, so that tokens share events.
    is_slow: bool,
    /// The host has hung up.
    is_closed: bool,
    /// The host finds the line gone, so often.
    n_gone: u32,
}

/// Both directions.
#[derive(Clone)]
struct Wire(Arc<(Mutex<State>, Condvar)>);

impl Wire {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().expect("no holder panics")
    }
}

impl Serial for Wire {
    fn read(&self) -> Option<u8> {
        self.state().to_board.arriving.pop_front()
    }

    fn write(&self, bytes: &[u8]) {
        self.state().to_host.carry(bytes);
        self.0.1.notify_all();
    }

    fn is_behind(&self) -> bool {
        let state = self.state();
        state.is_slow && !state.to_host.n_bytes.is_multiple_of(3)
    }

    fn wait(&self) {
        let is_quiet = |state: &mut State| !state.is_closed && state.to_board.arriving.is_empty();
        drop(self.0.1.wait_while(self.state(), is_quiet));
    }

    fn is_closed(&self) -> bool {
        let state = self.state();
        state.is_closed && state.to_board.arriving.is_empty()
    }
}

/// The host's end of a wire to a firmware of this process, which ends with it.
pub struct Host {
    wire: Wire,
    board: Option<JoinHandle<()>>,
}

impl Host {
    /// Starts a firmware at the end of a wire on which one byte in `bytes_per_fault` is hit.
    pub fn start(seed: u64, bytes_per_fault: u64) -> Self {
        let way = |seed| Way {
            wire: BadWire::new(seed, bytes_per_fault),
            arriving: VecDeque::new(),
            n_bytes: 0,
            cut: None,
        };
        let state = State {
            to_board: way(2 * seed),
            to_host: way(2 * seed + 1),
            is_slow: false,
            is_closed: false,
            n_gone: 0,
        };
        let wire = Wire(Arc::new((Mutex::new(state), Condvar::new())));
        let serial = wire.clone();
        let board = thread::spawn(move || {
            let model = synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0);
            let words = "pilm.columns=1000 pilm.model=a.gguf pilm.quiet=on";
            let models = vec![("a.gguf", model)];
            Board::new(serial, words, models, Vec::new(), 1).run();
        });
        Self {
            wire,
            board: Some(board),
        }
    }

    /// From now on tokens share events, not always the same ones.
    pub fn slow_down(&self) {
        self.wire.state().is_slow = true;
    }

    /// Faults so far, in both directions.
    pub fn n_faults(&self) -> u64 {
        let state = self.wire.state();
        state.to_board.wire.n_faults() + state.to_host.wire.n_faults()
    }

    /// Bytes so far: to the firmware, and from it.
    pub fn n_bytes(&self) -> (u64, u64) {
        let state = self.wire.state();
        (state.to_board.n_bytes, state.to_host.n_bytes)
    }

    /// From now on so many bytes to the firmware arrive, then `n` are lost.
    pub fn cut_to_board(&self, after: u64, n: u64) {
        let way = &mut self.wire.state().to_board;
        way.cut = Some((way.n_bytes + after + 1, n));
    }

    /// From now on so many bytes of the firmware arrive, then `n` are lost.
    pub fn cut_to_host(&self, after: u64, n: u64) {
        let way = &mut self.wire.state().to_host;
        way.cut = Some((way.n_bytes + after + 1, n));
    }

    /// A byte arrives at the firmware that was not sent.
    pub fn inject(&self, byte: u8) {
        self.wire.state().to_board.arriving.push_back(byte);
        self.wire.0.1.notify_all();
    }

    /// The line is gone, and comes back when it is opened for the `n`-th time.
    pub fn unplug(&self, n: u32) {
        self.wire.state().n_gone = n;
    }
}

impl Transport for Host {
    fn read(&mut self, buf: &mut [u8], timeout: Duration) -> io::Result<usize> {
        let is_quiet = |state: &mut State| state.to_host.arriving.is_empty() && state.n_gone == 0;
        let deadline = Instant::now() + timeout;
        let mut state = self.wire.state();
        while is_quiet(&mut state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(0);
            }
            let waited = self.wire.0.1.wait_timeout(state, left);
            state = waited.expect("no holder panics").0;
        }
        if state.n_gone > 0 {
            return Err(ErrorKind::NotConnected.into());
        }
        let n = state.to_host.arriving.len().min(buf.len());
        let bytes = state.to_host.arriving.drain(..n);
        buf.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        Ok(n)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.wire.state();
        if state.n_gone > 0 {
            return Err(ErrorKind::NotConnected.into());
        }
        state.to_board.carry(bytes);
        self.wire.0.1.notify_all();
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        let mut state = self.wire.state();
        state.to_host.arriving.clear();
        state.n_gone = state.n_gone.saturating_sub(1);
        match state.n_gone {
            0 => Ok(()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.wire.state().is_closed = true;
        self.wire.0.1.notify_all();
        let board = self.board.take().map(JoinHandle::join);
        if !thread::panicking() {
            board.expect("a firmware runs").expect("it does not panic");
        }
    }
}
