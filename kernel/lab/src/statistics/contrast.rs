//! Which interval decides: a rule fixed before anything is measured.

use super::robust::labels;
use super::{Interval, rank, t};

/// Which interval decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By Student's t.
    T,
    /// By signed ranks, because a sample is labelled.
    SignedRank,
}

/// Returns the interval that decides about per-block contrasts on the log scale.
///
/// It is that by signed ranks where Tukey's fences label a sample, otherwise that by t; t also where there
/// are too few samples for ranks.
pub fn interval(contrasts: &[f64]) -> Option<(Method, Interval)> {
    let is_labelled = labels(contrasts).iter().any(Option::is_some);
    let ranks = rank::signed_rank_interval(contrasts).filter(|_| is_labelled);
    match ranks {
        Some(interval) => Some((Method::SignedRank, interval)),
        None => Some((Method::T, t::interval(contrasts)?)),
    }
}
