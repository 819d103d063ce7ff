//! The figures beside those of other programs, and the bars that they have to meet.
//!
//! llama.cpp and llama2.c were counted in the same machine by a QEMU plugin, at positions up to 20;
//! llama.cpp takes 79 k instructions more for each further one.

use super::figures::{Figures, ModelFigures, millions};

/// Millions of instructions that llama.cpp adds per position.
const GROWTH: f64 = 0.079;
/// Positions for which the others' figures stand, and the middle of them.
const COUNTED_TO: f64 = 20.0;
const COUNTED_AT: f64 = 10.0;

/// One weight type in other programs, million instructions per token.
struct Peer {
    name: &'static str,
    title: &'static str,
    decode: f64,
    prompt: f64,
    /// Weight megabytes per decoded token.
    megabytes: f64,
    /// llama2.c, where it has the type.
    llama2: Option<f64>,
}

const PEERS: [Peer; 3] = [
    Peer::new("q8_0", "Q8_0", [125.7, 97.5, 143.0]).with_llama2(158.3),
    Peer::new(
        "q4_1",
        "Q4_1 as shipped (llama.cpp: Q4_0, Q8_0 head)",
        [135.7, 107.2, 89.9],
    ),
    Peer::new("f16", "F16", [195.3, 87.7, 269.1]),
];

impl Peer {
    const fn new(
        name: &'static str,
        title: &'static str,
        [decode, prompt, megabytes]: [f64; 3],
    ) -> Peer {
        Peer {
            name,
            title,
            decode,
            prompt,
            megabytes,
            llama2: None,
        }
    }

    const fn with_llama2(self, instructions: f64) -> Peer {
        Peer {
            llama2: Some(instructions),
            ..self
        }
    }
}

/// What a bar is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A token of a prompt of so many tokens.
    Prefill(usize),
    /// A token decoded at a position.
    Decode(usize),
}

/// The most that they may be, million instructions.
const BARS: [(&str, What, f64); 4] = [
    ("q8_0", What::Prefill(128), 31.8),
    ("q8_0", What::Decode(16), 45.0),
    ("q8_0", What::Decode(1024), 65.0),
    ("q4_1", What::Decode(16), 52.9),
];

/// A Markdown table of the figures that others have too.
pub fn table(figures: &Figures) -> String {
    let mut table = "| million instructions, one core | PiLM | llama.cpp | PiLM / llama.cpp | llama2.c | bar |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    let models = PEERS
        .iter()
        .filter_map(|peer| Some((peer, figures.model(peer.name)?)));
    models
        .flat_map(|(peer, model)| rows(peer, model))
        .for_each(|row| table.push_str(&row));
    table
}

fn rows(peer: &Peer, model: &ModelFigures) -> Vec<String> {
    let title = peer.title;
    let llama2 = peer.llama2.map(|millions| format!("{millions:.1}"));
    let mut rows = Vec::new();
    for (&tokens, &instructions) in &model.prefill {
        let label = format!("{title}, token of a prompt of {tokens}");
        let bar = bar(peer.name, What::Prefill(tokens));
        rows.push(row(
            &label,
            millions(instructions),
            peer.prompt,
            1,
            llama2.as_deref(),
            bar,
        ));
    }
    if let Some(bytes) = model.tensor_bytes() {
        let label = format!("{title}, weight MB read per decoded token");
        let same = peer.llama2.map(|_| "143");
        rows.push(row(
            &label,
            bytes as f64 / 1e6,
            peer.megabytes,
            1,
            same,
            None,
        ));
    }
    for (&position, &instructions) in &model.decode {
        let label = format!("{title}, decoded token, position {position}");
        let bar = bar(peer.name, What::Decode(position));
        let ours = millions(instructions);
        rows.push(if position as f64 <= COUNTED_TO {
            row(&label, ours, peer.decode, 1, llama2.as_deref(), bar)
        } else {
            let theirs = peer.decode + GROWTH * (position as f64 - COUNTED_AT);
            row(&label, ours, theirs, 0, None, bar)
        });
    }
    rows
}

