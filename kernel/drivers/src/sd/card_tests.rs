//! The card against a scripted host: a model of a card that logs every command and fails on demand.

use std::cell::Cell;
use std::collections::VecDeque;

use super::*;
use crate::sd::host::Clock;
use crate::sd::protocol::ResponseKind;

/// What the host does with one read command of data blocks.
#[derive(Clone, Copy)]
enum Fault {
    None,
    Host(HostError),
    Status(u32),
}

struct FakeHost {
    time_us: Cell<u64>,
    log: Vec<String>,
    present: bool,
    version_2: bool,
    high_capacity: bool,
    ocr_voltages: u32,
    polls_until_ready: u32,
    csd: u128,
    scr: [u8; 8],
    offers_high_speed: bool,
    accepts_high_speed: bool,
    locked: bool,
    /// One entry per data read; afterwards all succeed.
    faults: VecDeque<Fault>,
    /// Card states that CMD13 reports, then `Transfer` for ever.
    states: VecDeque<u32>,
    transfer: Transfer,
    /// The map under which DMA brings in the card's bytes; under the other one nothing arrives.
    map: Option<DmaMap>,
    map_in_use: Option<DmaMap>,
    max_blocks: usize,
    app: bool,
}

const TRAN: u32 = 0x900;

impl FakeHost {
    /// A card of 4 GiB as the shops have them.
    fn sdhc() -> Self {
        Self {
            time_us: Cell::new(0),
            log: Vec::new(),
            present: true,
            version_2: true,
            high_capacity: true,
            ocr_voltages: 0x00FF_8000,
            polls_until_ready: 0,
            csd: 1 << 126 | 0x5B5 << 84 | 8191 << 48,
            scr: [2, 0x35, 0x80, 0, 0, 0, 0, 0],
            offers_high_speed: true,
            accepts_high_speed: true,
            locked: false,
            faults: VecDeque::new(),
            states: VecDeque::new(),
            transfer: Transfer::Pio,
            map: None,
            map_in_use: None,
            max_blocks: 65_535,
            app: false,
        }
    }

    /// A byte-addressed card of 64 MiB.
    fn sdsc() -> Self {
        Self {
            high_capacity: false,
            csd: 0x5B5 << 84 | 9 << 80 | 2047 << 62 | 4 << 47,
            ..Self::sdhc()
        }
    }

    fn answer(&mut self, command: Command) -> Result<Response, HostError> {
        let index = command.index;
        let silence = Err(HostError::CommandTimeout { index });
        let app = std::mem::take(&mut self.app);
        let short = |short| Ok(Response { short, long: 0 });
        if index == 0 {
            return Ok(Response::default());
        }
        if !self.present {
            return silence;
        }
        match (app, index) {
            (_, 8) if !self.version_2 => silence,
            (_, 8) => short(command.argument),
            (_, 55) => {
                self.app = true;
                // A card before version 2.00 still reports CMD8 as illegal here.
                short(if self.version_2 { 0x120 } else { 0x0040_0120 })
            }
            (true, 41) if self.polls_until_ready > 0 => {
                self.polls_until_ready -= 1;
                short(self.ocr_voltages)
            }
            (true, 41) => {
                let ccs = if self.high_capacity { 1 << 30 } else { 0 };
                short(1 << 31 | ccs | self.ocr_voltages)
            }
            (_, 2) => Ok(Response {
                short: 0,
                long: 0x0353_4453_5533_3247_8012_3456_7801_5700,
            }),
            (_, 3) => short(0xB368_0500),
            (_, 9) => Ok(Response {
                short: 0,
                long: self.csd,
            }),
            (_, 7) => short(if self.locked { 1 << 25 | 0x700 } else { 0x700 }),
            (_, 13) => short(self.states.pop_front().unwrap_or(TRAN)),
            _ => short(TRAN),
        }
    }

    fn note(&mut self, command: Command) {
        let prefix = if self.app { "A" } else { "" };
        self.log
            .push(format!("{prefix}{} {:x}", command.index, command.argument));
    }
}

