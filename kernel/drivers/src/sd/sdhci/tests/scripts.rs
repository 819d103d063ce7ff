//! Faults by script, from card to register and back: the mode reached, the bytes, and the time it took.

use super::chip::Chip;
use super::chip::card::{Effect, Fault, byte};
use super::chip::rig::{Host, lines, memory, start};
use crate::sd::adma::DmaMap;
use crate::sd::card::{CardError, Counters, Modes, SdCard};
use crate::sd::host::{Notice, Transfer};

use Effect::{Adma, AutoStop, Crc, Ecc, Forgets, LateEnd, NoData, NoEnd, Refused, Silent};

const ALWAYS: usize = usize::MAX;
const FIRST: usize = 100;
const LEN_BYTES: usize = 96 << 10;
/// Reads of the trial of DMA: one each way.
const TRIAL: usize = 2;

/// Lines, MHz and way of the data.
type Mode = (u8, u32, Transfer);

const FULL: Mode = (4, 50, Transfer::Adma2);
const SLOW: Mode = (4, 25, Transfer::Adma2);
const BY_PORT: Mode = (4, 50, Transfer::Pio);

struct Script {
    name: &'static str,
    is_wedged: bool,
    faults: Vec<Fault>,
    /// The mode after start and one read; none if the read must fail.
    mode: Option<Mode>,
    /// What start and read take at most.
    limit_ms: u64,
}

fn fault(command: &'static str, skip: usize, times: usize, effect: Effect) -> Fault {
    Fault {
        command,
        skip,
        times,
        effect,
    }
}

