//! The console on this board.

mod machine;

use crate::panic;
use crate::platform::Platform;
use machine::Machine;

/// Talks to the console until somebody asks for a restart.
pub fn run(platform: Platform) -> ! {
    let machine = Machine::new(
        platform.cores,
        platform.card,
        &platform.info,
        platform.command_line,
        platform.entropy,
    );
    console::run(&machine, platform.arena);
    panic::restart()
}
