//! The generations of kernels that multiply matrices.

use core::fmt;
use core::str::FromStr;

use super::Matrix;

/// Which kernels multiply.
///
/// The fastest are what runs; the others stay as controls, so that what each step has brought can be
/// measured on the same data at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// The definition, as this compiler makes it for the baseline processor. The bits of
    /// [`Kernels::Int8`].
    Reference,
    /// Quantised weights made floats block by block and multiplied with float activations: the kernel
    /// that one writes first. Its bits are those of an F32 matrix of the dequantised weights, other
    /// ones than [`Kernels::Int8`] gives. Weights that are floats in the file are multiplied like this
    /// by every generation.
    Dequantize,
    /// The fastest that this processor has: int8 activations for quantised weights.
    #[default]
    Int8,
}

impl Kernels {
    /// All of them, the oldest first.
    pub const ALL: [Self; 3] = [Self::Reference, Self::Dequantize, Self::Int8];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Dequantize => "dequantize",
            Self::Int8 => "int8",
        }
    }

    /// Whether products with `matrix` want quantised activations (and floats otherwise).
    pub fn want_quantized(self, matrix: &Matrix<'_>) -> bool {
        self != Self::Dequantize && !matrix.is_float()
    }

    /// Whether both give the same bits.
    pub fn agree_with(self, other: Self) -> bool {
        (self == Self::Dequantize) == (other == Self::Dequantize)
    }
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No generation has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are reference, dequantize and int8 kernels")]
pub struct UnknownKernels;

impl FromStr for Kernels {
    type Err = UnknownKernels;

    /// Takes the names of version 0.1 too: `scalar`, `plain`, `tuned`.
    fn from_str(name: &str) -> Result<Self, UnknownKernels> {
        let is_named = |(kernels, old): &(Self, &str)| {
            name.eq_ignore_ascii_case(kernels.name()) || name.eq_ignore_ascii_case(old)
        };
        let mut named = Self::ALL.into_iter().zip(["scalar", "plain", "tuned"]);
        let found = named.find(is_named);
        found.map(|(kernels, _)| kernels).ok_or(UnknownKernels)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kernels, UnknownKernels};

    #[test]
    fn names_come_back() {
        for kernels in Kernels::ALL {
            assert_eq!(kernels.name().parse(), Ok(kernels));
        }
        assert_eq!("Plain".parse(), Ok(Kernels::Dequantize));
        assert_eq!("fast".parse::<Kernels>(), Err(UnknownKernels));
    }

    #[test]
    fn only_dequantize_has_bits_of_its_own() {
        assert!(Kernels::Reference.agree_with(Kernels::Int8));
        assert!(Kernels::Dequantize.agree_with(Kernels::Dequantize));
        assert!(!Kernels::Dequantize.agree_with(Kernels::Int8));
        assert!(!Kernels::Reference.agree_with(Kernels::Dequantize));
    }
}