/// A row of the table; without `decimals` `theirs` is an estimate.
fn row(
    label: &str,
    ours: f64,
    theirs: f64,
    decimals: usize,
    llama2: Option<&str>,
    bar: Option<f64>,
) -> String {
    let about = if decimals == 0 { "~" } else { "" };
    let bar = bar.map_or_else(|| "–".to_owned(), |bar| format!("≤ {bar:.1}"));
    format!(
        "| {label} | {ours:.1} | {about}{theirs:.decimals$} | {:.2} | {} | {bar} |\n",
        ours / theirs,
        llama2.unwrap_or("–")
    )
}

fn bar(name: &str, what: What) -> Option<f64> {
    let bar = BARS.iter().find(|bar| (bar.0, bar.1) == (name, what));
    bar.map(|(_, _, bar)| *bar)
}

/// The bars that are missed, in words.
pub fn misses(figures: &Figures) -> Vec<String> {
    BARS.iter()
        .filter_map(|&(name, what, bar)| {
            let model = figures.model(name)?;
            let (counts, at, what) = match what {
                What::Prefill(tokens) => (&model.prefill, tokens, "prefill NAME prompt"),
                What::Decode(position) => (&model.decode, position, "decode NAME pos"),
            };
            let ours = millions(*counts.get(&at)?);
            let label = what.replace("NAME", name);
            (ours > bar).then(|| format!("{label}{at}: {ours:.2} M, more than {bar:.1} M"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::work::{ModelFacts, Work};
    use super::*;
    use protocol::event::{Counts, Phase};
    use std::collections::BTreeMap;

    fn decoded(model: &str, position: usize, instructions: u64) -> Figures {
        let mut figures = Figures::default();
        let decode = BTreeMap::from([(position, instructions)]);
        let counted = ModelFigures {
            decode,
            ..ModelFigures::default()
        };
        figures.extend(model, counted);
        figures
    }

    #[test]
    fn ours_stand_beside_theirs() {
        let mut figures = decoded("q8_0", 16, 45_400_000);
        figures.merge(decoded("q8_0", 1024, 64_000_000));
        let core = Counts {
            phase: Phase::Decode,
            core: 0,
            gemv_rows: 7,
            attention_blocks: 3,
            barriers: 11,
            tensor_bytes: 142_880_000,
        };
        let facts = ModelFacts {
            n_layers: 2,
            tensor_bytes: 142_880_000,
        };
        for position in [16, 1024] {
            let work = Work::new(&[core], 1, &facts).unwrap();
            let work = BTreeMap::from([(position, BTreeMap::from([(1, work)]))]);
            figures.extend(
                "q8_0",
                ModelFigures {
                    work,
                    ..ModelFigures::default()
                },
            );
        }
        let table = table(&figures);
        let rows: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| Q8_0, weight MB read per decoded token | 142.9 | 143.0 | 1.00 | 143 | – |",
                "| Q8_0, decoded token, position 16 | 45.4 | 125.7 | 0.36 | 158.3 | ≤ 45.0 |",
                "| Q8_0, decoded token, position 1024 | 64.0 | ~206 | 0.31 | – | ≤ 65.0 |",
            ]
        );
    }

    #[test]
    fn a_missed_bar_is_named() {
        assert_eq!(misses(&decoded("q8_0", 16, 45_000_000)), [""; 0]);
        assert_eq!(
            misses(&decoded("q4_1", 16, 61_000_000)),
            ["decode q4_1 pos16: 61.00 M, more than 52.9 M"]
        );
        let mut prompt = Figures::default();
        let prefill = BTreeMap::from([(128, 31_810_000)]);
        prompt.extend(
            "q8_0",
            ModelFigures {
                prefill,
                ..ModelFigures::default()
            },
        );
        assert_eq!(
            misses(&prompt),
            ["prefill q8_0 prompt128: 31.81 M, more than 31.8 M"]
        );
    }
}
