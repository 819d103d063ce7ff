//! The names of the image's functions, as a table inside the image: `boot::symbols` reads it.
//!
//! The linker leaves room for it between `__symbols_start` and `__symbols_end`. It is filled afterwards, so that no
//! address depends on it.

use crate::raw_image::{LOAD_ADDR, RawImage};
use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;

/// Names longer than this are cut.
const NAME_BYTES: usize = 72;
/// A pair of bytes that occurs less often gets no byte of its own.
const MIN_OCCURRENCES: usize = 4;

/// A function, or a label of the assembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its first instruction.
    pub addr: u64,
    /// For people.
    pub name: String,
}

/// The functions of a linked kernel, lowest first, one at an address.
///
/// # Errors
/// Not an ELF.
pub fn functions(elf_bytes: &[u8]) -> Result<Vec<Function>> {
    let file = object::File::parse(elf_bytes).context("not an ELF file")?;
    let text = file.section_by_name(".text").context("no .text")?;
    let mut functions = BTreeMap::new();
    for symbol in file.symbols() {
        let is_code = match symbol.kind() {
            SymbolKind::Text => true,
            // `$x` and `.L…` are marks for tools
            SymbolKind::Label | SymbolKind::Unknown => symbol.is_global(),
            _ => false,
        };
        let name = symbol.name().unwrap_or_default();
        if is_code && symbol.section_index() == Some(text.index()) && !name.is_empty() {
            functions.entry(symbol.address()).or_insert(short(name));
        }
    }
    let functions = functions.into_iter();
    Ok(functions
        .map(|(addr, name)| Function { addr, name })
        .collect())
}

/// Puts the table into the image's room for it, if there is one; says how many bytes it has, of how many.
///
/// # Errors
/// There is less room than the table needs.
pub fn fill(image: &mut RawImage, elf_bytes: &[u8]) -> Result<Option<[usize; 2]>> {
    let file = object::File::parse(elf_bytes).context("not an ELF file")?;
    let addr_of = |name| file.symbol_by_name(name).map(|symbol| symbol.address());
    let (Some(start), Some(end)) = (addr_of("__symbols_start"), addr_of("__symbols_end")) else {
        return Ok(None);
    };
    let offset = |addr: u64| (addr - LOAD_ADDR) as usize;
    let room = image
        .bytes
        .get_mut(offset(start)..offset(end))
        .context("the room for symbols is outside of the image")?;
    let table = encode(&functions(elf_bytes)?);
    ensure!(
        table.len() <= room.len(),
        "the names of functions take {} bytes, and linker.ld has room for {}",
        table.len(),
        room.len()
    );
    room[..table.len()].copy_from_slice(&table);
    Ok(Some([table.len(), room.len()]))
}

/// A symbol's name as a person reads it: within angle brackets, paths are their last names.
fn short(symbol: &str) -> String {
    let long = format!("{:#}", rustc_demangle::demangle(symbol));
    let mut name = String::new();
    let mut depth = 0_usize;
    let mut previous = ' ';
    let mut rest = long.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '<' => depth += 1,
            '>' if previous != '-' => depth = depth.saturating_sub(1),
            ':' if depth > 0 && rest.peek() == Some(&':') => {
                rest.next();
                let kept = name.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
                if kept.len() < name.len() && !matches!(rest.peek(), Some('<' | '{')) {
                    name.truncate(kept.len());
                } else {
                    name.push_str("::");
                }
                previous = ':';
                continue;
            }
            _ => {}
        }
        name.push(if c.is_ascii() { c } else { '?' });
        previous = c;
    }
    name.truncate(NAME_BYTES);
    name
}

/// The table of `functions`, lowest first.
fn encode(functions: &[Function]) -> Vec<u8> {
    let mut names: Vec<Vec<u8>> = functions
        .iter()
        .map(|function| function.name.clone().into_bytes())
        .collect();
    let mut table: Vec<u8> = pairs(&mut names).concat();
    table.extend((functions.len() as u16).to_le_bytes());
    let mut previous = LOAD_ADDR;
    for (function, name) in functions.iter().zip(&names) {
        let mut words = (function.addr - previous) / 4;
        previous += 4 * words;
        while words >= 0x80 {
            table.push(words as u8 | 0x80);
            words >>= 7;
        }
        table.push(words as u8);
        table.push(name.len() as u8);
        table.extend(name);
    }
    table
}

