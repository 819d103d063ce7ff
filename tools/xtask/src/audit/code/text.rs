//! The section `.text` of an ELF: instructions and data told apart, addresses by their names.

use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeMap;

/// `.text` with its marks.
pub struct Text {
    start: u64,
    bytes: Vec<u8>,
    /// Where code (or data) begins: the mapping symbols `$x` and `$d` (ELF for the Arm 64-bit Architecture, 5.5.4).
    is_code_from: BTreeMap<u64, bool>,
    labels: BTreeMap<u64, Vec<String>>,
}

impl Text {
    /// Reads a linked kernel.
    ///
    /// # Errors
    /// No ELF, no `.text`, or no mapping symbols: then code and data could not be told apart.
    pub fn read(elf: &[u8]) -> Result<Text> {
        let file = object::File::parse(elf).context("not an ELF file")?;
        let section = file.section_by_name(".text").context("no .text")?;
        let mut is_code_from = BTreeMap::new();
        let mut labels = BTreeMap::<u64, Vec<String>>::new();
        for symbol in file.symbols() {
            let name = symbol.name().unwrap_or_default();
            if symbol.section_index() != Some(section.index()) || name.is_empty() {
                continue;
            }
            match name.split('.').next() {
                // where both stand at one address, it is code: a finding too many is better than one too few
                Some("$x") => _ = is_code_from.insert(symbol.address(), true),
                Some("$d") => _ = is_code_from.entry(symbol.address()).or_insert(false),
                _ => labels
                    .entry(symbol.address())
                    .or_default()
                    .push(name.to_owned()),
            }
        }
        ensure!(
            is_code_from.values().any(|&is_code| is_code),
            ".text has no mapping symbols: instructions and data cannot be told apart"
        );
        Ok(Text {
            start: section.address(),
            bytes: section.data()?.to_vec(),
            is_code_from,
            labels,
        })
    }

    /// The addresses of all instructions.
    pub fn code(&self) -> impl Iterator<Item = u64> {
        let end = self.start + self.bytes.len() as u64;
        (self.start..end)
            .step_by(4)
            .filter(|&addr| self.is_code(addr))
    }

    /// Whether an instruction stands at `addr`. What comes before all marks counts as one.
    pub fn is_code(&self, addr: u64) -> bool {
        self.is_code_from
            .range(..=addr)
            .next_back()
            .is_none_or(|(_, &is_code)| is_code)
    }

    /// The instruction at `addr`.
    ///
    /// # Errors
    /// There is none.
    pub fn word(&self, addr: u64) -> Result<u32> {
        ensure!(
            addr.is_multiple_of(4) && self.is_code(addr),
            "{} is data",
            self.at(addr)
        );
        Ok(u32::from_le_bytes(self.constant(addr)?))
    }

    /// `N` bytes at `addr`, which is a constant's.
    ///
    /// # Errors
    /// It is outside of `.text`.
    pub fn constant<const N: usize>(&self, addr: u64) -> Result<[u8; N]> {
        addr.checked_sub(self.start)
            .and_then(|offset| self.bytes.get(offset as usize..)?.first_chunk::<N>())
            .copied()
            .with_context(|| format!("{addr:#x} is outside of .text"))
    }

    /// The address of a label.
    ///
    /// # Errors
    /// There is no such label.
    pub fn label(&self, name: &str) -> Result<u64> {
        let mut labels = self.labels.iter();
        let found = labels.find(|(_, names)| names.iter().any(|label| label == name));
        Ok(*found
            .with_context(|| format!(".text has no label {name}"))?
            .0)
    }

    /// Whether `name` is a label at or next before `addr`.
    pub fn is_below(&self, addr: u64, name: &str) -> bool {
        self.nearest(addr)
            .is_some_and(|(_, names)| names.iter().any(|label| label == name))
    }

    /// `addr` as a person reads it: a label and the distance from it.
    pub fn at(&self, addr: u64) -> String {
        match self.nearest(addr) {
            Some((start, names)) => {
                let name = rustc_demangle::demangle(&names[0]);
                format!("{name:#}+{:#x} ({addr:#x})", addr - start)
            }
            None => format!("{addr:#x}"),
        }
    }

    fn nearest(&self, addr: u64) -> Option<(u64, &[String])> {
        let (&start, names) = self.labels.range(..=addr).next_back()?;
        Some((start, names))
    }
}
