//! How the program ends: a core that hangs is missed, and one that reports the end stops the others.

use qemu::Machine;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;
use tests::boot::{end_of, kernel};
use tests::bus::{Access, accesses, with_writes};
use tests::monitor::MonitorSocket;
use tests::patch::{NOP, Patch, UDF};
use xtask::symbols::functions;

const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn a_core_that_hangs_is_named_with_its_step_and_barrier() {
    for core in [0, 2, 3] {
        let text = end_of(&format!("board.barrier=1 board.fail=hang={core}"));
        let line = format!("core {core} hangs in step 0 of a region: core ");
        assert_eq!(text.matches(&line).count(), 1, "{text}");
        assert!(
            text.contains(" waits for it at the barrier in kernel/src/"),
            "{text}"
        );
        assert!(text.contains(" for 1 s"), "{text}");
        assert!(!text.contains(&format!("core {core} panicked")), "{text}");
    }
}

#[test]
fn without_a_limit_a_core_that_hangs_is_waited_for() {
    let mut pi = Machine::new(&kernel().image_path)
        .append("board.barrier=0 board.fail=hang=2")
        .boot()
        .unwrap();
    let silence = pi.expect("hangs in step", Duration::from_secs(10));
    assert!(silence.is_err(), "{}", pi.transcript());
    assert!(!pi.transcript().contains("> "), "{}", pi.transcript());
}

/// The core whose report it is.
fn reporting_core(text: &str) -> usize {
    let (before, _) = text.split_once(" panicked at ").unwrap();
    let (_, number) = before.rsplit_once(' ').unwrap();
    number.parse().unwrap()
}

/// Addresses of the function `name`.
fn addresses_of(name: &str) -> Range<u64> {
    let functions = functions(&std::fs::read(&kernel().elf).unwrap()).unwrap();
    let at = functions.iter().position(|function| function.name == name);
    let at = at.unwrap_or_else(|| panic!("no function {name}"));
    functions[at].addr..functions[at + 1].addr
}

#[test]
fn the_core_that_reports_the_end_stops_the_others() {
    let stop = addresses_of("kernel::ending::target::stop");
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&dir).unwrap();
    let socket = MonitorSocket::new(&dir.join(format!("{}-endings", std::process::id())));
    // Core 1 hangs; of the others, who wait for it, one reports. An exception on core 3 finds the others waiting, a
    // panic on core 0 finds them without work.
    for (options, hanging) in [
        ("board.barrier=1 board.fail=hang=1", Some(1)),
        ("board.fail=exception", None),
        ("board.fail=panic", None),
    ] {
        let machine = socket.attach(Machine::new(&kernel().image_path));
        let mut pi = machine.append(options).boot().unwrap();
        let mut monitor = socket.connect();
        pi.expect("A key restarts the board now", PATIENCE).unwrap();
        std::thread::sleep(Duration::from_secs(1));
        let text = pi.transcript();
        let reporting = match hanging {
            None if options.ends_with("exception") => 3,
            _ => reporting_core(&text),
        };
        let counters = monitor.program_counters();
        assert_eq!(counters.len(), 4);
        for (core, counter) in counters.into_iter().enumerate() {
            let stopped = stop.contains(&counter);
            let runs = core == reporting || hanging == Some(core);
            assert_eq!(stopped, !runs, "core {core} is at {counter:#x}: {text}");
        }
        let (_, rest) = text.split_once("else it restarts in 10 s.").unwrap();
        assert_eq!(rest.trim(), "", "{text}");
        pi.send(b" ").unwrap();
        assert!(pi.wait(PATIENCE).unwrap().success());
    }
}

#[test]
fn callers_and_the_place_of_an_exception_are_named() {
    let text = end_of("board.fail=panic");
    assert!(text.contains(" kernel::firmware::kernel_main+0x"), "{text}");
    let text = end_of("board.fail=exception");
    let at = text
        .lines()
        .find(|line| line.starts_with("  at 0x"))
        .unwrap();
    assert!(at.contains(" kernel::firmware::"), "{text}");
    let callers = text.lines().filter(|line| line.contains("called from 0x"));
    let named = callers.filter(|line| line.contains("+0x")).count();
    assert!(named >= 2, "{text}");
}

