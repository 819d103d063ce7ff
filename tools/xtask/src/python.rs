//! `cargo xtask python`: the tests of the client in `tools/python`, against a QEMU at a pseudo-terminal.

use anyhow::Result;

/// Boots the firmware with a tiny model and runs the tests.
///
/// # Errors
/// Python or pyserial cannot be had, or a test fails.
#[cfg(unix)]
pub fn test() -> Result<()> {
    use crate::card::{self, CardFile, MIN_BYTES};
    use crate::parity::environment::Environment;
    use crate::setup::emulator;
    use crate::voice::Voice;
    use crate::workspace::{output_dir, root};
    use crate::{firmware, image};
    use link::pty::{Pty, carry};
    use ops::GgmlType;
    use pilm::synth::{self, Shape};
    use qemu::Machine;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;
    use tempfile::Builder;

    let voice = Voice::new(false);
    let folder = "tools/python";
    let environment =
        Environment::make(voice, "python-environment", folder, "Installing pyserial")?;
    emulator::ensure(voice)?;
    let firmware = firmware::build(voice)?;
    let card = Builder::new()
        .prefix("python-")
        .suffix(".img")
        .tempfile_in(output_dir())?;
    let mut files = image::firmware_files(&firmware);
    let model = synth::bytes(&Shape::llama_grouped(), GgmlType::Q8_0);
    files.push(CardFile::bytes("tiny.gguf", model));
    card::write(card.path(), MIN_BYTES, &files, &mut |_| {})?;

    let mut pty = Pty::open()?;
    let mut tests = environment.python();
    tests
        .args(["-m", "unittest", "-v"])
        .current_dir(root().join(folder))
        .env("PILM_PORT", pty.path());
    let machine = Machine::new(&firmware.image_path).card(card.path());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let carrier = scope.spawn(|| -> Result<()> {
            let mut qemu = machine.boot()?;
            while !is_over.load(Ordering::Relaxed) {
                carry(&mut qemu, &mut pty, Duration::from_millis(5))?;
            }
            Ok(())
        });
        let tested = voice.show("Testing the client in Python", &mut tests);
        is_over.store(true, Ordering::Relaxed);
        carrier.join().expect("it does not panic")?;
        tested
    })
}

/// This system has no pseudo-terminals.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn test() -> Result<()> {
    anyhow::bail!("this system has no pseudo-terminals")
}
