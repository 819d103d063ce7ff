//! The console on this board.

mod machine;

use crate::panic;
use crate::platform::Platform;
use drivers::sd::Modes;
use machine::Machine;

/// Talks to the console until somebody asks for a restart.
pub fn run(platform: Platform) -> ! {
    let mut card = platform.card;
    let tree = platform.info.tree.nodes.as_ref().ok();
    let bus_base = tree.and_then(|tree| tree.emmc2_dma_base);
    card.set_ways(Modes::of_command_line(&platform.command_line), bus_base);
    let machine = Machine::new(
        platform.cores,
        card,
        platform.info,
        platform.command_line,
        platform.entropy,
    );
    console::run(&machine, platform.arena);
    panic::restart()
}
