//! `docs/predictions.md`: the reasons of the predictions, and the figures that the text rests on.

use std::fmt::Write;

use super::public::Fit;
use super::table::{NOMINAL, Prediction, Quantity, figure, mean_width};

const LAW: &str = include_str!("law.md");
const HYPOTHESES: &str = include_str!("hypotheses.md");

/// The page.
pub fn render(fit: &Fit, rows: &[Prediction]) -> String {
    let mut page = String::from(LAW);
    let gb = |bytes_s: f64| figure(bytes_s / 1e9);
    let _ = writeln!(page, "\n## The fit\n");
    let _ = writeln!(
        page,
        "Fitted on {} rows (the Q8_0 row of each model): four cores read {} GB/s and a layer costs {} ms beside its bytes.\n\
         On the other {} rows the time is wrong by {} % (root mean square), at most {} %.\n\
         One core reads {} to {} GB/s in public logs, {} on average at 1.8 GHz, whatever its clock.\n",
        fit.n_fitted,
        gb(fit.read_bytes_s),
        figure(fit.layer_s * 1e3),
        fit.held_out.len(),
        figure(fit.rms_error() * 100.0),
        figure(fit.greatest_error() * 100.0),
        gb(fit.one_core.low_bytes_s),
        gb(fit.one_core.high_bytes_s),
        gb(fit.one_core.mean_bytes_s),
    );
    let _ = writeln!(
        page,
        "| held-out row | measured tok/s | error of the time, % |\n|---|---|---|"
    );
    for (row, error) in &fit.held_out {
        let speed = row.decode_tok_s.map_or(String::new(), |s| s.to_string());
        let _ = writeln!(
            page,
            "| {} {} | {speed} | {:+.1} |",
            row.model,
            row.format,
            error * 100.0
        );
    }
    page.push_str(HYPOTHESES);
    table(
        &mut page,
        "Bits and cores: ln I at 1.8 GHz",
        rows,
        Quantity::Interaction,
        None,
    );
    for (cores, words) in [(1, "one core"), (4, "four cores")] {
        let title = format!("Clock elasticity from 1.0 to 1.8 GHz, {words}");
        table(&mut page, &title, rows, Quantity::Elasticity, Some(cores));
    }
    for (cores, words) in [(1, "one core"), (4, "four cores")] {
        let title = format!("Decoded tokens per second at 1.8 GHz, {words}");
        table(&mut page, &title, rows, Quantity::Speed, Some(cores));
    }
    let _ = writeln!(
        page,
        "\n## Width\n\n{} predictions; each interval claims {:.0} % of measurements. The intervals of speeds are {} % of the expected\n\
         value wide on average. `cargo test -p pilm --lib predict` fails where one is over 60 %: it could hardly be wrong.",
        rows.len(),
        NOMINAL * 100.0,
        figure(mean_width(rows) * 100.0),
    );
    page
}

fn table(
    page: &mut String,
    title: &str,
    rows: &[Prediction],
    quantity: Quantity,
    cores: Option<usize>,
) {
    let shown = |row: &&Prediction| {
        let full = row.clock_hz.is_none_or(|hz| hz == 1.8e9);
        row.quantity == quantity && row.cores == cores && full
    };
    let shown: Vec<&Prediction> = rows.iter().filter(shown).collect();
    let mut formats: Vec<&str> = Vec::new();
    let mut models: Vec<&str> = Vec::new();
    for row in &shown {
        if !formats.contains(&row.format.name) {
            formats.push(row.format.name);
        }
        if !models.contains(&row.shape.name) {
            models.push(row.shape.name);
        }
    }
    let _ = writeln!(page, "\n### {title}\n\n| model | {} |", formats.join(" | "));
    let _ = writeln!(page, "|---|{}", "---|".repeat(formats.len()));
    for model in models {
        let _ = write!(page, "| {model} |");
        for row in shown.iter().filter(|row| row.shape.name == model) {
            let _ = write!(
                page,
                " {} ({} to {}) |",
                row.quantity.show(row.expected),
                row.quantity.show(row.low),
                row.quantity.show(row.high)
            );
        }
        page.push('\n');
    }
}
