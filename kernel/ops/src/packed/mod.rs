//! Weights as kernels read them: groups of four rows, streamed from front to back.
//!
//! Packing moves bytes and changes none: a packed tensor is as long as the file's (but for rows
//! that do not fill a group, or blocks that do not fill a pair).

pub mod float;
pub mod q8_0;

use crate::arena::Plain;

/// Rows in a group.
pub const GROUP: usize = 4;

/// A quantised format: blocks of 32 weights, two blocks of four rows to a *pair*.
///
/// Weight `i` of a block is `d · q_i + m`.
pub trait Quantised {
    /// Four rows, two blocks.
    type Pair: Plain + Send + Sync;
    /// Whether blocks have an `m` other than 0.
    const HAS_MIN: bool;
    /// Weights per block in the file.
    const FILE_BLOCK_LEN: usize;
    /// Bytes per block in the file.
    const FILE_BLOCK_BYTES: usize;

    /// `Σ q_i · x_i` over block `j` of row `r`, exact.
    fn dot(pair: &Self::Pair, j: usize, r: usize, x: &[i8; 32]) -> i32;
    /// `d` of block `j`, for the four rows.
    fn scales(pair: &Self::Pair, j: usize) -> [f32; GROUP];
    /// `m` of block `j`, for the four rows.
    fn minima(pair: &Self::Pair, j: usize) -> [f32; GROUP];
    /// `q` of block `j` of row `r`.
    fn quants(pair: &Self::Pair, j: usize, r: usize) -> [i8; 32];
    /// Puts one row of the file (whole blocks) into row `r` of `pairs`.
    fn pack_row(file_row: &[u8], r: usize, pairs: &mut [Self::Pair]);

    /// The NEON twin of [`crate::dispatch::mul_quantised`].
    #[cfg(target_arch = "aarch64")]
    fn mul_neon<const NT: usize>(
        groups: &[Self::Pair],
        x: &[crate::activations::QuantPair<NT>],
        n_blocks: usize,
        n_tokens: usize,
        out: &mut [crate::lanes::F32x4],
    );
}
