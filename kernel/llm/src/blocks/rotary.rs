//! Rotary position embedding: the tables, and their use on heads of a panel.

use ops::arena::{Arena, OutOfMemory};
use ops::dispatch;
use ops::lanes::{F32x4, flat_mut};
pub use ops::scalar::rope::RopeStyle;

use crate::config::Config;

/// Cosines and sines of every angle, `head_dim` values a position.
pub struct Rotary<'a> {
    style: RopeStyle,
    lanes: usize,
    cos: &'a mut [F32x4],
    sin: &'a mut [F32x4],
}

impl<'a> Rotary<'a> {
    /// Tables for positions up to `context_len`.
    ///
    /// Pair `i` of position `p` turns by `p · f_i`, with
    /// `f_i = theta^(−2i / head_dim) / linear factor / divisors_i`.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn new(
        arena: &mut Arena<'a>,
        config: &Config,
        style: RopeStyle,
        divisors: Option<&[f32]>,
        context_len: usize,
    ) -> Result<Self, OutOfMemory> {
        let head_dim = config.head_dim;
        let lanes = head_dim / 4;
        let cos = arena.slice::<F32x4>(context_len * lanes)?;
        let sin = arena.slice::<F32x4>(context_len * lanes)?;
        for i in 0..head_dim / 2 {
            let frequency = frequency(config, i, divisors);
            let cos = flat_mut(cos).chunks_exact_mut(head_dim);
            let sin = flat_mut(sin).chunks_exact_mut(head_dim);
            for (position, (cos, sin)) in cos.zip(sin).enumerate() {
                let angle = position as f32 * frequency;
                let (c, s) = (libm::cosf(angle), libm::sinf(angle));
                match style {
                    RopeStyle::Interleaved => {
                        cos[2 * i..2 * i + 2].copy_from_slice(&[c, c]);
                        sin[2 * i..2 * i + 2].copy_from_slice(&[-s, s]);
                    }
                    RopeStyle::HalfSplit => {
                        cos[i] = c;
                        sin[i] = s;
                    }
                }
            }
        }
        Ok(Rotary {
            style,
            lanes,
            cos,
            sin,
        })
    }

    /// Rotates one head of token `t` out of a panel of `n_tokens` by `position`, and scales it.
    pub fn apply(
        &self,
        head: &[F32x4],
        n_tokens: usize,
        t: usize,
        position: usize,
        scale: f32,
        out: &mut [F32x4],
    ) {
        let row = position * self.lanes..(position + 1) * self.lanes;
        let (cos, sin) = (&self.cos[row.clone()], &self.sin[row]);
        dispatch::rope(self.style, head, n_tokens, t, cos, sin, scale, out);
    }
}

/// Radians per position of pair `i`.
fn frequency(config: &Config, i: usize, divisors: Option<&[f32]>) -> f32 {
    let exponent = -2.0 * i as f64 / config.head_dim as f64;
    let plain = libm::pow(f64::from(config.rope_theta), exponent) as f32;
    let divisor = divisors.map_or(1.0, |d| d[i]);
    plain / config.rope_linear_factor / divisor
}
