//! A decoder that counts, measured.

use super::{PairedChunks, Perplexity, Progress, VersusBase, perplexity};
use crate::decoder::Decoder;
use std::convert::Infallible;

/// Gives the token after `id`, modulo 8, a logit of `certainty`, all others 0.
struct Counting {
    certainty: f32,
    prefills: Vec<(usize, usize)>,
}

impl Decoder for Counting {
    type Error = Infallible;

    fn prefill(
        &mut self,
        ids: &[u32],
        from: usize,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), Infallible> {
        self.prefills.push((ids.len(), from));
        for (pos, id) in ids.iter().enumerate().skip(from) {
            let mut logits = [0.0; 8];
            logits[(id + 1) as usize % 8] = self.certainty;
            each(pos, &logits);
        }
        Ok(())
    }

    fn decode(&mut self, _: u32) -> Result<Vec<f32>, Infallible> {
        Ok(vec![0.0; 8])
    }
}

#[test]
fn the_second_half_of_each_whole_chunk_is_scored() {
    let ids: Vec<u32> = (0..42).map(|n| n % 8).collect();
    let mut sure = Counting {
        certainty: 20.0,
        prefills: Vec::new(),
    };
    let mut unsure = Counting {
        certainty: 0.0,
        prefills: Vec::new(),
    };
    let mut calls = Vec::new();
    let decoders = std::slice::from_mut(&mut unsure);
    let results = perplexity(
        Some(&mut sure),
        decoders,
        &ids,
        20,
        9,
        &mut |n, progress| {
            calls.push((n, progress[0].chunk.nll.n(), progress[0].so_far.nll.n()));
            Ok(())
        },
    )
    .unwrap();
    // Positions 10..=18 score tokens 11..=19, in two chunks.
    assert_eq!(calls, [(1, 9, 9), (2, 9, 18)]);
    assert_eq!(unsure.prefills, [(20, 10), (20, 10)]);
    let [result] = results[..] else {
        panic!("one decoder, one result");
    };
    assert_eq!(result.nll.n(), 18);
    assert!((result.value() - 8.0).abs() < 1e-9);
    assert!(result.standard_error() < 1e-6);
    let versus = result.versus_base.unwrap();
    assert!(versus.nll.mean() < 1e-6);
    assert!((versus.kl.mean() - 8f64.ln()).abs() < 1e-5);
    // Without any certainty the first token wins, which is right once in each chunk's half.
    assert_eq!(versus.top1.mean(), 2.0 / 18.0);
}

#[test]
fn runs_are_paired_chunk_by_chunk() {
    let progress = |kl, top1| {
        let mut versus = VersusBase::default();
        versus.kl.add(kl);
        versus.top1.add(top1);
        let chunk = Perplexity {
            versus_base: Some(versus),
            ..Perplexity::default()
        };
        Progress {
            chunk,
            so_far: Perplexity::default(),
        }
    };
    let mut pairs = PairedChunks::default();
    pairs.add(&[progress(0.004, 0.96), progress(0.002, 0.98)]);
    pairs.add(&[progress(0.002, 0.97), progress(0.002, 0.97)]);
    let noise = pairs.noise().unwrap();
    assert!((noise.kl.mean - 0.001).abs() < 1e-12 && (noise.kl.error - 0.001).abs() < 1e-12);
    assert!((noise.of_kl() - 0.001 / 2f64.sqrt()).abs() < 1e-12);
    assert!((noise.same_top1.mean + 0.01).abs() < 1e-12);
    let mut alone = PairedChunks::default();
    alone.add(&[progress(0.004, 0.96)]);
    assert_eq!(alone.noise(), None);
}
