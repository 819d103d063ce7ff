//! What a token will take, from probes of memory, products and barriers; never from a token's time.
//!
//! T = Σ max(bytes ÷ BW(n), products × cycles ÷ (n f)) + barriers + attention(position) + head.

use alloc::vec::Vec;

/// What the probes measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Probes {
    /// The best read bandwidth with 1, 2, … cores, in bytes per second.
    pub bytes_per_s: Vec<f64>,
    /// Cycles of a product on weights in the cache, by kernel.
    pub cycles_per_mac: Vec<f64>,
    /// What a barrier takes with 1, 2, … cores.
    pub barrier_ns: Vec<f64>,
    /// The core clock.
    pub clock_hz: f64,
}

/// A matrix, or several that are worked alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Bytes that a token reads.
    pub bytes: f64,
    /// Products of a token.
    pub macs: f64,
    /// The kernel, as an index of [`Probes::cycles_per_mac`].
    pub kernel: usize,
}

/// The work of one token.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenWork {
    /// The layers' matrices.
    pub layers: Vec<Stage>,
    /// The matrix of the logits.
    pub head: Stage,
    /// Attention at one position of the context.
    pub attention_per_position: Stage,
    /// Barriers.
    pub n_barriers: usize,
}

/// Returns the nanoseconds of a token at position `pos` on `cores`; nothing where a probe is missing.
pub fn token_ns(probes: &Probes, work: &TokenWork, cores: usize, pos: usize) -> Option<f64> {
    let at = cores.checked_sub(1)?;
    let bytes_per_s = *probes.bytes_per_s.get(at)?;
    let barrier_ns = *probes.barrier_ns.get(at)?;
    let macs_clock = cores as f64 * probes.clock_hz;
    let stage_ns = |stage: &Stage, times: f64| {
        let memory = stage.bytes / bytes_per_s;
        let products = stage.macs * probes.cycles_per_mac.get(stage.kernel)? / macs_clock;
        Some(1e9 * times * memory.max(products))
    };
    let mut ns = work.n_barriers as f64 * barrier_ns;
    for stage in work.layers.iter().chain([&work.head]) {
        ns += stage_ns(stage, 1.0)?;
    }
    Some(ns + stage_ns(&work.attention_per_position, pos as f64)?)
}

#[cfg(test)]
mod tests {
    use super::{Probes, Stage, TokenWork, token_ns};

    #[test]
    fn known_figures() {
        let stage = |bytes, macs| Stage {
            bytes,
            macs,
            kernel: 0,
        };
        let probes = Probes {
            bytes_per_s: vec![1e9, 2e9],
            cycles_per_mac: vec![0.5],
            barrier_ns: vec![0.0, 10.0],
            clock_hz: 1e9,
        };
        let work = TokenWork {
            layers: vec![stage(1000.0, 1000.0), stage(1000.0, 4000.0)],
            head: stage(2000.0, 0.0),
            attention_per_position: stage(4.0, 1.0),
            n_barriers: 3,
        };
        let found = token_ns(&probes, &work, 2, 100).unwrap();
        assert!((found - (500.0 + 1000.0 + 1000.0 + 30.0 + 200.0)).abs() < 1e-9);
        assert_eq!(token_ns(&probes, &work, 3, 0), None);
        assert_eq!(token_ns(&probes, &work, 0, 0), None);
    }
}
