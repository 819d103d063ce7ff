//! The float operations that `core` lacks on the target, and f16.
//!
//! Each is exactly rounded, hence the same everywhere.

/// `a · b + c`, rounded once.
#[inline(always)] // Must take on the caller's target features.
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(not(target_os = "none"))]
    return a.mul_add(b, c);
    #[cfg(target_os = "none")]
    libm::fmaf(a, b, c)
}

/// Square root.
#[inline(always)] // Must take on the caller's target features.
pub fn sqrt(x: f32) -> f32 {
    #[cfg(not(target_os = "none"))]
    return x.sqrt();
    #[cfg(target_os = "none")]
    libm::sqrtf(x)
}

/// The value of an f16, given as bits.
///
/// Without branches, so that loops over them vectorise: the exponent is moved by a
/// multiplication with 2¹¹², which is exact for normal and subnormal values alike.
#[inline(always)] // Must take on the caller's target features.
pub const fn f16_to_f32(bits: u16) -> f32 {
    let magnitude = (bits as u32 & 0x7FFF) << 13;
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
    let special = if magnitude >= 0x0F80_0000 {
        magnitude | 0x7F80_0000
    } else {
        scaled
    };
    f32::from_bits(special | ((bits as u32 & 0x8000) << 16))
}

/// The f16 nearest to `x`, ties to even, as bits; too large becomes infinity.
#[inline(always)] // Must take on the caller's target features.
pub const fn f32_to_f16(x: f32) -> u16 {
    const MAX_EXPONENT: u32 = 0x7F80_0000;
    let sign = (x.to_bits() >> 16) as u16 & 0x8000;
    let bits = x.to_bits() & 0x7FFF_FFFF;
    let magnitude = if bits >= 0x4780_0000 {
        // 65536 and above, infinity, NaN.
        if bits > MAX_EXPONENT { 0x7E00 } else { 0x7C00 }
    } else if bits < 0x3880_0000 {
        // Below 2⁻¹⁴: adding 0.5 leaves the subnormal's mantissa, rounded, in the low bits.
        (f32::from_bits(bits) + 0.5).to_bits() - 0x3F00_0000
    } else {
        let odd = (bits >> 13) & 1;
        (bits - 0x3800_0000 + 0xFFF + odd) >> 13
    };
    sign | magnitude as u16
}

/// The value of a bfloat16, given as bits.
#[inline(always)] // Must take on the caller's target features.
pub const fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_f16_widen_as_in_the_half_crate_and_come_back() {
        for bits in 0..=u16::MAX {
            let theirs = half::f16::from_bits(bits).to_f32();
            let ours = f16_to_f32(bits);
            if theirs.is_nan() {
                assert!(ours.is_nan(), "{bits:#06x}");
            } else {
                assert_eq!(ours.to_bits(), theirs.to_bits(), "{bits:#06x}");
                assert_eq!(f32_to_f16(ours), bits);
            }
        }
    }

    #[test]
    fn narrowing_rounds_as_in_the_half_crate() {
        // Every f16's neighborhood: the halfway points and one bit to either side.
        for bits in 0..0x7C00u16 {
            let here = f16_to_f32(bits).to_bits();
            let next = f16_to_f32(bits + 1).to_bits();
            let middle = here + (next - here) / 2;
            for probe in [middle - 1, middle, middle + 1, here + 1] {
                for sign in [0, 0x8000_0000] {
                    let x = f32::from_bits(probe | sign);
                    assert_eq!(f32_to_f16(x), half::f16::from_f32(x).to_bits(), "{x}");
                }
            }
        }
        for x in [
            65519.0,
            65520.0,
            65535.9,
            65536.0,
            1e30,
            f32::INFINITY,
            1e-30,
            -0.0,
        ] {
            assert_eq!(f32_to_f16(x), half::f16::from_f32(x).to_bits(), "{x}");
        }
        assert!(half::f16::from_bits(f32_to_f16(f32::NAN)).is_nan());
    }
}
