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
    /// [`Kernels::Tuned`].
    Scalar,
    /// Quantised weights made floats block by block and multiplied with float activations: the kernel
    /// that one writes first. Its bits are those of an F32 matrix of the dequantised weights, other
    /// ones than [`Kernels::Tuned`] gives. Weights that are floats in the file are multiplied like this
    /// by every generation.
    Plain,
    /// The fastest that this processor has: int8 activations for quantised weights.
    #[default]
    Tuned,
}

impl Kernels {
    /// All of them, the oldest first.
    pub const ALL: [Self; 3] = [Self::Scalar, Self::Plain, Self::Tuned];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Plain => "plain",
            Self::Tuned => "tuned",
        }
    }

    /// Whether products with `matrix` want quantised activations (and floats otherwise).
    pub fn want_quantised(self, matrix: &Matrix<'_>) -> bool {
        self != Self::Plain && !matrix.is_float()
    }

    /// Whether both give the same bits.
    pub fn agree_with(self, other: Self) -> bool {
        (self == Self::Plain) == (other == Self::Plain)
    }
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No generation has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are scalar, plain and tuned kernels")]
pub struct UnknownKernels;

impl FromStr for Kernels {
    type Err = UnknownKernels;

    fn from_str(name: &str) -> Result<Self, UnknownKernels> {
        Self::ALL
            .into_iter()
            .find(|kernels| name.eq_ignore_ascii_case(kernels.name()))
            .ok_or(UnknownKernels)
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
        assert_eq!("Plain".parse(), Ok(Kernels::Plain));
        assert_eq!("fast".parse::<Kernels>(), Err(UnknownKernels));
    }

    #[test]
    fn only_plain_has_bits_of_its_own() {
        assert!(Kernels::Scalar.agree_with(Kernels::Tuned));
        assert!(Kernels::Plain.agree_with(Kernels::Plain));
        assert!(!Kernels::Plain.agree_with(Kernels::Tuned));
        assert!(!Kernels::Scalar.agree_with(Kernels::Plain));
    }
}
