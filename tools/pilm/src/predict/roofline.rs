//! T(bits, cores, clock): what a decoded token takes on this board.
//!
//! Layers, head and attention each take the longer of their bytes and their products; what no core
//! shares comes on top. Cycles are llvm-mca's for the loops of this repository (`docs/figures/mca.json`
//! at the time of registration: constants here, so that a registered prediction stays what it was).

use lab::planner::{Probes, Stage, TokenWork, token_ns};

use super::public::Fit;

/// Position in the middle of 64 tokens after a prompt of 16.
const POSITION: usize = 48;
/// Cycles of one query head at one position: scores, softmax, sum.
const ATTENTION_CYCLES: f64 = 52.0;
/// Cycles of a token that no core shares, for 30 layers of 576: norms, quantising, merging, choosing.
const REST_CYCLES: f64 = 1.44e6;
const REST_WIDTH: f64 = 30.0 * 576.0;

/// A decoder's sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Name in tables.
    pub name: &'static str,
    layers: f64,
    hidden: f64,
    heads: f64,
    kv_heads: f64,
    head_dim: f64,
    intermediate: f64,
    vocabulary: f64,
}

impl Shape {
    const fn of(name: &'static str, sizes: [f64; 7]) -> Shape {
        let [
            layers,
            hidden,
            heads,
            kv_heads,
            head_dim,
            intermediate,
            vocabulary,
        ] = sizes;
        Shape {
            name,
            layers,
            hidden,
            heads,
            kv_heads,
            head_dim,
            intermediate,
            vocabulary,
        }
    }

    /// The models with predictions.
    pub const ALL: [Shape; 6] = [
        Shape::of(
            "smollm2-135m",
            [30.0, 576.0, 9.0, 3.0, 64.0, 1536.0, 49152.0],
        ),
        Shape::of(
            "smollm2-360m",
            [32.0, 960.0, 15.0, 5.0, 64.0, 2560.0, 49152.0],
        ),
        Shape::of(
            "qwen2.5-0.5b",
            [24.0, 896.0, 14.0, 2.0, 64.0, 4864.0, 151_936.0],
        ),
        Shape::of(
            "tinyllama-1.1b",
            [22.0, 2048.0, 32.0, 4.0, 64.0, 5632.0, 32000.0],
        ),
        Shape::of(
            "smollm2-1.7b",
            [24.0, 2048.0, 32.0, 32.0, 64.0, 8192.0, 49152.0],
        ),
        Shape::of(
            "qwen3-1.7b",
            [28.0, 2048.0, 16.0, 8.0, 128.0, 6144.0, 151_936.0],
        ),
    ];

    fn layer_weights(&self) -> f64 {
        let projections = 2.0 * (self.heads + self.kv_heads) * self.head_dim * self.hidden;
        self.layers * (projections + 3.0 * self.hidden * self.intermediate)
    }

    fn head_weights(&self) -> f64 {
        self.hidden * self.vocabulary
    }

    /// Bytes of weights that a decoded token reads.
    pub fn weight_bytes(&self, format: &Format) -> f64 {
        (self.layer_weights() + self.head_weights()) * format.bytes_per_32 / 32.0
    }
}

/// A weight type and the loop that multiplies it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Name in tables.
    pub name: &'static str,
    bytes_per_32: f64,
    cycles_per_32: f64,
}

impl Format {
    /// Four bytes a weight; eight FMLA for 32 of them.
    pub const F32: Format = Format {
        name: "f32",
        bytes_per_32: 128.0,
        cycles_per_32: 8.0,
    };
    /// Eight bits, made floats before they are multiplied.
    pub const DEQUANTIZED: Format = Format {
        name: "q8_0 dequantize",
        bytes_per_32: 34.0,
        cycles_per_32: 28.39,
    };
    /// Eight bits, multiplied as integers.
    pub const INT8: Format = Format {
        name: "q8_0 int8",
        bytes_per_32: 34.0,
        cycles_per_32: 5.43,
    };
    /// One bit and a scale for 128 of them.
    pub const Q1_0: Format = Format {
        name: "q1_0",
        bytes_per_32: 4.5,
        cycles_per_32: 4.48,
    };
    /// The columns of the composition table.
    pub const ALL: [Format; 6] = [
        Format::F32,
        Format {
            name: "f16",
            bytes_per_32: 64.0,
            cycles_per_32: 20.09,
        },
        Format::DEQUANTIZED,
        Format::INT8,
        Format {
            name: "q4_0",
            bytes_per_32: 18.0,
            cycles_per_32: 6.31,
        },
        Format::Q1_0,
    ];
}

