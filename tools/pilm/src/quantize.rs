//! f32 rows to every weight type that the engine reads.
//!
//! The types of [`TARGETS`], Q5_0 and Q5_1 are rounded as ggml's reference does. Scales are computed in
//! f32 and stored as f16; the quants are made with the f32 scale, not with the stored one. Q8_0 rounds
//! ties away from zero; Q4 and Q5 add a half and truncate.
//!
//! The K types are for models of tests. They are filled in the plainest way, sub-block by sub-block,
//! without ggml's search for better scales: their blocks are valid and near the values.
//!
//! Resources: block layouts in ggml, `ggml-common.h`; `quantize_row_{q1_0,q4_0,q4_1,q5_0,q5_1,q8_0}_ref`
//! in `ggml-quants.c` (MIT).

use half::{bf16, f16};
use ops::GgmlType::{self, BF16, F16, F32, Q1_0, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0};

/// Weight types that model files are made in: as good as ggml's own.
pub const TARGETS: [GgmlType; 6] = [F32, F16, Q8_0, Q4_0, Q4_1, Q1_0];

/// Weight types that [`quantize`] makes.
pub const TYPES: [GgmlType; 12] = [
    F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, Q1_0,
];

/// Appends `values` in `ggml_type` to `out`; false if the type is not one of [`TYPES`].
///
/// # Panics
/// When `values` is not a whole number of the type's blocks.
pub fn quantize(ggml_type: GgmlType, values: &[f32], out: &mut Vec<u8>) -> bool {
    let block_len = ggml_type.block_len();
    assert_eq!(
        values.len() % block_len,
        0,
        "a row is a whole number of blocks"
    );
    let block: fn(&[f32], &mut Vec<u8>) = match ggml_type {
        F32 => |v, out| out.extend(v[0].to_le_bytes()),
        F16 => |v, out| out.extend(f16::from_f32(v[0]).to_le_bytes()),
        BF16 => |v, out| out.extend(bf16::from_f32(v[0]).to_le_bytes()),
        Q8_0 => q8_0,
        Q4_0 => |v, out| push_nibbles(&symmetric(v, 8.0, out), out),
        Q4_1 => |v, out| push_nibbles(&affine(v, 15.0, out), out),
        Q5_0 => |v, out| push_five_bits(&symmetric(v, 16.0, out), out),
        Q5_1 => |v, out| push_five_bits(&affine(v, 31.0, out), out),
        Q4_K => q4_k,
        Q5_K => q5_k,
        Q6_K => q6_k,
        Q1_0 => q1_0,
        _ => return false,
    };
    let blocks = values.chunks_exact(block_len);
    blocks.for_each(|values| block(values, out));
    true
}

/// 1 / `d`, or 0 for an all-zero block.
fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

/// Writes `value` as f16, and gives what was written.
fn push_f16(value: f32, out: &mut Vec<u8>) -> f32 {
    let half = f16::from_f32(value);
    out.extend(half.to_le_bytes());
    half.to_f32()
}

fn absmax(values: &[f32]) -> f32 {
    values.iter().fold(0f32, |m, v| m.max(v.abs()))
}

fn range(values: &[f32]) -> (f32, f32) {
    let ends = (f32::INFINITY, f32::NEG_INFINITY);
    values
        .iter()
        .fold(ends, |(min, max), v| (min.min(*v), max.max(*v)))
}

/// `d` (f16) and 32 signed bytes; weight = d · q, d = absmax / 127.
fn q8_0(values: &[f32], out: &mut Vec<u8>) {
    let d = absmax(values) / 127.0;
    let id = inverse(d);
    push_f16(d, out);
    out.extend(values.iter().map(|v| (v * id).round() as i8 as u8));
}

/// Writes `d` and gives the quants; weight = d · (q − middle). The value of largest magnitude gets q = 0.
fn symmetric(values: &[f32], middle: f32, out: &mut Vec<u8>) -> Vec<u8> {
    let larger = |m: f32, v: &f32| if v.abs() > m.abs() { *v } else { m };
    let d = values.iter().fold(0f32, larger) / -middle;
    let (id, offset, most) = (inverse(d), middle + 0.5, 2 * middle as u8 - 1);
    push_f16(d, out);
    let quant = |v: &f32| ((v * id + offset) as u8).min(most);
    values.iter().map(quant).collect()
}

/// Writes `d` and `m` and gives the quants, `0..=levels`; weight = d · q + m, m = minimum.
fn affine(values: &[f32], levels: f32, out: &mut Vec<u8>) -> Vec<u8> {
    let (min, max) = range(values);
    let d = (max - min) / levels;
    let id = inverse(d);
    push_f16(d, out);
    push_f16(min, out);
    let quant = |v: &f32| (((v - min) * id + 0.5) as u8).min(levels as u8);
    values.iter().map(quant).collect()
}

