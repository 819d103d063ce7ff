//! Four bits a weight, and planes of further bits.

use super::MR;

/// One block of one row: byte `i` has weight `i` below and weight `i + 16` above.
pub type Nibbles = [u8; 16];

/// One further bit of every weight of a block of four rows: bit `2r + h` of byte `i` belongs to
/// weight `i + 16h` of row `r`.
pub type Plane = [u8; 16];

/// The 32 values.
#[inline(always)] // Must take on the caller's target features.
pub fn unpack(nibbles: &Nibbles) -> [u8; 32] {
    let mut q = [0; 32];
    for i in 0..16 {
        q[i] = nibbles[i] & 0xF;
        q[16 + i] = nibbles[i] >> 4;
    }
    q
}

/// [`unpack`]'s inverse.
pub fn pack(q: [u8; 32]) -> Nibbles {
    core::array::from_fn(|i| q[i] & 0xF | q[16 + i] << 4)
}

/// Row `r`'s bits of a plane, 0 or 1.
#[inline(always)] // Must take on the caller's target features.
pub fn bits(plane: &Plane, r: usize) -> [u8; 32] {
    let mut bits = [0; 32];
    for i in 0..16 {
        bits[i] = plane[i] >> (2 * r) & 1;
        bits[16 + i] = plane[i] >> (2 * r + 1) & 1;
    }
    bits
}

/// The 32 values with row `r`'s bits of a plane in front.
#[inline(always)] // Must take on the caller's target features.
pub fn unpack_five(nibbles: &Nibbles, plane: &Plane, r: usize) -> [u8; 32] {
    let (low, high) = (unpack(nibbles), bits(plane, r));
    core::array::from_fn(|i| low[i] | high[i] << 4)
}

/// Puts row `r`'s bits, 0 or 1, into a plane.
pub fn set_bits(plane: &mut Plane, r: usize, bits: [u8; 32]) {
    debug_assert!(r < MR);
    for (i, byte) in plane.iter_mut().enumerate() {
        *byte &= !(3 << (2 * r));
        *byte |= (bits[i] | bits[16 + i] << 1) << (2 * r);
    }
}

/// The fifth bits of a Q5 block: bit `i` of a little-endian word belongs to weight `i`.
pub fn fifth_bits(word: &[u8]) -> [u8; 32] {
    core::array::from_fn(|i| word[i / 8] >> (i % 8) & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nibbles_and_planes_come_back() {
        let q: [u8; 32] = core::array::from_fn(|i| (i * 7 % 16) as u8);
        assert_eq!(unpack(&pack(q)), q);
        let mut plane = [0xFF; 16];
        let rows = [1u32, 0x8000_0001, 0xAAAA_5555, 0].map(|w| fifth_bits(&w.to_le_bytes()));
        for (r, row) in rows.iter().enumerate() {
            set_bits(&mut plane, r, *row);
        }
        for (r, row) in rows.iter().enumerate() {
            assert_eq!(bits(&plane, r), *row);
        }
    }
}
