//! Any fault at any moment: the right bytes or an error, in bounded time, and a card that works after.

use super::fake_host::{FakeHost, Fault, TRAN};
use super::init;
use crate::sd::adma::DmaMap;
use crate::sd::host::{HostError, Transfer};

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % n
    }

    fn fault(&mut self) -> Fault {
        let index = 18;
        match self.below(10) {
            0 => Fault::Host(HostError::DataCorrupt { index, status: 0 }),
            1 => Fault::Host(HostError::CommandCorrupt { index, status: 0 }),
            2 => Fault::Host(HostError::DataTimeout { index }),
            3 => Fault::Host(HostError::CommandTimeout { index }),
            4 => Fault::Host(HostError::Dma { status: 1 }),
            5 => Fault::Host(HostError::AutoStop { status: 2 }),
            6 => Fault::Status(TRAN | 1 << 21),
            7 => Fault::Stop(TRAN | 1 << 20),
            _ => Fault::None,
        }
    }
}

/// A storm over one card: how many of its reads came right.
fn storm(seed: u64) -> usize {
    let mut random = Random(seed);
    let mut host = FakeHost::sdhc();
    if random.below(2) == 0 {
        host.transfer = Transfer::Adma2;
        (host.map, host.map_in_use) = (Some(DmaMap::Identity), Some(DmaMap::Identity));
    }
    let names = ["A51", "A6", "6 fffff0", "6 80fffff1"];
    host.refusals = vec![(names[random.below(4) as usize], random.below(5) as usize)];
    let mut card = init(host);
    let mut n_right = 0;
    for _ in 0..8 {
        let n_faults = random.below(40);
        card.host.faults = (0..n_faults).map(|_| random.fault()).collect();
        card.host.fault_us = random.below(1_500_000);
        card.host.has_reset_itself = random.below(4) == 0;
        card.host.states = (0..random.below(4)).map(|_| 0xB00).collect();
        let (first, n) = (random.below(1000), 1 + random.below(100) as usize);
        let start_us = card.host.time_us.get();
        let is_right = is_read(&mut card, first, n, false);
        let took_us = card.host.time_us.get() - start_us;
        // One piece: its limit, and what the attempt then under way takes.
        assert!(took_us < 15_000_000, "seed {seed}: {took_us} us");
        n_right += usize::from(is_right);

        card.host.faults.clear();
        assert!(is_read(&mut card, first, n, true), "seed {seed}: usable");
    }
    n_right
}

/// Whether the blocks come in; whatever comes in is right.
fn is_read(card: &mut super::SdCard<FakeHost>, first: u64, n: usize, must: bool) -> bool {
    let mut buf = vec![0xDD; n * 512];
    let read = card.read_blocks(first, &mut buf);
    if let Err(error) = read {
        assert!(!must, "{error}");
        return false;
    }
    for (i, block) in buf.chunks(512).enumerate() {
        let number = (first + i as u64) as u8;
        assert!(block.iter().all(|&byte| byte == number), "block {i}");
    }
    true
}

#[test]
fn right_bytes_or_an_error_in_bounded_time() {
    let n_right: usize = (1..=300).map(storm).sum();
    assert!((1..2400).contains(&n_right), "{n_right} of 2400: no storm");
}
