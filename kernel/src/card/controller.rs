//! A controller with the board's part, and an initialised card on it.

use alloc::vec::Vec;

use drivers::dma::Caches;
use drivers::mmio::Mmio;
use drivers::property::ClockId;
use drivers::sd::adma::{self, DmaMap};
use drivers::sd::base_clock::Question;
use drivers::sd::card::PioReason;
use drivers::sd::host::{Notice, SdHost};
use drivers::sd::registers::Block;
use drivers::sd::{CardError, Modes, SdCard, Sdhci, sdhci};
use storage::BlockDevice;

use crate::board;
use crate::clock::Clock;
use crate::memory;
use crate::serial::Serial;

/// What is read both ways before DMA is relied on: three descriptors, the first two of the greatest
/// length, which is written as 0.
const DMA_TEST_BYTES: usize = 192 << 10;

/// Whole cache lines of the heap, which every DMA engine reaches.
pub(super) struct Lines {
    memory: Vec<u8>,
    len_bytes: usize,
}

impl Lines {
    /// `len_bytes` of them, if the heap has room.
    pub(super) fn try_new(len_bytes: usize) -> Option<Self> {
        let mut memory = Vec::new();
        let room = len_bytes + adma::ALIGNMENT;
        memory.try_reserve_exact(room).ok()?;
        memory.resize(room, 0);
        Some(Self { memory, len_bytes })
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        let start = self.memory.as_ptr().align_offset(adma::ALIGNMENT);
        &mut self.memory[start..][..self.len_bytes]
    }
}

/// What DMA writes while it is on trial. Kept: a transfer that went wrong may still write it later.
pub(super) struct TestMemory(Lines);

impl TestMemory {
    pub(super) fn new() -> Self {
        Self(Lines::try_new(DMA_TEST_BYTES).expect("the heap is empty"))
    }
}

/// How cards are started.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ways {
    /// What may be used.
    pub(super) modes: Modes,
    /// First bus address of EMMC2 in the device tree.
    pub(super) bus_base: Option<u64>,
}

/// What the rest of the chip does for one of the controllers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Supply {
    /// The mailbox's name of the base clock, where it has one.
    pub(super) clock: Option<ClockId>,
}

impl Caches for Supply {
    fn clean_and_invalidate(&self, addr: usize, len_bytes: usize) {
        boot::cache::clean_and_invalidate(addr, len_bytes);
    }
}

impl sdhci::Board for Supply {
    fn power_controller(&mut self) {
        // The firmware has done it where it started from the card.
        board::mailbox().lock().power_sd_card().ok();
    }

    fn set_expander_gpio(&mut self, gpio: u32, high: bool) -> bool {
        board::mailbox()
            .lock()
            .set_expander_gpio(gpio, high)
            .is_ok()
    }

    fn phys_addr(&self, addr: usize, len: usize) -> Option<usize> {
        memory::physical_addr(addr as u64, len as u64).map(|addr| addr as usize)
    }

    fn tell(&mut self, notice: Notice) {
        Serial.say(format_args!("{notice}"));
    }

    fn base_clock_hz(&mut self, question: Question) -> Option<u32> {
        let clock = self.clock?;
        let mut mailbox = board::mailbox().lock();
        let hz = match question {
            Question::Measured => mailbox.measured_clock_rate_hz(clock),
            Question::Rate => mailbox.clock_rate_hz(clock),
            Question::Highest => mailbox.max_clock_rate_hz(clock),
        };
        hz.ok()
    }
}

/// A controller of the slot.
pub(super) type Controller = Sdhci<Mmio<Block>, Clock, Supply>;

/// A card as blocks.
pub struct CardBlocks {
    pub(super) card: SdCard<Controller>,
}

impl BlockDevice for CardBlocks {
    type Error = CardError;

    fn n_blocks(&self) -> u64 {
        self.card.n_blocks()
    }

    fn read_blocks(&mut self, first: u64, buf: &mut [u8]) -> Result<(), CardError> {
        self.card.read_blocks(first, buf)
    }

    fn is_direct(&self, buf: &[u8]) -> bool {
        self.card.is_direct(buf)
    }
}

/// Lets the controller write memory, if it can and what it writes is right.
fn adopt_dma(
    card: &mut SdCard<Controller>,
    bus_base: Option<u64>,
    test: &mut TestMemory,
) -> Result<(), CardError> {
    let maps = DmaMap::candidates(board::chip_revision(), bus_base);
    let mut by_pio = alloc::vec![0; DMA_TEST_BYTES];
    card.adopt_dma(maps, &mut by_pio, test.0.bytes())?;
    Ok(())
}

/// Initialises the card; by PIO alone if DMA has brought the controller into a state that only
/// another initialisation ends.
pub(super) fn start(
    controller: Controller,
    ways: Ways,
    test: &mut TestMemory,
) -> Result<SdCard<Controller>, (CardError, Controller)> {
    let mut card = SdCard::init_patiently(controller, ways.modes)?;
    if card.host().can_dma() && adopt_dma(&mut card, ways.bus_base, test).is_err() {
        let mut controller = card.release();
        controller.use_pio();
        controller.tell(Notice::WithoutDma);
        card = SdCard::init_patiently(controller, ways.modes)?;
        card.note_pio(PioReason::TrialUnread);
    }
    Ok(card)
}
