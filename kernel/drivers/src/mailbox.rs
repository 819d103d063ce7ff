//! The mailbox: questions to the firmware of the VideoCore, one property tag at a time.
//!
//! ```text
//! word  0     1        2    3            4         5 …          then
//!       size  request  tag  value bytes  response  value        0 (end)
//! ```
//!
//! The buffer's bus address goes into one register, comes back in another, and the buffer then holds
//! the answer. Any tag may go unanswered: QEMU and older firmware know fewer.
//!
//! **Resources**: Raspberry Pi firmware wiki, "Mailbox property interface"; docs/hardware.md MB-1, MMU-7.

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::register_structs;
use tock_registers::registers::{InMemoryRegister, ReadOnly, WriteOnly};

use crate::clock::Clock;
use crate::dma::{Caches, bus_addr};
use crate::mmio::Mmio;

register_structs! {
    /// The register block: mailbox 0 answers, mailbox 1 asks.
    #[allow(missing_docs)]
    pub Registers {
        (0x00 => pub read: ReadOnly<u32>),
        (0x04 => _reserved1),
        (0x18 => pub status: ReadOnly<u32>),
        (0x1c => _reserved2),
        (0x20 => pub write: WriteOnly<u32>),
        (0x24 => _reserved3),
        (0x38 => pub status1: ReadOnly<u32>),
        (0x3c => @END),
    }
}

const EMPTY: u32 = 1 << 30;
const FULL: u32 = 1 << 31;
/// Channel of the property interface.
const CHANNEL: u32 = 8;
/// The VideoCore takes milliseconds, for some tags tens of them.
const LIMIT_US: u64 = 1_000_000;
/// More stale answers than the mailbox holds.
const STALE_ANSWERS: usize = 16;

/// 32-bit words of the buffer: the longest answer is the kernel command line.
pub const BUFFER_WORDS: usize = 512;
/// Words before the value.
const HEAD_WORDS: usize = 5;
/// Words that a value can have.
pub const VALUE_WORDS: usize = BUFFER_WORDS - HEAD_WORDS - 1;

const RESPONSE: u32 = 1 << 31;

/// What the VideoCore reads and writes: whole cache lines of its own, below 1 GiB.
#[repr(C, align(64))]
pub struct Buffer([InMemoryRegister<u32>; BUFFER_WORDS]);

impl Buffer {
    /// A buffer of zeros.
    pub const fn new() -> Self {
        Self([const { InMemoryRegister::new(0) }; BUFFER_WORDS])
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The VideoCore did not answer within a second.
    #[error("no answer from the firmware to tag {tag:#010x} within 1 s")]
    Timeout {
        /// The tag.
        tag: u32,
    },
    /// It did not understand the buffer.
    #[error("the firmware refused tag {tag:#010x} with code {code:#010x}")]
    Refused {
        /// The tag.
        tag: u32,
        /// Its response code.
        code: u32,
    },
    /// It does not know the tag.
    #[error("the firmware does not know tag {tag:#010x}")]
    Unanswered {
        /// The tag.
        tag: u32,
    },
    /// It knows the tag and did not do what was asked.
    #[error("the firmware refused tag {tag:#010x} with status {status}")]
    Failed {
        /// The tag.
        tag: u32,
        /// Its status, not 0.
        status: u32,
    },
    /// The answer is shorter than it must be.
    #[error("the firmware's answer to tag {tag:#010x} has only {bytes} bytes")]
    Short {
        /// The tag.
        tag: u32,
        /// Bytes of the answer.
        bytes: usize,
    },
}

/// How a buffer gets to the VideoCore and back; the seam for tests.
pub trait Doorbell {
    /// Rings for `buffer`; false if there is no room for the message in time.
    fn ring<C: Clock>(&mut self, buffer: &Buffer, clock: &C) -> bool;
    /// Waits until `buffer` comes back; false if it does not in time.
    fn wait<C: Clock>(&mut self, buffer: &Buffer, clock: &C) -> bool;
}

/// What the register carries for a buffer at `addr`: its bus address and the channel.
fn message(addr: usize) -> u32 {
    bus_addr(addr, size_of::<Buffer>()) | CHANNEL
}

/// The two mailboxes as queues.
trait Queues {
    /// The oldest answer, if there is one.
    fn answer(&mut self) -> Option<u32>;
    /// Asks, if there is room.
    fn ask(&mut self, message: u32) -> bool;
}

impl Queues for Mmio<Registers> {
    fn answer(&mut self) -> Option<u32> {
        (self.status.get() & EMPTY == 0).then(|| self.read.get())
    }

    fn ask(&mut self, message: u32) -> bool {
        let room = self.status1.get() & FULL == 0;
        if room {
            self.write.set(message);
        }
        room
    }
}

impl Doorbell for Mmio<Registers> {
    fn ring<C: Clock>(&mut self, buffer: &Buffer, clock: &C) -> bool {
        let addr = core::ptr::from_ref(buffer).expose_provenance();
        send(self, message(addr), clock)
    }

