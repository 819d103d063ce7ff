//! Any fault of any command at any moment, through registers and a memory that lies: the right bytes or
//! an error, in bounded time, and a slot that works after.

use super::chip::Chip;
use super::chip::card::{Effect, Fault, byte};
use super::chip::rig::{lines, memory, start};
use crate::dma::shadow::ShadowMemory;
use crate::sd::adma::DmaMap;
use crate::sd::card::Modes;

use Effect::{Adma, AutoStop, Crc, Ecc, Forgets, LateEnd, NoData, NoEnd, Refused, Silent};

const COMMANDS: [&str; 16] = [
    "0", "8", "55", "A41", "2", "3", "9", "7", "13", "A51", "A6", "6 check", "6 switch", "18",
    "17", "12",
];

/// What may go wrong with a command. Wrong data of a single block are for its CRC to tell.
fn effects(command: &str) -> &'static [Effect] {
    match command {
        "18" => &[
            Silent, Refused, NoData, Crc, Ecc, AutoStop, Adma, NoEnd, LateEnd, Forgets,
        ],
        "17" | "A51" | "6 check" | "6 switch" => &[Silent, Refused, NoData, Crc, NoEnd, Forgets],
        "12" => &[Silent, NoEnd, LateEnd],
        // It cannot be refused.
        "0" => &[Silent],
        _ => &[Silent, Refused, Forgets],
    }
}

fn random_fault(random: &ShadowMemory) -> Fault {
    let command = COMMANDS[random.below(COMMANDS.len())];
    let effects = effects(command);
    Fault {
        command,
        skip: random.below(6),
        times: 1 + random.below(6),
        effect: effects[random.below(effects.len())],
    }
}

/// How many of the reads came right.
fn storm(seed: u64) -> usize {
    let memory = memory(seed);
    let map = if memory.below(2) == 0 {
        DmaMap::Alias
    } else {
        DmaMap::Identity
    };
    let chip = Chip::new(&memory, map);
    let buf = lines(80 << 10);
    memory.map(buf, 0x0200_0000);
    let mut n_right = 0;
    for round in 0..3 {
        let n_faults = 1 + round;
        let faults = (0..n_faults).map(|_| random_fault(&memory));
        chip.card.borrow_mut().faults = faults.collect();
        let (first, start_us) = (37 * seed as usize + round, chip.time_us.get());
        let what = format!("seed {seed}, {:?}", chip.card.borrow().faults);
        let is_right = |buf: &[u8]| {
            let mut bytes = buf.iter().enumerate();
            bytes.all(|(i, b)| *b == byte(first * 512 + i))
        };
        let read = start(&chip, Modes::default(), &[map])
            .and_then(|mut card| card.read_blocks(first as u64, buf));
        if read.is_ok() {
            assert!(is_right(buf), "{what}");
            n_right += 1;
        }
        let took_ms = (chip.time_us.get() - start_us) / 1000;
        assert!(took_ms < 15_000, "{what}: {took_ms} ms");

        chip.card.borrow_mut().faults.clear();
        buf.fill(seed as u8);
        let mut card = start(&chip, Modes::default(), &[map]).expect(&what);
        card.read_blocks(first as u64, buf).expect(&what);
        assert!(is_right(buf), "{what}: usable after");
    }
    n_right
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn right_bytes_or_an_error_in_bounded_time() {
    let n_right: usize = (1..=40).map(storm).sum();
    assert!((1..120).contains(&n_right), "{n_right} of 120: no storm");
}
