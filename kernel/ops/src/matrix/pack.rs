//! From the file's rows to packed groups, on all cores.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::{Error, Matrix, Rows, by_format};
use crate::packed::float::{Bf16, F16, F32, Float};
use crate::packed::{GROUP, Quantised, q4_0, q4_1, q4_k, q5_0, q5_1, q5_k, q6_k, q8_0};
use crate::parallel::{Cores, Shared};

impl Matrix<'_> {
    /// Packs whole rows of the file from row `first_row` on, which begins a group, on all cores.
    ///
    /// # Errors
    /// [`Error::BadScale`].
    ///
    /// # Panics
    /// When the rows begin within a group or lie outside of the matrix.
    pub fn pack(&mut self, first_row: usize, bytes: &[u8], cores: &dyn Cores) -> Result<(), Error> {
        assert!(
            first_row.is_multiple_of(GROUP),
            "row {first_row} begins no group"
        );
        let row_bytes = self.file_row_bytes();
        assert!(
            first_row + bytes.len() / row_bytes <= self.rows,
            "rows beyond the matrix"
        );
        let groups = first_row / GROUP..(first_row + bytes.len() / row_bytes).div_ceil(GROUP);
        let file = FileRows { bytes, row_bytes };
        let bad = by_format!(&mut self.packed, (rows, Format) {
            let len = self.cols.div_ceil(32 * Format::BLOCKS);
            let rows = &mut rows[groups.start * len..groups.end * len];
            pack_groups(rows, len, file, cores, Format::pack_row, row_with_bad_scale::<Format>)
        }, {
            let len = self.cols.div_ceil(16);
            let rows = &mut rows[groups.start * len..groups.end * len];
            pack_groups(rows, len, file, cores, Format::pack_row, |_| None)
        });
        match bad {
            Some(row) => Err(Error::BadScale {
                row: first_row + row,
            }),
            None => Ok(()),
        }
    }
}

/// Whole rows as they stand in the file.
#[derive(Clone, Copy)]
struct FileRows<'b> {
    bytes: &'b [u8],
    row_bytes: usize,
}

/// Packs rows into groups of `len` elements on all cores, and returns the first bad row.
fn pack_groups<T: Send + Sync>(
    rows: &mut [T],
    len: usize,
    file: FileRows<'_>,
    cores: &dyn Cores,
    pack_row: fn(&[u8], usize, &mut [T]),
    bad_row: fn(&[T]) -> Option<usize>,
) -> Option<usize> {
    let n_groups = rows.len() / len;
    let rows = Shared::new(rows);
    let bad = AtomicUsize::new(usize::MAX);
    let group_bytes = GROUP * file.row_bytes;
    cores.run(&|core| {
        let (groups, rows) = core.part(&rows, n_groups, len, 0);
        for (g, group) in groups.zip(rows.chunks_exact_mut(len)) {
            let from = g * group_bytes;
            let bytes = &file.bytes[from..file.bytes.len().min(from + group_bytes)];
            for (r, row) in bytes.chunks_exact(file.row_bytes).enumerate() {
                pack_row(row, r, group);
            }
            if let Some(r) = bad_row(group) {
                bad.fetch_min(g * GROUP + r, Ordering::Relaxed);
            }
        }
    });
    let bad = bad.into_inner();
    (bad != usize::MAX).then_some(bad)
}

/// The first row of a group with a scale or minimum that is infinite or NaN.
fn row_with_bad_scale<Q: Quantised>(group: &[Q::Slab]) -> Option<usize> {
    // Zero times a number is zero, and times anything else it is not.
    let mut sums = [0.0; GROUP];
    for slab in group {
        for j in 0..Q::BLOCKS {
            let (d, m) = (Q::scales(slab, j), Q::minima(slab, j));
            for r in 0..GROUP {
                sums[r] += 0.0 * d[r] + 0.0 * m[r];
            }
        }
    }
    sums.iter().position(|&sum| sum != 0.0)
}
