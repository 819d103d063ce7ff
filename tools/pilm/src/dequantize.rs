//! Every weight type that a source file may hold, to f32.
//!
//! Written from the formats, apart from the kernels of `ops`, so that each checks the other. All
//! arithmetic is f32, one rounding per operation, as in the `gguf` Python package.
//!
//! Resources: block layouts in ggml, `ggml-common.h`; `dequantize_row_*` in `ggml-quants.c` (MIT).

use half::{bf16, f16};
use ops::GgmlType;

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
        GgmlType::F32 => |b, out| out.push(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        GgmlType::F16 => |b, out| out.push(float16(b, 0)),
        GgmlType::BF16 => |b, out| out.push(bf16::from_le_bytes([b[0], b[1]]).to_f32()),
        GgmlType::Q8_0 => q8_0,
        GgmlType::Q4_0 => q4_0,
        GgmlType::Q4_1 => q4_1,
        GgmlType::Q5_0 => q5_0,
        GgmlType::Q5_1 => q5_1,
        GgmlType::Q4_K => q4_k,
        GgmlType::Q5_K => q5_k,
        GgmlType::Q6_K => q6_k,
        GgmlType::Q1_0 => q1_0,
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
    quants
        .iter()
        .map(|b| b & 15)
        .chain(quants.iter().map(|b| b >> 4))
}

/// d, 32 × i8.
fn q8_0(block: &[u8], out: &mut Vec<f32>) {
    let d = float16(block, 0);
    out.extend(block[2..34].iter().map(|q| d * f32::from(*q as i8)));
}

/// d, 16 bytes of nibbles: d · (q − 8).
fn q4_0(block: &[u8], out: &mut Vec<f32>) {
    let d = float16(block, 0);
    out.extend(nibbles(&block[2..18]).map(|q| d * (f32::from(q) - 8.0)));
}

/// d, m, 16 bytes of nibbles: d · q + m.
fn q4_1(block: &[u8], out: &mut Vec<f32>) {
    let (d, m) = (float16(block, 0), float16(block, 2));
    out.extend(nibbles(&block[4..20]).map(|q| d * f32::from(q) + m));
}

/// Nibbles with a fifth bit: bit `j` of the little-endian word belongs to value `j`.
fn five_bits(high: &[u8], quants: &[u8]) -> impl Iterator<Item = f32> {
    let high = u32::from_le_bytes([high[0], high[1], high[2], high[3]]);
    nibbles(quants)
        .enumerate()
        .map(move |(j, q)| f32::from(q | ((high >> j & 1) as u8) << 4))
        .collect::<Vec<_>>()
        .into_iter()
}

/// d, 4 bytes of fifth bits, 16 bytes of nibbles: d · (q − 16).
fn q5_0(block: &[u8], out: &mut Vec<f32>) {
    let d = float16(block, 0);
    out.extend(five_bits(&block[2..6], &block[6..22]).map(|q| d * (q - 16.0)));
}

/// d, m, 4 bytes of fifth bits, 16 bytes of nibbles: d · q + m.
fn q5_1(block: &[u8], out: &mut Vec<f32>) {
    let (d, m) = (float16(block, 0), float16(block, 2));
    out.extend(five_bits(&block[4..8], &block[8..24]).map(|q| d * q + m));
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

/// d, dmin, 12 packed scales, 128 bytes of nibbles; per 64 values 32 low, then 32 high nibbles.
fn q4_k(block: &[u8], out: &mut Vec<f32>) {
    let (d, dmin) = (float16(block, 0), float16(block, 2));
    for (j, quants) in block[16..144].chunks_exact(32).enumerate() {
        for half in 0..2 {
            let (scale, min) = scale_and_min(&block[4..16], 2 * j + half);
            let (scale, min) = (d * scale, dmin * min);
            out.extend(
                quants
                    .iter()
                    .map(|q| scale * f32::from(q >> (4 * half) & 15) - min),
            );
        }
    }
}

/// As Q4_K with 32 bytes of fifth bits before the nibbles: bit `s` belongs to sub-block `s`.
fn q5_k(block: &[u8], out: &mut Vec<f32>) {
    let (d, dmin) = (float16(block, 0), float16(block, 2));
    let high = &block[16..48];
    for (j, quants) in block[48..176].chunks_exact(32).enumerate() {
        for half in 0..2 {
            let sub = 2 * j + half;
            let (scale, min) = scale_and_min(&block[4..16], sub);
            let (scale, min) = (d * scale, dmin * min);
            out.extend(
                quants.iter().zip(high).map(|(q, h)| {
                    scale * f32::from(q >> (4 * half) & 15 | (h >> sub & 1) << 4) - min
                }),
            );
        }
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
