//! Predictions of a board's decode speed, registered before a board ran.
//!
//! * [`public`]: figures that others published of this board, and a fit on five of them
//! * [`roofline`]: the law of a token's time, its constants and how far each may be off
//! * [`table`]: the predictions as rows
//! * [`page`]: the reasons, with the figures of the rows

pub mod page;
pub mod public;
pub mod roofline;
pub mod table;

/// The two files made from the published rows: `docs/predictions.csv` and `docs/predictions.md`.
///
/// # Errors
/// When the published rows cannot be read or fitted.
pub fn files(public_csv: &str) -> Result<(String, String), public::PublicError> {
    let fit = public::Fit::of(&public::rows(public_csv)?)?;
    let rows = table::rows(&roofline::Board::all(&fit));
    Ok((table::csv(&rows), page::render(&fit, &rows)))
}

#[cfg(test)]
mod tests;
