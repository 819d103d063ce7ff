//! Figures of a Raspberry Pi 4 that others published, and what five of them say about the rest.

use thiserror::Error;

/// Part a published row has in the fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The law is fitted on it.
    Fit,
    /// The fitted law is judged by it.
    HeldOut,
    /// It stands for comparison: its bytes or its conditions are not known well enough.
    Listed,
}

/// A published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Part in the fit.
    pub used: Use,
    /// Model, or what was read.
    pub model: String,
    /// Weight type.
    pub format: String,
    /// Bytes that a decoded token reads: the file without a separate embedding table.
    pub read_bytes: Option<f64>,
    /// Number of layers.
    pub n_layers: Option<f64>,
    /// Speed of a prompt of 512.
    pub prompt_tok_s: Option<f64>,
    /// Speed of 128 decoded tokens.
    pub decode_tok_s: Option<f64>,
    /// Read bandwidth of one core.
    pub read_bytes_s: Option<f64>,
    /// Clock, where the source says it.
    pub clock_hz: Option<f64>,
    /// Where the figure stands.
    pub source: String,
}

/// What is wrong with the published rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PublicError {
    /// A line has another number of fields than the head.
    #[error("line {0}: the number of fields is not the head's")]
    Fields(usize),
    /// A field is no number, or the first no part of a fit.
    #[error("line {line}, field {field}: neither empty nor what stands in this column")]
    Field {
        /// Line of the file, from 1.
        line: usize,
        /// Field of the line, from 1.
        field: usize,
    },
    /// A row to fit or to judge by lacks bytes, layers or speeds.
    #[error("{0} rows lack a figure that the fit needs")]
    Incomplete(usize),
    /// Too few rows, or rows that do not tell the two unknowns apart.
    #[error("the rows do not determine the fit")]
    Undetermined,
}

/// Parses `docs/figures/public-pi4.csv`.
///
/// # Errors
/// When a line is not as the head says.
pub fn rows(csv: &str) -> Result<Vec<Row>, PublicError> {
    let mut lines = csv.lines().enumerate();
    let n_fields = lines.next().map_or(0, |(_, head)| head.split(',').count());
    lines
        .map(|(index, line)| {
            let fields: Vec<&str> = line.split(',').collect();
            if fields.len() != n_fields || n_fields != 11 {
                return Err(PublicError::Fields(index + 1));
            }
            let wrong = |field| PublicError::Field {
                line: index + 1,
                field: field + 1,
            };
            let number = |field: usize| match fields[field] {
                "" => Ok(None),
                text => match text.parse::<f64>() {
                    Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value)),
                    _ => Err(wrong(field)),
                },
            };
            let (file_mb, unread_mb) = (number(3)?, number(4)?);
            Ok(Row {
                used: match fields[0] {
                    "fit" => Use::Fit,
                    "held_out" => Use::HeldOut,
                    "listed" => Use::Listed,
                    _ => return Err(wrong(0)),
                },
                model: fields[1].into(),
                format: fields[2].into(),
                read_bytes: file_mb
                    .zip(unread_mb)
                    .map(|(file, unread)| (file - unread) * 1e6),
                n_layers: number(5)?,
                prompt_tok_s: number(6)?,
                decode_tok_s: number(7)?,
                read_bytes_s: number(8)?.map(|mb| mb * 1e6),
                clock_hz: number(9)?.map(|mhz| mhz * 1e6),
                source: fields[10].into(),
            })
        })
        .collect()
}

/// The law of the published rows, T = max(bytes ÷ bandwidth, products) + layers × cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Bandwidth of four cores.
    pub read_bytes_s: f64,
    /// What a layer costs beside its bytes.
    pub layer_s: f64,
    /// Relative error of the predicted time on each held-out row.
    pub held_out: Vec<(Row, f64)>,
    /// Number of rows fitted on.
    pub n_fitted: usize,
    /// Read bandwidths of one core at 1.8 GHz, and the highest at any clock.
    pub one_core: OneCore,
}

/// What published reads of one core say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneCore {
    /// Lowest of all.
    pub low_bytes_s: f64,
    /// Mean at 1.8 GHz.
    pub mean_bytes_s: f64,
    /// Highest of all.
    pub high_bytes_s: f64,
}

/// Bytes, layers, products' time and token time of a row that has them all.
fn sample(row: &Row) -> Option<[f64; 4]> {
    Some([
        row.read_bytes?,
        row.n_layers?,
        1.0 / row.prompt_tok_s?,
        1.0 / row.decode_tok_s?,
    ])
}

impl Fit {
    /// Fits by least squares of the relative error.
    ///
    /// # Errors
    /// When rows lack figures or do not determine both unknowns.
    pub fn of(rows: &[Row]) -> Result<Fit, PublicError> {
        let of_use = |used| rows.iter().filter(move |row| row.used == used);
        let lacking = rows
            .iter()
            .filter(|row| row.used != Use::Listed && sample(row).is_none())
            .count();
        if lacking > 0 {
            return Err(PublicError::Incomplete(lacking));
        }
        let (mut bb, mut bl, mut ll, mut b, mut l) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for [bytes, layers, _, seconds] in of_use(Use::Fit).filter_map(sample) {
            let (x, y) = (bytes / seconds, layers / seconds);
            bb += x * x;
            bl += x * y;
            ll += y * y;
            b += x;
            l += y;
        }
        let determinant = bb * ll - bl * bl;
        let (per_byte, layer_s) = (
            (b * ll - l * bl) / determinant,
            (l * bb - b * bl) / determinant,
        );
        let reads: Vec<(f64, f64)> = rows
            .iter()
            .filter_map(|row| row.read_bytes_s.zip(row.clock_hz))
            .collect();
        let at_clock: Vec<f64> = reads.iter().filter(|r| r.1 == 1.8e9).map(|r| r.0).collect();
        let determined =
            per_byte.is_finite() && per_byte > 0.0 && layer_s >= 0.0 && !at_clock.is_empty();
        if !determined {
            return Err(PublicError::Undetermined);
        }
        let time = |[bytes, layers, products, _]: [f64; 4]| {
            (bytes * per_byte).max(products) + layers * layer_s
        };
        Ok(Fit {
            read_bytes_s: 1.0 / per_byte,
            layer_s,
            held_out: of_use(Use::HeldOut)
                .filter_map(|row| sample(row).map(|s| (row.clone(), time(s) / s[3] - 1.0)))
                .collect(),
            n_fitted: of_use(Use::Fit).count(),
            one_core: OneCore {
                low_bytes_s: reads.iter().map(|r| r.0).fold(f64::INFINITY, f64::min),
                mean_bytes_s: at_clock.iter().sum::<f64>() / at_clock.len() as f64,
                high_bytes_s: reads.iter().map(|r| r.0).fold(0.0, f64::max),
            },
        })
    }

    /// Root mean square of the relative errors on the held-out rows.
    pub fn rms_error(&self) -> f64 {
        let sum: f64 = self.held_out.iter().map(|(_, e)| e * e).sum();
        (sum / self.held_out.len() as f64).sqrt()
    }

    /// Greatest relative error on a held-out row.
    pub fn greatest_error(&self) -> f64 {
        self.held_out
            .iter()
            .map(|(_, e)| e.abs())
            .fold(0.0, f64::max)
    }
}
