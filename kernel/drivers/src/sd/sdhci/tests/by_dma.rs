//! Transfers by DMA.

use super::fake_words::{FakeSdhci, FakeWords, Outcome, log, ready};
use crate::sd::adma::{self, DmaMap, Table};
use crate::sd::host::{HostError, Notice, SdHost, Transfer};
use crate::sd::protocol::Command;
use crate::sd::registers::{Word, capabilities};
use crate::sd::sdhci::Board;
use crate::sd::sdhci::dma::dma_addr;

#[repr(align(64))]
struct Lines([u8; 2048]);

/// A controller that uses DMA.
fn with_dma(words: &FakeWords, map: DmaMap) -> FakeSdhci<'_> {
    let mut host = ready(words);
    assert!(host.can_dma() && host.use_dma(map));
    assert_eq!(host.transfer(), Transfer::Adma2);
    assert_eq!(log(words), [(Word::HostPower, 0x0F10)]);
    host
}

#[test]
fn dma_needs_the_engine() {
    let mut words = FakeWords::new();
    words.capabilities = capabilities::QEMU;
    let mut host = ready(&words);
    assert!(!host.can_dma() && !host.use_dma(DmaMap::Identity));
    assert_eq!(
        (host.transfer(), host.max_blocks()),
        (Transfer::Pio, 65_535)
    );
    assert_eq!(log(&words), []);
}

#[test]
fn the_data_port_is_at_hand_while_dma_is_in_use() {
    let words = FakeWords::new();
    let mut host = with_dma(&words, DmaMap::Identity);
    let mut buf = Box::new(Lines([0; 2048]));
    words.outcomes.replace([Outcome::Blocks(1)].into());
    host.read_by_port(Command::read_single(7), 512, &mut buf.0[..512])
        .unwrap();
    assert_eq!(buf.0[..4], [4, 5, 6, 7]);
    assert!(log(&words).contains(&(Word::ModeCommand, 0x113A_0010)));
    assert_eq!(host.board.cleaned.take(), []);
    host.tell(Notice::WithoutDma);
    assert_eq!(host.board.told, [Notice::WithoutDma]);
}

#[test]
fn dma_changes_the_host_control_word_and_the_longest_command() {
    let words = FakeWords::new();
    let mut host = with_dma(&words, DmaMap::Identity);
    assert_eq!(host.max_blocks(), 16_384);
    host.set_four_lines();
    host.use_pio();
    assert_eq!(
        (host.transfer(), host.max_blocks()),
        (Transfer::Pio, 65_535)
    );
    assert_eq!(
        log(&words),
        [(Word::HostPower, 0x0F12), (Word::HostPower, 0x0F02)]
    );
}

#[test]
fn a_transfer_by_dma() {
    for (map, alias) in [(DmaMap::Identity, 0), (DmaMap::Alias, 0xC000_0000)] {
        let words = FakeWords::new();
        let mut host = with_dma(&words, map);
        let mut buf = Box::new(Lines([0; 2048]));
        let addr = buf.0.as_ptr().addr();
        let table_addr = core::ptr::from_ref::<Table>(host.table).addr();
        let bus = |addr| host.board.phys_addr(addr, 64).unwrap() as u32 + alias;
        let (bus_buf, bus_table) = (bus(addr), bus(table_addr));
        words.outcomes.replace([Outcome::Status(3)].into());
        host.read(Command::read_multiple(7), 512, &mut buf.0)
            .unwrap();
        assert_eq!(
            log(&words),
            [
                (Word::BlockSizeCount, 0x0004_0200),
                (Word::AdmaAddr, bus_table),
                (Word::IntStatus, 0xFFFF_FFFF),
                (Word::Argument, 7),
                (Word::ModeCommand, 0x123A_0037),
                (Word::IntStatus, 1),
                (Word::IntStatus, 2),
            ]
        );
        let descriptor = host.table.descriptor(0);
        assert_eq!(descriptor, [0x0800_0023, bus_buf]);
        // The buffer before and after, the table before.
        let table = (table_addr, size_of::<Table>());
        assert_eq!(
            host.board.cleaned.take(),
            [(addr, 2048), table, (addr, 2048)]
        );

        words.outcomes.replace([Outcome::Status(3)].into());
        host.read(Command::read_single(7), 512, &mut buf.0[..512])
            .unwrap();
        assert!(log(&words).contains(&(Word::ModeCommand, 0x113A_0013)));
    }
}

#[test]
fn a_transfer_that_fails_is_stopped_before_its_buffer_is_used_again() {
    let stopped = [
        (Word::ClockReset, 0x020E_0207),
        (Word::ClockReset, 0x040E_0207),
    ];
    let cases = [
        (0x0200_8001, HostError::Dma { status: 3 }),
        (0x0001_8000, HostError::CommandTimeout { index: 18 }),
        (0x0000_0001, HostError::DataTimeout { index: 18 }),
    ];
    for (status, error) in cases {
        let words = FakeWords::new();
        let mut host = with_dma(&words, DmaMap::Identity);
        let mut buf = Lines([0; 2048]);
        words.outcomes.replace([Outcome::Status(status)].into());
        let result = host.read(Command::read_multiple(7), 512, &mut buf.0);
        assert_eq!(result, Err(error));
        let log = log(&words);
        assert_eq!(log[log.len() - 2..], stopped);
    }
}

#[test]
fn buffers_that_the_engine_cannot_fill_take_the_data_port() {
    let words = FakeWords::new();
    let mut host = with_dma(&words, DmaMap::Identity);
    let mut buf = Lines([0; 2048]);
    let odd = &mut buf.0[32..544];
    assert!(!host.is_direct(odd));
    words.outcomes.replace([Outcome::Blocks(1)].into());
    host.read(Command::read_single(7), 512, odd).unwrap();
    assert_eq!(odd[..4], [4, 5, 6, 7]);
    assert!(log(&words).contains(&(Word::ModeCommand, 0x113A_0010)));
    assert!(host.is_direct(&buf.0));
    host.board.piece_bytes = 1024;
    assert!(!host.is_direct(&buf.0), "two pieces of physical memory");
    words.log.borrow_mut().clear();
    words.outcomes.replace([Outcome::Blocks(4)].into());
    host.read(Command::read_multiple(7), 512, &mut buf.0)
        .unwrap();
    assert!(log(&words).contains(&(Word::ModeCommand, 0x123A_0036)));
    host.board.piece_bytes = usize::MAX;
    let memory = vec![0; 3 * adma::MAX_BYTES / 2 + 64];
    let long = &memory[memory.as_ptr().align_offset(64)..][..3 * adma::MAX_BYTES / 2];
    assert!(host.is_direct(long));
    host.board.reach_end = long.as_ptr().addr() + adma::MAX_BYTES;
    assert!(
        !host.is_direct(long),
        "it leaves the reach in its second transfer"
    );
    assert!(host.is_direct(&long[..adma::MAX_BYTES]));
    host.use_pio();
    assert!(host.is_direct(&buf.0[32..544]));

    let identity = DmaMap::Identity;
    assert_eq!(dma_addr(identity, 0x1000, 100), None);
    assert_eq!(dma_addr(identity, 0x1000, 0), None);
    assert_eq!(dma_addr(identity, 0x1000, adma::MAX_BYTES + 64), None);
    assert_eq!(dma_addr(DmaMap::Alias, 0x4000_0000, 512), None);
    assert_eq!(dma_addr(identity, 0x4000_0000, 512), Some(0x4000_0000));
}