impl Clock for FakeHost {
    fn now_us(&self) -> u64 {
        self.time_us.set(self.time_us.get() + 1);
        self.time_us.get()
    }

    fn relax(&self) {
        self.time_us.set(self.time_us.get() + 100);
    }
}

impl SdHost for FakeHost {
    fn reset(&mut self) -> Result<(), HostError> {
        self.log.push("reset".into());
        Ok(())
    }

    fn command(&mut self, command: Command) -> Result<Response, HostError> {
        self.note(command);
        self.answer(command)
    }

    fn read(
        &mut self,
        command: Command,
        block_bytes: usize,
        buf: &mut [u8],
    ) -> Result<Response, HostError> {
        assert_eq!(command.response, ResponseKind::Short);
        assert!(buf.len() / block_bytes <= self.max_blocks);
        self.note(command);
        let mut response = self.answer(command)?;
        match command.index {
            51 => buf.copy_from_slice(&self.scr),
            6 => {
                assert_eq!(buf.len(), 64);
                buf.fill(0);
                buf[13] = 1 | u8::from(self.offers_high_speed) << 1;
                let switch = command.argument >> 31 != 0;
                buf[16] = match (switch, self.accepts_high_speed) {
                    (false, _) => 0,
                    (true, true) => 1,
                    (true, false) => 0xF,
                };
            }
            17 | 18 => {
                let blocks = buf.len() / 512;
                self.log.push(format!("  {blocks} blocks"));
                assert_eq!(command.index == 17, blocks == 1);
                match self.faults.pop_front().unwrap_or(Fault::None) {
                    Fault::None
                        if self.transfer == Transfer::Adma2 && self.map_in_use != self.map =>
                    {
                        return Err(HostError::DataTimeout { index: 18 });
                    }
                    Fault::None => {
                        let unit = if self.high_capacity { 1 } else { 512 };
                        assert_eq!(command.argument % unit, 0);
                        for (i, block) in buf.chunks_mut(512).enumerate() {
                            block.fill((command.argument / unit + i as u32) as u8);
                        }
                    }
                    Fault::Host(error) => {
                        buf.fill(0xEE);
                        return Err(error);
                    }
                    Fault::Status(status) => response.short = status,
                }
            }
            other => panic!("CMD{other} has no data"),
        }
        Ok(response)
    }

    fn set_clock_hz(&mut self, max_hz: u32) -> Result<u32, HostError> {
        self.log.push(format!("clock {max_hz}"));
        Ok(max_hz)
    }

    fn set_four_lines(&mut self) {
        self.log.push("four lines".into());
    }

    fn set_high_speed(&mut self, on: bool) {
        self.log.push(format!("high speed {on}"));
    }

    fn reset_lines(&mut self) -> Result<(), HostError> {
        self.log.push("reset lines".into());
        Ok(())
    }

    fn max_blocks(&self) -> usize {
        self.max_blocks
    }

    fn transfer(&self) -> Transfer {
        self.transfer
    }

    fn use_dma(&mut self, map: DmaMap) -> bool {
        self.log.push(format!("dma {map:?}"));
        self.map_in_use = Some(map);
        self.transfer = Transfer::Adma2;
        self.map.is_some()
    }

    fn is_direct(&self, buf: &[u8]) -> bool {
        buf.len().is_multiple_of(512)
    }

    fn use_pio(&mut self) {
        self.log.push("pio".into());
        self.transfer = Transfer::Pio;
    }
}

fn init(host: FakeHost) -> SdCard<FakeHost> {
    SdCard::init(host).map_err(|(error, _)| error).unwrap()
}

fn init_error(host: FakeHost) -> (CardError, FakeHost) {
    SdCard::init(host).map(|_| ()).unwrap_err()
}

/// Reads and returns the log of that read alone.
fn read(card: &mut SdCard<FakeHost>, first: u64, n: usize) -> (Vec<u8>, Vec<String>) {
    card.host.log.clear();
    let mut buf = vec![0; n * 512];
    card.read_blocks(first, &mut buf).unwrap();
    let firsts = buf.chunks(512).map(|b| {
        assert!(b.iter().all(|&x| x == b[0]));
        b[0]
    });
    (firsts.collect(), card.host.log.clone())
}

