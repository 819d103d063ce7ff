//! Statistics of ranks, exact for the sizes of an experiment (Hodges and Lehmann, Ann. Math. Stat. 1963).

use super::Interval;
use super::robust::median;
use alloc::vec;
use alloc::vec::Vec;

/// Returns the Hodges–Lehmann estimate with the exact 95 % interval of Wilcoxon's signed-rank test.
///
/// Nothing for fewer than six samples: no interval of theirs reaches 95 %.
pub fn signed_rank_interval(samples: &[f64]) -> Option<Interval> {
    let mut averages = Vec::with_capacity(samples.len() * (samples.len() + 1) / 2);
    for (at, a) in samples.iter().enumerate() {
        averages.extend(samples[at..].iter().map(|b| (a + b) / 2.0));
    }
    averages.sort_unstable_by(f64::total_cmp);
    let cut = signed_rank_cut(samples.len())?;
    Some(Interval {
        estimate: median(&averages)?,
        low: averages[cut],
        high: averages[averages.len() - 1 - cut],
    })
}

/// The largest number of averages that may be cut off at each end: P(W ≤ cut) ≤ 0.025.
fn signed_rank_cut(n: usize) -> Option<usize> {
    let mut share = vec![0.0; n * (n + 1) / 2 + 1];
    share[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..share.len()).rev() {
            let with = if sum >= rank { share[sum - rank] } else { 0.0 };
            share[sum] = (share[sum] + with) / 2.0;
        }
    }
    largest_within(&share, 0.025)
}

fn largest_within(share: &[f64], limit: f64) -> Option<usize> {
    let mut total = 0.0;
    let n = share.iter().take_while(|p| {
        total += **p;
        total <= limit
    });
    n.count().checked_sub(1)
}

/// Returns the exact two-sided p of the Mann–Whitney test; ties count half, and U is rounded to the middle.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let halves: usize = a
        .iter()
        .flat_map(|x| {
            b.iter()
                .map(move |y| usize::from(x > y) * 2 + usize::from(x == y))
        })
        .sum();
    let u = halves.min(2 * a.len() * b.len() - halves).div_ceil(2);
    let share = mann_whitney_distribution(a.len(), b.len());
    let tail: f64 = share.iter().take(u + 1).sum();
    Some((2.0 * tail).min(1.0))
}

/// P(U = u): the largest of all is of `a` with m ÷ (m + n) and then beats all n (Mann and Whitney 1947).
fn mann_whitney_distribution(m: usize, n: usize) -> Vec<f64> {
    let mut rows: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for i in 1..=m {
        let mut next: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=n {
            let share = i as f64 / (i + j) as f64;
            let mut row = vec![0.0; i * j + 1];
            for (u, p) in rows[j].iter().enumerate() {
                row[u + j] += share * p;
            }
            for (u, p) in next[j - 1].iter().enumerate() {
                row[u] += (1.0 - share) * p;
            }
            next.push(row);
        }
        rows = next;
    }
    rows.swap_remove(n)
}

/// Returns the median of all differences b − a.
pub fn shift(a: &[f64], b: &[f64]) -> Option<f64> {
    let differences: Vec<f64> = a
        .iter()
        .flat_map(|x| b.iter().map(move |y| y - x))
        .collect();
    median(&differences)
}

#[cfg(test)]
mod tests {
    use super::{mann_whitney, shift, signed_rank_cut, signed_rank_interval};

    /// Of the printed tables, at 0.025 for one side.
    #[test]
    fn critical_values_of_the_tables() {
        let known = [
            (5, None),
            (6, Some(0)),
            (8, Some(3)),
            (10, Some(8)),
            (20, Some(52)),
        ];
        for (n, cut) in known {
            assert_eq!(signed_rank_cut(n), cut, "{n}");
        }
        assert_eq!(signed_rank_interval(&[1.0; 5]), None);
    }

    #[test]
    fn exact_probabilities() {
        let p = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert!((p - 2.0 / 20.0).abs() < 1e-12);
        let p = mann_whitney(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0]).unwrap();
        assert!((p - 4.0 / 20.0).abs() < 1e-12);
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(shift(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), Some(3.0));
    }
}
