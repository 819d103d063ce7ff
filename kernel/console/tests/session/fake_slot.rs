//! A card slot without hardware: says what it is told to say.

use crate::bench_board::NoCard;
use protocol::event::{BaseClock, Sd, SdCard, SdErrors, SdTransfer, SdWords};
use session::machine::{SdPiece, SdReading, SdSlot};

/// What a piece takes by DMA, and by the data port.
const DMA_US: u64 = 100_000;
const PIO_US: u64 = 400_000;

/// The slot.
pub struct FakeSlot {
    /// The size of the card; none is in the slot without it.
    pub card_bytes: Option<u64>,
    /// From this byte on no DMA.
    pub dma_ends: u64,
    /// A byte that DMA brings in wrongly.
    pub wrong_byte: Option<u64>,
    /// A byte that cannot be read.
    pub bad_byte: Option<u64>,
    /// Where each piece began, its length, and whether it was read by the data port too.
    pub log: Vec<(u64, usize, bool)>,
}

impl FakeSlot {
    /// A card that is read by DMA.
    pub fn new(card_bytes: u64) -> Self {
        Self {
            card_bytes: Some(card_bytes),
            dma_ends: u64::MAX,
            wrong_byte: None,
            bad_byte: None,
            log: Vec::new(),
        }
    }
}

fn words(words: [&str; 4]) -> SdWords {
    let [present, host_power, clock_reset, auto_host2] = words.map(String::from);
    SdWords {
        present,
        host_power,
        clock_reset,
        auto_host2,
    }
}

impl SdSlot for FakeSlot {
    type Error = NoCard;

    fn look(&mut self) -> (Sd, Result<(), NoCard>) {
        let by_dma = self.dma_ends > 0;
        let card = self.card_bytes.map(|bytes| SdCard {
            ocr: "c0ff8000".into(),
            cid: "03534453553332478012345678015700".into(),
            csd: "400e00325b59000001ff7f800a400000".into(),
            scr: Some("0235800000000000".into()),
            switch_status: None,
            bytes,
            clock_hz: 50_000_000,
            data_lines: 4,
            high_speed: true,
            transfer: if by_dma {
                SdTransfer::Dma
            } else {
                SdTransfer::Pio
            },
            dma_map: by_dma.then(|| "identity".into()),
            pio_reason: (!by_dma).then(|| "no_engine".into()),
            errors: SdErrors::default(),
        });
        let started = card.as_ref().map(|_| ()).ok_or(NoCard);
        let sd = Sd {
            controller: "EMMC2".into(),
            controller_version: "1002".into(),
            capabilities: ["45ee6432".into(), "0000a525".into()],
            words_as_left: Some(words(["1fff0000", "00800f06", "000e0107", "00000000"])),
            words: words(["1fff0000", "00000f16", "000e0207", "00000000"]),
            base_clock: BaseClock {
                measured_hz: Some(100_000_496),
                rate_hz: None,
                highest_hz: Some(200_000_000),
                hz: 100_000_000,
                source: "measured".into(),
            },
            io_3v3: true,
            card_power: true,
            card,
        };
        (sd, started)
    }

    fn read(&mut self, offset: u64, len_bytes: usize, by_pio: bool) -> Result<SdPiece, NoCard> {
        self.log.push((offset, len_bytes, by_pio));
        let end = offset + len_bytes as u64;
        let is_here = |byte: &u64| (offset..end).contains(byte);
        if self.bad_byte.is_some_and(|byte| is_here(&byte)) {
            return Err(NoCard);
        }
        let reading = |us, retries| SdReading {
            us,
            errors: SdErrors {
                retries,
                crc_errors: retries,
                timeouts: 0,
                mismatches: 0,
            },
        };
        let dma = (end <= self.dma_ends).then(|| reading(DMA_US, u32::from(offset == 0)));
        let is_compared = by_pio && dma.is_some();
        let wrong = self.wrong_byte.filter(|byte| is_compared && is_here(byte));
        Ok(SdPiece {
            dma,
            pio: by_pio.then(|| reading(PIO_US, 0)),
            compared_bytes: if is_compared { len_bytes } else { 0 },
            differing_bytes: usize::from(wrong.is_some()),
            first_difference: wrong.map(|byte| (byte - offset) as usize),
        })
    }
}
