//! The host tests boot the firmware in QEMU and talk to it: see `tests/`.

#![forbid(unsafe_code)]
