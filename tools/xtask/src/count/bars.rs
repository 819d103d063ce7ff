//! The figures beside those of other programs, and the bars that they have to meet.
//!
//! llama.cpp and llama2.c were counted in the same machine by a QEMU plugin, at positions up to 20; llama.cpp takes 79 k
//! instructions more for each further one.

use super::lines::{Lines, THE_ONLY_CORE};

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

/// Lines and the most that they may be, million instructions.
const BARS: [(&str, f64); 4] = [
    ("prefill q8_0 prompt128", 34.0),
    ("decode q8_0 pos16", 50.0),
    ("decode q8_0 pos1024", 85.0),
    ("decode q4_1 pos16", 60.0),
];

/// A Markdown table of the figures that others have too.
pub fn table(lines: &Lines) -> String {
    let mut table = "| million instructions, one core | PiLM | llama.cpp | PiLM / llama.cpp | llama2.c | bar |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    for peer in &PEERS {
        for (what, figure) in lines.iter() {
            // the bytes are the same at every position: once
            if let Some(row) = row(peer, what, figure).filter(|row| !table.contains(row)) {
                table.push_str(&row);
            }
        }
    }
    table
}

fn row(peer: &Peer, what: &str, figure: &str) -> Option<String> {
    let mut words = what.split(' ');
    let (kind, name, rest) = (words.next()?, words.next()?, words.next()?);
    if name != peer.name {
        return None;
    }
    let title = peer.title;
    let bar = bar(what).map_or_else(|| "–".to_owned(), |bar| format!("≤ {bar:.0}"));
    let llama2 = |at_start: bool| {
        peer.llama2
            .filter(|_| at_start)
            .map_or_else(|| "–".to_owned(), |m| format!("{m:.1}"))
    };
    match kind {
        "prefill" => {
            let tokens = rest.strip_prefix("prompt")?;
            let label = format!("{title}, token of a prompt of {tokens}");
            let ours = millions(figure)?;
            let theirs = format!("{:.1}", peer.prompt);
            Some(cells(
                &label,
                ours,
                &theirs,
                peer.prompt,
                &llama2(true),
                &bar,
            ))
        }
        "decode" => {
            let position: f64 = rest.strip_prefix("pos")?.parse().ok()?;
            let label = format!("{title}, decoded token, position {position}");
            let ours = millions(figure)?;
            let counted = position <= COUNTED_TO;
            let theirs = if counted {
                peer.decode
            } else {
                peer.decode + GROWTH * (position - COUNTED_AT)
            };
            let shown = if counted {
                format!("{theirs:.1}")
            } else {
                format!("~{theirs:.0}")
            };
            Some(cells(&label, ours, &shown, theirs, &llama2(counted), &bar))
        }
        "work" if what.ends_with(THE_ONLY_CORE) => {
            let ours = megabytes(figure)?;
            let label = format!("{title}, weight MB read per decoded token");
            let theirs = format!("{:.1}", peer.megabytes);
            let same = peer.llama2.map_or("–", |_| "143");
            Some(cells(&label, ours, &theirs, peer.megabytes, same, "–"))
        }
        _ => None,
    }
}

fn cells(label: &str, ours: f64, shown: &str, theirs: f64, llama2: &str, bar: &str) -> String {
    format!(
        "| {label} | {ours:.1} | {shown} | {:.2} | {llama2} | {bar} |\n",
        ours / theirs
    )
}

/// The bars that are missed, in words.
pub fn misses(lines: &Lines) -> Vec<String> {
    BARS.iter()
        .filter_map(|(what, bar)| {
            let ours = millions(lines.figure(what)?)?;
            (ours > *bar).then(|| format!("{what}: {ours:.1} M, more than {bar:.0} M"))
        })
        .collect()
}

fn bar(what: &str) -> Option<f64> {
    let (_, bar) = BARS.iter().find(|(other, _)| *other == what)?;
    Some(*bar)
}

/// `45.4 M`, `31.6 M per token`.
pub fn millions(figure: &str) -> Option<f64> {
    let (number, _) = figure.split_once(" M")?;
    number.parse().ok()
}

/// `…, 142.88 MB of tensors`.
pub fn megabytes(figure: &str) -> Option<f64> {
    let (before, _) = figure.split_once(" MB")?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[&str]) -> Lines {
        let mut lines = Lines::default();
        all.iter().for_each(|line| lines.put(line));
        lines
    }

    #[test]
    fn ours_stand_beside_theirs() {
        let table = table(&lines(&[
            "decode q8_0 pos16: 45.4 M",
            "decode q8_0 pos1024: 64.0 M",
            "work q8_0 pos16 core 0 of 1: 7 rows, 3 attention blocks, 11 barriers, 142.88 MB of tensors",
            "work q8_0 pos1024 core 0 of 1: 7 rows, 9 attention blocks, 11 barriers, 142.88 MB of tensors",
        ]));
        let rows: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| Q8_0, weight MB read per decoded token | 142.9 | 143.0 | 1.00 | 143 | – |",
                "| Q8_0, decoded token, position 16 | 45.4 | 125.7 | 0.36 | 158.3 | ≤ 50 |",
                "| Q8_0, decoded token, position 1024 | 64.0 | ~206 | 0.31 | – | ≤ 85 |",
            ]
        );
    }

    #[test]
    fn a_missed_bar_is_named() {
        assert_eq!(misses(&lines(&["decode q8_0 pos16: 50.0 M"])), [""; 0]);
        assert_eq!(
            misses(&lines(&["decode q4_1 pos16: 61.0 M"])),
            ["decode q4_1 pos16: 61.0 M, more than 60 M"]
        );
    }
}