/// What the longest part of a token waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Bytes from memory.
    Memory,
    /// Products of the cores.
    Products,
}

/// A board as it may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Board {
    read_bytes_s: [f64; 4],
    cycles_factor: f64,
    rest_factor: f64,
}

/// A board as expected, and those at the ends of what is believed.
#[derive(Clone, Debug, PartialEq)]
pub struct Boards {
    /// Each constant as expected.
    pub expected: Board,
    /// Each constant at one of its ends.
    pub corners: Vec<Board>,
    /// Relative error of a time that the law has even where its constants are fitted.
    pub error: f64,
}

impl Board {
    /// Boards that the published figures allow.
    pub fn all(fit: &Fit) -> Boards {
        let one = fit.one_core;
        let four = fit.read_bytes_s;
        let slow_four = four * (1.0 - 2.0 * fit.rms_error());
        let between = |n: f64| one.mean_bytes_s + (four - one.mean_bytes_s) * (n - 1.0) / 3.0;
        let mut corners = Vec::new();
        for bits in 0..16 {
            let pick =
                |bit: u32, slow: f64, fast: f64| if bits >> bit & 1 == 1 { fast } else { slow };
            let several = pick(1, slow_four, one.high_bytes_s);
            corners.push(Board {
                read_bytes_s: [
                    pick(0, one.low_bytes_s, one.high_bytes_s),
                    several,
                    several,
                    several,
                ],
                cycles_factor: pick(2, 1.3, 1.0),
                rest_factor: pick(3, 2.0, 0.5),
            });
        }
        let expected = Board {
            read_bytes_s: [1.0, 2.0, 3.0, 4.0].map(between),
            cycles_factor: 1.0,
            rest_factor: 1.0,
        };
        Boards {
            expected,
            corners,
            error: fit.rms_error(),
        }
    }

    /// Seconds of a token by the planner's law, and what it waits for. What no core shares stands as one barrier.
    ///
    /// # Panics
    /// When `cores` is not 1 to 4.
    pub fn token(
        &self,
        shape: &Shape,
        format: &Format,
        cores: usize,
        clock_hz: f64,
    ) -> (f64, Bound) {
        let stage = |weights: f64| Stage {
            bytes: weights * format.bytes_per_32 / 32.0,
            macs: weights,
            kernel: 0,
        };
        let layers = stage(shape.layer_weights());
        let work = TokenWork {
            layers: vec![layers],
            head: stage(shape.head_weights()),
            attention_per_position: Stage {
                bytes: shape.layers * 4.0 * shape.kv_heads * shape.head_dim,
                macs: shape.layers * shape.heads,
                kernel: 1,
            },
            n_barriers: 1,
        };
        let rest = REST_CYCLES * shape.layers * shape.hidden / REST_WIDTH * self.rest_factor;
        let cycles = [format.cycles_per_32 / 32.0, ATTENTION_CYCLES];
        let probes = Probes {
            bytes_per_s: self.read_bytes_s.to_vec(),
            cycles_per_mac: cycles.map(|cycles| cycles * self.cycles_factor).to_vec(),
            barrier_ns: vec![1e9 * rest / clock_hz; 4],
            clock_hz,
        };
        let ns = token_ns(&probes, &work, cores, POSITION).expect("1 to 4 cores");
        let products = layers.macs * probes.cycles_per_mac[0] / (cores as f64 * clock_hz);
        let bound = if layers.bytes / self.read_bytes_s[cores - 1] >= products {
            Bound::Memory
        } else {
            Bound::Products
        };
        (ns / 1e9, bound)
    }

    /// ln I of a format against f32 between one core and four: above zero, fewer bits and more cores
    /// gain more together than apart.
    pub fn interaction(&self, shape: &Shape, format: &Format, clock_hz: f64) -> f64 {
        let ln = |format: &Format, cores| self.token(shape, format, cores, clock_hz).0.ln();
        ln(format, 1) - ln(format, 4) - ln(&Format::F32, 1) + ln(&Format::F32, 4)
    }

    /// Slope of ln(tok/s) on ln(clock) between two clocks.
    pub fn elasticity(
        &self,
        shape: &Shape,
        format: &Format,
        cores: usize,
        clocks_hz: [f64; 2],
    ) -> f64 {
        let [slow, fast] =
            clocks_hz.map(|clock_hz| self.token(shape, format, cores, clock_hz).0.ln());
        (slow - fast) / (clocks_hz[1] / clocks_hz[0]).ln()
    }
}
