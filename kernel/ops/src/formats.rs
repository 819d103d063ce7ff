//! The table of the formats that matrices can have.

/// Hands the table to `$with!`, after `$arguments` in brackets. In a row: ggml's name, the same in lower case, id in a file,
/// elements and bytes of a block, the packed format.
macro_rules! formats {
    ($with:ident $(, $($arguments:tt)*)?) => {
        $with! {
            [$($($arguments)*)?]
            float {
                F32 "f32" = 0, 1, 4, float::F32;
                F16 "f16" = 1, 1, 2, float::F16;
                BF16 "bf16" = 30, 1, 2, float::Bf16;
            }
            quantized {
                Q4_0 "q4_0" = 2, 32, 18, q4_0::Q4_0;
                Q4_1 "q4_1" = 3, 32, 20, q4_1::Q4_1;
                Q5_0 "q5_0" = 6, 32, 22, q5_0::Q5_0;
                Q5_1 "q5_1" = 7, 32, 24, q5_1::Q5_1;
                Q8_0 "q8_0" = 8, 32, 34, q8_0::Q8_0;
                Q4_K "q4_k" = 12, 256, 144, q4_k::Q4_K;
                Q5_K "q5_k" = 13, 256, 176, q5_k::Q5_K;
                Q6_K "q6_k" = 14, 256, 210, q6_k::Q6_K;
                Q1_0 "q1_0" = 41, 128, 18, q1_0::Q1_0;
            }
        }
    };
}
pub(crate) use formats;
