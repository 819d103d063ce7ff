//! Repeated measurements and what they come to.

use crate::design::shuffled;
use crate::machine::Machine;
use alloc::vec::Vec;
use protocol::event;

/// Tries per sample, void ones included.
const TRIES: usize = 3;

/// The start or the end of a window.
///
/// Interrupts stay on in a window: the only ones are those of received bytes, of which the UART holds no more than
/// 2.8 ms worth, less than a token takes. Masked, they would lose what was typed; counted, they make the window void.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moment {
    /// The time.
    pub us: u64,
    /// Interrupts taken since the start, where they are counted.
    pub irqs: Option<u32>,
    /// Cycles of the measuring core, where they are counted.
    pub cycles: Option<u64>,
}

/// This moment.
pub(crate) fn now(machine: &impl Machine) -> Moment {
    Moment {
        irqs: machine.irqs_taken(),
        cycles: machine.cycles(),
        us: machine.now_us(),
    }
}

/// Begins a window, in which the serial line is silent.
pub(crate) fn begin_window(machine: &impl Machine) -> Moment {
    machine.hold_output(true);
    now(machine)
}

/// Ends it.
pub(crate) fn end_window(machine: &impl Machine) -> Moment {
    let end = now(machine);
    machine.hold_output(false);
    end
}

/// The times of equal runs, all kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    seconds: Vec<f64>,
    /// Runs that were thrown away.
    pub void_runs: usize,
    /// Interrupts in the windows that count, where they are counted.
    pub irqs: Option<u32>,
    /// Time and cycles of the windows that count and whose cycles were counted.
    clocked: Option<(u64, u64)>,
}

impl Samples {
    /// Room for `runs`, so that no run allocates.
    pub fn with_capacity(runs: usize) -> Self {
        Self {
            seconds: Vec::with_capacity(runs),
            ..Self::default()
        }
    }

    /// Takes in a run between two moments; whether it counts. It does not if an interrupt was taken in its window, or
    /// if the run was not what was asked for.
    pub fn keep(&mut self, [start, end]: [Moment; 2], is_as_asked: bool) -> bool {
        let irqs = end
            .irqs
            .zip(start.irqs)
            .map(|(end, start)| end.wrapping_sub(start));
        let counts = is_as_asked && irqs.unwrap_or(0) == 0;
        if !counts {
            self.void_runs += 1;
            return false;
        }
        let us = end.us.saturating_sub(start.us);
        self.seconds.push(us as f64 / 1e6);
        self.irqs = irqs.map(|irqs| irqs + self.irqs.unwrap_or(0));
        if let Some((end, start)) = end.cycles.zip(start.cycles) {
            let (total_us, cycles) = self.clocked.unwrap_or_default();
            self.clocked = Some((total_us + us, cycles + end.wrapping_sub(start)));
        }
        true
    }

    /// The measuring core's cycles over the time of the windows that count.
    pub fn clock_hz(&self) -> Option<u64> {
        let (us, cycles) = self.clocked.filter(|&(us, _)| us > 0)?;
        u64::try_from(u128::from(cycles) * 1_000_000 / u128::from(us)).ok()
    }

    /// Times `work` until no interrupt was taken in its window, a few times at most.
    pub fn time(&mut self, machine: &impl Machine, mut work: impl FnMut()) {
        for _ in 0..TRIES {
            let start = begin_window(machine);
            work();
            let end = end_window(machine);
            if self.keep([start, end], true) {
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

#[cfg(test)]
mod tests {
    use super::{Moment, Samples, Turns};

    fn window(us: u64, cycles: u64, irqs: Option<u32>) -> [Moment; 2] {
        let at = |us, cycles, irqs| Moment {
            us,
            irqs,
            cycles: Some(cycles),
        };
        let end = irqs.map(|irqs| 5 + irqs);
        [at(100, 7, irqs.map(|_| 5)), at(100 + us, 7 + cycles, end)]
    }

    #[test]
    fn a_window_counts_if_it_was_quiet_and_as_asked() {
        let mut samples = Samples::default();
        assert_eq!((samples.irqs, samples.clock_hz()), (None, None));
        assert!(samples.keep(window(10, 15_000, Some(0)), true));
        assert!(!samples.keep(window(10, 0, Some(1)), true), "an interrupt");
        assert!(!samples.keep(window(10, 0, Some(0)), false), "other work");
        assert!(samples.keep(window(10, 16_000, Some(0)), true));
        assert_eq!((samples.irqs, samples.void_runs), (Some(0), 2));
        assert_eq!(
            samples.clock_hz(),
            Some(1_550_000_000),
            "the void ones are no part of it"
        );
    }

    #[test]
    fn what_nobody_counts_is_unknown() {
        let mut samples = Samples::default();
        let [start, end] = window(10, 1, None);
        let uncounted = |moment| Moment {
            cycles: None,
            ..moment
        };
        assert!(samples.keep([uncounted(start), uncounted(end)], true));
        assert_eq!((samples.irqs, samples.clock_hz()), (None, None));
    }

    #[test]
    fn known_figures() {
        let mut samples = Samples::with_capacity(4);
        for us in [4_000_000, 2_000_000, 8_000_000, 6_000_000] {
            samples.keep(window(us, 0, None), true);
        }
        samples.keep(window(1, 0, None), false);
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
