//! The predictions as rows, and as `docs/predictions.csv`.

use std::fmt::Write;

use super::roofline::{Board, Boards, Bound, Format, Shape};

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Decoded tokens per second.
    Speed,
    /// ln I of the format against f32, one core against four.
    Interaction,
    /// Slope of ln(tok/s) on ln(clock).
    Elasticity,
}

/// A prediction: an interval that nine of ten measurements are expected in.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// What is predicted.
    pub quantity: Quantity,
    /// The model's sizes.
    pub shape: Shape,
    /// Weight type and loop.
    pub format: Format,
    /// Cores that decode; None where the quantity spans them.
    pub cores: Option<usize>,
    /// Clock; None where the quantity spans clocks.
    pub clock_hz: Option<f64>,
    /// Lower end.
    pub low: f64,
    /// Expected value.
    pub expected: f64,
    /// Upper end.
    pub high: f64,
    /// What the expected token waits for.
    pub bound: Bound,
}

/// Part of the measurements that the intervals claim to hold.
pub const NOMINAL: f64 = 0.9;

const CLOCKS_HZ: [f64; 3] = [1.0e9, 1.5e9, 1.8e9];
const FULL_HZ: f64 = CLOCKS_HZ[2];
const HEAD: &str = "quantity,model,format,cores,clock_mhz,weights_mb,low,expected,high,waits_for,if_below,if_above";

/// What a quantity is uncertain by beside the law's constants.
#[derive(Clone, Copy)]
enum Margin {
    Relative(f64),
    Absolute(f64),
}

impl Margin {
    fn below(self, value: f64) -> f64 {
        match self {
            Margin::Relative(part) => value * (1.0 - part),
            Margin::Absolute(part) => value - part,
        }
    }

    fn above(self, value: f64) -> f64 {
        match self {
            Margin::Relative(part) => value * (1.0 + part),
            Margin::Absolute(part) => value + part,
        }
    }
}

/// All predictions, in the order of the file.
pub fn rows(boards: &Boards) -> Vec<Prediction> {
    let mut rows = Vec::new();
    for shape in Shape::ALL {
        for format in Format::ALL {
            let add = |quantity: Quantity,
                       cores: Option<usize>,
                       clock_hz: Option<f64>,
                       of: &dyn Fn(&Board) -> f64| {
                let corners: Vec<f64> = boards.corners.iter().map(of).collect();
                let token = boards.expected.token(
                    &shape,
                    &format,
                    cores.unwrap_or(4),
                    clock_hz.unwrap_or(FULL_HZ),
                );
                let margin = quantity.margin(boards.error);
                Prediction {
                    quantity,
                    shape,
                    format,
                    cores,
                    clock_hz,
                    low: margin.below(corners.iter().copied().fold(f64::INFINITY, f64::min)),
                    expected: of(&boards.expected),
                    high: margin.above(corners.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
                    bound: token.1,
                }
            };
            for cores in 1..=4 {
                for clock_hz in CLOCKS_HZ {
                    rows.push(add(
                        Quantity::Speed,
                        Some(cores),
                        Some(clock_hz),
                        &|board| 1.0 / board.token(&shape, &format, cores, clock_hz).0,
                    ));
                }
            }
            if format != Format::F32 {
                rows.push(add(Quantity::Interaction, None, Some(FULL_HZ), &|board| {
                    board.interaction(&shape, &format, FULL_HZ)
                }));
            }
            for cores in [1, 4] {
                rows.push(add(Quantity::Elasticity, Some(cores), None, &|board| {
                    board.elasticity(&shape, &format, cores, [CLOCKS_HZ[0], FULL_HZ])
                }));
            }
        }
    }
    rows
}

impl Quantity {
    /// ln I is a sum of four logarithms of times, an elasticity the difference of two over ln 1.8:
    /// with an error of the law in each that is independent of the others'.
    fn margin(self, error: f64) -> Margin {
        match self {
            Quantity::Speed => Margin::Relative(error),
            Quantity::Interaction => Margin::Absolute(error * 2.0),
            Quantity::Elasticity => Margin::Absolute(error * 2.0_f64.sqrt() / 1.8_f64.ln()),
        }
    }

    /// A value as files have it. Never more digits than another machine's logarithm agrees on.
    pub fn show(self, value: f64) -> String {
        match self {
            Quantity::Speed => figure(value),
            _ if value.abs() < 0.0005 => "0.000".into(),
            _ => format!("{value:.3}"),
        }
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Speed => "tok_s",
            Quantity::Interaction => "ln_interaction",
            Quantity::Elasticity => "clock_elasticity",
        }
    }
}

impl Prediction {
    /// Width of the interval as a part of the expected value.
    pub fn relative_width(&self) -> f64 {
        (self.high - self.low) / self.expected
    }

    /// What a measurement below the interval means, and one above.
    pub fn meaning(&self) -> (&'static str, &'static str) {
        match (self.quantity, self.bound, self.cores) {
            (Quantity::Speed, Bound::Memory, Some(1)) => (
                "one core reads less than in any public log: see membw; or products cost over 1.3 of mca's cycles",
                "one core reads more than in any public log: the wall of four cores has another cause",
            ),
            (Quantity::Speed, Bound::Memory, _) => (
                "cores disturb each other more than llama.cpp's do: compare membw's layouts and the barriers",
                "several cores read more than one: the wall is banks and not the cluster's read path",
            ),
            (Quantity::Speed, Bound::Products, _) => (
                "the loop takes over 1.3 of mca's cycles: the A72 is not the A57 that mca models; see /kernels",
                "the loop takes fewer cycles than mca counts",
            ),
            (Quantity::Interaction, _, _) => (
                "one core does not wait for this loop's products: bits and cores gain no more together than apart",
                "one core waits for products longer than counted: the loop is slow rather than the board special",
            ),
            (Quantity::Elasticity, _, _) => (
                "the token waits for memory more than its bytes say: latency or a lower wall",
                "the token waits for products or serial parts more than counted",
            ),
        }
    }
}

/// A number with four significant digits, without an exponent.
pub fn figure(value: f64) -> String {
    let digits = if value == 0.0 {
        0
    } else {
        value.abs().log10().floor() as i32
    };
    format!("{value:.*}", (3 - digits).clamp(0, 4) as usize)
}

/// The rows as a file.
pub fn csv(rows: &[Prediction]) -> String {
    let mut file = format!("{HEAD}\n");
    for row in rows {
        let (if_below, if_above) = row.meaning();
        let waits_for = match row.bound {
            Bound::Memory => "memory",
            Bound::Products => "products",
        };
        let _ = writeln!(
            file,
            "{},{},{},{},{},{},{},{},{},{waits_for},{if_below},{if_above}",
            row.quantity.name(),
            row.shape.name,
            row.format.name,
            row.cores.map_or("1 and 4".into(), |n| n.to_string()),
            row.clock_hz
                .map_or("1000 to 1800".into(), |hz| format!("{:.0}", hz / 1e6)),
            figure(row.shape.weight_bytes(&row.format) / 1e6),
            row.quantity.show(row.low),
            row.quantity.show(row.expected),
            row.quantity.show(row.high),
        );
    }
    file
}

/// Mean relative width of the speeds' intervals.
pub fn mean_width(rows: &[Prediction]) -> f64 {
    let widths: Vec<f64> = rows
        .iter()
        .filter(|row| row.quantity == Quantity::Speed)
        .map(Prediction::relative_width)
        .collect();
    widths.iter().sum::<f64>() / widths.len() as f64
}
