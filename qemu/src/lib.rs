//! A QEMU `raspi4b` owned by a test or a command, and its UART.

#![forbid(unsafe_code)]
