//! Products of packed matrices, of one token and of a tile.

use super::super::inputs::{Inputs, KERNELS, NAMES, new_matrix, put_scales};
use super::super::random::Random;
use super::exact::exact;
use super::{Checks, Worst, fill};
use crate::activations::TILE;
use crate::arena::{Arena, OutOfMemory};
use crate::float::f32_to_f16;
use crate::lanes::F32x4;
use crate::matrix::Kernels;
use crate::{GgmlType, Matrix};

/// Row lengths of SmolLM2-135M (width and hidden width).
const COLS: [usize; 2] = [576, 1536];
/// Rows: they do not depend on each other.
const ROWS: usize = 64;
/// What f32 sums of such lengths keep.
const LIMIT: f64 = 2e-6;

pub(super) fn run(checks: &mut Checks<'_>) -> Result<(), OutOfMemory> {
    for names in NAMES {
        let is_whole = |cols: &usize| cols.is_multiple_of(names.ggml_type.block_len());
        for (kernels, name) in KERNELS.into_iter().zip(names.accuracy) {
            checks.check(name, LIMIT, |arena, worst| {
                let mut lengths = COLS.into_iter().filter(is_whole);
                lengths.try_for_each(|cols| product(arena, worst, names.ggml_type, cols, kernels))
            })?;
        }
    }
    checks.check("integer dots q8_0", 0.0, integers)
}

/// Everything that a product needs, in one arena.
struct Product<'a> {
    kernels: Kernels,
    matrix: Matrix<'a>,
    vector: &'a mut [F32x4],
    inputs: Inputs<'a>,
    row: &'a mut [F32x4],
    out: &'a mut [F32x4],
}

impl<'a> Product<'a> {
    fn new(
        arena: &mut Arena<'a>,
        ggml_type: GgmlType,
        cols: usize,
        kernels: Kernels,
        weights: impl FnOnce(&mut [u8]),
    ) -> Result<Self, OutOfMemory> {
        let mut matrix = new_matrix(arena, ggml_type, ROWS, cols)?;
        let bytes = arena.slice::<u8>(ROWS * matrix.file_row_bytes())?;
        weights(bytes);
        let packed = matrix.pack(0, bytes);
        assert_eq!(packed, Ok(()), "the weights have finite scales");
        Ok(Product {
            kernels,
            matrix,
            vector: arena.slice(cols / 4)?,
            inputs: Inputs::new(arena, cols, 1)?,
            row: arena.slice(cols / 4)?,
            out: arena.slice(ROWS / 4 * TILE)?,
        })
    }

    /// Activation `i` of token `t` of the tile, as the kernel sees it.
    fn activation(&self, i: usize, t: usize) -> f64 {
        if self.kernels.want_quantized(&self.matrix) {
            let (pair, block, at) = (&self.inputs.quant4[i / 64], i / 32 % 2, i % 32);
            f64::from(pair.d[block][t]) * f64::from(pair.q[block][t][at])
        } else {
            f64::from(self.inputs.float4[i / 16].x[t][i % 16])
        }
    }

    /// Multiplies with `n_tokens` tokens, which are those of the tile from `first` on, and compares.
    fn compare(&mut self, n_tokens: usize, first: usize, worst: &mut Worst<'_>) {
        let groups = self.matrix.groups();
        let out = &mut self.out[..groups * n_tokens];
        let x = self.inputs.of(n_tokens);
        self.matrix.mul(self.kernels, &x, 0..groups, out);
        worst.spoil(out);
        for row in 0..ROWS {
            self.matrix.read_row(row, 0, self.row);
            for t in 0..n_tokens {
                let products = exact(self.row).enumerate();
                let products = products.map(|(i, w)| w * self.activation(i, first + t));
                worst.value(self.out[row / 4 * n_tokens + t].0[row % 4], products.sum());
            }
        }
    }
}

fn product(
    arena: &mut Arena<'_>,
    worst: &mut Worst<'_>,
    ggml_type: GgmlType,
    cols: usize,
    kernels: Kernels,
) -> Result<(), OutOfMemory> {
    let mut random = Random::new(cols as u64);
    let weights = |bytes: &mut [u8]| fill_weights(ggml_type, bytes, &mut random);
    let mut product = Product::new(arena, ggml_type, cols, kernels, weights)?;
    for t in 0..TILE {
        fill(product.vector, 100 + t as u64, 1.0);
        product.inputs.put(product.vector, t);
    }
    // The last token is also the one that stands alone.
    product.compare(1, TILE - 1, worst);
    product.compare(TILE, 0, worst);
    Ok(())
}

/// With scales of 1 every dot product is a whole number below 2²⁴, which f32 holds: nothing may be lost.
fn integers(arena: &mut Arena<'_>, worst: &mut Worst<'_>) -> Result<(), OutOfMemory> {
    let mut random = Random::new(3);
    let weights = |bytes: &mut [u8]| {
        for block in bytes.chunks_exact_mut(GgmlType::Q8_0.block_bytes()) {
            block[..2].copy_from_slice(&f32_to_f16(1.0).to_le_bytes());
            block[2..].fill_with(|| random.bits() as u8);
        }
    };
    let mut product = Product::new(arena, GgmlType::Q8_0, COLS[0], Kernels::Int8, weights)?;
    let mut random = Random::new(4);
    for block in product.vector.chunks_exact_mut(8) {
        for lanes in block.iter_mut() {
            lanes.0 = core::array::from_fn(|_| (random.bits() % 255) as f32 - 127.0);
        }
        // An absolute maximum of 127 makes the scale 1.
        block[0].0[0] = 127.0;
    }
    product.inputs.put(product.vector, 0);
    product.compare(1, 0, worst);
    Ok(())
}

/// Random weights of a model's size.
fn fill_weights(ggml_type: GgmlType, bytes: &mut [u8], random: &mut Random) {
    for block in bytes.chunks_exact_mut(ggml_type.block_bytes()) {
        let weight = random.unit() * 0.1;
        block.fill_with(|| random.bits() as u8);
        match ggml_type {
            GgmlType::F32 => block.copy_from_slice(&weight.to_le_bytes()),
            GgmlType::F16 => block.copy_from_slice(&f32_to_f16(weight).to_le_bytes()),
            GgmlType::BF16 => block.copy_from_slice(&weight.to_le_bytes()[2..]),
            _ => put_scales(ggml_type, block, || {
                f32_to_f16(0.01 + 0.005 * random.unit())
            }),
        }
    }
}
