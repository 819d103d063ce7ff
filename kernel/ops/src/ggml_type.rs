//! The element formats of GGUF tensors.
//!
//! Resources: ggml `include/ggml.h` (`enum ggml_type`), `src/ggml-common.h` (block structs).

use crate::formats::formats;

/// Makes the enum and its table of the formats that matrices can have, and of all others.
macro_rules! ggml_types {
    ($($Name:ident = $id:literal, $len:literal, $bytes:literal;)*) => {
        /// A tensor's element format, spelled as ggml spells it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types, missing_docs, reason = "the names are ggml's")]
        pub enum GgmlType {
            $($Name,)*
        }

        /// Type, id in the file, elements per block, bytes per block, name; in the order of the enum.
        const TABLE: &[(GgmlType, u32, usize, usize, &str)] =
            &[$((GgmlType::$Name, $id, $len, $bytes, stringify!($Name)),)*];
    };
}

/// Adds the formats that are known by name and size only.
macro_rules! with_others {
    ([] $($kind:ident {
        $($Name:ident $name:literal = $id:literal, $len:literal, $bytes:literal, $m:ident::$T:ident;)*
    })*) => {
        ggml_types! {
            $($($Name = $id, $len, $bytes;)*)*
            Q8_1 = 9, 32, 36;
            Q2_K = 10, 256, 84;
            Q3_K = 11, 256, 110;
            Q8_K = 15, 256, 292;
            IQ2_XXS = 16, 256, 66;
            IQ2_XS = 17, 256, 74;
            IQ3_XXS = 18, 256, 98;
            IQ1_S = 19, 256, 50;
            IQ4_NL = 20, 32, 18;
            IQ3_S = 21, 256, 110;
            IQ2_S = 22, 256, 82;
            IQ4_XS = 23, 256, 136;
            I8 = 24, 1, 1;
            I16 = 25, 1, 2;
            I32 = 26, 1, 4;
            I64 = 27, 1, 8;
            F64 = 28, 1, 8;
            IQ1_M = 29, 256, 56;
            TQ1_0 = 34, 256, 54;
            TQ2_0 = 35, 256, 66;
            MXFP4 = 39, 32, 17;
        }
    };
}
formats!(with_others);

impl GgmlType {
    /// The type with this id in a GGUF file; `None` for ids that are retired or unknown.
    pub fn from_id(id: u32) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == id).map(|row| row.0)
    }

    /// Id in a GGUF file.
    pub const fn id(self) -> u32 {
        TABLE[self as usize].1
    }

    /// Elements per block; 1 for plain numbers.
    pub const fn block_len(self) -> usize {
        TABLE[self as usize].2
    }

    /// Bytes per block.
    pub const fn block_bytes(self) -> usize {
        TABLE[self as usize].3
    }

    /// Name, as ggml writes it.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].4
    }
}

impl core::fmt::Display for GgmlType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (i, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, i);
            assert_eq!(GgmlType::from_id(row.1), Some(row.0));
            assert_eq!(row.0.name(), std::format!("{:?}", row.0));
        }
        assert_eq!(GgmlType::from_id(4), None);
    }
}
