//! An ELF of a few words, for tests.

/// The address of the first word.
pub const BASE: u64 = 0x8_0000;

/// An ELF whose `.text` is `words` at [`BASE`], with these symbols (the word's index, the name).
pub fn elf(words: &[u32], symbols: &[(usize, &str)]) -> Vec<u8> {
    let text: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut names = b"\0.text\0.symtab\0.strtab\0".to_vec();
    let mut table = vec![0_u8; 24];
    for (index, name) in symbols {
        table.extend((names.len() as u32).to_le_bytes());
        table.extend([0, 0, 1, 0]); // local, no type, section 1
        table.extend((BASE + 4 * *index as u64).to_le_bytes());
        table.extend([0; 8]);
        names.extend(name.bytes());
        names.push(0);
    }
    let mut file = vec![0_u8; 64];
    file[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1]);
    file[16] = 2; // ET_EXEC
    file[18] = 183; // EM_AARCH64
    file[20] = 1;
    for (at, value) in [(52, 64_u8), (54, 56), (58, 64), (60, 4), (62, 3)] {
        file[at] = value;
    }
    let mut headers = vec![0_u8; 64];
    let locals = symbols.len() as u32 + 1;
    for (name, kind, addr, contents, link, info, entry) in [
        (1_u32, 1_u32, BASE, &text, [0_u32, 0], 0_u32, 0_u64),
        (7, 2, 0, &table, [3, 0], locals, 24),
        (15, 3, 0, &names, [0, 0], 0, 0),
    ] {
        let flags = if kind == 1 { 6_u64 } else { 0 };
        headers.extend(name.to_le_bytes());
        headers.extend(kind.to_le_bytes());
        for word in [flags, addr, file.len() as u64, contents.len() as u64] {
            headers.extend(word.to_le_bytes());
        }
        headers.extend(link[0].to_le_bytes());
        headers.extend(info.to_le_bytes());
        headers.extend(4_u64.to_le_bytes());
        headers.extend(entry.to_le_bytes());
        file.extend(contents);
    }
    let at = file.len() as u64;
    file[40..48].copy_from_slice(&at.to_le_bytes());
    file.extend(headers);
    file
}