    fn wait<C: Clock>(&mut self, buffer: &Buffer, clock: &C) -> bool {
        receive(self, message(core::ptr::from_ref(buffer).addr()), clock)
    }
}

/// Sends `message`; false if there is no room in time.
fn send(queues: &mut impl Queues, message: u32, clock: &impl Clock) -> bool {
    // What nobody waited for: the buffer is always the same one, and so a late answer looks like the next.
    for _ in 0..STALE_ANSWERS {
        if queues.answer().is_none() {
            break;
        }
    }
    clock.wait_until(LIMIT_US, &mut || queues.ask(message))
}

/// Waits for `message` among the answers; false if it does not come in time.
fn receive(queues: &mut impl Queues, message: u32, clock: &impl Clock) -> bool {
    clock.wait_until(LIMIT_US, &mut || queues.answer() == Some(message))
}

/// The property interface.
pub struct Mailbox<D, C, K> {
    doorbell: D,
    buffer: &'static mut Buffer,
    clock: C,
    caches: K,
    /// The VideoCore has the buffer still: nobody may touch it.
    is_away: bool,
}

impl<D: Doorbell, C: Clock, K: Caches> Mailbox<D, C, K> {
    /// A mailbox that uses `buffer`, which nothing else uses.
    pub const fn new(doorbell: D, buffer: &'static mut Buffer, clock: C, caches: K) -> Self {
        Self {
            doorbell,
            buffer,
            clock,
            caches,
            is_away: false,
        }
    }

    /// Asks `tag` with the words of `request` and puts the answer's words into `answer`; returns the
    /// answer's length in bytes, which may be more than fits.
    ///
    /// After a question without an answer in time, the next one waits for that answer first: the
    /// VideoCore may write the buffer until it has given it back.
    ///
    /// # Errors
    /// See [`Error`].
    ///
    /// # Panics
    /// If either is longer than [`VALUE_WORDS`].
    pub fn ask(&mut self, tag: u32, request: &[u32], answer: &mut [u32]) -> Result<usize, Error> {
        let response = self.exchange(tag, request, answer)?;
        if response & RESPONSE == 0 {
            return Err(Error::Unanswered { tag });
        }
        Ok((response & !RESPONSE) as usize)
    }

    /// Asks `tag`, whose answer is a status in place of the first word of `request`: 0 for done.
    ///
    /// The tags that set a line of the GPIO expander come back without the mark of an answer, and
    /// with any length, from the board's firmware; where nobody knows them, the request comes back.
    ///
    /// # Errors
    /// Also [`Error::Failed`].
    pub fn command(&mut self, tag: u32, request: &[u32]) -> Result<(), Error> {
        let mut status = [0];
        self.exchange(tag, request, &mut status)?;
        match status[0] {
            0 => Ok(()),
            unchanged if unchanged == request[0] => Err(Error::Unanswered { tag }),
            status => Err(Error::Failed { tag, status }),
        }
    }

    /// The exchange itself; returns the tag's response word.
    fn exchange(&mut self, tag: u32, request: &[u32], answer: &mut [u32]) -> Result<u32, Error> {
        let value_words = request.len().max(answer.len());
        assert!(value_words <= VALUE_WORDS);
        if self.is_away && !self.doorbell.wait(self.buffer, &self.clock) {
            return Err(Error::Timeout { tag });
        }
        self.is_away = false;
        let words = &self.buffer.0;
        words.iter().for_each(|word| word.set(0));
        let total_words = HEAD_WORDS + value_words + 1;
        words[0].set(4 * total_words as u32);
        words[2].set(tag);
        words[3].set(4 * value_words as u32);
        for (word, &value) in words[HEAD_WORDS..].iter().zip(request) {
            word.set(value);
        }

        let len_bytes = size_of::<Buffer>();
        let addr = core::ptr::from_ref::<Buffer>(self.buffer).addr();
        self.caches.clean_and_invalidate(addr, len_bytes);
        if !self.doorbell.ring(self.buffer, &self.clock) {
            return Err(Error::Timeout { tag });
        }
        self.is_away = !self.doorbell.wait(self.buffer, &self.clock);
        if self.is_away {
            return Err(Error::Timeout { tag });
        }
        self.caches.clean_and_invalidate(addr, len_bytes);

        let code = words[1].get();
        if code != RESPONSE {
            return Err(Error::Refused { tag, code });
        }
        for (value, word) in answer.iter_mut().zip(&words[HEAD_WORDS..]) {
            *value = word.get();
        }
        Ok(words[4].get())
    }

    /// As [`Mailbox::ask`], where nothing but all words of the answer will do.
    ///
    /// # Errors
    /// Also [`Error::Short`], and [`Error::Unanswered`] for QEMU's empty answer to unknown tags.
    pub fn ask_all<const N: usize>(
        &mut self,
        tag: u32,
        request: &[u32],
    ) -> Result<[u32; N], Error> {
        let mut answer = [0; N];
        let bytes = self.ask(tag, request, &mut answer)?;
        match bytes {
            0 => Err(Error::Unanswered { tag }),
            bytes if bytes < 4 * N => Err(Error::Short { tag, bytes }),
            _ => Ok(answer),
        }
    }
}
