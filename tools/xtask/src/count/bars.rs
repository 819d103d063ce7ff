//! The figures beside those of other programs, and the bars that they have to meet.
//!
//! llama.cpp and llama2.c were counted in the same machine by a QEMU plugin, at positions up to 20; llama.cpp takes 79 k
//! instructions more for each further one.

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
    let llama2 = |at_start: bool| {
        peer.llama2
            .filter(|_| at_start)
            .map_or_else(|| "–".to_owned(), |m| format!("{m:.1}"))
    };
    let mut rows = Vec::new();
    for (&tokens, &instructions) in &model.prefill {
        let label = format!("{title}, token of a prompt of {tokens}");
        let theirs = format!("{:.1}", peer.prompt);
        let bar = shown_bar(peer.name, What::Prefill(tokens));
        rows.push(cells(
            &label,
            millions(instructions),
            &theirs,
            peer.prompt,
            &llama2(true),
            &bar,
        ));
    }
    if let Some(bytes) = model.tensor_bytes() {
        let label = format!("{title}, weight MB read per decoded token");
        let theirs = format!("{:.1}", peer.megabytes);
        let same = peer.llama2.map_or("–", |_| "143");
        rows.push(cells(
            &label,
            bytes as f64 / 1e6,
            &theirs,
            peer.megabytes,
            same,
            "–",
        ));
    }
    for (&position, &instructions) in &model.decode {
        let label = format!("{title}, decoded token, position {position}");
        let counted = position as f64 <= COUNTED_TO;
        let growth = if counted {
            0.0
        } else {
            GROWTH * (position as f64 - COUNTED_AT)
        };
        let theirs = peer.decode + growth;
        let shown = if counted {
            format!("{theirs:.1}")
        } else {
            format!("~{theirs:.0}")
        };
        let bar = shown_bar(peer.name, What::Decode(position));
        rows.push(cells(
            &label,
            millions(instructions),
            &shown,
            theirs,
            &llama2(counted),
            &bar,
        ));
    }
    rows
}

fn cells(label: &str, ours: f64, shown: &str, theirs: f64, llama2: &str, bar: &str) -> String {
    format!(
        "| {label} | {ours:.1} | {shown} | {:.2} | {llama2} | {bar} |\n",
        ours / theirs
    )
}

fn shown_bar(name: &str, what: What) -> String {
    let bar = BARS
        .iter()
        .find(|(other, of, _)| *other == name && *of == what);
    bar.map_or_else(|| "–".to_owned(), |(_, _, bar)| format!("≤ {bar:.1}"))
}

/// The bars that are missed, in words.
pub fn misses(figures: &Figures) -> Vec<String> {
    BARS.iter()
        .filter_map(|&(name, what, bar)| {
            let model = figures.model(name)?;
            let (found, label) = match what {
                What::Prefill(tokens) => (
                    model.prefill.get(&tokens),
                    format!("prefill {name} prompt{tokens}"),
                ),
                What::Decode(position) => (
                    model.decode.get(&position),
                    format!("decode {name} pos{position}"),
                ),
            };
            let ours = millions(*found?);
            (ours > bar).then(|| format!("{label}: {ours:.2} M, more than {bar:.1} M"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::figures::Count;
    use super::super::work::{CoreWork, ModelFacts, Work};
    use super::*;

    fn decoded(model: &str, position: usize, instructions: u64) -> Figures {
        let mut figures = Figures::default();
        figures.put(
            model,
            Count::Decode {
                position,
                instructions,
            },
        );
        figures
    }

    #[test]
    fn ours_stand_beside_theirs() {
        let mut figures = decoded("q8_0", 16, 45_400_000);
        figures.extend(&decoded("q8_0", 1024, 64_000_000));
        let core = CoreWork {
            rows: 7,
            blocks: 3,
            barriers: 11,
            bytes: 142_880_000,
        };
        let facts = ModelFacts {
            n_layers: 2,
            tensor_bytes: 142_880_000,
        };
        for position in [16, 1024] {
            let work = Work::new(&[core], 1, &facts).unwrap();
            figures.put("q8_0", Count::Work { position, work });
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
        prompt.put(
            "q8_0",
            Count::Prefill {
                prompt_tokens: 128,
                instructions: 31_810_000,
            },
        );
        assert_eq!(
            misses(&prompt),
            ["prefill q8_0 prompt128: 31.81 M, more than 31.8 M"]
        );
    }
}
