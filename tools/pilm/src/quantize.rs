//! f32 rows to the weight types that PiLM writes, rounded as ggml's reference does.
//!
//! Scales are computed in f32 and stored as f16; the quants are made with the f32 scale, not with
//! the stored one. Q8_0 rounds ties away from zero; Q4_0 and Q4_1 add a half and truncate.
//!
//! Resources: `quantize_row_{q1_0,q4_0,q4_1,q8_0}_ref` in ggml, `ggml-quants.c` (MIT).

use half::f16;
use ops::GgmlType;

/// Values per block of the 32-value types.
const BLOCK: usize = 32;

/// Weight types that [`quantize`] makes.
pub const TARGETS: [GgmlType; 6] = [
    GgmlType::F32,
    GgmlType::F16,
    GgmlType::Q8_0,
    GgmlType::Q4_0,
    GgmlType::Q4_1,
    GgmlType::Q1_0,
];

/// Appends `values` in `ggml_type` to `out`; false if the type is not one of [`TARGETS`].
///
/// # Panics
/// When `values` is not a whole number of the type's blocks.
pub fn quantize(ggml_type: GgmlType, values: &[f32], out: &mut Vec<u8>) -> bool {
    assert_eq!(
        values.len() % ggml_type.block_len(),
        0,
        "a row is a whole number of blocks"
    );
    let blocks = values.chunks_exact(BLOCK);
    match ggml_type {
        GgmlType::F32 => out.extend(values.iter().flat_map(|v| v.to_le_bytes())),
        GgmlType::F16 => out.extend(values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes())),
        GgmlType::Q8_0 => blocks.for_each(|b| q8_0(b, out)),
        GgmlType::Q4_0 => blocks.for_each(|b| q4_0(b, out)),
        GgmlType::Q4_1 => blocks.for_each(|b| q4_1(b, out)),
        GgmlType::Q1_0 => values.chunks_exact(128).for_each(|b| q1_0(b, out)),
        _ => return false,
    }
    true
}

/// 1 / `d`, or 0 for an all-zero block.
fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

/// `d` (f16) and 32 signed bytes; weight = d · q, d = absmax / 127.
fn q8_0(values: &[f32], out: &mut Vec<u8>) {
    let absmax = values.iter().fold(0f32, |m, v| m.max(v.abs()));
    let d = absmax / 127.0;
    let id = inverse(d);
    out.extend(f16::from_f32(d).to_le_bytes());
    out.extend(values.iter().map(|v| (v * id).round() as i8 as u8));
}

/// `d` (f16) and 32 nibbles; weight = d · (q − 8). The value of largest magnitude gets q = 0.
fn q4_0(values: &[f32], out: &mut Vec<u8>) {
    let extreme = values
        .iter()
        .fold(0f32, |m, v| if v.abs() > m.abs() { *v } else { m });
    let d = extreme / -8.0;
    let id = inverse(d);
    out.extend(f16::from_f32(d).to_le_bytes());
    pack_nibbles(values, |v| v * id + 8.5, out);
}

/// `d`, `m` (f16) and 32 nibbles; weight = d · q + m, m = minimum.
fn q4_1(values: &[f32], out: &mut Vec<u8>) {
    let min = values.iter().copied().fold(f32::INFINITY, f32::min);
    let max = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let d = (max - min) / 15.0;
    let id = inverse(d);
    out.extend(f16::from_f32(d).to_le_bytes());
    out.extend(f16::from_f32(min).to_le_bytes());
    pack_nibbles(values, |v| (v - min) * id + 0.5, out);
}

/// `d` (f16), the mean magnitude, and 128 signs; weight = ±d, 0 counts as +. Blocks of ±d come back as they are.
fn q1_0(values: &[f32], out: &mut Vec<u8>) {
    let magnitudes = values.iter().fold(0.0, |sum, v| sum + v.abs());
    out.extend(f16::from_f32(magnitudes / values.len() as f32).to_le_bytes());
    out.extend(values.chunks_exact(8).map(|eight| {
        let signs = eight.iter().rev().map(|v| u8::from(*v >= 0.0));
        signs.fold(0, |byte, sign| byte << 1 | sign)
    }));
}

