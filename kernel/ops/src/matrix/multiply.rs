//! Products by the kernels of one's choice.

use core::ops::Range;

use super::{Kernels, Matrix, Rows, by_format};
use crate::activations::{Activations, TILE};
use crate::formats::formats;
use crate::lanes::F32x4;
use crate::packed::Quantized;
use crate::{dispatch, scalar};

/// Multiplies groups of rows with tiles: rows, tiles, length of both, tokens, products.
type Kernel<W, X> = fn(&[W], &[X], usize, usize, &mut [F32x4]);

impl Matrix<'_> {
    /// `out = W[groups] · x`: the groups' part of a panel of `x.n_tokens` tokens.
    ///
    /// `x` needs the activations that [`Kernels::want_quantized`] names, and no others.
    ///
    /// # Panics
    /// When `out` is no `groups.len() · x.n_tokens` long, or the groups lie outside.
    pub fn mul(
        &self,
        kernels: Kernels,
        x: &Activations<'_>,
        groups: Range<usize>,
        out: &mut [F32x4],
    ) {
        assert_eq!(
            out.len(),
            groups.len() * x.n_tokens,
            "room for the products"
        );
        let n = x.n_tokens;
        formats!(by_format, &self.packed, (rows, Format) {
            let blocks = self.cols / 32;
            let slabs = blocks.div_ceil(Format::BLOCKS);
            let rows = &rows[groups.start * slabs..groups.end * slabs];
            match kernels {
                Kernels::Int8 => multiply(
                    (dispatch::gemm_quantized::<Format, 1>, x.quant1),
                    (dispatch::gemm_quantized::<Format, TILE>, x.quant4),
                    blocks.div_ceil(2), rows, blocks, n, out,
                ),
                Kernels::Reference => multiply(
                    (scalar::matmul::gemm_quantized::<Format, 1>, x.quant1),
                    (scalar::matmul::gemm_quantized::<Format, TILE>, x.quant4),
                    blocks.div_ceil(2), rows, blocks, n, out,
                ),
                Kernels::Dequantize => multiply(
                    (dispatch::gemm_dequantized::<Format, 1>, x.float1),
                    (dispatch::gemm_dequantized::<Format, TILE>, x.float4),
                    2 * blocks, rows, blocks, n, out,
                ),
            }
        }, {
            let chunks = self.cols.div_ceil(16);
            let rows = &rows[groups.start * chunks..groups.end * chunks];
            match kernels {
                Kernels::Dequantize | Kernels::Int8 => multiply(
                    (dispatch::gemm_float::<Format, 1>, x.float1),
                    (dispatch::gemm_float::<Format, TILE>, x.float4),
                    chunks, rows, chunks, n, out,
                ),
                Kernels::Reference => multiply(
                    (scalar::matmul::gemm_float::<Format, 1>, x.float1),
                    (scalar::matmul::gemm_float::<Format, TILE>, x.float4),
                    chunks, rows, chunks, n, out,
                ),
            }
        });
    }
}

/// Multiplies by the kernel for one token, or by the one for tiles of `tile_len` elements.
#[inline(always)] // The kernels are known at the call.
fn multiply<W, X1, X4>(
    (one, x1): (Kernel<W, X1>, &[X1]),
    (four, x4): (Kernel<W, X4>, &[X4]),
    tile_len: usize,
    rows: &[W],
    len: usize,
    n_tokens: usize,
    out: &mut [F32x4],
) {
    if n_tokens == 1 {
        one(rows, &x1[..tile_len], len, n_tokens, out);
    } else {
        let x = &x4[..n_tokens.div_ceil(TILE) * tile_len];
        four(rows, x, len, n_tokens, out);
    }
}
