//! Instructions that must not be: their bits, from the Arm Architecture Reference Manual for A-profile (DDI 0487), C4.1
//! "A64 instruction set encoding". Each row names the encoding class of that chapter.

/// What an encoding class is called, which bits tell it, and what they are.
type Class = (&'static str, u32, u32);

/// Extensions that the BCM2711's Cortex-A72 (Armv8.0 without cryptography) lacks.
const LACKING: [Class; 15] = [
    // Cryptographic AES
    ("AES", 0xFF3E_0C00, 0x4E28_0800),
    // Cryptographic three-register SHA
    ("SHA", 0xFF20_8C00, 0x5E00_0000),
    // Cryptographic two-register SHA
    ("SHA", 0xFF3E_0C00, 0x5E28_0800),
    // Cryptographic four-register, three-register imm2, three-register SHA 512, two-register SHA 512, XAR
    ("SHA (SHA512, SHA3, SM3 or SM4)", 0xFF00_0000, 0xCE00_0000),
    // Advanced SIMD three different, size 11: of doublewords. That of bytes is in every AdvSIMD.
    ("PMULL", 0xBFE0_FC00, 0x0EE0_E000),
    // Atomic memory operations
    ("LSE (an atomic operation)", 0x3F20_0C00, 0x3820_0000),
    // Compare and swap
    ("LSE (cas)", 0x3FA0_7C00, 0x08A0_7C00),
    // Compare and swap pair
    ("LSE (casp)", 0xBFA0_7C00, 0x0820_7C00),
    // Advanced SIMD three-register extension: SDOT and UDOT, USDOT, BFDOT
    ("a dot product", 0x9FE0_FC00, 0x0E80_9400),
    ("a dot product", 0xBFE0_FC00, 0x0E80_9C00),
    ("a dot product", 0xBFE0_FC00, 0x2E40_FC00),
    // Advanced SIMD vector x indexed element: SDOT and UDOT; SUDOT, USDOT and BFDOT (bits 23:22)
    ("a dot product", 0x9FC0_F400, 0x0F80_E000),
    ("a dot product", 0xBFC0_F400, 0x0F00_F000),
    ("a dot product", 0xBFC0_F400, 0x0F80_F000),
    ("a dot product", 0xBFC0_F400, 0x0F40_F000),
];

/// Classes of accesses that fail without an MMU, whatever their registers and offsets.
const UNCACHED: [Class; 4] = [
    // Load/store exclusive register, exclusive pair: o2 = 0 (LDAR and STLR have 1 and are loads and stores)
    ("an exclusive", 0x3F80_0000, 0x0800_0000),
    // Advanced SIMD load/store multiple structures, with post-index or without
    ("an ld1 or st1 (a structure)", 0xBF00_0000, 0x0C00_0000),
    // Advanced SIMD load/store single structure, with post-index or without
    ("an ld1 or st1 (a structure)", 0xBF00_0000, 0x0D00_0000),
    // System instructions: SYS #3, C7, C4, #1
    ("a dc zva", 0xFFFF_FFE0, 0xD50B_7420),
];

const SP: u32 = 31;

/// Which extension that the board lacks `word` belongs to.
pub fn lacking(word: u32) -> Option<&'static str> {
    class_of(word, &LACKING)
}

/// Why `word` must not run while every access is to Device memory.
pub fn needs_cached_memory(word: u32) -> Option<&'static str> {
    class_of(word, &UNCACHED).or_else(|| vector_access(word))
}

fn class_of(word: u32, classes: &[Class]) -> Option<&'static str> {
    let found = classes.iter().find(|(_, mask, bits)| word & mask == *bits);
    found.map(|(name, ..)| *name)
}

