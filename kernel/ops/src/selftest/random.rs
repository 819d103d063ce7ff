//! Seeded numbers.

use crate::lanes::F32x4;

/// Marsaglia's 64-bit xorshift (2003).
pub struct Random(u64);

impl Random {
    /// A sequence of its own for every seed.
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// 32 random bits.
    pub fn bits(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 24) as u32
    }

    /// Evenly from −1 to 1.
    pub fn unit(&mut self) -> f32 {
        self.bits() as i32 as f32 / 2_147_483_648.0
    }

    /// Fills `out` with values from −`scale` to `scale`.
    pub fn fill(&mut self, out: &mut [F32x4], scale: f32) {
        for lanes in out {
            lanes.0 = core::array::from_fn(|_| self.unit() * scale);
        }
    }
}
