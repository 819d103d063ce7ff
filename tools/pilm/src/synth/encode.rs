//! Every type that the engine reads, made for models of tests.
//!
//! What [`quantize`] makes is made by it. Q5_0 and Q5_1 follow ggml's reference. The K types are
//! filled in the plainest way, sub-block by sub-block, without ggml's search for better scales:
//! their blocks are valid and near the values, which is all that a test needs.
//!
//! Resources: block layouts in ggml, `ggml-common.h`; `quantize_row_q5_{0,1}_ref` (MIT).

use half::{bf16, f16};
use ops::GgmlType;

use crate::quantize::quantize;

/// Types that can be made for a synthetic model.
pub const TYPES: [GgmlType; 12] = [
    GgmlType::F32,
    GgmlType::F16,
    GgmlType::BF16,
    GgmlType::Q8_0,
    GgmlType::Q4_0,
    GgmlType::Q4_1,
    GgmlType::Q5_0,
    GgmlType::Q5_1,
    GgmlType::Q4_K,
    GgmlType::Q5_K,
    GgmlType::Q6_K,
    GgmlType::Q1_0,
];

/// Appends `values` in `ggml_type` to `out`; false for a type that is not made here.
///
/// # Panics
/// When `values` is not a whole number of the type's blocks.
pub fn encode(ggml_type: GgmlType, values: &[f32], out: &mut Vec<u8>) -> bool {
    let block_len = ggml_type.block_len();
    assert_eq!(
        values.len() % block_len,
        0,
        "a row is a whole number of blocks"
    );
    let block: fn(&[f32], &mut Vec<u8>) = match ggml_type {
        GgmlType::BF16 => |v, out| out.extend(bf16::from_f32(v[0]).to_le_bytes()),
        GgmlType::Q5_0 => q5_0,
        GgmlType::Q5_1 => q5_1,
        GgmlType::Q4_K => q4_k,
        GgmlType::Q5_K => q5_k,
        GgmlType::Q6_K => q6_k,
        other => return quantize(other, values, out),
    };
    values
        .chunks_exact(block_len)
        .for_each(|values| block(values, out));
    true
}

fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

fn push_f16(value: f32, out: &mut Vec<u8>) -> f32 {
    let half = f16::from_f32(value);
    out.extend(half.to_le_bytes());
    half.to_f32()
}

fn range(values: &[f32]) -> (f32, f32) {
    let min = values.iter().copied().fold(f32::INFINITY, f32::min);
    (
        min,
        values.iter().copied().fold(f32::NEG_INFINITY, f32::max),
    )
}

/// Fifth bits as a word, then nibbles: low halves of bytes first.
fn push_five_bits(quants: &[u8], out: &mut Vec<u8>) {
    let high = quants
        .iter()
        .enumerate()
        .fold(0u32, |word, (j, q)| word | u32::from(q >> 4) << j);
    out.extend(high.to_le_bytes());
    let (low, high) = quants.split_at(16);
    out.extend(low.iter().zip(high).map(|(l, h)| l & 15 | h << 4));
}

fn q5_0(values: &[f32], out: &mut Vec<u8>) {
    let extreme = values
        .iter()
        .fold(0f32, |m, v| if v.abs() > m.abs() { *v } else { m });
    let id = inverse(extreme / -16.0);
    push_f16(extreme / -16.0, out);
    let quants: Vec<u8> = values
        .iter()
        .map(|v| ((v * id + 16.5) as u8).min(31))
        .collect();
    push_five_bits(&quants, out);
}

fn q5_1(values: &[f32], out: &mut Vec<u8>) {
    let (min, max) = range(values);
    let id = inverse((max - min) / 31.0);
    push_f16((max - min) / 31.0, out);
    push_f16(min, out);
    let quants: Vec<u8> = values
        .iter()
        .map(|v| ((v - min) * id + 0.5) as u8)
        .collect();
    push_five_bits(&quants, out);
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

/// Nibbles of pairs of sub-blocks: the first in the low halves.
fn push_nibble_pairs(quants: &[u8], out: &mut Vec<u8>) {
    for pair in quants.chunks_exact(64) {
        let (low, high) = pair.split_at(32);
        out.extend(low.iter().zip(high).map(|(l, h)| l & 15 | h << 4));
    }
}

fn q4_k(values: &[f32], out: &mut Vec<u8>) {
    let quants = scaled_sub_blocks(values, 15.0, out);
    push_nibble_pairs(&quants, out);
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
    push_nibble_pairs(&quants, out);
}

fn q6_k(values: &[f32], out: &mut Vec<u8>) {
    let absmax = |v: &[f32]| v.iter().fold(0f32, |m, v| m.max(v.abs()));
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
mod tests {
    use super::encode;
    use crate::dequantize::dequantize;
    use crate::synth::SplitMix64;
    use ops::GgmlType;

    #[test]
    fn what_is_encoded_is_decoded_within_the_types_step() {
        let mut random = SplitMix64::new(5);
        let values: Vec<f32> = (0..2048)
            .map(|i| random.normal() * (1 + i / 256) as f32)
            .collect();
        for (ggml_type, limit) in [
            (GgmlType::BF16, 0.002),
            (GgmlType::Q8_0, 0.006),
            (GgmlType::Q6_K, 0.03),
            (GgmlType::Q5_K, 0.05),
            (GgmlType::Q5_1, 0.05),
            (GgmlType::Q5_0, 0.05),
            (GgmlType::Q4_K, 0.1),
            (GgmlType::Q4_1, 0.1),
            (GgmlType::Q4_0, 0.1),
            (GgmlType::Q1_0, 0.65),
        ] {
            let mut bytes = Vec::new();
            assert!(encode(ggml_type, &values, &mut bytes));
            assert_eq!(
                bytes.len(),
                2048 / ggml_type.block_len() * ggml_type.block_bytes()
            );
            let back = dequantize(ggml_type, &bytes).unwrap();
            let square = |v: &mut dyn Iterator<Item = f32>| v.map(|v| v * v).sum::<f32>();
            let error = square(&mut back.iter().zip(&values).map(|(a, b)| a - b));
            let relative = (error / square(&mut values.iter().copied())).sqrt();
            assert!(relative < limit, "{ggml_type:?}: {relative}");
            assert!(relative > limit / 20.0, "{ggml_type:?}: {relative}");
        }
        assert!(!encode(GgmlType::IQ4_NL, &values, &mut Vec::new()));
    }

    #[test]
    fn zeros_stay_zeros() {
        for ggml_type in [
            GgmlType::Q5_0,
            GgmlType::Q5_1,
            GgmlType::Q4_K,
            GgmlType::Q5_K,
            GgmlType::Q6_K,
        ] {
            let mut bytes = Vec::new();
            assert!(encode(ggml_type, &[0.0; 256], &mut bytes));
            assert_eq!(
                dequantize(ggml_type, &bytes).unwrap(),
                [0.0; 256],
                "{ggml_type:?}"
            );
        }
    }
}
