//! ELF to the flat bytes that the board's firmware loads at 0x80000.
//!
//! The file starts at the load address, so that byte 0 is the first instruction; gaps between
//! segments are zero; what follows the last byte of file contents (BSS, stacks) is not in it.
//!
//! ```text
//!   ELF   LOAD .text   LOAD .rodata   LOAD .data .bss
//!   file  |text        |rodata        |data|
//!   RAM   0x80000 ...................... memory_end
//! ```

use anyhow::{Context, Result, ensure};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, SectionKind, elf};

/// Where the board's firmware (`kernel_address`) and QEMU put a raw image.
pub const LOAD_ADDR: u64 = 0x8_0000;

/// More than this is a mistake in the linker script: an address far away makes a file full of zeros.
const MAX_BYTES: u64 = 16 << 20;

/// The flat image, and what can be said of it.
#[derive(Debug)]
pub struct RawImage {
    /// File contents of `kernel8.img`.
    pub bytes: Vec<u8>,
    /// First address after BSS and stacks.
    pub memory_end: u64,
    /// Sizes of the sections by kind.
    pub sizes: Sizes,
    /// Bytes of the functions' names, and of the room for them, if there is one.
    pub symbols_bytes: Option<[usize; 2]>,
}

/// Bytes in RAM by kind of section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Instructions.
    pub text: u64,
    /// Constants.
    pub rodata: u64,
    /// Initialised variables.
    pub data: u64,
    /// Zeroed variables, stacks and tables.
    pub bss: u64,
}

/// Flattens a linked kernel.
///
/// # Errors
/// Not a 64-bit AArch64 ELF; entry or first byte not at [`LOAD_ADDR`]; segments that overlap or lie
/// too far apart; a first byte pair that the board would take for gzip.
pub fn flatten(elf_bytes: &[u8]) -> Result<RawImage> {
    let file = ElfFile64::<Endianness>::parse(elf_bytes).context("not an ELF file")?;
    let (header, endian) = (file.elf_header(), file.endian());
    ensure!(
        header.e_machine(endian) == elf::EM_AARCH64,
        "the ELF is not for AArch64 (machine {})",
        header.e_machine(endian)
    );
    let entry = header.e_entry.get(endian);
    ensure!(
        entry == LOAD_ADDR,
        "the entry point is {entry:#x}, but the board jumps to {LOAD_ADDR:#x}: see linker.ld"
    );

    let mut segments = Vec::new();
    for segment in file.elf_program_headers() {
        if segment.p_type(endian) == elf::PT_LOAD && segment.p_memsz(endian) > 0 {
            let data = segment
                .data(endian, elf_bytes)
                .ok()
                .context("a segment lies outside of the ELF file")?;
            segments.push((segment.p_paddr(endian), segment.p_memsz(endian), data));
        }
    }
    segments.sort_by_key(|&(addr, _, _)| addr);
    let first = segments.first().context("the ELF has nothing to load")?;
    ensure!(
        first.0 == LOAD_ADDR && !first.2.is_empty(),
        "the first loadable byte is at {:#x}, not at {LOAD_ADDR:#x}: see linker.ld",
        first.0
    );

    let mut bytes = Vec::new();
    let mut memory_end = LOAD_ADDR;
    for (addr, memory_bytes, data) in segments {
        ensure!(addr >= memory_end, "segments overlap at {addr:#x}");
        memory_end = addr + memory_bytes;
        let offset = addr - LOAD_ADDR;
        ensure!(
            offset + data.len() as u64 <= MAX_BYTES,
            "a segment at {addr:#x} would make the image larger than {MAX_BYTES} bytes: see linker.ld"
        );
        if !data.is_empty() {
            bytes.resize(offset as usize, 0);
            bytes.extend_from_slice(data);
        }
    }
    // the board's firmware and QEMU gunzip such a file
    ensure!(
        !bytes.starts_with(&[0x1f, 0x8b]),
        "the image starts with 1F 8B and would be taken for gzip"
    );
    Ok(RawImage {
        bytes,
        memory_end,
        sizes: section_sizes(&file),
        symbols_bytes: None,
    })
}

