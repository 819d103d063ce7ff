//! Distribution and repeatability of the sampler.

use std::vec;
use std::vec::Vec;

use super::{Sampler, Settings};
use crate::tokenizer::TokenId;

const LOGITS: [f32; 8] = [1.0, -0.5, 2.0, 0.25, 1.5, -2.0, 0.0, 0.75];

fn drawn(settings: Settings, n: usize) -> Vec<usize> {
    let mut sampler = Sampler::new(LOGITS.len(), settings);
    (0..n)
        .map(|_| sampler.sample(&LOGITS).unwrap().index())
        .collect()
}

fn sampling(temperature: f32) -> Settings {
    Settings {
        temperature,
        seed: 7,
        ..Settings::GREEDY
    }
}

/// Pearson's statistic of `n` draws against the softmax over `allowed`.
fn chi_square(settings: Settings, n: usize, allowed: &[usize]) -> f64 {
    let mut counts = [0.0; LOGITS.len()];
    for id in drawn(settings, n) {
        counts[id] += 1.0;
    }
    let weight = |id: usize| (f64::from(LOGITS[id]) / f64::from(settings.temperature)).exp();
    let total: f64 = allowed.iter().map(|&id| weight(id)).sum();
    for (id, &count) in counts.iter().enumerate() {
        assert!(
            count == 0.0 || allowed.contains(&id),
            "token {id} was drawn"
        );
    }
    let term = |&id: &usize| {
        let expected = n as f64 * weight(id) / total;
        (counts[id] - expected).powi(2) / expected
    };
    allowed.iter().map(term).sum()
}

#[test]
fn greedy_takes_the_highest_and_the_lowest_id_on_a_tie() {
    let mut sampler = Sampler::new(4, Settings::GREEDY);
    assert_eq!(sampler.sample(&[0.0, 3.0, 3.0, 1.0]), Some(TokenId(1)));
    assert_eq!(
        sampler.sample(&[f32::NAN, -3.0, f32::INFINITY, -4.0]),
        Some(TokenId(1))
    );
    assert_eq!(sampler.sample(&[f32::NAN, f32::NEG_INFINITY]), None);
    assert_eq!(sampler.sample(&[]), None);
}

#[test]
fn draws_follow_the_softmax() {
    // Chi-square quantiles at 0.999: 24.3 for 7 degrees of freedom, 13.8 for 2, 10.8 for 1.
    let all: Vec<usize> = (0..LOGITS.len()).collect();
    assert!(chi_square(sampling(1.0), 50_000, &all) < 24.3);
    assert!(chi_square(sampling(2.5), 50_000, &all) < 24.3);
    let top_k = Settings {
        top_k: 3,
        ..sampling(1.0)
    };
    assert!(chi_square(top_k, 20_000, &[0, 2, 4]) < 13.8);
    // Probabilities descend 0.37, 0.22, 0.14, …: 0.7 is reached by the third.
    let top_p = Settings {
        top_p: 0.7,
        ..sampling(1.0)
    };
    assert!(chi_square(top_p, 20_000, &[0, 2, 4]) < 13.8);
    // Token 4 has exp(-0.5) = 0.61 of the best one's probability, token 0 0.37.
    let min_p = Settings {
        min_p: 0.5,
        ..sampling(1.0)
    };
    assert!(chi_square(min_p, 20_000, &[2, 4]) < 10.8);
}

#[test]
fn a_wrong_distribution_fails_the_statistic() {
    let all: Vec<usize> = (0..LOGITS.len()).collect();
    let counted_as = |temperature: f64| {
        let mut counts = [0.0f64; LOGITS.len()];
        for id in drawn(sampling(1.0), 50_000) {
            counts[id] += 1.0;
        }
        let weight = |id: usize| (f64::from(LOGITS[id]) / temperature).exp();
        let total: f64 = all.iter().map(|&id| weight(id)).sum();
        let expected = |id: usize| 50_000.0 * weight(id) / total;
        all.iter()
            .map(|&id| (counts[id] - expected(id)).powi(2) / expected(id))
            .sum::<f64>()
    };
    assert!(counted_as(1.0) < 24.3);
    assert!(counted_as(1.05) > 24.3);
}

#[test]
fn a_seed_gives_the_same_tokens_everywhere() {
    // PCG-XSH-RR seed 7 and the inverse distribution function, computed apart from this code.
    let golden = [6, 4, 7, 2, 2, 4, 6, 4, 1, 7, 0, 4];
    assert_eq!(drawn(sampling(0.8), 12), golden);
    let other = Settings {
        seed: 8,
        ..sampling(0.8)
    };
    assert_ne!(drawn(other, 12), golden);
    let mut sampler = Sampler::new(LOGITS.len(), sampling(0.8));
    for _ in 0..2 {
        let again: Vec<usize> = golden
            .iter()
            .map(|_| sampler.sample(&LOGITS).unwrap().index())
            .collect();
        assert_eq!(again, golden);
        sampler.reset();
    }
}

#[test]
fn filters_that_let_everything_through_change_nothing() {
    let plain = drawn(sampling(1.0), 200);
    let open = Settings {
        top_k: LOGITS.len(),
        ..sampling(1.0)
    };
    assert_eq!(drawn(open, 200), plain);
}

#[test]
fn the_penalty_pushes_recent_tokens_down_and_forgets_old_ones() {
    let settings = Settings {
        repeat_penalty: 2.0,
        repeat_last_n: 2,
        ..Settings::GREEDY
    };
    let mut sampler = Sampler::new(LOGITS.len(), settings);
    assert_eq!(sampler.sample(&LOGITS), Some(TokenId(2)));
    sampler.accept(TokenId(2));
    assert_eq!(sampler.sample(&LOGITS), Some(TokenId(4)));
    sampler.accept(TokenId(4));
    // 2.0 / 2 ties with token 0 at 1.0; the lower id wins.
    assert_eq!(sampler.sample(&LOGITS), Some(TokenId(0)));
    sampler.accept(TokenId(0));
    assert_eq!(sampler.sample(&LOGITS), Some(TokenId(2)));
    let negative = [-1.0, -1.5];
    sampler.reset();
    sampler.accept(TokenId(0));
    assert_eq!(sampler.sample(&negative), Some(TokenId(1)));
    // Ids outside the logits are nobody's.
    sampler.accept(TokenId(90));
    assert_eq!(sampler.sample(&negative), Some(TokenId(1)));
}

#[test]
fn scratch_is_not_allocated_again() {
    let logits: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.37).sin() * 4.0).collect();
    for top_k in [0, 40] {
        let settings = Settings {
            top_k,
            top_p: 0.9,
            repeat_penalty: 1.1,
            ..sampling(1.0)
        };
        let mut sampler = Sampler::new(logits.len(), settings);
        let capacities = |s: &Sampler| {
            vec![
                s.all.capacity(),
                s.best.capacity(),
                s.kept.capacity(),
                s.recent.capacity(),
                s.penalised.capacity(),
            ]
        };
        let before = capacities(&sampler);
        for _ in 0..100 {
            let id = sampler.sample(&logits).unwrap();
            sampler.accept(id);
        }
        assert_eq!(capacities(&sampler), before);
    }
}

#[test]
fn settings_out_of_range_are_named() {
    assert!(Settings::GREEDY.check().is_ok());
    let bad = Settings {
        top_p: 0.0,
        ..Settings::GREEDY
    };
    assert_eq!(bad.check().unwrap_err().name, "top_p");
    let bad = Settings {
        temperature: f32::NAN,
        ..Settings::GREEDY
    };
    assert_eq!(bad.check().unwrap_err().name, "temperature");
}
