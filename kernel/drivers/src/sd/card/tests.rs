//! The card against a scripted host.

mod dma;
mod fake_host;
mod reads;
mod starts;
mod storms;

use super::{CardError, SdCard};
use crate::sd::adma::DmaMap;
use crate::sd::host::{HostError, Transfer};
use fake_host::{FakeHost, Fault};

const CRC: Fault = Fault::Host(HostError::DataCorrupt {
    index: 18,
    status: 0x0020_8000,
});

/// A card that is read by DMA.
fn with_dma() -> FakeHost {
    let mut host = FakeHost::sdhc();
    host.transfer = Transfer::Adma2;
    (host.map, host.map_in_use) = (Some(DmaMap::Identity), Some(DmaMap::Identity));
    host
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
