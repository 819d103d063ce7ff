use std::fs;
use std::path::Path;

use super::public::{Fit, PublicError, Use, rows};
use super::roofline::{Board, Boards, Bound, Format, Shape};
use super::table::{self, Quantity};
use super::*;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn boards() -> Boards {
    Board::all(&Fit::of(&rows(&read("docs/figures/public-pi4.csv")).unwrap()).unwrap())
}

#[test]
fn the_registered_files_are_made_again_byte_for_byte() {
    let (csv, page) = files(&read("docs/figures/public-pi4.csv")).unwrap();
    assert!(
        read("docs/predictions.csv") == csv,
        "`pilm predict --write` makes another docs/predictions.csv"
    );
    assert!(
        read("docs/predictions.md") == page,
        "`pilm predict --write` makes another docs/predictions.md"
    );
}

#[test]
fn five_rows_are_fitted_and_fifteen_judge() {
    let rows = rows(&read("docs/figures/public-pi4.csv")).unwrap();
    let count = |used| rows.iter().filter(|row| row.used == used).count();
    assert_eq!((count(Use::Fit), count(Use::HeldOut)), (5, 15));
    assert!(
        rows.iter().all(|row| row.source.len() > 10),
        "a row without a source"
    );
    let fit = Fit::of(&rows).unwrap();
    assert!(
        fit.rms_error() < 0.05 && fit.greatest_error() < 0.1,
        "{fit:?}"
    );
}

#[test]
fn a_planted_law_is_found_again() {
    let line = |used, mb: f64, layers: f64| {
        let seconds = mb * 1e6 / 3e9 + layers * 2e-4;
        format!(
            "{used},m,f,{mb},0,{layers},1000,{},,,planted\n",
            1.0 / seconds
        )
    };
    let mut csv = String::from("a,b,c,d,e,f,g,h,i,j,k\n");
    csv += &line("fit", 100.0, 30.0);
    csv += &line("fit", 900.0, 12.0);
    csv += &line("held_out", 400.0, 20.0);
    csv += "listed,core,,,,,,,4000,1800,planted\n";
    let fit = Fit::of(&rows(&csv).unwrap()).unwrap();
    assert!((fit.read_bytes_s / 3e9 - 1.0).abs() < 1e-9 && (fit.layer_s / 2e-4 - 1.0).abs() < 1e-9);
    assert!(fit.greatest_error() < 1e-9);
    assert_eq!(fit.one_core.mean_bytes_s, 4e9);
}

#[test]
fn rows_that_say_nothing_are_refused() {
    let head = "a,b,c,d,e,f,g,h,i,j,k\n";
    assert_eq!(rows(&format!("{head}fit,m")), Err(PublicError::Fields(2)));
    let wrong = rows(&format!("{head}fit,m,f,x,,,,,,,s"));
    assert_eq!(wrong, Err(PublicError::Field { line: 2, field: 4 }));
    let wrong = rows(&format!("{head}best,m,f,,,,,,,,s"));
    assert_eq!(wrong, Err(PublicError::Field { line: 2, field: 1 }));
    let lacking = rows(&format!("{head}fit,m,f,1,0,,1,1,,,s")).unwrap();
    assert_eq!(Fit::of(&lacking), Err(PublicError::Incomplete(1)));
    let one = rows(&format!(
        "{head}fit,m,f,1,0,1,1,1,,,s\nlisted,m,f,,,,,,4000,1800,s"
    ))
    .unwrap();
    assert_eq!(Fit::of(&one), Err(PublicError::Undetermined));
}

#[test]
fn the_hypotheses_follow_from_the_law() {
    let expected = boards().expected;
    let [small, .., large] = Shape::ALL;
    let interaction = |format| expected.interaction(&small, &format, 1.8e9);
    let additive = 1.1_f64.ln();
    assert!(interaction(Format::INT8).abs() < additive);
    assert!(
        (interaction(Format::DEQUANTIZED) - 0.6).abs() < 0.1,
        "{}",
        interaction(Format::DEQUANTIZED)
    );
    let one_bit = expected.interaction(&large, &Format::Q1_0, 1.8e9);
    assert!((one_bit - 0.75).abs() < 0.1, "{one_bit}");
    let elasticity = |cores| expected.elasticity(&large, &Format::Q1_0, cores, [1.5e9, 1.8e9]);
    assert!(
        elasticity(1) > 0.8 && elasticity(4) < 0.3,
        "{} {}",
        elasticity(1),
        elasticity(4)
    );
    assert_eq!(
        expected.token(&large, &Format::Q1_0, 1, 1.8e9).1,
        Bound::Products
    );
    assert_eq!(
        expected.token(&large, &Format::Q1_0, 4, 1.8e9).1,
        Bound::Memory
    );
}

#[test]
fn intervals_hold_their_expected_value_and_can_fail() {
    let rows = table::rows(&boards());
    for row in &rows {
        assert!(
            row.low <= row.expected && row.expected <= row.high,
            "{row:?}"
        );
        let claims = row.quantity != Quantity::Speed || row.relative_width() < 0.6;
        assert!(claims, "nothing could be outside: {row:?}");
    }
    let names: std::collections::BTreeSet<_> = rows
        .iter()
        .map(|r| {
            format!(
                "{:?} {} {} {:?} {:?}",
                r.quantity, r.shape.name, r.format.name, r.cores, r.clock_hz
            )
        })
        .collect();
    assert_eq!(names.len(), rows.len());
}
