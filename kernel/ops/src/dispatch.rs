//! The only place that chooses between the scalar definition and what is faster.
//!
//! AArch64 runs the NEON twins. x86-64 runs the definition itself, compiled a second time for AVX2
//! and FMA, where the machine has them. Others run the definition.

use crate::activations::{FloatChunk, QuantPair};
use crate::lanes::F32x4;
#[cfg(target_arch = "aarch64")]
use crate::neon;
use crate::scalar;
use crate::scalar::rope::RopeStyle;

/// The formats that this machine has kernels for: with NEON twins on AArch64, all elsewhere.
#[cfg(target_arch = "aarch64")]
pub use crate::neon::{
    attention::KvNeon as KvKernels,
    matmul::{FloatNeon as FloatKernels, QuantizedNeon as QuantizedKernels},
};
#[cfg(not(target_arch = "aarch64"))]
pub use crate::{
    kv_format::KvFormat as KvKernels,
    packed::{Quantized as QuantizedKernels, float::Float as FloatKernels},
};

/// Whether this x86 has the instructions that the second compilation is for.
#[cfg(target_arch = "x86_64")]
fn has_avx2_and_fma() -> bool {
    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
}

macro_rules! dispatch {
    ($(
        $(#[$doc:meta])*
        pub fn $name:ident $(<{$($generics:tt)*}, {$($names:tt)*}>)? ($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)?
            = $scalar:expr $(, neon: $neon:expr)?;
    )*) => {$(
        $(#[$doc])*
        #[allow(clippy::too_many_arguments, reason = "a kernel's operands")]
        #[allow(unreachable_code, reason = "the definition is for those without a twin")]
        pub fn $name $(<$($generics)*>)? ($($arg: $type),*) $(-> $ret)? {
            $(#[cfg(target_arch = "aarch64")]
            {
                // SAFETY: every AArch64 core that this runs on has AdvSIMD.
                return unsafe { $neon };
            })?
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                #[allow(clippy::too_many_arguments, reason = "a kernel's operands")]
                fn fast $(<$($generics)*>)? ($($arg: $type),*) $(-> $ret)? {
                    $scalar
                }
                if has_avx2_and_fma() {
                    // SAFETY: the processor has AVX2 and FMA.
                    return unsafe { fast$(::<$($names)*>)?($($arg),*) };
                }
            }
            $scalar
        }
    )*};
}

dispatch! {
    /// [`scalar::matmul::quantized_tile`] for many groups and tiles.
    #[inline(never)] // A loop of the image is found by this name.
    pub fn gemm_quantized<{Q: QuantizedKernels, const NR: usize}, {Q, NR}>(
        groups: &[Q::Slab],
        x: &[QuantPair<NR>],
        n_blocks: usize,
        n_tokens: usize,
        out: &mut [F32x4],
    ) = scalar::matmul::gemm_quantized::<Q, NR>(groups, x, n_blocks, n_tokens, out),
        neon: neon::matmul::gemm_quantized::<Q, NR>(groups, x, n_blocks, n_tokens, out);

    /// [`scalar::matmul::dequantized_tile`] for many groups and tiles.
    #[inline(never)] // A loop of the image is found by this name.
    pub fn gemm_dequantized<{Q: QuantizedKernels, const NR: usize}, {Q, NR}>(
        groups: &[Q::Slab],
        x: &[FloatChunk<NR>],
        n_blocks: usize,
        n_tokens: usize,
        out: &mut [F32x4],
    ) = scalar::matmul::gemm_dequantized::<Q, NR>(groups, x, n_blocks, n_tokens, out),
        neon: neon::matmul::gemm_dequantized::<Q, NR>(groups, x, n_blocks, n_tokens, out);

    /// [`scalar::matmul::float_tile`] for many groups and tiles of `n_chunks` chunks.
    #[inline(never)] // A loop of the image is found by this name.
    pub fn gemm_float<{F: FloatKernels, const NR: usize}, {F, NR}>(
        groups: &[F::Chunk],
        x: &[FloatChunk<NR>],
        n_chunks: usize,
        n_tokens: usize,
        out: &mut [F32x4],
    ) = scalar::matmul::gemm_float::<F, NR>(groups, x, n_chunks, n_tokens, out),
        neon: neon::matmul::gemm_float::<F, NR>(groups, x, n_chunks, n_tokens, out);

    /// [`scalar::norm::rms_norm`]
    pub fn rms_norm(
        x: &[F32x4],
        n_tokens: usize,
        t: usize,
        weight: &[F32x4],
        eps: f32,
        out: &mut [F32x4],
    ) = scalar::norm::rms_norm(x, n_tokens, t, weight, eps, out),
        neon: neon::norm::rms_norm(x, n_tokens, t, weight, eps, out);

    /// [`scalar::quantize::quantize`]
    pub fn quantize<{const NR: usize}, {NR}>(
        x: &[F32x4],
        n_blocks: usize,
        out: &mut [QuantPair<NR>],
        t: usize,
    ) = scalar::quantize::quantize(x, n_blocks, out, t),
        neon: neon::quantize::quantize(x, n_blocks, out, t);

    /// [`scalar::quantize::copy_floats`]
    pub fn copy_floats<{const NR: usize}, {NR}>(
        x: &[F32x4],
        out: &mut [FloatChunk<NR>],
        t: usize,
    ) = scalar::quantize::copy_floats(x, out, t);

    /// [`scalar::rope::rope`]
    pub fn rope(
        style: RopeStyle,
        x: &[F32x4],
        n_tokens: usize,
        t: usize,
        cos: &[F32x4],
        sin: &[F32x4],
        scale: f32,
        out: &mut [F32x4],
    ) = scalar::rope::rope(style, x, n_tokens, t, cos, sin, scale, out),
        neon: neon::rope::rope(style, x, n_tokens, t, cos, sin, scale, out);

    /// [`scalar::elementwise::swiglu`]
    pub fn swiglu(gate: &mut [F32x4], up: &[F32x4]) = scalar::elementwise::swiglu(gate, up),
        neon: neon::elementwise::swiglu(gate, up);

    /// [`scalar::elementwise::add_assign`]
    pub fn add_assign(x: &mut [F32x4], y: &[F32x4]) = scalar::elementwise::add_assign(x, y),
        neon: neon::elementwise::add_assign(x, y);

    /// [`scalar::elementwise::argmax`]
    pub fn argmax(x: &[f32]) -> usize = scalar::elementwise::argmax(x);

    /// [`scalar::attention::append`]
    pub fn append<{K: KvKernels}, {K}>(
        unit: &mut [K::Lane],
        at: usize,
        key: &[F32x4],
        value: &[F32x4],
        n_tokens: usize,
        t: usize,
    ) = scalar::attention::append::<K>(unit, at, key, value, n_tokens, t),
        neon: K::append(unit, at, key, value, n_tokens, t);

    /// [`scalar::attention::attend`]
    pub fn attend<{K: KvKernels, const NQ: usize}, {K, NQ}>(
        queries: &[F32x4],
        unit: &[K::Lane],
        n_valid: [usize; NQ],
        out: &mut [F32x4],
    ) = scalar::attention::attend::<K, NQ>(queries, unit, n_valid, out),
        neon: K::attend(queries, unit, n_valid, out);

    /// [`scalar::attention::merge`]
    pub fn merge(
        partials: &[F32x4],
        stride: usize,
        n_blocks: usize,
        out: &mut [F32x4],
    ) = scalar::attention::merge(partials, stride, n_blocks, out),
        neon: neon::attention::merge(partials, stride, n_blocks, out);
}
