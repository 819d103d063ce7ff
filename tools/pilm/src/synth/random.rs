//! Seeded numbers that are the same on every machine.

/// SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The stream of one row of one tensor, independent of the order in which rows are made.
    pub fn of_row(seed: u64, tensor: &str, row: u64) -> SplitMix64 {
        let name = tensor.bytes().fold(0xCBF2_9CE4_8422_2325u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01B3)
        });
        let mut mixed = SplitMix64(seed ^ name);
        SplitMix64(
            mixed
                .next_u64()
                .wrapping_add(row.wrapping_mul(0xD1B5_4A32_D192_ED03)),
        )
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Mean 0, variance 1, within ±3, nearly normal: the sum of three uniform numbers in ±1.
    ///
    /// The sum is made of integers, so no rounding differs between machines.
    pub fn normal(&mut self) -> f32 {
        const BITS: u32 = 21;
        let bits = self.next_u64();
        let part = |n: u32| (bits >> (BITS * n) & ((1 << BITS) - 1)) as i32;
        let sum = part(0) + part(1) + part(2) - 3 * (1 << (BITS - 1));
        sum as f32 / (1 << (BITS - 1)) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn first_numbers_of_seed_zero() {
        let mut random = SplitMix64::new(0);
        assert_eq!(random.next_u64(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.next_u64(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn normal_has_mean_0_and_variance_1() {
        let mut random = SplitMix64::of_row(1, "tensor", 2);
        let n = 20_000;
        let values: Vec<f64> = (0..n).map(|_| f64::from(random.normal())).collect();
        let mean = values.iter().sum::<f64>() / f64::from(n);
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
    }

    #[test]
    fn rows_and_tensors_differ() {
        let first = |tensor, row| SplitMix64::of_row(7, tensor, row).next_u64();
        assert_ne!(first("a", 0), first("a", 1));
        assert_ne!(first("a", 0), first("b", 0));
    }
}
