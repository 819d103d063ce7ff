//! The serial line of a script.

use crate::script::Step;
use console::Serial;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// The serial line of a script.
pub struct Wire<'s> {
    steps: &'s [Step],
    n_typed: Cell<usize>,
    arriving: RefCell<VecDeque<u8>>,
    looks: Cell<usize>,
    /// What came back before the first step, and after each step.
    shown: RefCell<Vec<Vec<u8>>>,
}

impl<'s> Wire<'s> {
    /// The line on which `steps` are typed.
    pub fn new(steps: &'s [Step]) -> Self {
        Self {
            steps,
            n_typed: Cell::new(0),
            arriving: RefCell::default(),
            looks: Cell::new(0),
            shown: RefCell::new(vec![Vec::new()]),
        }
    }

    /// What came back before the first step, and after each step.
    pub fn shown(&self) -> Vec<String> {
        let text = |bytes| {
            let text = String::from_utf8(bytes).expect("the output is UTF-8");
            // Each prompt asks the terminal to mark pastes.
            text.replace("> \x1b[?2004h", "> ")
        };
        self.shown.take().into_iter().map(text).collect()
    }

    fn advance(&self, is_idle: bool) {
        let Some(step) = self.steps.get(self.n_typed.get()) else {
            return;
        };
        let is_due = match step.at_look {
            None => is_idle,
            Some(n) => is_idle || self.looks.get() >= n,
        };
        if is_due {
            self.n_typed.set(self.n_typed.get() + 1);
            self.arriving.borrow_mut().extend(step.bytes());
            self.looks.set(0);
            self.shown.borrow_mut().push(Vec::new());
        }
    }
}

impl Serial for Wire<'_> {
    fn read(&self) -> Option<u8> {
        if self.arriving.borrow().is_empty() {
            self.looks.set(self.looks.get() + 1);
            self.advance(false);
        }
        self.arriving.borrow_mut().pop_front()
    }

    fn write(&self, bytes: &[u8]) {
        if let Some(last) = self.shown.borrow_mut().last_mut() {
            last.extend_from_slice(bytes);
        }
    }

    fn wait(&self) {
        self.advance(true);
    }

    fn is_closed(&self) -> bool {
        self.n_typed.get() == self.steps.len() && self.arriving.borrow().is_empty()
    }
}