#[test]
fn high_capacity_card_comes_up_in_high_speed() {
    let card = init(FakeHost::sdhc());
    let expected = [
        "reset",
        "0 0",
        "8 1aa",
        "55 0",
        "A41 40ff8000",
        "2 0",
        "3 0",
        "9 b3680000",
        "clock 25000000",
        "7 b3680000",
        "55 b3680000",
        "A51 0",
        "55 b3680000",
        "A6 2",
        "four lines",
        "6 fffff0",
        "6 80fffff1",
        "high speed true",
        "clock 50000000",
    ];
    assert_eq!(card.host.log, expected);
    assert_eq!(card.n_blocks(), (4 << 30) / 512);
    assert_eq!(card.addressing(), Addressing::Blocks);
    assert_eq!((card.n_data_lines(), card.high_speed()), (4, true));
    assert_eq!(card.clock_hz(), HIGH_SPEED_HZ);
    assert_eq!(&card.cid().name, b"SU32G");
}

#[test]
fn byte_addressed_card_gets_a_block_length_and_byte_addresses() {
    let mut card = init(FakeHost::sdsc());
    assert!(card.host.log.contains(&"16 200".to_string()));
    assert_eq!(card.n_blocks(), (64 << 20) / 512);
    let (blocks, log) = read(&mut card, 3, 2);
    assert_eq!(blocks, [3, 4]);
    assert_eq!(log, ["18 600", "  2 blocks"]);
}

#[test]
fn slow_cards_are_polled_every_ten_milliseconds() {
    let mut host = FakeHost::sdhc();
    host.polls_until_ready = 30;
    let card = init(host);
    let polls = card.host.log.iter().filter(|l| l.starts_with("A41"));
    assert_eq!(polls.count(), 31);
    assert!(card.host.time_us.get() >= 300_000);
}

#[test]
fn a_card_that_never_gets_ready_is_given_up() {
    let mut host = FakeHost::sdhc();
    host.polls_until_ready = u32::MAX;
    let (error, host) = init_error(host);
    assert_eq!(error, CardError::NeverReady { ocr: 0x00FF_8000 });
    assert!((2_000_000..2_100_000).contains(&host.time_us.get()));
}

#[test]
fn an_empty_slot_is_no_card() {
    let mut host = FakeHost::sdhc();
    host.present = false;
    let (error, host) = init_error(host);
    assert_eq!(error, CardError::NoCard);
    assert_eq!(host.log, ["reset", "0 0", "8 1aa", "reset lines", "55 0"]);
}

#[test]
fn a_card_of_version_1_has_no_cmd8_and_no_cmd6() {
    let mut host = FakeHost::sdsc();
    host.version_2 = false;
    host.scr = [0, 0xA1, 0, 0, 0, 0, 0, 0];
    let card = init(host);
    assert!(card.host.log.contains(&"A41 ff8000".to_string()));
    assert!(!card.host.log.iter().any(|l| l.starts_with("6 ")));
    assert_eq!((card.n_data_lines(), card.high_speed()), (1, false));
    assert_eq!(card.clock_hz(), DEFAULT_SPEED_HZ);
}

#[test]
fn high_speed_needs_the_offer_and_the_confirmation() {
    let mut host = FakeHost::sdhc();
    host.offers_high_speed = false;
    let card = init(host);
    assert!(!card.high_speed() && !card.host.log.contains(&"6 80fffff1".to_string()));
    let mut host = FakeHost::sdhc();
    host.accepts_high_speed = false;
    let card = init(host);
    assert!(!card.high_speed() && card.host.log.contains(&"6 80fffff1".to_string()));
    assert_eq!(card.clock_hz(), DEFAULT_SPEED_HZ);
}

