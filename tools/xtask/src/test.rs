//! `cargo xtask test`: all tests, on the host and in QEMU.

use crate::voice::Voice;
use crate::workspace::cargo;
use anyhow::Result;

/// Runs the unit tests of the host, then the tests that boot QEMU.
///
/// # Errors
/// A test fails or does not build.
pub fn test() -> Result<()> {
    let voice = Voice::new(false);
    voice.show("Testing on the host", cargo().arg("test"))?;
    voice.show(
        "Testing in QEMU",
        cargo().args(["test", "--package", "tests"]),
    )
}
