//! What happens before the MMU is on, by what QEMU sees on the bus: the LED's register, and memory.

use qemu::Machine;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;
use tests::boot::{image, kernel};

const PATIENCE: Duration = Duration::from_secs(120);

/// Where the firmware is asked to put the image, and where it runs.
const LINKED_AT: usize = 0x8_0000;

fn scratch(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&dir).unwrap();
    dir.join(format!("{}-{name}", std::process::id()))
}

/// A machine whose memory has `image` at `addr`, and that starts there.
fn loaded_at(image: &Path, addr: u32) -> Machine {
    assert_eq!(addr & 0xFFFF, 0);
    // movz x1, #addr, lsl #16; br x1
    let jump = [0xD2A0_0001 | (addr >> 16) << 5, 0xD61F_0020];
    let stub = scratch(&format!("jump-{addr:x}.img"));
    let bytes: Vec<u8> = jump.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&stub, bytes).unwrap();
    let loader = format!(
        "loader,file={},addr={addr:#x},force-raw=on",
        image.display()
    );
    Machine::new(&stub).arg("-device").arg(loader)
}

#[test]
fn an_image_of_3_mib_moves_over_itself() {
    let large = image("large");
    for addr in [0x20_0000, 0x30_0000, 0x100_0000] {
        let mut pi = loaded_at(&large.image_path, addr).boot().unwrap();
        pi.expect("ready\n", PATIENCE).unwrap();
        pi.send_line("go").unwrap();
        let _ = pi.wait(PATIENCE);
        let text = pi.transcript();
        let line = format!("loaded at {addr:#x}; 786432 words, damaged: None");
        assert!(text.contains(&line), "no {line:?} in:\n{text}");
    }
    let bytes = std::fs::metadata(&large.image_path).unwrap().len() as usize;
    assert!(LINKED_AT + bytes > 0x30_0000, "the two places overlap");
}

/// A write to the LED's block, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Write {
    seconds: f64,
    offset: u32,
    value: u32,
}

const GPFSEL4: u32 = 0x10;
const GPSET1: u32 = 0x20;
const GPCLR1: u32 = 0x2C;
const LED: u32 = 1 << 10;

/// Adds QEMU's trace of every access to a device.
fn traced(machine: Machine) -> Machine {
    machine
        .arg("-trace")
        .arg("memory_region_ops_write")
        .arg("-msg")
        .arg("timestamp=on")
}

/// The writes to the pins' block among the lines of QEMU's log.
fn gpio_writes(lines: &[String]) -> Vec<Write> {
    let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16);
    lines
        .iter()
        .filter(|line| line.contains("memory_region_ops_write") && line.contains("gpio"))
        .filter_map(|line| {
            let (time, _) = line.split_once(":memory_region_ops_write")?;
            let seconds = time.split_once('@')?.1.parse().ok()?;
            let (_, rest) = line.split_once("addr ")?;
            let mut words = rest.split_ascii_whitespace();
            let offset = number(words.next()?).ok()? & 0xFFF;
            let value = number(words.nth(1)?).ok()?;
            Some(Write {
                seconds,
                offset,
                value,
            })
        })
        .collect()
}

#[test]
fn the_led_is_lit_first_and_goes_dark_before_the_mmu_is_on() {
    let mut pi = traced(Machine::new(&kernel().image_path)).boot().unwrap();
    pi.expect("> ", PATIENCE).unwrap();
    let writes = gpio_writes(&pi.unexpected_log().unwrap());
    let first: Vec<_> = writes.iter().map(|w| (w.offset, w.value)).take(3).collect();
    let [select, ..] = first[..] else {
        panic!("no write to the pins")
    };
    assert_eq!(select.0, GPFSEL4, "{first:x?}");
    assert_eq!(select.1 >> 6 & 7, 1, "GPIO 42 is an output: {first:x?}");
    assert_eq!(first[1..], [(GPSET1, LED), (GPCLR1, LED)], "{first:x?}");
    // The first Rust line lights it again, and the prompt ends it.
    let rest: Vec<_> = writes[3..]
        .iter()
        .filter(|write| [GPSET1, GPCLR1].contains(&write.offset))
        .map(|write| (write.offset, write.value))
        .collect();
    assert_eq!(rest, [(GPSET1, LED), (GPCLR1, LED)]);
}

/// The short blinks after each long one, of a kernel in which the first `original` is `udf`.
fn short_blinks_without(original: u32) -> usize {
    let mut bytes = kernel().image.bytes.clone();
    let word = original.to_le_bytes();
    let at = bytes.chunks_exact(4).position(|chunk| chunk == word);
    let at = 4 * at.expect("the image has the instruction");
    bytes[at..at + 4].fill(0);
    let path = scratch(&format!("udf-{original:x}.img"));
    std::fs::write(&path, bytes).unwrap();
    let pi = traced(Machine::new(&path)).boot().unwrap();
    // two rounds of the longest code
    sleep(Duration::from_secs(12));
    let writes = gpio_writes(&pi.unexpected_log().unwrap());
    let switches: Vec<_> = writes
        .iter()
        .filter(|write| [GPSET1, GPCLR1].contains(&write.offset))
        .collect();
    let lit: Vec<_> = switches
        .windows(2)
        .filter(|pair| pair[0].offset == GPSET1 && pair[1].offset == GPCLR1)
        .map(|pair| pair[1].seconds - pair[0].seconds)
        .collect();
    // The image's own first light lasts until the code begins with its own.
    let is_long = |seconds: &f64| *seconds > 0.7;
    let long: Vec<_> = (0..lit.len()).filter(|&i| is_long(&lit[i])).collect();
    assert!(long.len() >= 2, "one long blink a round: {lit:.2?}");
    assert!(
        lit.iter().all(|&s| s > 0.15 && !(0.5..=0.7).contains(&s)),
        "{lit:.2?}"
    );
    long[1] - long[0] - 1
}

#[test]
fn an_exception_at_el2_is_a_code_of_the_led() {
    // msr hstr_el2, xzr: behind the write to VBAR_EL2
    assert_eq!(short_blinks_without(0xD51C_117F), 2);
}

#[test]
fn an_exception_at_el1_before_the_mmu_is_a_code_of_the_led() {
    // msr fpcr, xzr: behind the write to VBAR_EL1
    assert_eq!(short_blinks_without(0xD51B_441F), 3);
}
