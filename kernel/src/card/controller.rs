//! A controller with the board's part, and an initialised card on it.

use drivers::dma::Caches;
use drivers::mmio::Mmio;
use drivers::property::ClockId;
use drivers::sd::adma::{self, DmaMap};
use drivers::sd::base_clock::Question;
use drivers::sd::host::SdHost;
use drivers::sd::registers::Block;
use drivers::sd::{CardError, SdCard, Sdhci, sdhci};
use storage::BlockDevice;

use crate::board;
use crate::clock::Clock;
use crate::memory;

/// What is read both ways before DMA is relied on.
const DMA_TEST_BYTES: usize = 4096;

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
    fn set_expander_gpio(&mut self, gpio: u32, high: bool) -> bool {
        board::mailbox()
            .lock()
            .set_expander_gpio(gpio, high)
            .is_ok()
    }

    fn phys_addr(&self, addr: usize, len: usize) -> Option<usize> {
        memory::physical_addr(addr as u64, len as u64).map(|addr| addr as usize)
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
///
/// The chip's revision tells which addresses it takes. Where it cannot be read, the addresses of the
/// newer stepping come first: on the older one they lead to a time-out, while those of the older one
/// would lead the newer one into somebody's memory.
fn adopt_dma(card: &mut SdCard<Controller>) -> Result<(), CardError> {
    let known = board::chip_revision().map(|revision| [DmaMap::of_chip(revision)]);
    let maps: &[DmaMap] = match &known {
        Some(map) => map,
        None => &[DmaMap::Identity, DmaMap::Alias],
    };
    let mut memory = alloc::vec![0; 2 * DMA_TEST_BYTES + adma::ALIGNMENT];
    let start = memory.as_ptr().align_offset(adma::ALIGNMENT);
    let (by_dma, rest) = memory[start..].split_at_mut(DMA_TEST_BYTES);
    card.adopt_dma(maps, &mut rest[..DMA_TEST_BYTES], by_dma)?;
    Ok(())
}

/// Initialises the card; by PIO alone if DMA has brought the controller into a state that only
/// another initialisation ends.
pub(super) fn start(controller: Controller) -> Result<SdCard<Controller>, (CardError, Controller)> {
    let mut card = SdCard::init_patiently(controller)?;
    if card.host().can_dma() && adopt_dma(&mut card).is_err() {
        let mut controller = card.release();
        controller.use_pio();
        card = SdCard::init_patiently(controller)?;
    }
    Ok(card)
}
