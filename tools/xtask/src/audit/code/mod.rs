//! The instructions of a linked kernel, read by masks: none that the A72 of the board lacks, and before the MMU is on
//! none that needs cached memory.
//!
//! With the MMU off every access is to Device memory: unaligned accesses and `dc zva` are aborts (docs/hardware.md
//! MMU-4), and an exclusive has no monitor. QEMU forgives the last, and has the extensions.

mod before_mmu;
mod flow;
mod text;
mod words;

#[cfg(test)]
mod small_elf;
#[cfg(test)]
mod tests;

use anyhow::{Result, ensure};
use text::Text;

/// Reads the instructions of the kernel `elf`; a line for people.
///
/// # Errors
/// One is forbidden where it stands, or what runs before the MMU is on cannot be told.
pub fn check(elf: &[u8]) -> Result<String> {
    let text = Text::read(elf)?;
    let mut findings = Vec::new();
    let mut n_words = 0;
    for addr in text.code() {
        n_words += 1;
        if let Some(kind) = text.word(addr).ok().and_then(words::lacking) {
            findings.push(format!(
                "{}: {kind}, which the board's cores lack",
                text.at(addr)
            ));
        }
    }
    let early = before_mmu::reached(&text, &before_mmu::START)?;
    for &addr in &early {
        if let Some(kind) = words::needs_cached_memory(text.word(addr)?) {
            findings.push(format!("{}: {kind}, before the MMU is on", text.at(addr)));
        }
    }
    ensure!(findings.is_empty(), "{}", findings.join("\n"));
    Ok(format!(
        "{n_words} instructions: no AES, SHA, PMULL, LSE or dot product; {} of them run before the MMU is on: no \
         exclusive, no ld1 or st1, no dc zva, d and q by aligned offsets from sp only",
        early.len()
    ))
}
