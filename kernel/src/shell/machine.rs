//! What the session needs of a machine, on this board.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::{RefCell, RefMut};
use core::ops::Range;

use boot::{hint, layout, pmu};
use drivers::clock::Clock as _;
use drivers::pl011::{self, Divisors};
use drivers::property::ClockId;
use llm::engine::Timer;
use parallel::Cores;
use protocol::event::Phase;
use protocol::facts::{BoardFacts, Health, Stack};
use session::machine::{ModelEntry, SdSlot, TextFile};

use crate::card::{self, CardFile, Slot};
use crate::clock::Clock;
use crate::core_pool::CorePool;
use crate::info::{self, BoardInfo};
use crate::serial::{self, Serial};
use crate::{board, heap, memory};

/// The file with the settings.
const OPTIONS_FILE: &str = "pilm.txt";
/// Longest `pilm.txt` that is read.
const OPTIONS_BYTES: usize = 64 << 10;

/// The board as the session sees it.
pub(super) struct Machine {
    line: Line,
    cores: CorePool,
    slot: RefCell<Slot>,
    facts: BoardFacts,
    info: BoardInfo,
    command_line: String,
    entropy: u64,
}

impl Machine {
    pub(super) fn new(
        cores: CorePool,
        slot: Slot,
        info: BoardInfo,
        command_line: String,
        entropy: u64,
    ) -> Self {
        let facts = facts(&info, &cores, &command_line);
        Self {
            line: Line(Serial),
            cores,
            slot: RefCell::new(slot),
            facts,
            info,
            command_line,
            entropy,
        }
    }
}

fn facts(board: &BoardInfo, cores: &CorePool, command_line: &str) -> BoardFacts {
    let commit = option_env!("PILM_COMMIT").unwrap_or("unknown commit");
    let missing = layout::N_CORES - cores.n_alive();
    BoardFacts {
        version: alloc::format!("{} ({commit})", env!("CARGO_PKG_VERSION")),
        name: board.model().to_string(),
        revision: board.revision,
        ram_bytes: board.ram.iter().map(|range| range.end - range.start).sum(),
        cores: cores.n_alive(),
        // What the mailbox says is an echo: cycles against the fixed counter are the truth.
        clock_hz: if board.emulated {
            0
        } else {
            info::measure_core_hz()
        },
        max_baud: Some(Divisors::max_baud(uart_clock_hz())),
        emulated: board.emulated,
        gpu_firmware: board.firmware_revision,
        command_line: Some(command_line.to_string()),
        warnings: match missing {
            0 => Vec::new(),
            n => alloc::vec![alloc::format!("{n} cores did not come up")],
        },
    }
}

/// The clock that the speeds of the serial line are made of.
fn uart_clock_hz() -> u32 {
    let reported = board::mailbox().lock().clock_rate_hz(ClockId::Uart).ok();
    pl011::believable_clock_hz(reported)
}

/// The UART as a serial line.
struct Line(Serial);

impl console::Serial for Line {
    fn read(&self) -> Option<u8> {
        self.0.read()
    }

    fn write(&self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn wait(&self) {
        self.0.wait();
    }

    fn is_behind(&self) -> bool {
        self.0.is_behind()
    }

    fn take_interrupt(&self) -> bool {
        let interrupted = self.0.is_interrupted();
        if interrupted {
            self.0.clear_interrupted();
        }
        interrupted
    }
}

impl session::Machine for Machine {
    type CardError = card::Error;
    type Source<'p> = CardFile<'p>;

    fn now_us(&self) -> u64 {
        Clock.now_us()
    }

    fn timer(&self) -> Timer {
        || Clock.now_us()
    }

    fn cores(&self, n: Option<usize>) -> &dyn Cores {
        self.cores.set_n_cores(n.unwrap_or(usize::MAX));
        &self.cores
    }

    fn facts(&self) -> &BoardFacts {
        &self.facts
    }

