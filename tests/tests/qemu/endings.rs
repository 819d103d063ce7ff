//! How the program ends: a core that hangs is missed, and one that reports the end stops the others.

use qemu::Machine;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;
use tests::boot::kernel;
use tests::monitor::MonitorSocket;
use xtask::symbols::functions;

const PATIENCE: Duration = Duration::from_secs(120);

/// What the firmware prints with `options` until it has reported its end; a key then restarts it, which ends QEMU.
fn end_of(options: &str) -> String {
    let mut pi = Machine::new(&kernel().image_path)
        .append(options)
        .boot()
        .unwrap();
    pi.expect("A key restarts the board now", PATIENCE).unwrap();
    pi.send(b" ").unwrap();
    let status = pi.wait(PATIENCE).unwrap();
    assert!(status.success());
    pi.transcript()
}

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
    let stop = addresses_of("kernel::ending::stop");
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
        pi.expect("else it restarts in 10 s.", PATIENCE).unwrap();
        // Who goes on would be heard now.
        pi.expect("never said", Duration::from_secs(1)).unwrap_err();
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
