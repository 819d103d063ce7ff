//! Questions through a memory that lies as hardware does: the VideoCore reads and writes its own copy.

use std::cell::Cell;

use crate::clock::Clock;
use crate::clock::fake::Ticking;
use crate::dma::shadow::ShadowMemory;
use crate::mailbox::{
    BUFFER_WORDS, Buffer, Doorbell, Error, HEAD_WORDS, Mailbox, RESPONSE, message,
};

const PHYS: usize = 0x0020_0000;

/// The VideoCore behind `memory`. It answers with the request's words, each one higher, as many as the
/// tag says.
struct VideoCore<'a> {
    memory: &'a ShadowMemory,
    /// Answers that come later than anybody waits.
    n_late: &'a Cell<usize>,
    /// The message of a question that is not answered yet.
    open: Option<u32>,
}

impl VideoCore<'_> {
    fn word(&self, addr: usize, i: usize) -> u32 {
        self.memory.read_word(addr + 4 * i).unwrap()
    }

    fn set_word(&self, addr: usize, i: usize, word: u32) {
        let bytes = word.to_le_bytes();
        self.memory.write(addr + 4 * i, &bytes).unwrap();
    }

    fn answer(&self, message: u32) {
        let addr = (message & 0x3FFF_FFF0) as usize;
        assert_eq!(message, 0xC000_0000 | addr as u32 | 8);
        let (total_words, tag) = (self.word(addr, 0) as usize / 4, self.word(addr, 2) as usize);
        let value_words = self.word(addr, 3) as usize / 4;
        let is_request = self.word(addr, 1) == 0
            && total_words == HEAD_WORDS + value_words + 1
            && total_words <= BUFFER_WORDS
            && self.word(addr, 4) == 0
            && self.word(addr, total_words - 1) == 0;
        if !is_request {
            self.set_word(addr, 1, 0x8000_0001);
            return;
        }
        for i in HEAD_WORDS..HEAD_WORDS + tag.min(value_words) {
            self.set_word(addr, i, self.word(addr, i) + 1);
        }
        self.set_word(addr, 4, RESPONSE + 4 * tag as u32);
        self.set_word(addr, 1, RESPONSE);
    }
}

impl Doorbell for VideoCore<'_> {
    fn ring<C: Clock>(&mut self, buffer: &Buffer, _: &C) -> bool {
        let addr = core::ptr::from_ref(buffer).expose_provenance();
        let phys = self.memory.phys_addr(addr, size_of::<Buffer>()).unwrap();
        assert_eq!(self.open.replace(message(phys)), None, "one at a time");
        self.memory.wander();
        true
    }

    fn wait<C: Clock>(&mut self, _: &Buffer, _: &C) -> bool {
        if self.n_late.get() > 0 {
            self.n_late.set(self.n_late.get() - 1);
            return false;
        }
        let message = self.open.take().unwrap();
        self.answer(message);
        self.memory.wander();
        true
    }
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn questions_and_answers_cross_the_caches() {
    for seed in 1..=40 {
        let buffer = Box::leak(Box::new(Buffer::new()));
        let memory = &ShadowMemory::new(seed);
        memory.map(buffer, PHYS);
        let n_late = &Cell::new(0);
        let video_core = VideoCore {
            memory,
            n_late,
            open: None,
        };
        let mut mailbox = Mailbox::new(video_core, buffer, Ticking::default(), memory);
        for turn in 0..8_u32 {
            // Longer than a line, shorter than one, as long as the buffer holds.
            for n in [40, 2, 1, 500] {
                let request: Vec<u32> = (0..n).map(|i| turn << 16 | i << 4).collect();
                let expected: Vec<u32> = request.iter().map(|word| word + 1).collect();
                let mut answer = vec![0; n as usize];
                let bytes = mailbox.ask(n, &request, &mut answer);
                assert_eq!(bytes, Ok(4 * n as usize), "seed {seed}, turn {turn}");
                assert_eq!(answer, expected, "seed {seed}, turn {turn}");
            }
            // An answer that comes when nobody waits any more must not spoil the next one.
            n_late.set(1);
            let late = mailbox.ask_all::<1>(1, &[turn << 8 | 1]);
            assert_eq!(late, Err(Error::Timeout { tag: 1 }));
            assert_eq!(mailbox.ask_all(1, &[turn << 8]), Ok([turn << 8 | 1]));
        }
    }
}
