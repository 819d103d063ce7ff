//! A VideoCore that answers from a script.

use super::{Buffer, Doorbell, HEAD_WORDS, Mailbox, RESPONSE};
use crate::clock::Clock;
use crate::clock::fake::Ticking;
use crate::dma::Caches;
use tock_registers::interfaces::{Readable, Writeable};

/// What the fake VideoCore answers to a tag and its value words.
pub(crate) type Script = dyn FnMut(u32, &[u32]) -> Option<Vec<u32>>;

pub(crate) struct FakeVideoCore {
    script: Box<Script>,
    pub(crate) code: u32,
    /// What marks an answer.
    mark: u32,
    /// Waits that end without an answer.
    pub(crate) silent_waits: usize,
    /// Requests that came.
    pub(crate) n_rings: usize,
}

impl Doorbell for FakeVideoCore {
    fn wait<C: Clock>(&mut self, _: &Buffer, _: &C) -> bool {
        let answers = self.silent_waits == 0;
        self.silent_waits = self.silent_waits.saturating_sub(1);
        answers
    }

    fn ring<C: Clock>(&mut self, buffer: &Buffer, _: &C) -> bool {
        self.n_rings += 1;
        let words = &buffer.0;
        let total = words[0].get() as usize / 4;
        assert_eq!(words[1].get(), 0, "a request");
        assert_eq!(words[total - 1].get(), 0, "the end tag");
        let value_words = words[3].get() as usize / 4;
        assert_eq!(total, HEAD_WORDS + value_words + 1);
        let value: Vec<u32> = words[HEAD_WORDS..][..value_words]
            .iter()
            .map(Readable::get)
            .collect();
        if let Some(answer) = (self.script)(words[2].get(), &value) {
            words[4].set(self.mark | (4 * answer.len() as u32));
            for (word, value) in words[HEAD_WORDS..].iter().zip(answer).take(value_words) {
                word.set(value);
            }
        }
        words[1].set(self.code);
        true
    }
}

pub(crate) struct NoCaches;

impl Caches for NoCaches {
    fn clean_and_invalidate(&self, addr: usize, len_bytes: usize) {
        assert!(addr.is_multiple_of(64) && len_bytes.is_multiple_of(64));
    }
}

/// A mailbox that `script` answers; nothing means an unknown tag.
pub(crate) fn mailbox(
    script: impl FnMut(u32, &[u32]) -> Option<Vec<u32>> + 'static,
) -> Mailbox<FakeVideoCore, Ticking, NoCaches> {
    Mailbox {
        doorbell: FakeVideoCore {
            script: Box::new(script),
            code: RESPONSE,
            mark: RESPONSE,
            silent_waits: 0,
            n_rings: 0,
        },
        buffer: Box::leak(Box::new(Buffer::new())),
        clock: Ticking::default(),
        caches: NoCaches,
        is_away: false,
    }
}

impl<C, K> Mailbox<FakeVideoCore, C, K> {
    pub(crate) fn set_code(&mut self, code: u32) {
        self.doorbell.code = code;
    }

    /// Answers without the mark, as the board's firmware does for the expander.
    pub(crate) fn leave_unmarked(&mut self) {
        self.doorbell.mark = 0;
    }

    pub(crate) fn set_silent_waits(&mut self, n: usize) {
        self.doorbell.silent_waits = n;
    }

    pub(crate) fn n_rings(&self) -> usize {
        self.doorbell.n_rings
    }
}
