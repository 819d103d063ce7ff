//! Products of packed matrices, of one token and of a tile.

use super::super::random::Random;
use super::{Accuracy, Spoil, Worst, fill};
use crate::activations::{Activations, FloatChunk, QuantPair, TILE};
use crate::arena::{Arena, Line, OutOfMemory};
use crate::dispatch::{copy_floats, quantize};
use crate::float::f32_to_f16;
use crate::formats::formats;
use crate::lanes::{F32x4, flat};
use crate::matrix::{Error, Kernels};
use crate::{GgmlType, Matrix};

/// Row lengths of SmolLM2-135M (width and hidden width).
const COLS: [usize; 2] = [576, 1536];
/// Rows: they do not depend on each other.
const ROWS: usize = 64;
/// What f32 sums of such lengths keep.
const LIMIT: f64 = 2e-6;

pub(super) fn run(
    memory: &mut [Line],
    spoil: &mut Spoil<'_>,
    report: &mut dyn FnMut(Accuracy),
) -> Result<(), OutOfMemory> {
    for &ggml_type in Matrix::TYPES {
        let names = check_names(ggml_type);
        for (kernels, name) in [(Kernels::Int8, names[0]), (Kernels::Dequantize, names[1])] {
            let mut worst = Worst::new();
            for cols in COLS
                .into_iter()
                .filter(|cols| cols.is_multiple_of(ggml_type.block_len()))
            {
                let arena = Arena::new(memory);
                product(arena, ggml_type, cols, kernels, spoil, name, &mut worst)?;
            }
            report(worst.report(name, LIMIT));
        }
    }
    report(integers(Arena::new(memory), spoil)?);
    Ok(())
}

macro_rules! check_names {
    ([] $($kind:ident {
        $($Name:ident $name:literal = $id:literal, $n:literal, $bytes:literal, $m:ident::$T:ident;)*
    })*) => {
        /// The int8 kernels' check and the dequantize ones'.
        fn check_names(ggml_type: GgmlType) -> [&'static str; 2] {
            match ggml_type {
                $($(GgmlType::$Name => [concat!("gemv ", $name), concat!("gemv ", $name, " plain")],)*)*
                _ => ["gemv of another type", "plain gemv of another type"],
            }
        }
    };
}
formats!(check_names);

/// Everything that a product needs, in one arena.
struct Product<'a> {
    kernels: Kernels,
    matrix: Matrix<'a>,
    vector: &'a mut [F32x4],
    quant1: &'a mut [QuantPair<1>],
    quant4: &'a mut [QuantPair<TILE>],
    float1: &'a mut [FloatChunk<1>],
    float4: &'a mut [FloatChunk<TILE>],
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
        let mut matrix = match Matrix::new(arena, ggml_type, ROWS, cols) {
            Ok(matrix) => matrix,
            Err(Error::OutOfMemory(error)) => return Err(error),
            Err(error) => unreachable!("a type that matrices can have: {error}"),
        };
        let bytes = arena.slice::<u8>(ROWS * matrix.file_row_bytes())?;
        weights(bytes);
        let packed = matrix.pack(0, bytes);
        assert_eq!(packed, Ok(()), "the weights have finite scales");
        Ok(Product {
            kernels,
            matrix,
            vector: arena.slice(cols / 4)?,
            quant1: arena.slice(cols.div_ceil(64))?,
            quant4: arena.slice(cols.div_ceil(64))?,
            float1: arena.slice(cols / 16)?,
            float4: arena.slice(cols / 16)?,
            row: arena.slice(cols / 4)?,
            out: arena.slice(ROWS / 4 * TILE)?,
        })
    }

    /// Puts `vector` into the activations, as token `t` of the tile and as the one token.
    fn activate(&mut self, t: usize) {
        let blocks = self.vector.len() / 8;
        quantize::<1>(self.vector, blocks, self.quant1, 0);
        quantize::<TILE>(self.vector, blocks, self.quant4, t);
        copy_floats::<1>(self.vector, self.float1, 0);
        copy_floats::<TILE>(self.vector, self.float4, t);
    }

    fn multiply(&mut self, n_tokens: usize) -> &mut [F32x4] {
        let x = Activations {
            n_tokens,
            quant1: self.quant1,
            quant4: self.quant4,
            float1: self.float1,
            float4: self.float4,
        };
        let groups = self.matrix.groups();
        let out = &mut self.out[..groups * n_tokens];
        self.matrix.mul(self.kernels, &x, 0..groups, out);
        out
    }

    /// Activation `i` of token `t` of the tile, as the kernel sees it.
    fn activation(&self, i: usize, t: usize) -> f64 {
        if self.kernels.want_quantized(&self.matrix) {
            let (pair, block, at) = (&self.quant4[i / 64], i / 32 % 2, i % 32);
            f64::from(pair.d[block][t]) * f64::from(pair.q[block][t][at])
        } else {
            f64::from(self.float4[i / 16].x[t][i % 16])
        }
    }

    fn exact(&mut self, row: usize, t: usize) -> f64 {
        self.matrix.read_row(row, 0, self.row);
        let products = flat(self.row).iter().enumerate();
        products
            .map(|(i, &w)| f64::from(w) * self.activation(i, t))
            .sum()
    }
}

