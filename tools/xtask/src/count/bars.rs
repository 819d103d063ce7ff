//! The figures beside those of other programs, and the bars that they have to meet.
//!
//! llama.cpp and llama2.c were counted in the same machine by a QEMU plugin, at positions up to 20;
//! llama.cpp takes 79 k instructions more for each further one.

use super::figures::{Figures, ModelFigures, millions};

/// Millions of instructions that llama.cpp adds per position.
const GROWTH: f64 = 0.079;
/// Positions for which the others' figures stand, and the middle of them.
const COUNTED_TO: usize = 20;
const COUNTED_AT: f64 = 10.0;
/// In the place of a figure that nobody has.
const NONE: &str = "–";

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
    Peer {
        name: "q8_0",
        title: "Q8_0",
        decode: 125.7,
        prompt: 97.5,
        megabytes: 143.0,
        llama2: Some(158.3),
    },
    Peer {
        name: "q4_1",
        title: "Q4_1 as shipped (llama.cpp: Q4_0, Q8_0 head)",
        decode: 135.7,
        prompt: 107.2,
        megabytes: 89.9,
        llama2: None,
    },
    Peer {
        name: "f16",
        title: "F16",
        decode: 195.3,
        prompt: 87.7,
        megabytes: 269.1,
        llama2: None,
    },
];

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

/// The most that checksums of lines may add to a decoded token, percent.
const CHECKSUMS_PERCENT: f64 = 1.0;

/// A Markdown table of the figures that others have too.
pub fn table(figures: &Figures) -> String {
    let mut table = "| million instructions, one core | PiLM | llama.cpp | PiLM / llama.cpp | llama2.c | bar |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    for peer in &PEERS {
        if let Some(model) = figures.model(peer.name) {
            table += &rows(peer, model);
        }
    }
    table
}

fn rows(peer: &Peer, model: &ModelFigures) -> String {
    let mut rows = String::new();
    let llama2 = peer.llama2.map(|millions| format!("{millions:.1}"));
    let llama2 = llama2.as_deref().unwrap_or(NONE);
    let mut row = |label: &str, ours: f64, theirs: f64, llama2: &str, what: Option<What>| {
        let is_estimate = matches!(what, Some(What::Decode(position)) if position > COUNTED_TO);
        let (about, decimals) = if is_estimate { ("~", 0) } else { ("", 1) };
        let bar = what.and_then(|what| bar(peer.name, what));
        let bar = bar.map_or_else(|| NONE.to_owned(), |bar| format!("≤ {bar:.1}"));
        rows += &format!(
            "| {}, {label} | {ours:.1} | {about}{theirs:.decimals$} | {:.2} | {llama2} | {bar} |\n",
            peer.title,
            ours / theirs,
        );
    };
    for (&tokens, &count) in &model.prefill {
        let label = format!("token of a prompt of {tokens}");
        let what = Some(What::Prefill(tokens));
        row(&label, millions(count), peer.prompt, llama2, what);
    }
    if let Some(bytes) = model.tensor_bytes() {
        let label = "weight MB read per decoded token";
        let same = peer.llama2.map_or(NONE, |_| "143");
        row(label, bytes as f64 / 1e6, peer.megabytes, same, None);
    }
    for (&position, &count) in &model.decode {
        let label = format!("decoded token, position {position}");
        let (theirs, llama2) = match position > COUNTED_TO {
            true => (peer.decode + GROWTH * (position as f64 - COUNTED_AT), NONE),
            false => (peer.decode, llama2),
        };
        let what = Some(What::Decode(position));
        row(&label, millions(count), theirs, llama2, what);
    }
    rows
}

fn bar(name: &str, what: What) -> Option<f64> {
    let bar = BARS.iter().find(|bar| (bar.0, bar.1) == (name, what));
    bar.map(|(_, _, bar)| *bar)
}

/// The bars that are missed, in words.
pub fn misses(figures: &Figures) -> Vec<String> {
    let checksums = figures.models().flat_map(|(name, model)| {
        let high = model
            .checksums()
            .filter(|&(_, percent)| percent > CHECKSUMS_PERCENT);
        high.map(move |(position, percent)| {
            format!(
                "checksums {name} pos{position}: {percent:.2} %, more than {CHECKSUMS_PERCENT} %"
            )
        })
    });
    let misses = BARS.iter().filter_map(|&(name, what, bar)| {
        let model = figures.model(name)?;
        let (counts, at, what) = match what {
            What::Prefill(tokens) => (&model.prefill, tokens, "prefill NAME prompt"),
            What::Decode(position) => (&model.decode, position, "decode NAME pos"),
        };
        let ours = millions(*counts.get(&at)?);
        let label = what.replace("NAME", name);
        (ours > bar).then(|| format!("{label}{at}: {ours:.2} M, more than {bar:.1} M"))
    });
    misses.chain(checksums).collect()
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
        let mut checked = decoded("f16", 16, 1_000_000);
        let decode_checked = BTreeMap::from([(16, 1_010_000)]);
        let counted = ModelFigures {
            decode_checked,
            ..ModelFigures::default()
        };
        checked.extend("f16", counted);
        assert_eq!(misses(&checked), [""; 0]);
        checked.extend(
            "f16",
            decoded("f16", 16, 999_000).model("f16").unwrap().clone(),
        );
        assert_eq!(
            misses(&checked),
            ["checksums f16 pos16: 1.10 %, more than 1 %"]
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
