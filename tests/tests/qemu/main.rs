//! Boots of the firmware in QEMU. One program, so that two of them run side by side and it is linked once.

mod adma2;
mod boards;
mod bring_up;
mod bus_errors;
mod cards;
mod commands;
mod console;
mod endings;
mod exceptions;
mod first_instructions;
mod formats;
mod generations;
mod interrupts;
mod kernels;
mod line;
mod line_limits;
mod links;
mod loading;
mod machine_interface;
mod parity;
mod sd_report;
mod watchdog;
mod work;