/// Byte `j` holds value `j` in its low and value `j + 16` in its high nibble.
fn pack_nibbles(values: &[f32], scaled: impl Fn(f32) -> f32, out: &mut Vec<u8>) {
    let nibble = |v: f32| (scaled(v) as u8).min(15);
    let (low, high) = values.split_at(BLOCK / 2);
    out.extend(
        low.iter()
            .zip(high)
            .map(|(l, h)| nibble(*l) | nibble(*h) << 4),
    );
}

#[cfg(test)]
mod tests {
    use super::quantize;
    use half::f16;
    use ops::GgmlType;

    /// `values`, then zeros up to a block.
    fn block(values: &[f32]) -> [f32; 32] {
        let mut block = [0.0; 32];
        block[..values.len()].copy_from_slice(values);
        block
    }

    fn made(ggml_type: GgmlType, values: &[f32]) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(quantize(ggml_type, values, &mut out));
        out
    }

    #[test]
    fn q8_0_rounds_ties_away_from_zero() {
        let bytes = made(
            GgmlType::Q8_0,
            &block(&[127.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49]),
        );
        assert_eq!(bytes.len(), 34);
        assert_eq!(f16::from_le_bytes([bytes[0], bytes[1]]).to_f32(), 1.0);
        let quants: Vec<i8> = bytes[2..9].iter().map(|b| *b as i8).collect();
        assert_eq!(quants, [127, 1, -1, 2, 3, -3, 0]);
    }

    #[test]
    fn q4_0_maps_the_extreme_to_zero_and_saturates_at_15() {
        let bytes = made(GgmlType::Q4_0, &block(&[-8.0, 8.0, 1.0, -1.0]));
        assert_eq!(f16::from_le_bytes([bytes[0], bytes[1]]).to_f32(), 1.0);
        let low: Vec<u8> = bytes[2..6].iter().map(|b| b & 15).collect();
        assert_eq!(low, [0, 15, 9, 7]);
        assert!(bytes[2..].iter().all(|b| b >> 4 == 8), "zeros sit at q = 8");
    }

    #[test]
    fn q4_1_spans_minimum_to_maximum() {
        let bytes = made(GgmlType::Q4_1, &block(&[15.0, 7.5, 7.4]));
        assert_eq!(f16::from_le_bytes([bytes[0], bytes[1]]).to_f32(), 1.0);
        assert_eq!(f16::from_le_bytes([bytes[2], bytes[3]]).to_f32(), 0.0);
        let low: Vec<u8> = bytes[4..7].iter().map(|b| b & 15).collect();
        assert_eq!(low, [15, 8, 7]);
    }

    #[test]
    fn q1_0_has_the_mean_magnitude_and_the_signs_lowest_bit_first() {
        let values: Vec<f32> = (0..128).map(|i| [2.0, -1.0, 0.0, -1.0][i % 4]).collect();
        let bytes = made(GgmlType::Q1_0, &values);
        assert_eq!(bytes.len(), 18);
        assert_eq!(f16::from_le_bytes([bytes[0], bytes[1]]).to_f32(), 1.0);
        assert_eq!(bytes[2..], [0b0101_0101; 16]);
        let mut last = [0.25; 128];
        last[127] = -0.25;
        let bytes = made(GgmlType::Q1_0, &last);
        assert_eq!(bytes[16..], [0xFF, 0x7F]);
        let back = crate::dequantize::dequantize(GgmlType::Q1_0, &bytes).unwrap();
        assert_eq!(back, last);
    }

    #[test]
    fn zeros_have_scale_zero() {
        for ggml_type in [GgmlType::Q8_0, GgmlType::Q4_0, GgmlType::Q4_1] {
            let bytes = made(ggml_type, &[0.0; 32]);
            let back = crate::dequantize::dequantize(ggml_type, &bytes).unwrap();
            assert_eq!(back, [0.0; 32], "{ggml_type:?}");
        }
        assert!(!quantize(GgmlType::Q6_K, &[0.0; 256], &mut Vec::new()));
    }
}