    fn health(&self) -> Health {
        let board = info::Health::ask();
        let heap = heap::usage();
        let stacks = (0..self.cores.n_alive()).map(|core| {
            let [_, main] = layout::mapped_stacks(core);
            Stack {
                used_bytes: layout::stack_used_bytes(core),
                bytes: main.len(),
            }
        });
        Health {
            celsius: board.temperature_milli_c.map(|milli| milli as f32 / 1000.0),
            throttled: board.throttled.map(|throttled| throttled.0),
            heap_used_bytes: Some(heap.used_bytes),
            heap_bytes: Some(heap.total_bytes),
            stacks: stacks.collect(),
            // A load has it.
            card: self.slot.try_borrow().ok().map(|slot| slot.to_string()),
        }
    }

    fn details(&self) -> String {
        self.info.details().to_string()
    }

    fn heap_used_bytes(&self) -> Option<usize> {
        Some(heap::usage().used_bytes)
    }

    fn models(&self) -> Result<Vec<ModelEntry>, card::Error> {
        let mut slot = self.slot.borrow_mut();
        // Another card may be in the slot by now.
        slot.unmount();
        let files = slot.models()?.into_iter().map(|entry| ModelEntry {
            name: entry.name,
            len_bytes: entry.len_bytes,
        });
        Ok(files.collect())
    }

    fn open_model(&self, name: &str) -> Result<CardFile<'_>, card::Error> {
        CardFile::open(self.slot.borrow_mut(), name)
    }

    fn text_file(&self, name: &str, limit_bytes: usize) -> Result<TextFile, card::Error> {
        let mut slot = self.slot.borrow_mut();
        // Another card may be in the slot by now.
        slot.unmount();
        match slot.read(name, limit_bytes) {
            Ok(bytes) => Ok(TextFile::Whole(bytes)),
            Err(card::Error::Storage(storage::Error::NotFound { .. })) => Ok(TextFile::Absent),
            Err(card::Error::TooLong { len_bytes, .. }) => Ok(TextFile::TooLong { len_bytes }),
            Err(error) => Err(error),
        }
    }

    fn sd_slot(&self) -> Option<RefMut<'_, dyn SdSlot<Error = card::Error>>> {
        Some(RefMut::map(self.slot.borrow_mut(), |slot| {
            slot as &mut dyn SdSlot<Error = card::Error>
        }))
    }

    fn set_read_only(&self, addresses: Range<usize>, read_only: bool) {
        let range = addresses.start as u64..addresses.end as u64;
        // Arenas are whole blocks: all of them can be changed.
        let changed = memory::set_read_only(range, read_only);
        debug_assert_eq!(changed, Ok(()));
    }

    fn entropy(&self) -> u64 {
        // One number from the generator; the time makes others of it.
        self.entropy ^ Clock.now_us()
    }

    fn irqs_taken(&self) -> Option<u32> {
        Some(board::irqs_taken())
    }

    fn cycles(&self) -> Option<u64> {
        Some(pmu::read().cycles)
    }

    fn hold_output(&self, hold: bool) {
        serial::hold(hold);
    }

    fn mark(&self, phase: Phase) {
        match phase {
            Phase::Other => hint::idle(),
            Phase::Prefill => hint::prefill(),
            Phase::Decode => hint::decode(),
        }
    }
}

impl console::Board for Machine {
    fn serial(&self) -> &dyn console::Serial {
        &self.line
    }

    fn options_file(&self) -> Result<Option<String>, card::Error> {
        match self.slot.borrow_mut().read(OPTIONS_FILE, OPTIONS_BYTES) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(
                error @ (card::Error::TooLong { .. }
                | card::Error::Storage(storage::Error::File { .. })),
            ) => Err(error),
            // The list of models meets the same card and reports what is wrong with it.
            Err(_) => Ok(None),
        }
    }

    fn command_line(&self) -> &str {
        &self.command_line
    }

    fn set_baud(&self, baud: u32) -> bool {
        self.line.0.flush();
        board::set_baud(uart_clock_hz(), baud)
    }

    fn lost_bytes(&self) -> u32 {
        let errors = self.line.0.errors();
        errors.overruns + errors.damaged + errors.dropped
    }
}
