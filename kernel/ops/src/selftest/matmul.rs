//! Products of packed matrices.

use super::Outcome;
use super::inputs::{Inputs, KERNELS, NAMES, new_matrix, put_scales};
use super::random::Random;
use crate::activations::TILE;
use crate::arena::{Arena, OutOfMemory};
use crate::lanes::F32x4;
use crate::matrix::Kernels;
use crate::{GgmlType, Matrix};
use zerocopy::IntoBytes;

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
    for (seed, names) in NAMES.iter().enumerate() {
        let mut outcomes = names.bits.map(|name| Outcome::new(name, 0.0));
        for blocks in BLOCKS {
            let blocks = blocks * names.ggml_type.block_len().max(32) / 32;
            let mut random = Random::new((seed * 64 + blocks) as u64);
            let cols = 32 * blocks;
            compare(arena, names.ggml_type, cols, &mut random, &mut outcomes)?;
        }
        outcomes.into_iter().for_each(&mut *report);
    }
    Ok(())
}

fn compare(
    arena: &mut Arena<'_>,
    ggml_type: GgmlType,
    cols: usize,
    random: &mut Random,
    outcomes: &mut [Outcome; 2],
) -> Result<(), OutOfMemory> {
    let mut matrix = new_matrix(arena, ggml_type, ROWS, cols)?;
    let bytes = arena.slice::<u8>(ROWS * matrix.file_row_bytes())?;
    fill_weights(ggml_type, bytes, random);
    let packed = matrix.pack(0, bytes);
    let as_floats = dequantized(arena, &matrix)?;
    for outcome in outcomes.iter_mut() {
        outcome.value(packed.is_ok());
    }

    let vector = arena.slice::<F32x4>(cols / 4)?;
    let mut inputs = Inputs::new(arena, cols, MAX_TOKENS.div_ceil(TILE))?;
    for t in 0..MAX_TOKENS {
        random.fill(vector, [1.0, 1e-3, 300.0][t % 3]);
        if t == 4 {
            vector[..8].fill(F32x4::ZERO);
        }
        inputs.put(vector, t);
    }
    let groups = matrix.groups();
    for n_tokens in [1, 4, MAX_TOKENS] {
        let x = inputs.of(n_tokens);
        let ours = arena.slice::<F32x4>(groups * n_tokens)?;
        let theirs = arena.slice::<F32x4>(groups * n_tokens)?;
        for (kernels, outcome) in KERNELS.into_iter().zip(outcomes.iter_mut()) {
            let definition = match kernels {
                Kernels::Dequantize => &as_floats,
                _ => &matrix,
            };
            matrix.mul(kernels, &x, 0..groups, ours);
            definition.mul(Kernels::Reference, &x, 0..groups, theirs);
            outcome.floats(ours, theirs);
        }
    }
    Ok(())
}

/// The weights of `matrix` as an F32 matrix: what dequantize kernels multiply with.
fn dequantized<'a>(arena: &mut Arena<'a>, matrix: &Matrix<'_>) -> Result<Matrix<'a>, OutOfMemory> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let mut floats = new_matrix(arena, GgmlType::F32, rows, cols)?;
    let weights = arena.slice::<F32x4>(rows * cols / 4)?;
    for (r, row) in weights.chunks_exact_mut(cols / 4).enumerate() {
        matrix.read_row(r, 0, row);
    }
    let packed = floats.pack(0, weights.as_bytes());
    assert_eq!(packed, Ok(()), "floats have no scales");
    Ok(floats)
}

/// Random weights; scales are f16 values that a model could have, with 0, subnormal and large ones
/// among them, and one block has the smallest integers.
fn fill_weights(ggml_type: GgmlType, bytes: &mut [u8], random: &mut Random) {
    const SCALES: [u16; 8] = [0, 1, 0x0200, 0x2000, 0x2C66, 0xA866, 0x3C00, 0x7BFF];
    for (b, block) in bytes.chunks_exact_mut(ggml_type.block_bytes()).enumerate() {
        let quants = if b == 1 { Some(0x80) } else { None };
        block.fill_with(|| quants.unwrap_or(random.bits() as u8));
        let mut scale = || SCALES[random.bits() as usize % SCALES.len()];
        match ggml_type {
            GgmlType::F32 => block.copy_from_slice(&random.unit().to_le_bytes()),
            GgmlType::F16 | GgmlType::BF16 => {
                block.copy_from_slice(&(scale() & 0xBFFF).to_le_bytes());
            }
            _ => put_scales(ggml_type, block, scale),
        }
    }
}
