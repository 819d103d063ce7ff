//! Blocks byte by byte, and each type there and back.

use super::quantize;
use crate::dequantize::dequantize;
use crate::synth::SplitMix64;
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
    let back = dequantize(GgmlType::Q1_0, &bytes).unwrap();
    assert_eq!(back, last);
}

#[test]
fn zeros_have_scale_zero() {
    for ggml_type in [GgmlType::Q8_0, GgmlType::Q4_0, GgmlType::Q4_1] {
        let bytes = made(ggml_type, &[0.0; 32]);
        let back = dequantize(ggml_type, &bytes).unwrap();
        assert_eq!(back, [0.0; 32], "{ggml_type:?}");
    }
}

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
        assert!(quantize(ggml_type, &values, &mut bytes));
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
    assert!(!quantize(GgmlType::IQ4_NL, &values, &mut Vec::new()));
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
        assert!(quantize(ggml_type, &[0.0; 256], &mut bytes));
        assert_eq!(
            dequantize(ggml_type, &bytes).unwrap(),
            [0.0; 256],
            "{ggml_type:?}"
        );
    }
}
