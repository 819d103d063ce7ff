//! Every weight type that a source file may hold, to f32.
//!
//! Written from the formats, apart from the kernels of `ops`, so that each checks the other. All
//! arithmetic is f32, one rounding per operation, as in the `gguf` Python package.
//!
//! Resources: block layouts in ggml, `ggml-common.h`; `dequantize_row_*` in `ggml-quants.c` (MIT).

use half::{bf16, f16};
use ops::GgmlType::{self, BF16, F16, F32, Q1_0, Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q6_K, Q8_0};

/// `bytes` of `ggml_type` as f32; none if the type is unknown here.
///
/// # Panics
/// When `bytes` is not a whole number of the type's blocks.
pub fn dequantize(ggml_type: GgmlType, bytes: &[u8]) -> Option<Vec<f32>> {
    let block_bytes = ggml_type.block_bytes();
    assert_eq!(
        bytes.len() % block_bytes,
        0,
        "tensor data is a whole number of blocks"
    );
    let mut out = Vec::with_capacity(bytes.len() / block_bytes * ggml_type.block_len());
    let decode: fn(&[u8], &mut Vec<f32>) = match ggml_type {
        F32 => |b, out| out.push(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        F16 => |b, out| out.push(float16(b, 0)),
        BF16 => |b, out| out.push(bf16::from_le_bytes([b[0], b[1]]).to_f32()),
        Q8_0 => q8_0,
        Q4_0 => |b, out| symmetric(b, nibbles(&b[2..]), 8.0, out),
        Q4_1 => |b, out| affine(b, nibbles(&b[4..]), out),
        Q5_0 => |b, out| symmetric(b, five_bits(&b[2..]), 16.0, out),
        Q5_1 => |b, out| affine(b, five_bits(&b[4..]), out),
        Q4_K => |b, out| sub_blocks(b, &[0; 32], &b[16..], out),
        Q5_K => |b, out| sub_blocks(b, &b[16..48], &b[48..], out),
        Q6_K => q6_k,
        Q1_0 => q1_0,
        _ => return None,
    };
    for block in bytes.chunks_exact(block_bytes) {
        decode(block, &mut out);
    }
    Some(out)
}

/// The f16 at byte `at`.
fn float16(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// Low nibbles, then high nibbles: the order of values in the 32-value types.
fn nibbles(quants: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let low = quants.iter().map(|b| b & 15);
    low.chain(quants.iter().map(|b| b >> 4))
}

/// Nibbles with a fifth bit: bit `j` of the little-endian word before them belongs to value `j`.
fn five_bits(block: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let fifth = |j: usize| block[j / 8] >> (j % 8) & 1;
    (0..)
        .zip(nibbles(&block[4..]))
        .map(move |(j, q)| q | fifth(j) << 4)
}

/// d, 32 × i8.
fn q8_0(block: &[u8], out: &mut Vec<f32>) {
    let d = float16(block, 0);
    out.extend(block[2..34].iter().map(|q| d * f32::from(*q as i8)));
}

/// d, quants: d · (q − middle).
fn symmetric(block: &[u8], quants: impl Iterator<Item = u8>, middle: f32, out: &mut Vec<f32>) {
    let d = float16(block, 0);
    out.extend(quants.map(|q| d * (f32::from(q) - middle)));
}

/// d, m, quants: d · q + m.
fn affine(block: &[u8], quants: impl Iterator<Item = u8>, out: &mut Vec<f32>) {
    let (d, m) = (float16(block, 0), float16(block, 2));
    out.extend(quants.map(|q| d * f32::from(q) + m));
}

/// Six-bit scale and minimum of sub-block `j`, from the 12 packed bytes of Q4_K and Q5_K.
fn scale_and_min(packed: &[u8], j: usize) -> (f32, f32) {
    let (scale, min) = if j < 4 {
        (packed[j] & 63, packed[j + 4] & 63)
    } else {
        let low = packed[j + 4];
        (
            low & 15 | packed[j - 4] >> 6 << 4,
            low >> 4 | packed[j] >> 6 << 4,
        )
    };
    (f32::from(scale), f32::from(min))
}

/// d, dmin, 12 packed scales, 128 bytes of nibbles; per 64 values 32 low, then 32 high nibbles. Q5_K has
/// 32 bytes of fifth bits before the nibbles: bit `s` belongs to sub-block `s`.
fn sub_blocks(block: &[u8], fifths: &[u8], nibbles: &[u8], out: &mut Vec<f32>) {
    let (d, dmin) = (float16(block, 0), float16(block, 2));
    for sub in 0..8 {
        let (scale, min) = scale_and_min(&block[4..16], sub);
        let (scale, min) = (d * scale, dmin * min);
        let bytes = nibbles[sub / 2 * 32..][..32].iter().zip(fifths);
        let quants = bytes.map(|(q, fifth)| q >> (sub % 2 * 4) & 15 | (fifth >> sub & 1) << 4);
        out.extend(quants.map(|q| scale * f32::from(q) - min));
    }
}

/// 128 bytes of low nibbles, 64 of high bit pairs, 16 × i8 scales, d: d · scale · (q − 32).
fn q6_k(block: &[u8], out: &mut Vec<f32>) {
    let d = float16(block, 208);
    for half in 0..2 {
        let low = &block[64 * half..][..64];
        let high = &block[128 + 32 * half..][..32];
        let scales = &block[192 + 8 * half..][..8];
        for quarter in 0..4 {
            for l in 0..32 {
                let nibble = low[l + 32 * (quarter & 1)] >> (4 * (quarter >> 1)) & 15;
                let q = nibble | (high[l] >> (2 * quarter) & 3) << 4;
                let scale = scales[2 * quarter + l / 16] as i8;
                out.push(d * f32::from(scale) * (f32::from(q) - 32.0));
            }
        }
    }
}

/// d, 16 bytes of signs, the first weight's in the lowest bit: d where it is set, else −d.
fn q1_0(block: &[u8], out: &mut Vec<f32>) {
    let d = float16(block, 0);
    let signs = block[2..18]
        .iter()
        .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
    out.extend(signs.map(|sign| if sign == 1 { d } else { -d }));
}