#[test]
fn cards_that_cannot_be_used_are_named() {
    let mut host = FakeHost::sdhc();
    host.locked = true;
    assert_eq!(init_error(host).0, CardError::Locked);
    let mut host = FakeHost::sdhc();
    host.ocr_voltages = 0x0000_8000;
    assert_eq!(
        init_error(host).0,
        CardError::Voltage {
            answer: 0xC000_8000
        }
    );
    let mut host = FakeHost::sdhc();
    host.csd = 2 << 126;
    assert_eq!(init_error(host).0, CardError::UnknownCsd { version: 2 });
}

#[test]
fn long_reads_become_few_commands() {
    let mut card = init(FakeHost::sdhc());
    let (blocks, log) = read(&mut card, 10, 2 * PIECE_BLOCKS + 1);
    let expected: Vec<u8> = (10..10 + blocks.len() as u32).map(|b| b as u8).collect();
    assert_eq!(blocks, expected);
    assert_eq!(
        log,
        [
            "18 a",
            "  8192 blocks",
            "18 200a",
            "  8192 blocks",
            "17 400a",
            "  1 blocks"
        ]
    );
    card.host.max_blocks = 3;
    assert_eq!(
        read(&mut card, 0, 7).1,
        [
            "18 0",
            "  3 blocks",
            "18 3",
            "  3 blocks",
            "17 6",
            "  1 blocks"
        ]
    );
}

#[test]
fn reads_beyond_the_end_are_refused() {
    let mut card = init(FakeHost::sdhc());
    let n_blocks = card.n_blocks();
    let mut buf = [0; 1024];
    for block in [n_blocks - 1, n_blocks, u64::MAX] {
        let error = card.read_blocks(block, &mut buf).unwrap_err();
        assert_eq!(error, CardError::OutOfRange { block, n_blocks });
    }
    card.read_blocks(n_blocks - 2, &mut buf).unwrap();
}

const CRC: Fault = Fault::Host(HostError::DataCorrupt {
    index: 18,
    status: 0x0020_8000,
});

#[test]
fn a_crc_error_is_retried_after_a_reset_of_the_lines() {
    let mut card = init(FakeHost::sdhc());
    card.host.faults = [CRC].into();
    let (blocks, log) = read(&mut card, 5, 2);
    assert_eq!(blocks, [5, 6]);
    assert_eq!(
        log,
        [
            "18 5",
            "  2 blocks",
            "reset lines",
            "13 b3680000",
            "18 5",
            "  2 blocks"
        ]
    );
    assert_eq!(
        card.counters(),
        Counters {
            retries: 1,
            crc_errors: 1,
            timeouts: 0
        }
    );
}

#[test]
fn a_card_still_sending_is_stopped_by_hand() {
    let mut card = init(FakeHost::sdhc());
    card.host.faults = [Fault::Host(HostError::DataTimeout { index: 18 })].into();
    // Sending data, then still busy, then ready.
    card.host.states = [0xB00, 0xE00].into();
    let (_, log) = read(&mut card, 5, 2);
    assert_eq!(
        log[2..],
        [
            "reset lines",
            "13 b3680000",
            "12 0",
            "reset lines",
            "13 b3680000",
            "reset lines",
            "13 b3680000",
            "18 5",
            "  2 blocks"
        ]
    );
    assert_eq!(card.counters().timeouts, 1);
}

#[test]
fn after_three_failures_the_clock_is_halved_and_stays_so() {
    let mut card = init(FakeHost::sdhc());
    card.host.faults = [CRC; 3].into();
    let (blocks, log) = read(&mut card, 5, 2);
    assert_eq!(blocks, [5, 6]);
    assert_eq!(log.iter().filter(|l| *l == "clock 25000000").count(), 1);
    assert_eq!(card.clock_hz(), DEFAULT_SPEED_HZ);
    card.host.faults = [CRC; 3].into();
    let (_, log) = read(&mut card, 5, 2);
    assert!(!log.iter().any(|l| l.starts_with("clock")));
}