/// `d` (f16), the mean magnitude, and 128 signs; weight = ±d, 0 counts as +. Blocks of ±d come back as they are.
fn q1_0(values: &[f32], out: &mut Vec<u8>) {
    let magnitudes = values.iter().fold(0.0, |sum, v| sum + v.abs());
    push_f16(magnitudes / values.len() as f32, out);
    out.extend(values.chunks_exact(8).map(|eight| {
        let signs = eight.iter().rev().map(|v| u8::from(*v >= 0.0));
        signs.fold(0, |byte, sign| byte << 1 | sign)
    }));
}

/// The first half of the quants in the low, the second in the high nibbles.
fn push_nibbles(quants: &[u8], out: &mut Vec<u8>) {
    let (low, high) = quants.split_at(quants.len() / 2);
    out.extend(low.iter().zip(high).map(|(l, h)| l & 15 | h << 4));
}

/// Fifth bits as a word, then nibbles.
fn push_five_bits(quants: &[u8], out: &mut Vec<u8>) {
    let fifths = quants.iter().rev().map(|q| u32::from(q >> 4));
    out.extend(fifths.fold(0, |word, bit| word << 1 | bit).to_le_bytes());
    push_nibbles(quants, out);
}

/// Scales and minima of the eight sub-blocks of Q4_K and Q5_K: writes d, dmin and the 12 packed
/// bytes, and gives the quants, `0..=levels`.
fn scaled_sub_blocks(values: &[f32], levels: f32, out: &mut Vec<u8>) -> Vec<u8> {
    let ranges: Vec<(f32, f32)> = values
        .chunks_exact(32)
        .map(range)
        .map(|(min, max)| (min.min(0.0), max.max(min.min(0.0))))
        .collect();
    let greatest = |of: &dyn Fn(&(f32, f32)) -> f32| ranges.iter().map(of).fold(0f32, f32::max);
    let d = push_f16(greatest(&|(min, max)| (max - min) / levels) / 63.0, out);
    let dmin = push_f16(greatest(&|(min, _)| -min) / 63.0, out);
    let mut packed = [0u8; 12];
    let mut quants = Vec::with_capacity(256);
    for (j, ((min, max), values)) in ranges.iter().zip(values.chunks_exact(32)).enumerate() {
        let scale = ((max - min) / levels * inverse(d)).round().min(63.0) as u8;
        let minimum = (-min * inverse(dmin)).round().min(63.0) as u8;
        if j < 4 {
            packed[j] |= scale;
            packed[j + 4] |= minimum;
        } else {
            packed[j + 4] = scale & 15 | minimum << 4;
            packed[j - 4] |= scale >> 4 << 6;
            packed[j] |= minimum >> 4 << 6;
        }
        let (step, offset) = (d * f32::from(scale), dmin * f32::from(minimum));
        let quant = |v: &f32| ((v + offset) * inverse(step)).round().clamp(0.0, levels) as u8;
        quants.extend(values.iter().map(quant));
    }
    out.extend(packed);
    quants
}

fn q4_k(values: &[f32], out: &mut Vec<u8>) {
    let quants = scaled_sub_blocks(values, 15.0, out);
    let pairs = quants.chunks_exact(64);
    pairs.for_each(|pair| push_nibbles(pair, out));
}

fn q5_k(values: &[f32], out: &mut Vec<u8>) {
    let quants = scaled_sub_blocks(values, 31.0, out);
    let mut high = [0u8; 32];
    for (sub, quants) in quants.chunks_exact(32).enumerate() {
        for (byte, q) in high.iter_mut().zip(quants) {
            *byte |= (q >> 4) << sub;
        }
    }
    out.extend(high);
    let pairs = quants.chunks_exact(64);
    pairs.for_each(|pair| push_nibbles(pair, out));
}

fn q6_k(values: &[f32], out: &mut Vec<u8>) {
    let d = f16::from_f32(absmax(values) / 31.0 / 127.0).to_f32();
    let (mut low, mut high, mut scales) = ([0u8; 128], [0u8; 64], [0u8; 16]);
    for (sub, values) in values.chunks_exact(16).enumerate() {
        let scale = (absmax(values) / 31.0 * inverse(d)).round().min(127.0);
        scales[sub] = scale as u8;
        let step = inverse(d * scale);
        for (i, v) in (16 * sub..).zip(values) {
            let q = ((v * step).round().clamp(-32.0, 31.0) + 32.0) as u8;
            // Value i is in half i / 128, quarter (i / 32) mod 4, at l = i mod 32.
            let (half, quarter, l) = (i / 128, i / 32 % 4, i % 32);
            low[64 * half + 32 * (quarter & 1) + l] |= (q & 15) << (4 * (quarter >> 1));
            high[32 * half + l] |= (q >> 4) << (2 * quarter);
        }
    }
    out.extend(low);
    out.extend(high);
    out.extend(scales);
    push_f16(d, out);
}

#[cfg(test)]
mod tests;
