//! The firmware in a machine.

use crate::card::Card;
use qemu::Machine;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use xtask::firmware::{self, Firmware};
use xtask::session::Session;
use xtask::setup::emulator;
use xtask::voice::Voice;

/// The release kernel, built when first asked for.
///
/// # Panics
/// It does not build, or there is no QEMU.
pub fn kernel() -> &'static Firmware {
    static KERNEL: OnceLock<Firmware> = OnceLock::new();
    KERNEL.get_or_init(|| build("kernel", "kernel"))
}

/// Builds the test image `binary` of the package `images`.
///
/// # Panics
/// It does not build, or there is no QEMU.
pub fn image(binary: &str) -> Firmware {
    build("images", binary)
}

/// Builds the test image `binary` for QEMU's `virt` machine; its ELF.
///
/// # Panics
/// It does not build, or there is no QEMU.
pub fn virt_image(binary: &str) -> PathBuf {
    let voice = Voice::new(true);
    emulator::ensure(voice)
        .and_then(|()| firmware::build_elf(voice, "images", binary, None))
        .unwrap_or_else(|error| panic!("{error:#}"))
}

fn build(package: &str, binary: &str) -> Firmware {
    let voice = Voice::new(true);
    emulator::ensure(voice)
        .and_then(|()| firmware::build_binary(voice, package, binary))
        .unwrap_or_else(|error| panic!("{error:#}"))
}

/// A machine with the firmware and `card`.
pub fn machine(card: &Card) -> Machine {
    Machine::new(&kernel().image_path).card(card.path())
}

/// Boots the firmware with `card` and waits for its prompt.
///
/// # Panics
/// The prompt does not come.
pub fn boot(card: &Card) -> Session {
    session(&machine(card))
}

/// Boots `machine` and waits for the firmware's prompt.
///
/// # Panics
/// The prompt does not come.
pub fn session(machine: &Machine) -> Session {
    Session::boot(machine).unwrap_or_else(|error| panic!("{error:#}"))
}

/// What the firmware prints with `options` until it has reported its end; a key then restarts it, which ends QEMU.
///
/// # Panics
/// It does not end, or not well.
pub fn end_of(options: &str) -> String {
    let patience = Duration::from_secs(120);
    let machine = Machine::new(&kernel().image_path).append(options);
    let mut pi = machine.boot().expect("QEMU starts");
    pi.expect("A key restarts the board now", patience)
        .unwrap_or_else(|error| panic!("{error}"));
    pi.send(b" ").expect("it listens");
    let status = pi.wait(patience).expect("it ends");
    assert!(status.success());
    pi.transcript()
}

/// Fails if QEMU has logged anything that the allow-list does not explain: accesses to registers that are
/// not there, and the like.
///
/// # Panics
/// There are such lines.
pub fn assert_clean_log(session: &mut Session) {
    let lines = session
        .qemu()
        .unexpected_log()
        .expect("QEMU's log is readable");
    assert!(lines.is_empty(), "QEMU logs:\n{}", lines.join("\n"));
}
