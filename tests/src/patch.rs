//! Images with other instructions in them: what no option of QEMU makes happen.

use std::ops::Range;
use std::path::PathBuf;
use xtask::raw_image::LOAD_ADDR;

/// `nop`.
pub const NOP: u32 = 0xD503_201F;
/// `udf #0`.
pub const UDF: u32 = 0;

/// An image that is changed before it is booted.
#[derive(Clone, Debug)]
pub struct Patch {
    bytes: Vec<u8>,
}

impl Patch {
    /// A copy of `image`.
    pub fn new(image: &[u8]) -> Patch {
        Patch {
            bytes: image.to_vec(),
        }
    }

    fn find(&self, instructions: &[u32]) -> usize {
        let wanted: Vec<u8> = instructions.iter().flat_map(|i| i.to_le_bytes()).collect();
        let at = (0..self.bytes.len())
            .step_by(4)
            .find(|&at| self.bytes[at..].starts_with(&wanted));
        at.unwrap_or_else(|| panic!("the image has no {instructions:x?}"))
    }

    /// Puts `replacement` in the place of the first `original`, instruction by instruction.
    ///
    /// # Panics
    /// The image has no such instructions, or their numbers differ.
    #[must_use]
    pub fn replace(mut self, original: &[u32], replacement: &[u32]) -> Patch {
        assert_eq!(original.len(), replacement.len());
        let at = self.find(original);
        for (i, word) in replacement.iter().enumerate() {
            self.set(at + 4 * i, &word.to_le_bytes());
        }
        self
    }

    /// Puts `replacement` in the place of the instruction at `addr`, where the image runs.
    ///
    /// # Panics
    /// The address is outside the image.
    #[must_use]
    pub fn replace_at(mut self, addr: u64, replacement: u32) -> Patch {
        let offset = usize::try_from(addr - LOAD_ADDR).expect("inside the image");
        self.set(offset, &replacement.to_le_bytes());
        self
    }

    /// The instructions at `addrs`, where the image runs, with their addresses.
    ///
    /// # Panics
    /// An address is outside the image.
    pub fn instructions(&self, addrs: Range<u64>) -> Vec<(u64, u32)> {
        let offset = |addr: u64| usize::try_from(addr - LOAD_ADDR).expect("inside the image");
        let (words, _) = self.bytes[offset(addrs.start)..offset(addrs.end)].as_chunks();
        let words = words.iter().map(|word| u32::from_le_bytes(*word));
        addrs.step_by(4).zip(words).collect()
    }

    /// Changes `text_offset` of the Image header: where it is loaded.
    #[must_use]
    pub fn load_at(mut self, addr: u64) -> Patch {
        self.set(8, &addr.to_le_bytes());
        self
    }

    fn set(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Writes it as `name` to the folder for the tests' files.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write(&self, path: PathBuf) -> PathBuf {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).expect("the folder can be made");
        }
        std::fs::write(&path, &self.bytes).expect("the image can be written");
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_such_instructions_are_replaced() {
        let words = [NOP, 1, NOP, 2, NOP, 2];
        let image: Vec<u8> = words
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .collect();
        let patch = Patch::new(&image).replace(&[NOP, 2], &[UDF, 3]);
        let (words, _) = patch.bytes.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        assert_eq!(words, [NOP, 1, UDF, 3, NOP, 2]);
    }
}
