//! ADMA2, which raspi4b does not have, against an SD controller of QEMU's that has it.

use qemu::Machine;
use std::time::Duration;
use tests::boot::virt_image;
use tests::card::{Card, MODEL};
use xtask::card::CardFile;

/// Bytes that differ from block to block.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(len).collect()
}

#[test]
fn dma_brings_in_what_the_data_port_does() {
    let card = Card::with(&[CardFile::bytes(MODEL, noise(20 << 20))]);
    let machine = Machine::virt(virt_image("adma2")).card(card.path());
    let mut virt = machine.boot().unwrap();
    let status = virt.wait(Duration::from_secs(120)).unwrap();
    let text = virt.transcript();
    assert!(status.success(), "{text}");
    assert!(text.contains("adopted Ok(Some(Identity))"), "{text}");
    let reads: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" bytes at "))
        .collect();
    assert_eq!(reads.len(), 15, "{text}");
    assert!(
        reads
            .iter()
            .all(|line| line.ends_with("Ok(()) Ok(()) same")),
        "{text}"
    );
    assert!(text.contains("repeated 0\n"), "{text}");
}
