//! The SD clock divider: f = base / (2·N), 10 bits of N, N = 0 passes the base clock on.
//!
//! Resources: SD Host Controller Simplified Specification 3.00, §2.2.14.

/// Below this the BCM2711's controller can hang while the core clock is 500 MHz.
pub const LOWEST_HZ: u32 = 200_000;

/// The identification clock has no tolerance.
const EXACT_BELOW_HZ: u32 = 1_000_000;

/// A divider setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divider {
    n: u32,
    /// The card clock that results.
    pub clock_hz: u32,
}

impl Divider {
    const MAX_N: u32 = 0x3FF;

    /// The fastest clock that is at most `max_hz`; `None` if it cannot be reached or is too slow for
    /// the controller.
    ///
    /// Clocks of data transfer may exceed `max_hz` by 1 %, which no card minds: a base clock a trifle
    /// above a round figure does not cost a step of the divider.
    pub fn at_most(max_hz: u32, base_hz: u32) -> Option<Self> {
        if base_hz == 0 || max_hz < LOWEST_HZ {
            return None;
        }
        let tolerance = if max_hz < EXACT_BELOW_HZ {
            0
        } else {
            max_hz / 100
        };
        let limit_hz = max_hz.checked_add(tolerance)?;
        let n = if base_hz <= limit_hz {
            0
        } else {
            base_hz.div_ceil(2).div_ceil(limit_hz)
        };
        let clock_hz = if n == 0 { base_hz } else { base_hz / (2 * n) };
        (n <= Self::MAX_N && clock_hz >= LOWEST_HZ).then_some(Self { n, clock_hz })
    }

    /// The divider's bits of the clock control word: N bits 7:0 in 15:8, bits 9:8 in 7:6.
    pub fn bits(self) -> u32 {
        (self.n & 0xFF) << 8 | (self.n >> 8 & 0b11) << 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_most(max_hz: u32, base_hz: u32) -> (u32, u32) {
        let divider = Divider::at_most(max_hz, base_hz).unwrap();
        (divider.n, divider.clock_hz)
    }

    #[test]
    fn base_clocks_seen_on_boards() {
        assert_eq!(at_most(400_000, 100_000_000), (125, 400_000));
        assert_eq!(at_most(400_000, 200_000_000), (250, 400_000));
        assert_eq!(at_most(400_000, 250_000_000), (313, 399_361));
        assert_eq!(at_most(25_000_000, 100_000_000), (2, 25_000_000));
        assert_eq!(at_most(50_000_000, 100_000_000), (1, 50_000_000));
        assert_eq!(at_most(25_000_000, 200_000_000), (4, 25_000_000));
        assert_eq!(at_most(50_000_000, 200_000_000), (2, 50_000_000));
        assert_eq!(at_most(50_000_000, 250_000_000), (3, 41_666_666));
        // Within 1 %.
        assert_eq!(at_most(50_000_000, 101_000_000), (1, 50_500_000));
        assert_eq!(at_most(50_000_000, 102_000_000), (2, 25_500_000));
        assert_eq!(at_most(400_000, 101_000_000), (127, 397_637));
        // QEMU's answer for clock 12.
        assert_eq!(at_most(400_000, 700_000_000), (875, 400_000));
        assert_eq!(at_most(50_000_000, 50_000_000), (0, 50_000_000));
    }

    #[test]
    fn never_faster_than_asked_and_never_too_slow() {
        for base_hz in (1_000_000..900_000_000).step_by(999_983) {
            for max_hz in [400_000, 25_000_000, 50_000_000] {
                let limit_hz = if max_hz < 1_000_000 {
                    max_hz
                } else {
                    max_hz + max_hz / 100
                };
                match Divider::at_most(max_hz, base_hz) {
                    Some(d) => assert!(
                        d.clock_hz <= limit_hz && d.clock_hz >= LOWEST_HZ,
                        "{base_hz} to {max_hz}: {d:?}"
                    ),
                    None => assert!(base_hz > 2 * Divider::MAX_N * max_hz),
                }
            }
        }
        assert_eq!(Divider::at_most(199_999, 100_000_000), None);
        assert_eq!(Divider::at_most(400_000, 0), None);
        assert_eq!(Divider::at_most(400_000, 199_999), None);
        assert_eq!(Divider::at_most(400_000, 1_000_000_000), None);
    }

    #[test]
    fn bits_of_the_clock_word() {
        let bits = |max, base| Divider::at_most(max, base).unwrap().bits();
        assert_eq!(bits(400_000, 100_000_000), 0x7D00);
        assert_eq!(bits(400_000, 250_000_000), 0x3940);
        assert_eq!(bits(50_000_000, 100_000_000), 0x0100);
        assert_eq!(bits(50_000_000, 50_000_000), 0);
    }
}
