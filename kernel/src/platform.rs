//! What the shell is given: the machine, ready to use.

use alloc::string::String;

use ops::arena::Line;

use crate::card::Slot;
use crate::core_pool::CorePool;
use crate::info::BoardInfo;

/// The machine.
pub struct Platform {
    /// The cores that came up.
    pub cores: CorePool,
    /// The card slot: nothing is mounted before the first access.
    pub card: Slot,
    /// RAM for models.
    pub arena: &'static mut [Line],
    /// The board.
    pub info: BoardInfo,
    /// `cmdline.txt` and what the firmware added to it; in QEMU the text of `-append`.
    pub command_line: String,
    /// Whether the command line asks for what a report about a board should contain.
    pub logs: bool,
    /// A seed that nobody chose: from the random number generator, or from the time since power-on and the board's
    /// serial number.
    pub entropy: u64,
}
