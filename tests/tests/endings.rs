//! How the program ends: a core that hangs is missed, and one that reports the end stops the others.

use qemu::Machine;
use std::time::Duration;
use tests::boot::kernel;

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
