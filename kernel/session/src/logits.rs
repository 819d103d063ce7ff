//! The logits that a request wants to see.

use crate::event_queue::EventQueue;
use alloc::vec::Vec;
use llm::perplexity::log_sum_exp;
use ops::crc32c::crc32c_f32;
use protocol::event::TopEntry;
use protocol::request::Logits;

/// Reports the logits after the token at `position`.
pub(crate) fn report(wanted: Logits, position: usize, logits: &[f32], out: &mut EventQueue) {
    let crc32c = wanted.logits_crc32c.then(|| crc32c_f32(logits));
    let fill = |top: &mut Vec<TopEntry>| {
        largest(logits, wanted.top_logits, top);
        log_sum_exp(logits)
    };
    out.logits(position, crc32c, (wanted.top_logits > 0).then_some(fill));
}

/// Appends the `n` largest logits to `top`, largest first; of equal ones the lower id. NaN is none of them.
fn largest(logits: &[f32], n: usize, top: &mut Vec<TopEntry>) {
    let start = top.len();
    for (id, &logit) in logits.iter().enumerate() {
        let best = &top[start..];
        let is_full = best.len() == n;
        let is_less = best.last().is_some_and(|least| logit <= least.logit);
        if logit.is_nan() || (is_full && is_less) {
            continue;
        }
        if is_full {
            top.pop();
        }
        let at = top[start..].iter().position(|other| logit > other.logit);
        let entry = TopEntry {
            id,
            logit,
            n_bytes: 0,
        };
        top.insert(at.map_or(top.len(), |at| start + at), entry);
    }
}

#[cfg(test)]
mod tests {
    use super::report;
    use crate::event_queue::EventQueue;
    use alloc::vec::Vec;
    use protocol::event::{Event, TopEntry};
    use protocol::request::Logits;

    /// The `n` largest behind `top`.
    fn largest(logits: &[f32], n: usize, top: &mut Vec<(usize, f32)>) {
        let entry = |&(id, logit): &(usize, f32)| TopEntry {
            id,
            logit,
            n_bytes: 0,
        };
        let mut entries = top.iter().map(entry).collect();
        super::largest(logits, n, &mut entries);
        *top = entries
            .iter()
            .map(|entry| (entry.id, entry.logit))
            .collect();
    }

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_largest_in_order(logits in prop::collection::vec(-4i8..4, 0..40), k in 1usize..12) {
            let logits: Vec<f32> = logits.iter().map(|&l| f32::from(l)).collect();
            let mut top = vec![(99, 9.0)];
            largest(&logits, k, &mut top);
            let mut sorted: Vec<(usize, f32)> = logits.into_iter().enumerate().collect();
            sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            sorted.truncate(k);
            prop_assert_eq!(&top[1..], sorted.as_slice());
        }
    }

    #[test]
    fn the_sum_is_that_of_all_logits() {
        let mut out = EventQueue::new();
        let wanted = Logits {
            top_logits: 1,
            ..Logits::default()
        };
        report(wanted, 0, &[0.0; 4], &mut out);
        let Some((_, Event::Logits(logits))) = out.take() else {
            panic!("no logits");
        };
        assert_eq!(logits.log_sum_exp, Some(core::f64::consts::LN_2 * 2.0));
    }

    #[test]
    fn nan_is_left_out() {
        for k in 1..=4 {
            let logits = [f32::NAN, 1.0, f32::NAN, 3.0, f32::INFINITY, f32::NAN, 2.0];
            let mut top = Vec::new();
            largest(&logits, k, &mut top);
            let sorted = [(4, f32::INFINITY), (3, 3.0), (6, 2.0), (1, 1.0)];
            assert_eq!(top, &sorted[..k]);
        }
        let mut top = Vec::new();
        largest(&[f32::NAN], 3, &mut top);
        assert!(top.is_empty());
    }
}