fn product(
    mut arena: Arena<'_>,
    ggml_type: GgmlType,
    cols: usize,
    kernels: Kernels,
    spoil: &mut Spoil<'_>,
    name: &'static str,
    worst: &mut Worst,
) -> Result<(), OutOfMemory> {
    let mut random = Random::new(cols as u64);
    let weights = |bytes: &mut [u8]| fill_weights(ggml_type, bytes, &mut random);
    let mut product = Product::new(&mut arena, ggml_type, cols, kernels, weights)?;
    for t in 0..TILE {
        fill(product.vector, 100 + t as u64, 1.0);
        product.activate(t);
    }
    // The last token is also the one that stands alone.
    let alone = TILE - 1;
    spoil(name, product.multiply(1));
    for row in 0..ROWS {
        let got = product.out[row / 4].0[row % 4];
        worst.value(got, product.exact(row, alone));
    }
    spoil(name, product.multiply(TILE));
    for row in 0..ROWS {
        for t in 0..TILE {
            let got = product.out[row / 4 * TILE + t].0[row % 4];
            worst.value(got, product.exact(row, t));
        }
    }
    Ok(())
}

/// With scales of 1 every dot product is a whole number below 2²⁴, which f32 holds: nothing may be lost.
fn integers(mut arena: Arena<'_>, spoil: &mut Spoil<'_>) -> Result<Accuracy, OutOfMemory> {
    const NAME: &str = "integer dots q8_0";
    const COLS: usize = 576;
    let mut random = Random::new(3);
    let mut product = Product::new(&mut arena, GgmlType::Q8_0, COLS, Kernels::Int8, |bytes| {
        for block in bytes.chunks_exact_mut(GgmlType::Q8_0.block_bytes()) {
            block[..2].copy_from_slice(&f32_to_f16(1.0).to_le_bytes());
            block[2..].fill_with(|| random.bits() as u8);
        }
    })?;
    let mut random = Random::new(4);
    for block in product.vector.chunks_exact_mut(8) {
        for lanes in block.iter_mut() {
            lanes.0 = core::array::from_fn(|_| (random.bits() % 255) as f32 - 127.0);
        }
        // An absolute maximum of 127 makes the scale 1.
        block[0].0[0] = 127.0;
    }
    product.activate(0);
    spoil(NAME, product.multiply(1));
    let mut worst = Worst::new();
    for row in 0..ROWS {
        let got = product.out[row / 4].0[row % 4];
        worst.value(got, product.exact(row, 0));
    }
    Ok(worst.report(NAME, 0.0))
}

/// Random weights of a model's size.
fn fill_weights(ggml_type: GgmlType, bytes: &mut [u8], random: &mut Random) {
    for block in bytes.chunks_exact_mut(ggml_type.block_bytes()) {
        let weight = random.unit() * 0.1;
        block.fill_with(|| random.bits() as u8);
        let mut scale = || f32_to_f16(0.01 + 0.005 * random.unit()).to_le_bytes();
        match ggml_type {
            GgmlType::F32 => block.copy_from_slice(&weight.to_le_bytes()),
            GgmlType::F16 => block.copy_from_slice(&f32_to_f16(weight).to_le_bytes()),
            GgmlType::BF16 => block.copy_from_slice(&weight.to_le_bytes()[2..]),
            GgmlType::Q6_K => block[208..].copy_from_slice(&scale()),
            GgmlType::Q8_0 | GgmlType::Q4_0 | GgmlType::Q5_0 | GgmlType::Q1_0 => {
                block[..2].copy_from_slice(&scale());
            }
            _ => {
                block[..2].copy_from_slice(&scale());
                block[2..4].copy_from_slice(&scale());
            }
        }
    }
}