/// A script of one fault.
fn one(
    (command, skip, times): (&'static str, usize, usize),
    effect: Effect,
    mode: Option<Mode>,
    limit_ms: u64,
) -> Script {
    Script {
        name: command,
        is_wedged: false,
        faults: vec![fault(command, skip, times, effect)],
        mode,
        limit_ms,
    }
}

/// What a start takes with nothing wrong; what goes wrong and is told costs a millisecond or two.
const START_MS: u64 = 40;
/// A start again, after the power was cut.
const RESTART_MS: u64 = 200;

/// Faults before the card has its mode.
fn starts() -> Vec<Script> {
    let once_more = START_MS + RESTART_MS;
    let mut scripts = vec![
        Script {
            name: "silent until its power was cut",
            is_wedged: true,
            faults: Vec::new(),
            mode: Some(FULL),
            limit_ms: once_more,
        },
        one(("A41", 0, 1), Silent, Some(FULL), once_more),
        one(("7", 0, 1), Silent, Some(FULL), once_more),
        one(("2", 0, ALWAYS), Silent, None, START_MS + 2 * RESTART_MS),
    ];
    for effect in [Silent, Refused, NoData, Crc, NoEnd] {
        // Data that never come, and nobody says so: the driver's own second.
        let each_ms = if effect == NoEnd { 1_000 } else { 0 };
        for n in 1..=2 {
            let limit_ms = START_MS + n as u64 * each_ms;
            for command in ["A51", "6 check", "6 switch"] {
                scripts.push(one((command, 0, n), effect, Some(FULL), limit_ms));
            }
        }
        let limit_ms = START_MS + 3 * each_ms;
        scripts.push(one(("A51", 0, ALWAYS), effect, Some(FULL), limit_ms));
        scripts.push(one(("6 check", 0, ALWAYS), effect, Some(SLOW), limit_ms));
    }
    for effect in [Silent, Refused] {
        let narrow = (1, 50, Transfer::Adma2);
        scripts.push(one(("A6", 0, 2), effect, Some(FULL), START_MS));
        scripts.push(one(("A6", 0, ALWAYS), effect, Some(narrow), START_MS));
    }
    scripts
}

/// Faults of the read.
fn reads() -> Vec<Script> {
    let mut scripts = Vec::new();
    for effect in [Silent, NoData, Crc, Ecc, AutoStop, Adma, NoEnd] {
        let each_ms = if effect == NoEnd { 1_100 } else { 0 };
        let limit_ms = |n| START_MS + n * each_ms;
        for n in 1..=2 {
            let limit_ms = limit_ms(n as u64);
            scripts.push(one(("18", TRIAL, n), effect, Some(FULL), limit_ms));
        }
        // Three of them choose the next rung by their cause.
        let mode = match effect {
            Crc => SLOW,
            // The card's own memory: neither clock nor DMA is to blame.
            Ecc => FULL,
            _ => BY_PORT,
        };
        scripts.push(one(("18", TRIAL, 3), effect, Some(mode), limit_ms(3)));
    }
    scripts.push(one(("18", TRIAL, 1), LateEnd, Some(FULL), START_MS));
    // Single blocks get through where no command for many does.
    let last_rung = Some((4, 25, Transfer::Pio));
    scripts.push(one(("18", TRIAL, ALWAYS), Crc, last_rung, 2 * START_MS));
    scripts.push(one(("18", TRIAL, ALWAYS), NoEnd, None, 10_000));
    let restarted = START_MS + RESTART_MS;
    scripts.push(one(("18", TRIAL, 1), Forgets, Some(FULL), restarted));
    // Busy that the controller does not see the end of: once by itself, once after a wrong CRC.
    for effect in [NoEnd, LateEnd] {
        scripts.push(Script {
            name: "12",
            is_wedged: false,
            faults: vec![fault("18", TRIAL, 1, Crc), fault("12", 0, 1, effect)],
            mode: Some(FULL),
            limit_ms: START_MS,
        });
    }
    // Silent when it is asked for its status after a failure: it is started again.
    scripts.push(Script {
        name: "13",
        is_wedged: false,
        faults: vec![fault("18", TRIAL, 1, NoData), fault("13", 1, 1, Silent)],
        mode: Some(FULL),
        limit_ms: restarted,
    });
    scripts
}

fn mode(card: &SdCard<Host<'_>>) -> Mode {
    let mhz = card.clock_hz() / 1_000_000;
    (card.n_data_lines(), mhz, card.transfer())
}

fn is_right(buf: &[u8]) -> bool {
    let mut bytes = buf.iter().enumerate();
    bytes.all(|(i, b)| *b == byte(FIRST * 512 + i))
}

fn run(script: &Script, map: DmaMap) {
    let memory = memory(1);
    let chip = Chip::new(&memory, map);
    chip.card.borrow_mut().faults = script.faults.clone();
    chip.card.borrow_mut().is_wedged = script.is_wedged;
    let buf = lines(LEN_BYTES);
    memory.map(buf, 0x0200_0000);
    let result = start(&chip, Modes::default(), &[map]).and_then(|mut card| {
        card.read_blocks(FIRST as u64, buf)?;
        Ok::<_, CardError>(card)
    });
    let took_ms = chip.time_us.get() / 1000;
    let Script { name, faults, .. } = script;
    let what = format!("{name} {faults:?}: {took_ms} ms");
    assert!(took_ms <= script.limit_ms, "{what}");
    let left = chip.card.borrow().faults.iter().map(|f| f.times).max();
    assert!(
        left.is_none_or(|n| n == 0 || n > ALWAYS / 2),
        "{what}: came to nothing"
    );
    match (result, script.mode) {
        (Ok(card), Some(expected)) => {
            assert_eq!(mode(&card), expected, "{what}");
            assert!(is_right(buf), "{what}");
            // What ends late has ended well.
            if faults.iter().all(|fault| fault.effect == LateEnd) {
                assert_eq!(card.counters(), Counters::default(), "{what}");
            }
        }
        (Err(_), None) => {}
        (result, expected) => panic!("{what}: {:?}, not {expected:?}", result.map(|_| "read")),
    }
    // Whatever it was: when it is over, the slot works.
    chip.card.borrow_mut().faults.clear();
    let mut card = start(&chip, Modes::default(), &[map]).unwrap();
    buf.fill(0);
    card.read_blocks(FIRST as u64, buf).unwrap();
    assert!(is_right(buf) && mode(&card) == FULL, "{what}: usable after");
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn faults_on_the_way_to_a_mode() {
    for script in starts() {
        run(&script, DmaMap::Identity);
    }
}

#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn faults_of_a_read() {
    for script in reads() {
        run(&script, DmaMap::Alias);
    }
}

/// Whatever the mode, no attempt is silent for two seconds; who waits for longer is told.
#[test]
#[cfg_attr(miri, ignore = "the engine writes what is lent to the driver")]
fn no_attempt_is_silent_for_two_seconds() {
    for four_lines in [true, false] {
        for high_speed in [true, false] {
            let memory = memory(1);
            let chip = Chip::new(&memory, DmaMap::Identity);
            let dma = true;
            let modes = Modes {
                high_speed,
                four_lines,
                dma,
            };
            let mut card = start(&chip, modes, &[chip.map]).unwrap();
            let n_lines = if four_lines { 4 } else { 1 };
            let mhz = if high_speed { 50 } else { 25 };
            assert_eq!(mode(&card), (n_lines, mhz, Transfer::Adma2));
            let buf = lines(4 << 20);
            memory.map(buf, 0x0200_0000);
            chip.card.borrow_mut().faults = vec![fault("18", 0, 3, NoEnd)];
            chip.longest_pause_us.set(0);
            card.read_blocks(FIRST as u64, buf).unwrap();
            assert!(is_right(buf));
            let pause_us = chip.longest_pause_us.get();
            assert!((1_000_000..2_000_000).contains(&pause_us), "{pause_us} us");
            let block = FIRST as u64;
            let told = [Notice::Slow { block }, Notice::WithoutDma];
            assert_eq!(chip.told.take(), told);
        }
    }
}
