//! PCG-XSH-RR 64/32: a small random number generator with known reference output.
//!
//! Resources: O'Neill 2014, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
//! Algorithms for Random Number Generation", HMC-CS-2014-0905.

/// A 64-bit linear congruential generator whose output is permuted to 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pcg32 {
    state: u64,
    increment: u64,
}

impl Pcg32 {
    const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

    /// The generator of a seed; `stream` chooses one of 2^63 sequences.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = Pcg32 {
            state: 0,
            increment: stream << 1 | 1,
        };
        rng.next_u32();
        rng.state = rng.state.wrapping_add(seed);
        rng.next_u32();
        rng
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        let old = self.state;
        self.state = old
            .wrapping_mul(Self::MULTIPLIER)
            .wrapping_add(self.increment);
        let shifted = (((old >> 18) ^ old) >> 27) as u32;
        shifted.rotate_right((old >> 59) as u32)
    }

    /// A number from 0 (included) to 1 (excluded), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        let high = u64::from(self.next_u32());
        let low = u64::from(self.next_u32());
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        ((high << 32 | low) >> 11) as f64 * STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_that_of_the_reference_program() {
        // Seed 42, stream 54: what the published demonstration prints in its first round.
        let mut rng = Pcg32::new(42, 54);
        let first: [u32; 6] = core::array::from_fn(|_| rng.next_u32());
        let reference = [
            0xa15c_02b7,
            0x7b47_f409,
            0xba1d_3330,
            0x83d2_f293,
            0xbfa4_784b,
            0xcbed_606e,
        ];
        assert_eq!(first, reference);
    }

    #[test]
    fn uniform_stays_in_its_interval_and_fills_it() {
        let mut rng = Pcg32::new(1, 0);
        let numbers: std::vec::Vec<f64> = (0..10_000).map(|_| rng.uniform()).collect();
        assert!(numbers.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = numbers.iter().sum::<f64>() / 1e4;
        // Standard error of the mean: sqrt(1/12)/100 = 0.0029.
        assert!((mean - 0.5).abs() < 0.012, "{mean}");
    }
}
