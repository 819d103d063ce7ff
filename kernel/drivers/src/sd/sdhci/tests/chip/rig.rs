//! A chip with its memory, started as the kernel starts it.

use super::Chip;
use crate::dma::shadow::{LINE, ShadowMemory};
use crate::sd::adma::{DmaMap, Table};
use crate::sd::card::{CardError, Modes, SdCard};
use crate::sd::host::SdHost;
use crate::sd::sdhci::Sdhci;

/// Where the table and the buffers of a trial of DMA are.
const TABLE: usize = 0x0010_0000;
const TEST: usize = 0x0020_0000;
const TEST_BYTES: usize = 192 << 10;

pub(in super::super) type Host<'a> = Sdhci<&'a Chip<'a>, &'a Chip<'a>, &'a Chip<'a>>;

/// Whole lines that stay.
pub(in super::super) fn lines(len_bytes: usize) -> &'static mut [u8] {
    let memory = Box::leak(vec![0; len_bytes + LINE].into_boxed_slice());
    let start = memory.as_ptr().align_offset(LINE);
    &mut memory[start..][..len_bytes]
}

/// A controller on `chip`.
pub(in super::super) fn host<'a>(chip: &'a Chip<'a>) -> Host<'a> {
    let table = Box::leak(Box::new(Table::new()));
    chip.memory.map(table, TABLE);
    Sdhci::on(chip, chip, chip, table)
}

/// The card, by DMA if one of `maps` proves right.
pub(in super::super) fn start<'a>(
    chip: &'a Chip<'a>,
    modes: Modes,
    maps: &[DmaMap],
) -> Result<SdCard<Host<'a>>, CardError> {
    let test = lines(TEST_BYTES);
    chip.memory.map(test, TEST);
    let given_up = |(error, _)| error;
    let mut card = SdCard::init_patiently(host(chip), modes).map_err(given_up)?;
    let mut by_pio = vec![0; TEST_BYTES];
    if card.adopt_dma(maps, &mut by_pio, test).is_err() {
        let mut host = card.release();
        host.use_pio();
        card = SdCard::init_patiently(host, modes).map_err(given_up)?;
    }
    Ok(card)
}

/// A chip's memory, to be lent to it.
pub(in super::super) fn memory(seed: u64) -> ShadowMemory {
    ShadowMemory::new(seed)
}
