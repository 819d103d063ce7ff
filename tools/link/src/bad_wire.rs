//! What a bad wire makes of bytes: seeded, so that a test that fails fails again.

/// How many other bytes a late byte lets pass at most.
const MAX_LATE_BYTES: u64 = 8;

/// A wire that drops, doubles, changes and delays bytes.
#[derive(Debug, Clone)]
pub struct BadWire {
    random: u64,
    bytes_per_fault: u64,
    /// Bytes sent so far.
    n_sent: u64,
    /// Bytes that are under way, and after how many others they arrive.
    late: Vec<(u64, u8)>,
    /// Faults so far.
    n_faults: u64,
}

impl BadWire {
    /// A wire on which one byte in `bytes_per_fault` is hit; 0 is a wire without faults.
    pub fn new(seed: u64, bytes_per_fault: u64) -> Self {
        Self {
            // the state is never 0
            random: seed ^ 0x9E37_79B9_7F4A_7C15 | 1,
            bytes_per_fault,
            n_sent: 0,
            late: Vec::new(),
            n_faults: 0,
        }
    }

    /// A number below `n`, by the generator of G. Marsaglia, "Xorshift RNGs", J. Stat. Softw. 8(14), 2003.
    pub fn below(&mut self, n: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) % n
    }

    /// Faults so far.
    pub fn n_faults(&self) -> u64 {
        self.n_faults
    }

    /// Appends to `arrived` what arrives of `sent`. A late byte may arrive with a later piece.
    pub fn carry(&mut self, sent: &[u8], arrived: &mut Vec<u8>) {
        for &byte in sent {
            let n_sent = self.n_sent;
            let due = self.late.extract_if(.., |(due, _)| *due <= n_sent);
            arrived.extend(due.map(|(_, byte)| byte));
            self.n_sent += 1;
            if self.bytes_per_fault == 0 || self.below(self.bytes_per_fault) != 0 {
                arrived.push(byte);
                continue;
            }
            self.n_faults += 1;
            match self.below(4) {
                0 => {}
                1 => arrived.extend([byte, byte]),
                2 => arrived.push(byte ^ (1 << self.below(8))),
                _ => {
                    let due = self.n_sent + 1 + self.below(MAX_LATE_BYTES);
                    self.late.push((due, byte));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BadWire;

    #[test]
    fn a_wire_without_faults_changes_nothing() {
        let mut arrived = Vec::new();
        BadWire::new(3, 0).carry(b"abc", &mut arrived);
        assert_eq!(arrived, b"abc");
    }

    #[test]
    fn every_kind_of_fault_comes_and_a_seed_brings_it_back() {
        let sent: Vec<u8> = (0..=255).cycle().take(64 * 256).collect();
        let carried = |seed| {
            let (mut wire, mut arrived) = (BadWire::new(seed, 100), Vec::new());
            sent.chunks(7)
                .for_each(|piece| wire.carry(piece, &mut arrived));
            (wire.n_faults(), arrived)
        };
        let (n_faults, arrived) = carried(1);
        assert!((100..230).contains(&n_faults), "{n_faults}");
        let steps: Vec<u8> = arrived
            .windows(2)
            .map(|pair| pair[1].wrapping_sub(pair[0]))
            .collect();
        let count = |is: fn(u8) -> bool| steps.iter().filter(|&&step| is(step)).count();
        let (doubled, dropped, others) = (
            count(|step| step == 0),
            count(|step| step == 2),
            count(|step| step > 2),
        );
        assert!(
            doubled > 10 && dropped > 20 && others > 40,
            "{doubled} {dropped} {others}"
        );
        assert_eq!(carried(1), (n_faults, arrived.clone()));
        assert_ne!(carried(2).1, arrived);
    }
}
