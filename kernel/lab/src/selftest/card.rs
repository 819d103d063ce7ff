//! The card, read twice.

use crate::experiment::Lab;
use crate::machine::Machine;
use llm::source::ModelSource;
use ops::arena::Arena;
use ops::crc32c::Crc32c;
use protocol::event::{Check, CheckKind, Event};

/// Pieces of the model file that are read twice, and their size: larger than any read-ahead.
const PIECES: u64 = 4;
const PIECE_BYTES: usize = 2 << 20;

/// Reads pieces of the model file twice; what differs is the error.
pub(super) fn read_twice<M: Machine>(lab: &mut Lab<'_, '_, M>) -> Option<Check> {
    let file = &lab.subject.as_ref()?.facts.file;
    let buffer = Arena::new(lab.scratch).slice::<u8>(PIECE_BYTES).ok()?;
    let check = |values, error| Check::new(CheckKind::Card, "read twice", values, error, 0.0);
    let mut source = match lab.machine.open_model(file) {
        Ok(source) => source,
        Err(error) => {
            lab.report.event(Event::Notice(alloc::format!("{error}")));
            return Some(check(1, 1.0));
        }
    };
    let (mut values, mut error) = (0, 0.0);
    let len = source.len_bytes();
    let piece = (PIECE_BYTES as u64).min(len);
    let mut sums = [[0u32; PIECES as usize]; 2];
    // All pieces once, then all again: nothing of a piece is left in a window by then.
    for sums in &mut sums {
        for (i, sum) in sums.iter_mut().enumerate() {
            let place = (len - piece) * i as u64 / (PIECES - 1);
            let bytes = &mut buffer[..piece as usize];
            bytes.fill(0);
            if let Err(failure) = source.read_at(place, bytes) {
                lab.report.event(Event::Notice(alloc::format!("{failure}")));
                error += 1.0;
            }
            let mut crc = Crc32c::new();
            crc.update(bytes);
            *sum = crc.value();
            values += piece;
        }
    }
    let [first, second] = sums;
    error += first.iter().zip(second).filter(|&(a, b)| *a != b).count() as f64;
    Some(check(values, error))
}