/// What is wrong with the address of a load or store of a whole d or q register, as far as the word shows it.
fn vector_access(word: u32) -> Option<&'static str> {
    let field = |low: u32, n_bits: u32| word >> low & ((1 << n_bits) - 1);
    // loads and stores of the SIMD and floating-point registers: bit 27, not 25, and V
    if field(25, 1) != 0 || field(26, 2) != 0b11 {
        return None;
    }
    let (bytes, offset) = match field(27, 3) {
        // Load register (literal): its base is the PC
        0b011 => {
            let of_pc = "a d or q access whose base is the PC";
            return matches!(field(30, 2), 0b01 | 0b10).then_some(of_pc);
        }
        // Load/store register pair, all four: the offset counts registers
        0b101 => (4 << field(30, 2), Some(0)),
        0b111 => {
            let size = field(30, 2) | field(23, 1) << 2;
            let offset = match (field(24, 1), field(21, 1), field(10, 2)) {
                // unsigned immediate: the offset counts registers
                (1, ..) => Some(0),
                // unscaled, post-indexed, pre-indexed: the offset counts bytes
                (0, 0, _) => Some(field(12, 9)),
                // register offset
                _ => None,
            };
            (1 << size, offset)
        }
        _ => return None,
    };
    if bytes < 8 {
        return None;
    }
    if field(5, 5) != SP {
        return Some("a d or q access whose base is not sp");
    }
    let is_aligned = offset.is_some_and(|offset| offset.is_multiple_of(bytes));
    (!is_aligned).then_some("a d or q access whose offset is no multiple of its size")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_and_none(
        check: fn(u32) -> Option<&'static str>,
        caught: &[(u32, &str)],
        fine: &[(u32, &str)],
    ) {
        for (word, mnemonic) in caught {
            assert!(
                check(*word).is_some(),
                "{mnemonic} ({word:#010x}) is not seen"
            );
        }
        for (word, mnemonic) in fine {
            assert_eq!(check(*word), None, "{mnemonic} ({word:#010x})");
        }
    }

    #[test]
    fn what_needs_cached_memory_is_told_from_what_does_not() {
        let caught = [
            (0x885F_7C20, "ldxr w0, [x1]"),
            (0x8802_7C20, "stxr w2, w0, [x1]"),
            (0xC85F_FC20, "ldaxr x0, [x1]"),
            (0x0802_FC20, "stlxrb w2, w0, [x1]"),
            (0xC87F_0440, "ldxp x0, x1, [x2]"),
            (0xC823_8440, "stlxp w3, x0, x1, [x2]"),
            (0x4C40_7000, "ld1 {v0.16b}, [x0]"),
            (0x4CDF_A800, "ld1 {v0.4s, v1.4s}, [x0], #32"),
            (0x4C00_7FE0, "st1 {v0.2d}, [sp]"),
            (0x0D40_9000, "ld1 {v0.s}[1], [x0]"),
            (0x0D9F_0C00, "st1 {v0.b}[3], [x0], #1"),
            (0x4D40_C800, "ld1r {v0.4s}, [x0]"),
            (0x4C40_0400, "ld4 {v0.8h, v1.8h, v2.8h, v3.8h}, [x0]"),
            (0x4C83_8400, "st2 {v0.8h, v1.8h}, [x0], x3"),
            (0x3DC0_0000, "ldr q0, [x0]"),
            (0xFD00_0BA0, "str d0, [x29, #16]"),
            (0xAD40_0400, "ldp q0, q1, [x0]"),
            (0x6DBF_2428, "stp d8, d9, [x1, #-16]!"),
            (0x3CE1_6800, "ldr q0, [x0, x1]"),
            (0x3CA1_6BE0, "str q0, [sp, x1]"),
            (0x3CC0_83E0, "ldur q0, [sp, #8]"),
            (0xFC1F_43E0, "stur d0, [sp, #-12]"),
            (0x3CC1_0420, "ldr q0, [x1], #16"),
            (0xFC00_8C20, "str d0, [x1, #8]!"),
            (0x3CC0_87E0, "ldr q0, [sp], #8"),
            (0x5C00_0040, "ldr d0, .+8"),
            (0x9C00_0080, "ldr q0, .+16"),
            (0xAC40_0400, "ldnp q0, q1, [x0]"),
            (0xFC00_CFE0, "str d0, [sp, #12]!"),
            (0xD50B_7420, "dc zva, x0"),
        ];
        let fine = [
            (0x88DF_FC20, "ldar w0, [x1]"),
            (0x889F_FC20, "stlr w0, [x1]"),
            (0x08DF_FD00, "ldarb w0, [x8]"),
            (0x089F_FD09, "stlrb w9, [x8]"),
            (0xF940_0020, "ldr x0, [x1]"),
            (0xA8C1_0480, "ldp x0, x1, [x4], #16"),
            (0xF862_6820, "ldr x0, [x1, x2]"),
            (0xF800_3020, "stur x0, [x1, #3]"),
            (0xD503_3F5F, "clrex"),
            (0x3D80_03E0, "str q0, [sp]"),
            (0x3DC0_07E0, "ldr q0, [sp, #16]"),
            (0xADBF_07E0, "stp q0, q1, [sp, #-32]!"),
            (0x6CC1_27E8, "ldp d8, d9, [sp], #16"),
            (0xFC1F_83E0, "stur d0, [sp, #-8]"),
            (0x3CDF_03E0, "ldur q0, [sp, #-16]"),
            (0xBD00_0000, "str s0, [x0]"),
            (0x3C00_4100, "stur b0, [x8, #4]"),
            (0x7D00_0400, "str h0, [x0, #2]"),
            (0x1C00_0040, "ldr s0, .+8"),
            (0x6C41_07E0, "ldnp d0, d1, [sp, #16]"),
            (0xD508_7620, "dc ivac, x0"),
            (0xD50B_7E20, "dc civac, x0"),
            (0xD50B_7B20, "dc cvau, x0"),
            (0xD508_751F, "ic iallu"),
            (0x0E02_0C20, "dup v0.4h, w1"),
            (0x5E0E_0401, "mov h1, v0.h[3]"),
        ];
        all_and_none(needs_cached_memory, &caught, &fine);
    }

    #[test]
    fn extensions_that_the_board_lacks_are_told_from_what_it_has() {
        let caught = [
            (0x4E28_4820, "aese v0.16b, v1.16b"),
            (0x4E28_5820, "aesd v0.16b, v1.16b"),
            (0x4E28_6820, "aesmc v0.16b, v1.16b"),
            (0x4E28_7820, "aesimc v0.16b, v1.16b"),
            (0x5E02_0020, "sha1c q0, s1, v2.4s"),
            (0x5E02_1020, "sha1p q0, s1, v2.4s"),
            (0x5E02_2020, "sha1m q0, s1, v2.4s"),
            (0x5E02_3020, "sha1su0 v0.4s, v1.4s, v2.4s"),
            (0x5E02_4020, "sha256h q0, q1, v2.4s"),
            (0x5E02_5020, "sha256h2 q0, q1, v2.4s"),
            (0x5E02_6020, "sha256su1 v0.4s, v1.4s, v2.4s"),
            (0x5E28_0820, "sha1h s0, s1"),
            (0x5E28_1820, "sha1su1 v0.4s, v1.4s"),
            (0x5E28_2820, "sha256su0 v0.4s, v1.4s"),
            (0xCE62_8020, "sha512h q0, q1, v2.2d"),
            (0xCEC0_8020, "sha512su0 v0.2d, v1.2d"),
            (0xCE02_0C20, "eor3 v0.16b, v1.16b, v2.16b, v3.16b"),
            (0xCE62_8C20, "rax1 v0.2d, v1.2d, v2.2d"),
            (0xCE82_0420, "xar v0.2d, v1.2d, v2.2d, #1"),
            (0x0EE2_E020, "pmull v0.1q, v1.1d, v2.1d"),
            (0x4EE2_E020, "pmull2 v0.1q, v1.2d, v2.2d"),
            (0xB820_0041, "ldadd w0, w1, [x2]"),
            (0xF8E0_0041, "ldaddal x0, x1, [x2]"),
            (0xB820_8041, "swp w0, w1, [x2]"),
            (0x38A0_8041, "swpab w0, w1, [x2]"),
            (0xF820_303F, "stset x0, [x1]"),
            (0xF820_6041, "ldumax x0, x1, [x2]"),
            (0x88A0_7C41, "cas w0, w1, [x2]"),
            (0xC8E0_FC41, "casal x0, x1, [x2]"),
            (0x08A0_7C41, "casb w0, w1, [x2]"),
            (0x4820_7C82, "casp x0, x1, x2, x3, [x4]"),
            (0x0860_FC82, "caspal w0, w1, w2, w3, [x4]"),
            (0x4E82_9420, "sdot v0.4s, v1.16b, v2.16b"),
            (0x2E82_9420, "udot v0.2s, v1.8b, v2.8b"),
            (0x4E82_9C20, "usdot v0.4s, v1.16b, v2.16b"),
            (0x6E42_FC20, "bfdot v0.4s, v1.8h, v2.8h"),
            (0x4FA2_E020, "sdot v0.4s, v1.16b, v2.4b[1]"),
            (0x6FA2_E820, "udot v0.4s, v1.16b, v2.4b[3]"),
            (0x4F02_F820, "sudot v0.4s, v1.16b, v2.4b[2]"),
            (0x4F82_F020, "usdot v0.4s, v1.16b, v2.4b[0]"),
            (0x4F62_F020, "bfdot v0.4s, v1.8h, v2.2h[1]"),
        ];
        let fine = [
            (0xB862_6820, "ldr w0, [x1, x2]"),
            (0xB862_4820, "ldr w0, [x1, w2, uxtw]"),
            (0xB840_1020, "ldur w0, [x1, #1]"),
            (0xB840_4420, "ldr w0, [x1], #4"),
            (0xB840_0820, "ldtr w0, [x1]"),
            (0xC8DF_FC20, "ldar x0, [x1]"),
            (0xC85F_7C20, "ldxr x0, [x1]"),
            (0x8802_FC20, "stlxr w2, w0, [x1]"),
            (0xC823_0440, "stxp w3, x0, x1, [x2]"),
            (0x3CE1_6800, "ldr q0, [x0, x1]"),
            (0xF980_0000, "prfm pldl1keep, [x0]"),
            (0x5E0E_0401, "mov h1, v0.h[3]"),
            (0x6E22_DC20, "fmul v0.4s, v1.4s, v2.4s"),
            (0x0E22_C020, "smull v0.8h, v1.8b, v2.8b"),
            (0x6E22_C020, "umull2 v0.8h, v1.16b, v2.16b"),
            (0x0E22_E020, "pmull v0.8h, v1.8b, v2.8b"),
            (0x4E22_E020, "pmull2 v0.8h, v1.16b, v2.16b"),
            (0x0E62_8020, "smlal v0.4s, v1.4h, v2.4h"),
            (0x0F72_2020, "smlal v0.4s, v1.4h, v2.h[3]"),
            (0x6FA2_0020, "mla v0.4s, v1.4s, v2.s[1]"),
            (0x4FA2_C020, "sqdmulh v0.4s, v1.4s, v2.s[1]"),
            (0x4FA2_1020, "fmla v0.4s, v1.4s, v2.s[1]"),
            (0x4FC2_1820, "fmla v0.2d, v1.2d, v2.d[1]"),
            (0x4E60_6820, "sadalp v0.4s, v1.8h"),
            (0x4E20_0820, "rev64 v0.16b, v1.16b"),
            (0x4E02_0020, "tbl v0.16b, {v1.16b}, v2.16b"),
            (0x6E02_1820, "ext v0.16b, v1.16b, v2.16b, #3"),
            (0x9AC2_5C20, "crc32cx w0, w1, x2"),
            (0x9E67_0000, "fmov d0, x0"),
            (0x5E18_0420, "dup d0, v1.d[1]"),
            (0x5EE2_8420, "add d0, d1, d2"),
            (0x5E21_4820, "sqxtn b0, h1"),
            (0x4E20_2820, "saddlp v0.8h, v1.16b"),
            (0x4E20_5820, "cnt v0.16b, v1.16b"),
            (0x6E30_A820, "umaxv b0, v1.16b"),
            (0x0E21_7820, "fcvtl v0.4s, v1.4h"),
            (0x5EF1_B820, "addp d0, v1.2d"),
            (0x7E30_D820, "faddp s0, v1.2s"),
            (0x5E22_DC20, "fmulx s0, s1, s2"),
            (0x6EA2_B420, "sqrdmulh v0.4s, v1.4s, v2.4s"),
            (0x0F72_3020, "sqdmlal v0.4s, v1.4h, v2.h[3]"),
            (0x2FA2_A020, "umull v0.2d, v1.2s, v2.s[1]"),
        ];
        all_and_none(lacking, &caught, &fine);
    }
}
