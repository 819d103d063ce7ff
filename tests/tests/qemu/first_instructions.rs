//! What happens before the MMU is on, by what QEMU sees on the bus: the LED's register, and memory.

use qemu::Machine;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tests::boot::{image, kernel};
use tests::bus::{Access, accesses, with_writes};
use tests::patch::{Patch, UDF};

const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks at QEMU's log.
const POLL: Duration = Duration::from_millis(200);

/// Where the firmware is asked to put the image, and where it runs.
const LINKED_AT: usize = 0x8_0000;

fn scratch(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&dir).unwrap();
    dir.join(format!("{}-{name}", std::process::id()))
}

/// A machine whose memory has `image` at `addr`, and that starts there.
fn loaded_at(image: &Path, addr: u32) -> Machine {
    // movz x1, #addr; movk x1, #addr >> 16, lsl #16; br x1
    let (low, high) = (addr & 0xFFFF, addr >> 16);
    let jump = [0xD280_0001 | low << 5, 0xF2A0_0001 | high << 5, 0xD61F_0020];
    let stub = scratch(&format!("jump-{addr:x}.img"));
    let bytes: Vec<u8> = jump.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&stub, bytes).unwrap();
    let loader = format!(
        "loader,file={},addr={addr:#x},force-raw=on",
        image.display()
    );
    Machine::new(&stub).arg("-device").arg(loader)
}

/// A machine that starts `image` in its place at EL3, where nobody has set the counter's frequency.
fn without_counter_frequency(image: &Path) -> Machine {
    const STUB_ADDR: u64 = 0x100_0000;
    // msr cntfrq_el0, xzr; movz x1, #8, lsl #16; br x1
    let code: [u32; 3] = [0xD51B_E01F, 0xD2A0_0101, 0xD61F_0020];
    let stub = scratch("no-frequency.elf");
    std::fs::write(&stub, elf(STUB_ADDR, &code)).unwrap();
    let loader = format!(
        "loader,file={},addr={LINKED_AT:#x},force-raw=on",
        image.display()
    );
    Machine::new(&stub).arg("-device").arg(loader)
}

/// An ELF of one segment: QEMU starts a raw image at EL2, and an ELF where a board's firmware starts.
fn elf(addr: u64, code: &[u32]) -> Vec<u8> {
    const HEADERS_BYTES: u64 = 64 + 56;
    let len_bytes = 4 * code.len() as u64;
    let mut file = b"\x7FELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    // an executable for AArch64, version 1
    file.extend([2, 0, 183, 0, 1, 0, 0, 0]);
    // entry, offsets of program and section headers
    file.extend([addr, 64, 0].iter().flat_map(|word| word.to_le_bytes()));
    file.extend([0; 4]);
    let sizes: [u16; 6] = [64, 56, 1, 0, 0, 0];
    file.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
    // to be loaded, readable and executable
    file.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    let segment = [HEADERS_BYTES, addr, addr, len_bytes, len_bytes, 4];
    file.extend(segment.iter().flat_map(|word| word.to_le_bytes()));
    file.extend(code.iter().flat_map(|word| word.to_le_bytes()));
    file
}

/// What the image `large` says of itself in `machine`.
fn arrival(machine: &Machine, addr: u32) {
    let mut pi = machine.boot().unwrap();
    pi.expect("ready\n", PATIENCE).unwrap();
    pi.send_line("go").unwrap();
    let _ = pi.wait(PATIENCE);
    let text = pi.transcript();
    let line = format!("loaded at {addr:#x}; 786432 words, damaged: None");
    assert!(text.contains(&line), "no {line:?} in:\n{text}");
}

#[test]
fn an_image_of_3_mib_moves_over_itself() {
    let large = image("large");
    for addr in [0x20_0000, 0x30_0000, 0x100_0000] {
        arrival(&loaded_at(&large.image_path, addr), addr);
    }
    let bytes = std::fs::metadata(&large.image_path).unwrap().len() as usize;
    assert!(LINKED_AT + bytes > 0x30_0000, "the two places overlap");
    // Below its place it moves up, from its end.
    for addr in [0x1_0000, 0x7_FFF8] {
        let below = Patch::new(&large.image.bytes).load_at(addr);
        let path = below.write(scratch(&format!("below-{addr:x}.img")));
        arrival(&Machine::new(path), addr as u32);
    }
}

const GPIO: u32 = 0xFE20_0000;
const GPFSEL4: u32 = GPIO + 0x10;
const GPSET1: u32 = GPIO + 0x20;
const GPCLR1: u32 = GPIO + 0x2C;
const LED: u32 = 1 << 10;

/// The writes to the pins' block among the lines of QEMU's log.
fn gpio_writes(lines: &[String]) -> Vec<Access> {
    let mut writes = accesses(lines);
    writes.retain(|access| access.is_write && access.addr & !0xFFF == GPIO);
    writes
}