#[test]
fn after_dma_comes_pio() {
    let mut host = FakeHost::sdhc();
    host.transfer = Transfer::Adma2;
    (host.map, host.map_in_use) = (Some(DmaMap::Identity), Some(DmaMap::Identity));
    let mut card = init(host);
    card.host.faults = [Fault::Host(HostError::Dma { status: 1 }); 3].into();
    let (blocks, log) = read(&mut card, 5, 2);
    assert_eq!(blocks, [5, 6]);
    assert!(log.contains(&"pio".to_string()));
    assert!(!log.iter().any(|l| l.starts_with("clock")));
    assert_eq!(card.transfer(), Transfer::Pio);
}

#[test]
fn dma_is_adopted_only_where_it_brings_in_what_pio_does() {
    use DmaMap::{Alias, Identity};
    for (map, maps, expected) in [
        (Some(Identity), &[Identity][..], Some(Identity)),
        (Some(Alias), &[Identity, Alias], Some(Alias)),
        (Some(Alias), &[Identity], None),
        (None, &[Identity, Alias], None),
        (Some(Identity), &[], None),
    ] {
        let mut card = init(FakeHost::sdhc());
        card.host.map = map;
        let (mut by_pio, mut by_dma) = ([0; 1024], [0; 1024]);
        let adopted = card.adopt_dma(maps, &mut by_pio, &mut by_dma).unwrap();
        assert_eq!(adopted, expected);
        let transfer = if expected.is_some() {
            Transfer::Adma2
        } else {
            Transfer::Pio
        };
        assert_eq!(card.transfer(), transfer);
        assert_eq!(read(&mut card, 5, 2).0, [5, 6]);
        assert_eq!(card.counters().retries, 0);
    }
}

#[test]
fn single_blocks_are_the_last_resort_and_each_has_its_tries() {
    let mut card = init(FakeHost::sdhc());
    let mut faults = vec![CRC; 6];
    faults.extend([Fault::None, CRC, CRC, Fault::None, CRC, CRC, Fault::None]);
    card.host.faults = faults.into();
    let (blocks, log) = read(&mut card, 5, 3);
    assert_eq!(blocks, [5, 6, 7]);
    let singles: Vec<_> = log.iter().filter(|l| l.starts_with("17")).collect();
    assert_eq!(
        singles,
        ["17 5", "17 6", "17 6", "17 6", "17 7", "17 7", "17 7"]
    );
}

#[test]
fn a_block_that_stays_bad_is_named() {
    let mut card = init(FakeHost::sdhc());
    let ecc_failed = TRAN | 1 << 21;
    let mut faults = vec![CRC; 6];
    faults.push(Fault::None);
    faults.extend([Fault::Status(ecc_failed); 3]);
    card.host.faults = faults.into();
    let mut buf = [0; 1536];
    let error = card.read_blocks(5, &mut buf).unwrap_err();
    let cause = Failure::Card { status: ecc_failed };
    assert_eq!(error, CardError::Unreadable { block: 6, cause });
    assert_eq!(
        error.to_string(),
        "SD card block 6 cannot be read: the card reports 0x00200900: re-insert the card or use another"
    );
}

#[test]
fn a_card_pulled_out_ends_in_an_error() {
    let mut card = init(FakeHost::sdhc());
    card.host.present = false;
    let error = card.read_blocks(9, &mut [0; 1024]).unwrap_err();
    let cause = HostError::CommandTimeout { index: 13 }.into();
    assert_eq!(error, CardError::Unreadable { block: 9, cause });
}

#[test]
fn every_error_is_one_line_that_says_what_to_do() {
    let errors = [
        CardError::NoCard,
        CardError::Voltage { answer: 1 },
        CardError::NeverReady { ocr: 1 },
        CardError::Locked,
        CardError::UnknownCsd { version: 2 },
        CardError::Refused {
            index: 7,
            status: 1,
        },
        CardError::Host(HostError::LinesBusy { present: 1 }),
    ];
    for error in errors {
        let line = error.to_string();
        assert!(!line.contains('\n') && line.contains(": "), "{line}");
    }
}
