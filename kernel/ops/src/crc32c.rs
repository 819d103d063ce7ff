//! CRC-32C: the checksum of logits and of model files.
//!
//! **Resources**: RFC 3720 §12.1 and its appendix B.4 (check values); polynomial 0x1EDC6F41, reflected
//! 0x82F63B78, start and final xor all ones.

use zerocopy::IntoBytes;

/// The reflected polynomial.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// `TABLES[k][b]`: the effect of byte `b` followed by `k` zero bytes.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (POLYNOMIAL & 0u32.wrapping_sub(crc & 1));
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][(before & 0xFF) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

/// A checksum in the making: that of what was taken in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crc32c(u32);

impl Crc32c {
    /// The checksum of nothing.
    pub const fn new() -> Self {
        Self(0)
    }

    /// Takes in bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        #[cfg(all(target_arch = "aarch64", target_feature = "crc"))]
        {
            // SAFETY: the build's processor has the CRC extension.
            self.0 = !unsafe { crate::neon::crc32c::update(!self.0, bytes) };
        }
        #[cfg(not(all(target_arch = "aarch64", target_feature = "crc")))]
        {
            self.0 = !update(!self.0, bytes);
        }
    }

    /// The checksum of all that was taken in.
    pub fn value(self) -> u32 {
        self.0
    }
}

/// The checksum of bytes whose own is `crc`, followed by `more`.
pub fn extend(crc: u32, more: &[u8]) -> u32 {
    let mut crc = Crc32c(crc);
    crc.update(more);
    crc.value()
}

/// The definition: takes `bytes` into the register `crc`, eight at a time by the tables.
pub fn update(mut crc: u32, bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word) ^ u64::from(crc);
        let effects = word.to_le_bytes().into_iter().zip(TABLES.iter().rev());
        crc = effects.fold(0, |crc, (byte, table)| crc ^ table[usize::from(byte)]);
    }
    for &byte in rest {
        crc = (crc >> 8) ^ TABLES[0][usize::from(crc.to_le_bytes()[0] ^ byte)];
    }
    crc
}

/// The checksum of `a` followed by `b`, from the checksums of both and the length of `b`.
///
/// Appending a byte multiplies the polynomial that `a` leaves by x⁸; appending `b` adds what `b`
/// leaves.
pub fn join(a: u32, b: u32, b_len_bytes: u64) -> u32 {
    // x⁸ in the reflected order of bits: x⁰ is the highest.
    let mut power = 1 << (31 - 8);
    let mut product = a;
    let mut n = b_len_bytes;
    while n != 0 {
        if n & 1 != 0 {
            product = multiply(product, power);
        }
        power = multiply(power, power);
        n >>= 1;
    }
    product ^ b
}

/// The product of two polynomials modulo the checksum's.
fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    for bit in (0..32).rev() {
        if a >> bit & 1 != 0 {
            product ^= b;
        }
        b = (b >> 1) ^ (POLYNOMIAL & 0u32.wrapping_sub(b & 1));
    }
    product
}

/// The checksum of numbers as little-endian bytes: two machines with equal values here had equal bits.
pub fn crc32c_f32(values: &[f32]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(values.as_bytes());
    crc.value()
}

#[cfg(test)]
mod tests {
    use super::{Crc32c, crc32c_f32, extend, join, update};

    fn crc32c(bytes: &[u8]) -> u32 {
        let mut crc = Crc32c::new();
        crc.update(bytes);
        crc.value()
    }

    #[test]
    fn the_check_values_of_the_rfc() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        let ascending: [u8; 32] = core::array::from_fn(|i| i as u8);
        assert_eq!(crc32c(&ascending), 0x46DD_794E);
    }

    #[test]
    fn pieces_give_the_checksum_of_the_whole() {
        let bytes: [u8; 100] = core::array::from_fn(|i| (i * 37) as u8);
        for cut in 0..bytes.len() {
            let mut crc = Crc32c::new();
            crc.update(&bytes[..cut]);
            let extended = extend(crc.value(), &bytes[cut..]);
            crc.update(&bytes[cut..]);
            assert_eq!(crc.value(), crc32c(&bytes));
            assert_eq!(extended, crc.value());
        }
    }

    #[test]
    fn checksums_of_pieces_join() {
        let bytes: [u8; 300] = core::array::from_fn(|i| (i * 91 + 3) as u8);
        for cut in 0..=bytes.len() {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(join(crc32c(a), crc32c(b), b.len() as u64), crc32c(&bytes));
        }
        // A length that no test could take in byte by byte: 2^40 zeros, joined from halves.
        let mut zeros = crc32c(&[0]);
        for power in 0..40 {
            zeros = join(zeros, zeros, 1 << power);
        }
        let mut length = 1u64;
        let mut piecewise = crc32c(&[0; 1 << 10]);
        length <<= 10;
        while length < 1 << 40 {
            piecewise = join(piecewise, piecewise, length);
            length <<= 1;
        }
        assert_eq!(zeros, piecewise);
    }

    #[test]
    fn any_place_in_memory_gives_the_definitions_register() {
        let bytes: [u8; 200] = core::array::from_fn(|i| (i * 37 + 11) as u8);
        for start in 0..17 {
            for end in [start, start + 1, start + 7, start + 64, 199, 200] {
                let mut crc = Crc32c::new();
                crc.update(&bytes[start..end]);
                assert_eq!(!crc.0, update(!0, &bytes[start..end]));
            }
        }
    }

    #[test]
    fn floats_are_their_little_endian_bytes() {
        let values = [1.0f32, -0.0, f32::NAN, 3.5e-40, 7.0];
        let bytes: [[u8; 4]; 5] = values.map(f32::to_le_bytes);
        assert_eq!(crc32c_f32(&values), crc32c(bytes.as_flattened()));
    }
}