/// The image with other instructions, as a file of the test `name`.
fn written(patch: &Patch, name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    patch.write(dir.join(format!("{}-{name}.img", std::process::id())))
}

#[test]
fn a_report_that_fails_itself_is_a_reset() {
    let finish = addresses_of("<EndConsole>::finish");
    let patch = Patch::new(&kernel().image.bytes).replace_at(finish.start, UDF);
    let image = written(&patch, "unfinished");
    let mut pi = Machine::new(&image)
        .append("board.fail=panic")
        .boot()
        .unwrap();
    assert!(pi.wait(PATIENCE).unwrap().success());
    let text = pi.transcript();
    assert!(!text.contains("panicked"), "nothing can be said: {text}");
}

const PM_RSTC: u32 = 0xFE10_001C;
const PM_WDOG: u32 = 0xFE10_0024;
const UART_DATA: u32 = 0xFE20_1000;
const SECONDS_15: u32 = 0x5A0F_0000;

/// `str w…, […]`.
fn is_store(instruction: u32) -> bool {
    instruction & 0xFFC0_0000 == 0xB900_0000
}

/// With a board's counter and a watchdog that is armed and never runs, which in QEMU would be a reset.
#[test]
fn the_watchdog_is_armed_for_the_report_and_for_its_stay() {
    let patch = Patch::new(&kernel().image.bytes);
    let arm = patch.instructions(addresses_of("kernel::board::arm_watchdog"));
    let stores: Vec<_> = arm.iter().filter(|(_, i)| is_store(*i)).collect();
    // The time, and then what lets it run.
    assert_eq!(stores.len(), 2, "{stores:x?}");
    let patch = patch.replace_at(stores[1].0, NOP);
    let machine = Machine::new(written(&patch, "unguarded"));
    let machine = machine.arg("-global").arg("arm-cpu.cntfrq=54000000");
    let mut pi = with_writes(machine.append("board.fail=panic"))
        .boot()
        .unwrap();
    pi.expect("A key restarts the board now", PATIENCE).unwrap();
    pi.expect("10 s.", PATIENCE).unwrap();
    pi.send(b" ").unwrap();
    assert!(pi.wait(PATIENCE).unwrap().success());
    let accesses = accesses(&pi.unexpected_log().unwrap());
    let is_sent = |access: &Access| access.is_write && access.addr == UART_DATA;
    let is_armed =
        |access: &Access| access.is_write && (access.addr, access.value) == (PM_WDOG, SECONDS_15);
    let armed: Vec<_> = (0..accesses.len())
        .filter(|&i| is_armed(&accesses[i]))
        .collect();
    let sent = |from: usize, to: usize| accesses[from..to].iter().filter(|a| is_sent(a)).count();
    // Once for the start, whose lines are sent; then before each byte of the report.
    let [start, end] = [armed[0], armed[1]];
    assert!(start < end && sent(0, start) == 0, "{armed:?}");
    let report = sent(end, accesses.len());
    assert!(report > 100, "{report} bytes");
    assert!(
        armed
            .windows(2)
            .skip(1)
            .all(|two| sent(two[0], two[1]) <= 1)
    );
    assert!(armed.len() > report, "{} for {report} bytes", armed.len());
    // the reset itself
    assert_eq!(accesses.last().map(|access| access.addr), Some(PM_RSTC));
}

#[test]
fn what_was_typed_before_the_report_is_no_answer_to_it() {
    let mut pi = Machine::new(&kernel().image_path)
        .append("board.fail=interrupts board.barrier=2 board.fail=hang=0")
        .boot()
        .unwrap();
    // Core 0, which would take it, hangs: it waits in the FIFO.
    pi.expect("no interrupts arrive", PATIENCE).unwrap();
    pi.send(b"x").unwrap();
    pi.expect("else it restarts in 10 s.", PATIENCE).unwrap();
    let early = pi.wait(Duration::from_secs(2));
    assert!(early.is_err(), "{}", pi.transcript());
    pi.send(b" ").unwrap();
    assert!(pi.wait(PATIENCE).unwrap().success());
}
