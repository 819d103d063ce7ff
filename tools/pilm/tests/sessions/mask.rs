//! Placeholders for times and rates: the only parts of a session that a faster board may change.

/// What stands for a time or a rate.
const MASK: &str = "#";

/// Fields of events that are times or rates, beside those whose names end in `_s`.
const TIME_FIELDS: [&str; 1] = ["speedup_over_reference"];

/// Words after a number that make a time or a rate of it.
const UNITS: [&str; 5] = ["s", "ms", "tok/s", "GB/s", "MB/s"];

/// A line with its times and rates masked.
pub fn masked(line: &str) -> String {
    if line.starts_with('{') {
        masked_event(line)
    } else {
        masked_text(line)
    }
}

fn masked_event(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("\":") {
        let (before, value) = rest.split_at(at + 2);
        out.push_str(before);
        rest = value;
        let name = before[..at].rsplit('"').next().unwrap_or("");
        if name.ends_with("_s") || TIME_FIELDS.contains(&name) {
            let end = match value.starts_with('[') {
                true => value.find(']').map(|at| at + 1),
                false => value.find([',', '}']),
            };
            out.push_str(MASK);
            rest = &value[end.unwrap_or(value.len())..];
        }
    }
    out + rest
}

/// A number is masked if a unit follows it, or if it is the spread (`+-`) of a masked one or the ratio (`x`)
/// behind that; so are the blanks that align it.
fn masked_text(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let mut out: Vec<&str> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let number = word.trim_start_matches('(');
        let is_number = number.parse::<f64>().is_ok();
        let has_unit = words
            .get(at + 1)
            .is_some_and(|next| UNITS.contains(&next.trim_end_matches([',', ')', ';', ']', ':'])));
        let mut before = out.iter().rev().filter(|word| !word.is_empty());
        let is_of_masked = match (before.next(), before.next()) {
            (Some(&"+-"), Some(unit)) => UNITS.contains(unit),
            (Some(&"x"), Some(spread)) => *spread == MASK,
            _ => false,
        };
        if is_number && (has_unit || is_of_masked) {
            while out.last().is_some_and(|word| word.is_empty()) {
                out.pop();
            }
            out.push(if number.len() == word.len() {
                MASK
            } else {
                "(#"
            });
        } else {
            out.push(word);
        }
    }
    out.join(" ")
}

#[test]
fn only_times_and_rates_are_masked() {
    for (line, expected) in [
        (
            r#"{"id":1,"samples_s":[0.1,0.2],"mean_s":null,"runs":2,"tokens_per_s":3.5}"#,
            r##"{"id":1,"samples_s":#,"mean_s":#,"runs":2,"tokens_per_s":#}"##,
        ),
        (
            r#"{"crc32c":"12345678","position":3}"#,
            r#"{"crc32c":"12345678","position":3}"#,
        ),
        (
            "a  12.5 GB/s +- 0.25  x  1.50  n 2",
            "a # GB/s +- #  x #  n 2",
        ),
        ("token_embd Q8_0, 512 x 64", "token_embd Q8_0, 512 x 64"),
        ("6 answer tokens (1.5 s)", "6 answer tokens (# s)"),
        ("perplexity 5.1 +- 0.2", "perplexity 5.1 +- 0.2"),
    ] {
        assert_eq!(masked(line), expected);
    }
}
