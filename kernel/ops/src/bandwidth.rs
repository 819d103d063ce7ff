//! What memory can deliver: plain passes over lanes, for measuring and nothing else.

use crate::lanes::F32x4;

/// Lanes in flight: enough independent chains that loads never wait for arithmetic.
const CHAINS: usize = 8;

/// Reads all of `lanes` once. What comes out depends on every bit, so that no read can be left out.
pub fn read(lanes: &[F32x4]) -> u32 {
    let mut chains = [[0u32; 4]; CHAINS];
    let (whole, rest) = lanes.as_chunks::<CHAINS>();
    for lanes in whole {
        for (chain, lane) in chains.iter_mut().zip(lanes) {
            for (bits, value) in chain.iter_mut().zip(lane.0) {
                *bits ^= value.to_bits();
            }
        }
    }
    let rest = rest.iter().flat_map(|lane| lane.0).map(f32::to_bits);
    chains
        .into_iter()
        .flatten()
        .chain(rest)
        .fold(0, |a, b| a ^ b)
}

/// Writes all of `lanes` once.
pub fn write(lanes: &mut [F32x4], value: f32) {
    lanes.fill(F32x4([value; 4]));
}

/// Copies `from` to `to`, lane by lane.
///
/// # Panics
/// When the lengths differ.
pub fn copy(from: &[F32x4], to: &mut [F32x4]) {
    assert_eq!(from.len(), to.len(), "a copy has its original's length");
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_depends_on_every_lane() {
        let mut lanes = vec![F32x4::ZERO; 37];
        assert_eq!(read(&lanes), 0);
        for at in 0..lanes.len() {
            for i in 0..4 {
                lanes[at].0[i] = f32::from_bits(1 << (at % 32));
                assert_eq!(read(&lanes), 1 << (at % 32), "lane {at}, value {i}");
                lanes[at].0[i] = 0.0;
            }
        }
    }

    #[test]
    fn writes_and_copies_reach_every_lane() {
        let mut from = vec![F32x4::ZERO; 19];
        let mut to = from.clone();
        write(&mut from, 2.5);
        copy(&from, &mut to);
        assert!(to.iter().all(|lane| lane.0 == [2.5; 4]));
    }
}