#[test]
fn the_led_is_lit_first_and_goes_dark_before_the_mmu_is_on() {
    let mut pi = with_writes(Machine::new(&kernel().image_path))
        .boot()
        .unwrap();
    pi.expect("> ", PATIENCE).unwrap();
    let writes = gpio_writes(&pi.unexpected_log().unwrap());
    let first: Vec<_> = writes.iter().map(|w| (w.addr, w.value)).take(3).collect();
    let [select, ..] = first[..] else {
        panic!("no write to the pins")
    };
    assert_eq!(select.0, GPFSEL4, "{first:x?}");
    assert_eq!(select.1 >> 6 & 7, 1, "GPIO 42 is an output: {first:x?}");
    assert_eq!(first[1..], [(GPSET1, LED), (GPCLR1, LED)], "{first:x?}");
    // The first Rust line lights it again, and the prompt ends it.
    let rest: Vec<_> = writes[3..]
        .iter()
        .filter(|write| [GPSET1, GPCLR1].contains(&write.addr))
        .map(|write| (write.addr, write.value))
        .collect();
    assert_eq!(rest, [(GPSET1, LED), (GPCLR1, LED)]);
}

/// Seconds that the LED was lit (true) or dark, between two switches; the last time has not ended.
fn times(writes: &[Access]) -> Vec<(bool, f64)> {
    let switches: Vec<_> = writes
        .iter()
        .filter(|write| [GPSET1, GPCLR1].contains(&write.addr))
        .map(|write| (write.addr == GPSET1, write.seconds))
        .collect();
    // The image's own first light lasts until the code begins with its own.
    let pairs = switches.windows(2).filter(|pair| pair[0].0 != pair[1].0);
    pairs
        .map(|pair| (pair[0].0, pair[1].1 - pair[0].1))
        .collect()
}

/// The short blinks between the first long one and the pause behind them; nothing before the pause has ended.
fn short_blinks(times: &[(bool, f64)]) -> Option<usize> {
    let long = times.iter().position(|&(lit, s)| lit && s > 0.7)?;
    let behind = times.get(long + 2..)?;
    let pause = behind.iter().position(|&(lit, s)| !lit && s > 0.7)?;
    let code = &behind[..pause];
    let is_short = |s: f64| s > 0.15 && s <= 0.7;
    assert!(code.iter().all(|&(_, s)| is_short(s)), "{times:.2?}");
    Some(code.iter().filter(|&&(lit, _)| lit).count())
}

/// The code that the LED shows in `machine`.
fn code_of(machine: Machine) -> usize {
    let pi = with_writes(machine).boot().unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let times = times(&gpio_writes(&pi.unexpected_log().unwrap()));
        if let Some(code) = short_blinks(&times) {
            return code;
        }
        assert!(Instant::now() < deadline, "no code in {times:.2?}");
        sleep(POLL);
    }
}

/// A kernel in which the first `original` is undefined.
fn without(original: u32) -> Machine {
    let patch = Patch::new(&kernel().image.bytes).replace(&[original], &[UDF]);
    Machine::new(patch.write(scratch(&format!("udf-{original:x}.img"))))
}

#[test]
fn a_place_that_is_no_multiple_of_8_is_a_code_of_the_led() {
    assert_eq!(code_of(loaded_at(&kernel().image_path, 0x20_0004)), 1);
}

#[test]
fn an_exception_at_el2_is_a_code_of_the_led() {
    // msr hstr_el2, xzr: behind the write to VBAR_EL2
    assert_eq!(code_of(without(0xD51C_117F)), 2);
}

#[test]
fn an_exception_at_el1_before_the_mmu_is_a_code_of_the_led() {
    // msr fpcr, xzr: behind the write to VBAR_EL1
    assert_eq!(code_of(without(0xD51B_441F)), 3);
}

#[test]
fn tables_that_do_not_hold_the_image_are_a_code_of_the_led() {
    assert_eq!(code_of(Machine::new(image("crooked").image_path)), 4);
}

#[test]
fn a_counter_without_a_frequency_has_the_boards() {
    let exceptions = image("exceptions");
    for (machine, hz) in [
        (Machine::new(&exceptions.image_path), 62_500_000),
        (
            without_counter_frequency(&exceptions.image_path),
            54_000_000,
        ),
    ] {
        let mut pi = machine.boot().unwrap();
        pi.expect("ready\n", PATIENCE).unwrap();
        pi.send_line("counter").unwrap();
        let _ = pi.wait(PATIENCE);
        let (text, line) = (pi.transcript(), format!("counter {hz} Hz"));
        assert!(text.contains(&line), "no {line:?} in:\n{text}");
    }
    // the blinks of the assembly too
    let patch = Patch::new(&kernel().image.bytes).replace(&[0xD51B_441F], &[UDF]);
    let path = patch.write(scratch("udf-no-frequency.img"));
    assert_eq!(code_of(without_counter_frequency(&path)), 3);
}