/// Gives each byte that no name has to the pair of bytes that occurs most, and replaces the pair; what each byte then
/// stands for.
fn pairs(names: &mut [Vec<u8>]) -> Vec<[u8; 2]> {
    let mut pairs = vec![[0, 0]; 256];
    let is_free = |byte: &u8| !names.iter().any(|name| name.contains(byte));
    let free: Vec<u8> = (1..=u8::MAX).filter(is_free).collect();
    for byte in free {
        let mut occurrences = vec![0_usize; 1 << 16];
        for name in names.iter() {
            for pair in name.windows(2) {
                occurrences[usize::from(pair[0]) << 8 | usize::from(pair[1])] += 1;
            }
        }
        // the lowest of equal ones, so that the same names always give the same table
        let most = (0..1 << 16).rev().max_by_key(|&pair| occurrences[pair]);
        let most = most.expect("there are pairs");
        if occurrences[most] < MIN_OCCURRENCES {
            break;
        }
        let pair = [(most >> 8) as u8, most as u8];
        pairs[usize::from(byte)] = pair;
        for name in names.iter_mut() {
            replace(name, pair, byte);
        }
    }
    pairs
}

fn replace(name: &mut Vec<u8>, pair: [u8; 2], byte: u8) {
    let mut replaced: Vec<u8> = Vec::with_capacity(name.len());
    for &next in name.iter() {
        match replaced.last_mut() {
            Some(last) if [*last, next] == pair => *last = byte,
            _ => replaced.push(next),
        }
    }
    *name = replaced;
}

#[cfg(test)]
mod tests {
    use super::*;
    use boot::symbols::Symbols;

    #[test]
    fn what_is_packed_reads_the_same() {
        let functions: Vec<Function> = (0..2000_u64)
            .map(|i| Function {
                addr: LOAD_ADDR + 8 + 4 * i * i,
                name: format!("room{}::part::Type{i}::function_{}", i % 7, i * 7919 % 101),
            })
            .collect();
        let table = encode(&functions);
        let plain: usize = functions.iter().map(|function| function.name.len()).sum();
        assert!(table.len() < plain / 2, "{} of {plain}", table.len());
        let symbols = Symbols::new(&table);
        let told = |offset| Some(symbols.nearest(offset)?.to_string());
        assert_eq!(told(4), None);
        for (function, next) in functions.iter().zip(&functions[1..]) {
            let [first, last] = [function.addr - LOAD_ADDR, next.addr - LOAD_ADDR - 4];
            assert_eq!(told(first), Some(format!("{}+0x0", function.name)));
            let inside = last - first;
            assert_eq!(told(last), Some(format!("{}+{inside:#x}", function.name)));
        }
    }

    #[test]
    fn names_are_short_and_tell_the_types_apart() {
        for (symbol, name) in [
            (
                "_RNvMNtCs8jkSFdVxHmO_3llm9tokenizerNtB2_9Tokenizer11encode_text",
                "<Tokenizer>::encode_text",
            ),
            (
                "_RINvNtCsbcsGJ9IzBgZ_4core3ptr13drop_in_placeINtNtCs7ZrHeqepHkI_5alloc3vec3VechEECs5J6U2hX9ry8_6kernel",
                "core::ptr::drop_in_place::<Vec<u8>>",
            ),
            (
                "_RNvNtNtCs8jkSFdVxHmO_3llm9tokenizer11pretokenize6llama3",
                "llm::tokenizer::pretokenize::llama3",
            ),
            ("_secondary_start", "_secondary_start"),
        ] {
            assert_eq!(short(symbol), name);
        }
        assert!(short(&"a".repeat(300)).len() <= NAME_BYTES);
    }
}
