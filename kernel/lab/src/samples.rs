//! Repeated measurements and what they come to.

use crate::machine::Machine;
use alloc::vec::Vec;
use protocol::event;

/// Tries per sample, void ones included.
const TRIES: usize = 3;

/// The clock and the interrupts taken: the start or the end of a window.
pub(crate) fn now(machine: &impl Machine) -> (u64, u32) {
    (machine.now_us(), machine.irqs_taken())
}

/// Begins a window, in which the serial line is silent.
pub(crate) fn begin_window(machine: &impl Machine) -> (u64, u32) {
    machine.hold_output(true);
    now(machine)
}

/// Ends it.
pub(crate) fn end_window(machine: &impl Machine) -> (u64, u32) {
    let end = now(machine);
    machine.hold_output(false);
    end
}

/// The times of equal runs, all kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    seconds: Vec<f64>,
    /// Runs that were thrown away because an interrupt was taken in their window.
    pub void_runs: usize,
}

impl Samples {
    /// Room for `runs`, so that no run allocates.
    pub fn with_capacity(runs: usize) -> Self {
        Self {
            seconds: Vec::with_capacity(runs),
            void_runs: 0,
        }
    }

    /// Takes in a run of `us`; one in whose window an interrupt was taken is void.
    pub fn keep(&mut self, us: u64, is_quiet: bool) {
        match is_quiet {
            true => self.seconds.push(us as f64 / 1e6),
            false => self.void_runs += 1,
        }
    }

    /// Times `work` until no interrupt was taken in its window, a few times at most.
    pub fn time(&mut self, machine: &impl Machine, mut work: impl FnMut()) {
        for _ in 0..TRIES {
            let (started_us, irqs) = begin_window(machine);
            work();
            let (ended_us, irqs_after) = end_window(machine);
            self.keep(ended_us - started_us, irqs_after == irqs);
            if irqs_after == irqs {
                break;
            }
        }
    }

    /// 0 without samples.
    pub fn mean(&self) -> f64 {
        self.seconds.iter().fold(0.0, |sum, seconds| sum + seconds)
            / self.seconds.len().max(1) as f64
    }

    /// The sample standard deviation (n − 1); 0 for fewer than two samples.
    pub fn sd(&self) -> f64 {
        let mean = self.mean();
        let squares = self
            .seconds
            .iter()
            .fold(0.0, |sum, s| sum + (s - mean) * (s - mean));
        libm::sqrt(squares / self.seconds.len().saturating_sub(1).max(1) as f64)
    }

    /// The time below which a share of the samples lies (nearest rank).
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let rank = libm::ceil(share * sorted.len() as f64) as usize;
        sorted.get(rank.max(1) - 1).copied().unwrap_or(0.0)
    }

    /// What `per_run` of something comes to in a second; nothing without samples.
    pub fn per_second(&self, per_run: f64) -> Option<f64> {
        (!self.seconds.is_empty()).then(|| per_run / self.mean())
    }

    /// All samples, and what they come to.
    pub fn record(&self) -> event::Samples {
        let known = |figure: f64| Some(figure).filter(|_| !self.seconds.is_empty());
        event::Samples {
            runs: self.seconds.len(),
            void_runs: self.void_runs,
            samples_s: self.seconds.clone(),
            mean_s: known(self.mean()),
            sd_s: known(self.sd()),
            min_s: known(self.quantile(0.0)),
            p50_s: known(self.quantile(0.5)),
            p99_s: known(self.quantile(0.99)),
        }
    }
}

/// Configurations that take turns: every round has all of them, in an order that nobody chose.
#[derive(Debug, Clone)]
pub struct Turns {
    n: usize,
    rounds: usize,
    round: usize,
    order: Vec<usize>,
    at: usize,
}

/// Order of the configurations.
const SEED: u64 = 1;

impl Turns {
    /// `rounds` rounds of `n` configurations.
    pub fn new(n: usize, rounds: usize) -> Self {
        Self {
            n,
            rounds,
            round: 0,
            order: shuffled(n, SEED),
            at: 0,
        }
    }

    /// The round and the configuration whose turn it is.
    pub fn current(&self) -> Option<(usize, usize)> {
        let configuration = *self.order.get(self.at)?;
        (self.round < self.rounds).then_some((self.round, configuration))
    }

    /// Goes on to the next turn.
    pub fn advance(&mut self) {
        self.at += 1;
        if self.at == self.n {
            self.at = 0;
            self.round += 1;
            self.order = shuffled(self.n, SEED + self.round as u64);
        }
    }
}

/// Numbers in an order that nobody chose, the same for the same seed (SplitMix64; Steele et al. 2014).
fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let mut state = seed;
    for last in (1..n).rev() {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        order.swap(last, (z % (last as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::{Samples, Turns, shuffled};

    #[test]
    fn known_figures() {
        let mut samples = Samples::with_capacity(4);
        for us in [4_000_000, 2_000_000, 8_000_000, 6_000_000] {
            samples.keep(us, true);
        }
        samples.keep(1, false);
        assert_eq!((samples.mean(), samples.void_runs), (5.0, 1));
        assert!((samples.sd() - (20.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(
            [0.0, 0.5, 0.75, 0.99].map(|q| samples.quantile(q)),
            [2.0, 4.0, 6.0, 8.0]
        );
        assert_eq!(samples.per_second(10.0), Some(2.0));
        assert_eq!(Samples::default().per_second(10.0), None);
        assert_eq!(Samples::default().record().mean_s, None);
    }

    #[test]
    fn every_number_once_and_seeds_differ() {
        let mut order = shuffled(20, 1);
        assert_ne!(order, shuffled(20, 2));
        assert_eq!(order, shuffled(20, 1));
        order.sort_unstable();
        assert_eq!(order, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn every_configuration_has_its_turn_in_every_round() {
        let mut turns = Turns::new(3, 4);
        let mut seen = [[0; 3]; 4];
        while let Some((round, configuration)) = turns.current() {
            seen[round][configuration] += 1;
            turns.advance();
        }
        assert_eq!(seen, [[1; 3]; 4]);
        assert_eq!(Turns::new(0, 4).current(), None);
    }
}
