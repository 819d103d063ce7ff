//! Products of packed matrices.

use super::random::Random;
use super::{Comparison, Outcome};
use crate::activations::{Activations, FloatChunk, QuantPair, TILE};
use crate::arena::{Arena, OutOfMemory};
use crate::formats::formats;
use crate::lanes::{F32x4, flat};
use crate::matrix::{Error, Kernels};
use crate::scalar::quantize::{copy_floats, quantize};
use crate::{GgmlType, Matrix};

/// Row lengths in blocks of 32, odd ones among them.
const BLOCKS: [usize; 5] = [1, 2, 3, 7, 18];
/// Rows: three groups, the last not whole.
const ROWS: usize = 11;
/// Two tiles, the last not whole.
const MAX_TOKENS: usize = 6;

pub(super) fn run(
    arena: &mut Arena<'_>,
    report: &mut dyn FnMut(Outcome),
) -> Result<(), OutOfMemory> {
    for (seed, &ggml_type) in Matrix::TYPES.iter().enumerate() {
        let mut comparisons = [
            (Kernels::Int8, Comparison::new(ggml_type.name())),
            (Kernels::Dequantize, Comparison::new(plain_name(ggml_type))),
        ];
        for blocks in BLOCKS {
            let blocks = blocks * ggml_type.block_len().max(32) / 32;
            let mut random = Random::new((seed * 64 + blocks) as u64);
            compare(arena, ggml_type, blocks, &mut random, &mut comparisons)?;
        }
        for (_, comparison) in comparisons {
            report(comparison.outcome);
        }
    }
    Ok(())
}

macro_rules! plain_names {
    ([] $($kind:ident {
        $($Name:ident $($row:literal)* = $id:literal, $n:literal, $bytes:literal, $m:ident::$T:ident;)*
    })*) => {
        fn plain_name(ggml_type: GgmlType) -> &'static str {
            match ggml_type {
                $($(GgmlType::$Name => concat!(stringify!($Name), " plain"),)*)*
                _ => "dequantize kernels of another type",
            }
        }
    };
}
formats!(plain_names);

fn compare(
    arena: &mut Arena<'_>,
    ggml_type: GgmlType,
    blocks: usize,
    random: &mut Random,
    comparisons: &mut [(Kernels, Comparison); 2],
) -> Result<(), OutOfMemory> {
    let cols = blocks * 32;
    let Ok(mut matrix) = Matrix::new(arena, ggml_type, ROWS, cols) else {
        return Ok(());
    };
    let bytes = arena.slice::<u8>(ROWS * matrix.file_row_bytes())?;
    fill_weights(ggml_type, bytes, random);
    let packed = matrix.pack(0, bytes);
    let as_floats = dequantized(arena, &matrix)?;
    for (_, comparison) in comparisons.iter_mut() {
        comparison.value(packed.is_ok());
    }

    let vector = arena.slice::<F32x4>(cols / 4)?;
    let (pairs, chunks) = (cols.div_ceil(64), cols / 16);
    let tiles = MAX_TOKENS.div_ceil(TILE);
    let quant1 = arena.slice::<QuantPair<1>>(pairs)?;
    let quant4 = arena.slice::<QuantPair<TILE>>(pairs * tiles)?;
    let float1 = arena.slice::<FloatChunk<1>>(chunks)?;
    let float4 = arena.slice::<FloatChunk<TILE>>(chunks * tiles)?;
    for t in 0..MAX_TOKENS {
        random.fill(vector, [1.0, 1e-3, 300.0][t % 3]);
        if t == 4 {
            vector[..8].fill(F32x4::ZERO);
        }
        quantize(
            vector,
            blocks,
            &mut quant4[t / TILE * pairs..][..pairs],
            t % TILE,
        );
        copy_floats(vector, &mut float4[t / TILE * chunks..][..chunks], t % TILE);
    }
    quantize(vector, blocks, quant1, 0);
    copy_floats(vector, float1, 0);

    let groups = matrix.groups();
    for n_tokens in [1, 4, MAX_TOKENS] {
        let x = Activations {
            n_tokens,
            quant1,
            quant4,
            float1,
            float4,
        };
        let ours = arena.slice::<F32x4>(groups * n_tokens)?;
        let theirs = arena.slice::<F32x4>(groups * n_tokens)?;
        for (kernels, comparison) in comparisons.iter_mut() {
            let definition = match kernels {
                Kernels::Dequantize => &as_floats,
                _ => &matrix,
            };
            matrix.mul(*kernels, &x, 0..groups, ours);
            definition.mul(Kernels::Reference, &x, 0..groups, theirs);
            comparison.floats(ours, theirs);
        }
    }
    Ok(())
}

/// The weights of `matrix` as an F32 matrix: what dequantize kernels multiply with.
fn dequantized<'a>(arena: &mut Arena<'a>, matrix: &Matrix<'_>) -> Result<Matrix<'a>, OutOfMemory> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let mut floats = match Matrix::new(arena, GgmlType::F32, rows, cols) {
        Ok(floats) => floats,
        Err(Error::OutOfMemory(error)) => return Err(error),
        Err(error) => unreachable!("floats are supported: {error}"),
    };
    let row = arena.slice::<F32x4>(cols / 4)?;
    let bytes = arena.slice::<u8>(rows * cols * 4)?;
    for (r, bytes) in bytes.chunks_exact_mut(cols * 4).enumerate() {
        matrix.read_row(r, 0, row);
        for (bytes, weight) in bytes.chunks_exact_mut(4).zip(flat(row)) {
            bytes.copy_from_slice(&weight.to_le_bytes());
        }
    }
    let packed = floats.pack(0, bytes);
    assert_eq!(packed, Ok(()), "floats have no scales");
    Ok(floats)
}

/// Random weights; scales are halves that a model could have, with 0, subnormal and large ones
/// among them, and one block has the smallest integers.
fn fill_weights(ggml_type: GgmlType, bytes: &mut [u8], random: &mut Random) {
    const SCALES: [u16; 8] = [0, 1, 0x0200, 0x2000, 0x2C66, 0xA866, 0x3C00, 0x7BFF];
    for (b, block) in bytes.chunks_exact_mut(ggml_type.block_bytes()).enumerate() {
        let quants = if b == 1 { Some(0x80) } else { None };
        block.fill_with(|| quants.unwrap_or(random.bits() as u8));
        let scale = SCALES[random.bits() as usize % SCALES.len()].to_le_bytes();
        match ggml_type {
            GgmlType::F32 => {
                block.copy_from_slice(&random.unit().to_le_bytes());
            }
            GgmlType::F16 | GgmlType::BF16 => block.copy_from_slice(&[scale[0], scale[1] & 0xBF]),
            GgmlType::Q6_K => block[208..].copy_from_slice(&scale),
            GgmlType::Q8_0 | GgmlType::Q4_0 | GgmlType::Q5_0 | GgmlType::Q1_0 => {
                block[..2].copy_from_slice(&scale);
            }
            _ => {
                block[..2].copy_from_slice(&scale);
                let minimum = SCALES[random.bits() as usize % SCALES.len()];
                block[2..4].copy_from_slice(&minimum.to_le_bytes());
            }
        }
    }
}
