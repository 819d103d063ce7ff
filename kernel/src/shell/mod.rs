//! The session with whoever is at the console.

use core::fmt::Write;

use crate::platform::Platform;

/// Talks to the console for ever.
pub fn run(platform: Platform) -> ! {
    let mut serial = platform.serial;
    let _ = writeln!(
        serial,
        "PiLM {}: {}, {} cores, RAM {}, arenas {} MiB, command line {:?}",
        env!("CARGO_PKG_VERSION"),
        platform.info.model(),
        platform.cores.n_alive(),
        platform.info.ram,
        platform.arenas.bytes() >> 20,
        platform.command_line,
    );
    loop {
        serial.wait();
        while let Some(byte) = serial.try_read() {
            serial.write(&[byte]);
        }
    }
}
