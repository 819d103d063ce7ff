//! Comparisons as Markdown tables.

use super::fixture::{Check, What};
use super::gates::{Gates, JudgedPrompt};
use crate::metrics::Mean;

/// Heads of a prompt's columns.
pub const PROMPT_COLUMNS: [&str; 8] = [
    "prompt", "tokens", "Δ logit", "Δ nll", "argmax", "greedy", "margin", "KL",
];

/// A prompt's columns.
pub fn prompt_row(prompt: &JudgedPrompt) -> [String; 8] {
    let report = &prompt.report;
    let optional = |value: Option<f64>| value.map_or("-".into(), |v| format!("{v:.5}"));
    [
        report.name.clone(),
        report.n_tokens.to_string(),
        format!("{:.2e}", report.logit_difference),
        format!("{:.2e}", report.nll_difference),
        format!("{}/{}", report.argmax_equal, report.n_tokens),
        format!("{}/{}", report.greedy_equal, report.n_greedy),
        optional(report.margin_at_divergence),
        optional(report.kl),
    ]
}

/// The head of a table.
pub fn head(columns: &[&str]) -> String {
    format!(
        "| {} |\n|{}\n",
        columns.join(" | "),
        "---|".repeat(columns.len())
    )
}

/// One row a prompt, each with its failures below.
pub fn prompts(prompts: &[JudgedPrompt]) -> String {
    let mut table = head(&PROMPT_COLUMNS);
    for prompt in prompts {
        table += &format!("| {} |\n", prompt_row(prompt).join(" | "));
        for failure in &prompt.failures {
            table += &format!("| **FAIL** | {failure}\n");
        }
    }
    table
}

/// Mean divergence over all positions of the prompts that are long enough; none where no base ran.
pub fn pooled_kl(prompts: &[JudgedPrompt]) -> Option<f64> {
    let mut pooled = Mean::default();
    for report in prompts.iter().map(|prompt| &prompt.report) {
        if let Some(kl) = report
            .kl
            .filter(|_| report.n_tokens >= Gates::KL_MIN_TOKENS)
        {
            (0..report.n_tokens).for_each(|_| pooled.add(kl));
        }
    }
    (pooled.n() > 0).then(|| pooled.mean())
}

/// One row per comparison, one column per sequence; a mistake's cell has the other implementation's cosine and argmax
/// share in brackets.
pub fn fixture(model: &str, checks: &[Check]) -> String {
    let mut sequences: Vec<&str> = checks.iter().map(|c| c.sequence.as_str()).collect();
    sequences.sort_unstable();
    sequences.dedup();
    let mut seen: Vec<What> = Vec::new();
    let mut table = format!(
        "**{model}**\n\n| comparison | {} |\n",
        sequences.join(" | ")
    );
    table += &format!("|---{}|\n", "|---".repeat(sequences.len()));
    for what in checks.iter().map(|c| c.what) {
        if seen.contains(&what) {
            continue;
        }
        seen.push(what);
        let cells = sequences.iter().map(|sequence| {
            let found = checks
                .iter()
                .find(|c| c.what == what && c.sequence == *sequence);
            found.map_or(String::new(), cell)
        });
        let cells: Vec<String> = cells.collect();
        table += &format!("| {} | {} |\n", what.name(), cells.join(" | "));
    }
    table + "\n"
}

fn cell(check: &Check) -> String {
    let theirs = check.theirs.map_or(String::new(), |theirs| {
        format!(" ({:.4}, {:.3})", theirs.cosine, theirs.argmax_share)
    });
    let failed = if check.passed() { "" } else { " **FAIL**" };
    format!("{}{theirs}{failed}", check.shown())
}
