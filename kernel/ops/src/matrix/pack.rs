//! From the file's rows to packed groups, a piece at a time.

use super::{Error, Matrix, Rows, by_format};
use crate::formats::formats;
use crate::packed::float::Float;
use crate::packed::{MR, Quantized};

impl Matrix<'_> {
    /// Whole rows of the file and the groups they go to, from row `first_row` on, which begins one.
    ///
    /// # Panics
    /// When the rows begin within a group or lie outside of the matrix.
    pub fn packing<'p>(&'p mut self, first_row: usize, bytes: &'p [u8]) -> Packing<'p> {
        assert!(
            first_row.is_multiple_of(MR),
            "row {first_row} begins no group"
        );
        let row_bytes = self.file_row_bytes();
        let n_rows = bytes.len() / row_bytes;
        assert!(first_row + n_rows <= self.rows, "rows beyond the matrix");
        let group_len = self.packed.len() / self.groups();
        let (_, rest) = self.packed.reborrow().split_at(first_row / MR * group_len);
        let (rows, _) = rest.split_at(n_rows.div_ceil(MR) * group_len);
        Packing {
            rows,
            group_len,
            first_row,
            bytes,
            row_bytes,
        }
    }

    /// Packs whole rows of the file from row `first_row` on.
    ///
    /// # Errors
    /// [`Error::BadScale`].
    ///
    /// # Panics
    /// As [`Matrix::packing`].
    pub fn pack(&mut self, first_row: usize, bytes: &[u8]) -> Result<(), Error> {
        self.packing(first_row, bytes).run()
    }
}

/// Rows of the file on their way into groups of a matrix. Cut in pieces, each can be packed by a core
/// of its own.
pub struct Packing<'p> {
    rows: Rows<'p>,
    /// Elements of a group.
    group_len: usize,
    first_row: usize,
    bytes: &'p [u8],
    row_bytes: usize,
}

impl<'p> Packing<'p> {
    /// How many groups the rows go to; the last one may have less than four rows.
    pub fn groups(&self) -> usize {
        self.rows.len() / self.group_len
    }

    /// The first `groups` groups, and the rest.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn split_at(self, groups: usize) -> (Self, Self) {
        let (rows, other_rows) = self.rows.split_at(groups * self.group_len);
        let cut = (groups * MR * self.row_bytes).min(self.bytes.len());
        let (bytes, other_bytes) = self.bytes.split_at(cut);
        let other = Packing {
            rows: other_rows,
            first_row: self.first_row + groups * MR,
            bytes: other_bytes,
            ..self
        };
        (
            Packing {
                rows,
                bytes,
                ..self
            },
            other,
        )
    }

    /// Packs.
    ///
    /// # Errors
    /// [`Error::BadScale`] with the first row that has one; all rows are packed then, too.
    pub fn run(self) -> Result<(), Error> {
        let first_row = self.first_row;
        let bad = formats!(by_format, self.rows, (rows, Format) {
            let bad = row_with_bad_scale::<Format>;
            pack_groups(rows, self.group_len, self.bytes, self.row_bytes, Format::pack_row, bad)
        }, {
            pack_groups(rows, self.group_len, self.bytes, self.row_bytes, Format::pack_row, |_| None)
        });
        bad.map_or(Ok(()), |row| {
            let row = first_row + row;
            Err(Error::BadScale { row })
        })
    }
}

/// Packs rows into groups of `len` elements, and returns the first bad row.
fn pack_groups<T>(
    rows: &mut [T],
    len: usize,
    bytes: &[u8],
    row_bytes: usize,
    pack_row: impl Fn(&[u8], usize, &mut [T]),
    bad_row: impl Fn(&[T]) -> Option<usize>,
) -> Option<usize> {
    let mut bad = None;
    let groups = rows.chunks_exact_mut(len).enumerate();
    for ((g, group), bytes) in groups.zip(bytes.chunks(MR * row_bytes)) {
        for (r, row) in bytes.chunks_exact(row_bytes).enumerate() {
            pack_row(row, r, group);
        }
        bad = bad.or_else(|| bad_row(group).map(|r| g * MR + r));
    }
    bad
}

/// The first row of a group with a scale or minimum that is infinite or NaN.
fn row_with_bad_scale<Q: Quantized>(group: &[Q::Slab]) -> Option<usize> {
    if group.iter().all(Q::is_finite) {
        return None;
    }
    let is_bad = |slab: &Q::Slab, j, r: usize| {
        !Q::scales(slab, j)[r].is_finite() || !Q::minima(slab, j)[r].is_finite()
    };
    let has_bad = |r: &usize| {
        let mut slabs = group.iter();
        slabs.any(|slab| (0..Q::BLOCKS).any(|j| is_bad(slab, j, *r)))
    };
    (0..MR).find(has_bad)
}