fn section_sizes(file: &ElfFile64<'_>) -> Sizes {
    let mut sizes = Sizes::default();
    for section in file.sections() {
        match section.kind() {
            SectionKind::Text => sizes.text += section.size(),
            SectionKind::ReadOnlyData
            | SectionKind::ReadOnlyDataWithRel
            | SectionKind::ReadOnlyString => {
                sizes.rodata += section.size();
            }
            SectionKind::Data => sizes.data += section.size(),
            SectionKind::UninitializedData => sizes.bss += section.size(),
            _ => {}
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 64-bit little-endian AArch64 ELF with the given (address, contents, memory size) segments.
    fn elf(entry: u64, segments: &[(u64, &[u8], u64)]) -> Vec<u8> {
        let mut file = vec![0u8; 64];
        file[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1]);
        file[16..18].copy_from_slice(&2u16.to_le_bytes()); // ET_EXEC
        file[18..20].copy_from_slice(&183u16.to_le_bytes()); // EM_AARCH64
        file[20..24].copy_from_slice(&1u32.to_le_bytes());
        file[24..32].copy_from_slice(&entry.to_le_bytes());
        file[32..40].copy_from_slice(&64u64.to_le_bytes()); // program headers
        file[52..54].copy_from_slice(&64u16.to_le_bytes());
        file[54..56].copy_from_slice(&56u16.to_le_bytes());
        file[56..58].copy_from_slice(&(segments.len() as u16).to_le_bytes());
        file[58..60].copy_from_slice(&64u16.to_le_bytes());
        let mut offset = 64 + 56 * segments.len() as u64;
        for (addr, data, memory_bytes) in segments {
            file.extend_from_slice(&1u32.to_le_bytes()); // PT_LOAD
            file.extend_from_slice(&7u32.to_le_bytes());
            for word in [
                offset,
                *addr,
                *addr,
                data.len() as u64,
                *memory_bytes,
                0x1000,
            ] {
                file.extend_from_slice(&word.to_le_bytes());
            }
            offset += data.len() as u64;
        }
        for (_, data, _) in segments {
            file.extend_from_slice(data);
        }
        file
    }

    #[test]
    fn segments_land_at_their_addresses_and_gaps_are_zero() {
        let image = flatten(&elf(
            LOAD_ADDR,
            &[(0x8_0000, &[1, 2, 3], 3), (0x8_0008, &[9], 0x100)],
        ))
        .unwrap();
        assert_eq!(image.bytes, [1, 2, 3, 0, 0, 0, 0, 0, 9]);
        assert_eq!(image.memory_end, 0x8_0108);
    }

    #[test]
    fn trailing_bss_is_not_in_the_file() {
        let image = flatten(&elf(
            LOAD_ADDR,
            &[(0x8_0000, &[5; 4], 4), (0x9_0000, &[], 0x5000)],
        ))
        .unwrap();
        assert_eq!(image.bytes, [5; 4]);
        assert_eq!(image.memory_end, 0x9_5000);
    }

    #[test]
    fn a_wrong_entry_is_refused() {
        let error = flatten(&elf(0x8_0004, &[(0x8_0000, &[0; 8], 8)])).unwrap_err();
        assert!(error.to_string().contains("entry point is 0x80004"));
    }

    #[test]
    fn a_wrong_start_is_refused() {
        let error = flatten(&elf(LOAD_ADDR, &[(0x20_0000, &[0; 8], 8)])).unwrap_err();
        assert!(error.to_string().contains("0x200000"));
    }

    #[test]
    fn overlap_distance_and_gzip_are_refused() {
        let overlap = elf(LOAD_ADDR, &[(0x8_0000, &[1; 8], 8), (0x8_0004, &[1], 1)]);
        assert!(
            flatten(&overlap)
                .unwrap_err()
                .to_string()
                .contains("overlap")
        );
        let far = elf(LOAD_ADDR, &[(0x8_0000, &[1], 1), (0x4000_0000, &[1], 1)]);
        assert!(flatten(&far).unwrap_err().to_string().contains("larger"));
        let gzip = elf(LOAD_ADDR, &[(0x8_0000, &[0x1f, 0x8b], 2)]);
        assert!(flatten(&gzip).unwrap_err().to_string().contains("gzip"));
    }

    #[test]
    fn text_is_refused() {
        assert!(flatten(b"#!/bin/sh").is_err());
    }
}
