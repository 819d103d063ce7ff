//! Products by the kernels of one's choice.

use core::ops::Range;

use super::{Kernels, Matrix, Rows, by_format};
use crate::activations::{Activations, FloatChunk, QuantPair, TILE};
use crate::formats::formats;
use crate::lanes::F32x4;
use crate::packed::Quantized;
use crate::packed::float::Float;
use crate::{dispatch, scalar};

type QuantizedKernel<Q, const NT: usize> =
    fn(&[<Q as Quantized>::Slab], &[QuantPair<NT>], usize, usize, &mut [F32x4]);
type PlainKernel<Q, const NT: usize> =
    fn(&[<Q as Quantized>::Slab], &[FloatChunk<NT>], usize, usize, &mut [F32x4]);
type FloatKernel<F, const NT: usize> =
    fn(&[<F as Float>::Chunk], &[FloatChunk<NT>], usize, usize, &mut [F32x4]);

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
        formats!(by_format, &self.packed, (rows, Format) {
            let slabs = (self.cols / 32).div_ceil(Format::BLOCKS);
            let rows = &rows[groups.start * slabs..groups.end * slabs];
            match kernels {
                Kernels::Int8 => self.mul_quantized::<Format>(
                    dispatch::mul_quantized::<Format, 1>,
                    dispatch::mul_quantized::<Format, TILE>,
                    rows, x, out,
                ),
                Kernels::Reference => self.mul_quantized::<Format>(
                    scalar::matmul::quantized_rows::<Format, 1>,
                    scalar::matmul::quantized_rows::<Format, TILE>,
                    rows, x, out,
                ),
                Kernels::Dequantize => self.mul_plain::<Format>(
                    dispatch::mul_plain::<Format, 1>,
                    dispatch::mul_plain::<Format, TILE>,
                    rows, x, out,
                ),
            }
        }, {
            let len = self.cols.div_ceil(16);
            let rows = &rows[groups.start * len..groups.end * len];
            match kernels {
                Kernels::Dequantize | Kernels::Int8 => self.mul_float::<Format>(
                    dispatch::mul_float::<Format, 1>,
                    dispatch::mul_float::<Format, TILE>,
                    rows, x, out,
                ),
                Kernels::Reference => self.mul_float::<Format>(
                    scalar::matmul::float_rows::<Format, 1>,
                    scalar::matmul::float_rows::<Format, TILE>,
                    rows, x, out,
                ),
            }
        });
    }

    #[inline(always)] // The kernels are known at the call.
    fn mul_quantized<Q: Quantized>(
        &self,
        one: QuantizedKernel<Q, 1>,
        four: QuantizedKernel<Q, TILE>,
        rows: &[Q::Slab],
        x: &Activations<'_>,
        out: &mut [F32x4],
    ) {
        let (n, n_blocks) = (x.n_tokens, self.cols / 32);
        let len = n_blocks.div_ceil(2);
        if n == 1 {
            one(rows, &x.quant1[..len], n_blocks, n, out);
        } else {
            four(rows, &x.quant4[..n.div_ceil(TILE) * len], n_blocks, n, out);
        }
    }

    #[inline(always)] // The kernels are known at the call.
    fn mul_plain<Q: Quantized>(
        &self,
        one: PlainKernel<Q, 1>,
        four: PlainKernel<Q, TILE>,
        rows: &[Q::Slab],
        x: &Activations<'_>,
        out: &mut [F32x4],
    ) {
        let (n, n_blocks) = (x.n_tokens, self.cols / 32);
        let len = 2 * n_blocks;
        if n == 1 {
            one(rows, &x.float1[..len], n_blocks, n, out);
        } else {
            four(rows, &x.float4[..n.div_ceil(TILE) * len], n_blocks, n, out);
        }
    }

    #[inline(always)] // The kernels are known at the call.
    fn mul_float<F: Float>(
        &self,
        one: FloatKernel<F, 1>,
        four: FloatKernel<F, TILE>,
        rows: &[F::Chunk],
        x: &Activations<'_>,
        out: &mut [F32x4],
    ) {
        let (n, len) = (x.n_tokens, self.cols.div_ceil(16));
        if n == 1 {
            one(rows, &x.float1[..len], len, n, out);
        } else {
            four(rows, &x.float4[..n.div_ceil(TILE) * len], len, n, out);
        }
    }
}
