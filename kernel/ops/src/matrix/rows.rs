//! Packed rows of every format in the table.

use super::{Error, Matrix};
use crate::GgmlType;
use crate::arena::Arena;
use crate::formats::formats;
use crate::packed::{MR, Quantized, float::Float};

/// Makes [`Rows`] of the table.
macro_rules! rows {
    (
        []
        float { $($F:ident $_f:literal = $_fi:literal, $_fn:literal, $_fb:literal, $fm:ident::$FT:ident;)* }
        quantized { $($Q:ident $_q:literal = $_qi:literal, $_qn:literal, $_qb:literal, $qm:ident::$QT:ident;)* }
    ) => {
        /// Packed rows by type.
        #[allow(non_camel_case_types, reason = "the names are ggml's")]
        pub(super) enum Rows<'a> {
            $($F(&'a mut [<crate::packed::$fm::$FT as Float>::Chunk]),)*
            $($Q(&'a mut [<crate::packed::$qm::$QT as Quantized>::Slab]),)*
        }

        impl<'a> Rows<'a> {
            /// Zeros.
            pub(super) fn new(
                arena: &mut Arena<'a>,
                ggml_type: GgmlType,
                rows: usize,
                cols: usize,
            ) -> Result<Self, Error> {
                let groups = rows.div_ceil(MR);
                Ok(match ggml_type {
                    $(GgmlType::$F => Rows::$F(arena.slice(groups * cols.div_ceil(16))?),)*
                    $(GgmlType::$Q => {
                        let slab = 32 * crate::packed::$qm::$QT::BLOCKS;
                        Rows::$Q(arena.slice(groups * cols.div_ceil(slab))?)
                    })*
                    other => return Err(Error::UnsupportedType(other)),
                })
            }

            /// Whether the weights are floats in the file.
            pub(super) fn is_float(&self) -> bool {
                matches!(self, $(Rows::$F(_))|*)
            }

            /// Elements: slabs or chunks.
            pub(super) fn len(&self) -> usize {
                match self {
                    $(Rows::$F(rows) => rows.len(),)*
                    $(Rows::$Q(rows) => rows.len(),)*
                }
            }

            /// Bytes of all elements.
            pub(super) fn bytes(&self) -> usize {
                match self {
                    $(Rows::$F(rows) => size_of_val(*rows),)*
                    $(Rows::$Q(rows) => size_of_val(*rows),)*
                }
            }

            /// The first `at` elements, and the rest.
            pub(super) fn split_at(self, at: usize) -> (Rows<'a>, Rows<'a>) {
                match self {
                    $(Rows::$F(rows) => {
                        let (first, rest) = rows.split_at_mut(at);
                        (Rows::$F(first), Rows::$F(rest))
                    })*
                    $(Rows::$Q(rows) => {
                        let (first, rest) = rows.split_at_mut(at);
                        (Rows::$Q(first), Rows::$Q(rest))
                    })*
                }
            }

            /// The same rows, borrowed for a while.
            pub(super) fn reborrow(&mut self) -> Rows<'_> {
                match self {
                    $(Rows::$F(rows) => Rows::$F(rows),)*
                    $(Rows::$Q(rows) => Rows::$Q(rows),)*
                }
            }
        }

        impl Matrix<'_> {
            /// The types that matrices can have.
            pub const TYPES: &'static [GgmlType] = &[$(GgmlType::$F,)* $(GgmlType::$Q,)*];

            /// Names of the types that matrices can have, for messages.
            pub const SUPPORTED: &'static str =
                concat!($(", ", stringify!($F),)* $(", ", stringify!($Q),)*).split_at(2).1;
        }
    };
}

formats!(rows);

/// Does `$quantized` or `$float` with the format as `$Format` and its rows as `$rows`.
macro_rules! by_format {
    (
        [$matrix:expr, ($rows:ident, $Format:ident) $quantized:expr, $float:expr]
        float { $($F:ident $_f:literal = $_fi:literal, $_fn:literal, $_fb:literal, $fm:ident::$FT:ident;)* }
        quantized { $($Q:ident $_q:literal = $_qi:literal, $_qn:literal, $_qb:literal, $qm:ident::$QT:ident;)* }
    ) => {
        match $matrix {
            $(Rows::$F($rows) => {
                type $Format = crate::packed::$fm::$FT;
                $float
            })*
            $(Rows::$Q($rows) => {
                type $Format = crate::packed::$qm::$QT;
                $quantized
            })*
        }
    };
}
pub(super) use by_format;

#[cfg(test)]
mod tests {
    use crate::Matrix;

    #[test]
    fn the_message_lists_the_table() {
        assert!(Matrix::SUPPORTED.starts_with("F32, F16, BF16, Q4_0, "));
        let names: Vec<&str> = Matrix::TYPES.iter().map(|t| t.name()).collect();
        assert_eq!(names.join(", "), Matrix::SUPPORTED);
    }
}
