//! Reads, retries and the change to DMA.

use super::fake_host::{FakeHost, Fault, TRAN};
use super::{CRC, init, read, with_dma};
use crate::sd::card::reads::PIECE_BLOCKS;
use crate::sd::card::{CardError, Counters, DEFAULT_SPEED_HZ, Failure};
use crate::sd::host::{HostError, Transfer};

#[test]
fn long_reads_become_few_commands() {
    let mut card = init(FakeHost::sdhc());
    let (blocks, log) = read(&mut card, 10, 2 * PIECE_BLOCKS + 1);
    let expected: Vec<u8> = (10..10 + blocks.len() as u32).map(|b| b as u8).collect();
    assert_eq!(blocks, expected);
    let commands: Vec<String> = (0..8)
        .flat_map(|i| [format!("18 {:x}", 10 + i * 2048), "  2048 blocks".into()])
        .chain(["17 400a".into(), "  1 blocks".into()])
        .collect();
    assert_eq!(log, commands);
    // By DMA four times as many, and blocks that are compared.
    let mut by_dma = init(with_dma());
    let (blocks, log) = read(&mut by_dma, 10, 2 * PIECE_BLOCKS + 1);
    assert_eq!(blocks, expected);
    let long: Vec<_> = log.iter().filter(|line| line.starts_with("18")).collect();
    assert_eq!(long, ["18 a", "18 200a"]);
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
            timeouts: 0,
            mismatches: 0
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
fn a_card_that_stays_silent_is_given_up_in_time_and_not_in_silence() {
    let mut card = init(with_dma());
    card.host.fault_us = 3_000_000;
    card.host.faults = vec![Fault::Host(HostError::DataTimeout { index: 18 }); 99].into();
    card.host.log.clear();
    let start = card.host.time_us.get();
    let error = card.read_blocks(5, &mut [0; 1024]).unwrap_err();
    assert!(matches!(error, CardError::Unreadable { block: 5, .. }));
    let took_us = card.host.time_us.get() - start;
    assert!((8_000_000..12_000_000).contains(&took_us), "{took_us}");
    let told = "the SD card is slow to answer at block 5: still trying";
    assert_eq!(card.host.log.iter().filter(|l| *l == told).count(), 1);
}

#[test]
fn a_card_that_reset_itself_is_started_again_if_it_is_the_same() {
    let mut card = init(with_dma());
    card.host.has_reset_itself = true;
    let (blocks, log) = read(&mut card, 5, 2);
    assert_eq!(blocks, [5, 6]);
    assert!(log.contains(&"power cycle".to_string()));
    assert_eq!((card.n_data_lines(), card.high_speed()), (4, true));
    assert_eq!(card.transfer(), Transfer::Adma2);
    assert_eq!(card.counters().retries, 1);

    card.host.has_reset_itself = true;
    card.host.serial = 1;
    let error = card.read_blocks(5, &mut [0; 1024]).unwrap_err();
    assert_eq!(error, CardError::Exchanged);
}

#[test]
fn a_card_that_counts_otherwise_after_a_restart_is_another_one() {
    let changes: [fn(&mut FakeHost); 2] = [
        |host| host.high_capacity = false,
        |host| host.csd += 1 << 48,
    ];
    for change in changes {
        let mut card = init(FakeHost::sdhc());
        let last = card.n_blocks() - 2;
        card.host.has_reset_itself = true;
        change(&mut card.host);
        let error = card.read_blocks(last, &mut [0; 1024]).unwrap_err();
        assert_eq!(error, CardError::Exchanged);
        assert_eq!(card.n_blocks(), last + 2);
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
fn an_error_that_only_the_stop_reports_is_one() {
    let mut card = init(FakeHost::sdhc());
    let ecc_failed = TRAN | 1 << 21;
    card.host.faults = [Fault::Stop(ecc_failed)].into();
    let (blocks, log) = read(&mut card, 5, 2);
    assert_eq!(blocks, [5, 6]);
    assert_eq!(log.iter().filter(|l| *l == "18 5").count(), 2);
    // The card's end is none.
    let end = card.n_blocks() - 2;
    card.host.faults = [Fault::Stop(TRAN | 1 << 31)].into();
    card.read_blocks(end, &mut [0; 1024]).unwrap();
    assert_eq!(card.counters().retries, 1);
}

#[test]
fn a_card_pulled_out_ends_in_an_error() {
    let mut card = init(FakeHost::sdhc());
    card.host.present = false;
    let error = card.read_blocks(9, &mut [0; 1024]).unwrap_err();
    let cause = HostError::CommandTimeout { index: 13 }.into();
    assert_eq!(error, CardError::Unreadable { block: 9, cause });
}
