//! The console on this board.

mod machine;

use core::fmt::Write;

use crate::card::Slot;
use crate::panic;
use crate::platform::Platform;
use crate::serial::Serial;
use console::sd::SdReport;
use drivers::sd::Modes;
use machine::Machine;
use session::machine::SdSlot;

/// Talks to the console until somebody asks for a restart.
pub fn run(platform: Platform) -> ! {
    let mut card = platform.card;
    let tree = platform.info.tree.nodes.as_ref().ok();
    let bus_base = tree.and_then(|tree| tree.emmc2_dma_base);
    card.set_ways(Modes::of_command_line(&platform.command_line), bus_base);
    if platform.logs {
        log_card(&mut card);
    }
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

/// What controller and card say, in a report about a board.
fn log_card(slot: &mut Slot) {
    let (sd, started) = slot.look();
    let _ = writeln!(Serial, "{}", SdReport(&sd));
    if let Err(error) = started {
        let _ = writeln!(Serial, "{error}");
    }
}
