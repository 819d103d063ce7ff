//! Bytes on the wire: tokens share an event while the line is behind, and never on an idle one.

use super::bench_board::{Board, Step};
use super::tiny;
use ops::crc32c::extend;
use protocol::event::{Event, Line};
use protocol::{Id, crc_line};

/// Tokens of the answer.
const N_TOKENS: usize = 500;
/// 115200 baud: 10 bits carry a byte.
const BYTES_PER_S: usize = 11_520;
/// The console looks for input when it shows an event, and before each step.
const LOOKS_PER_TOKEN: usize = 2;
/// What a token of a real vocabulary has more: an id of six digits and a text of nearly five bytes, where the test's
/// model has three and nearly three.
const MORE_BYTES: usize = 5;

/// An answer over a line, while the board makes `tokens_per_s`.
struct Load {
    /// Each token with its text.
    tokens: Vec<(u32, String)>,
    /// Tokens of each event that has any.
    sizes: Vec<usize>,
    /// Bytes of all these events.
    n_bytes: usize,
    max_backlog: usize,
}

fn load(tokens_per_s: Option<usize>, has_crc: bool) -> Load {
    let text = format!(
        r#"{{"id":7,"op":"complete","ids":[5,6],"max_tokens":{N_TOKENS},"temperature":1,"seed":3,"ignore_eos":true}}"#
    );
    let line = match has_crc {
        true => format!("{text} #{:08x}\n", extend(0, text.as_bytes())),
        false => format!("{text}\n"),
    };
    let mut board = Board::new(
        vec![("tiny.gguf", tiny())],
        vec![Step::Type(line.into_bytes().leak())],
    );
    board.options = Some("quiet = on");
    board.wire.bytes_per_look = tokens_per_s.map(|rate| BYTES_PER_S / rate / LOOKS_PER_TOKEN);
    let shown = board.play().0;
    let mut load = Load {
        tokens: Vec::new(),
        sizes: Vec::new(),
        n_bytes: 0,
        max_backlog: board.wire.max_backlog.get(),
    };
    let mut next_n = 0;
    for line in shown.lines().filter(|line| line.starts_with('{')) {
        let json = crc_line::split(line.as_bytes()).map_or(line.as_bytes(), |(json, _)| json);
        let Line { id, n, event } = serde_json::from_slice(json).expect(line);
        assert_eq!(
            (id, n),
            (Id::Number(7), has_crc.then_some(next_n)),
            "{line}"
        );
        let n_before = load.tokens.len();
        match event {
            Event::Token(token) => load.tokens.push((token.token, token.text.into_owned())),
            Event::Chunk(chunk) => load.tokens.extend(
                chunk
                    .iter()
                    .map(|token| (token.token, token.text.into_owned())),
            ),
            _ => {
                next_n += 1;
                continue;
            }
        }
        let n_tokens = load.tokens.len() - n_before;
        next_n += n_tokens as u32;
        load.sizes.push(n_tokens);
        load.n_bytes += line.len() + "\r\n".len();
    }
    assert_eq!(load.tokens.len(), N_TOKENS);
    load
}

#[test]
fn on_an_idle_line_and_without_checksums_each_token_has_a_line() {
    let expected = load(None, false).tokens;
    for (rate, has_crc) in [(None, true), (Some(100), true), (Some(1000), false)] {
        let load = load(rate, has_crc);
        assert_eq!(load.tokens, expected, "{rate:?}");
        assert!(load.sizes.iter().all(|&n| n == 1), "{rate:?}");
    }
}

#[test]
fn a_line_of_115200_baud_carries_250_tokens_a_second() {
    let expected = load(None, false).tokens;
    let load = load(Some(250), true);
    assert_eq!(load.tokens, expected);
    // the end of an answer is its longest event
    assert!(load.max_backlog < 700, "{} bytes wait", load.max_backlog);
    assert!(load.sizes.iter().max() < Some(&8), "{:?}", load.sizes);
}

#[test]
fn at_full_load_a_token_costs_at_most_40_bytes() {
    let expected = load(None, false).tokens;
    for rate in [300, 500, 2000] {
        let load = load(Some(rate), true);
        assert_eq!(load.tokens, expected, "{rate}");
        let bytes_per_token = load.n_bytes.div_ceil(N_TOKENS) + MORE_BYTES;
        assert!(bytes_per_token <= 40, "{rate}: {bytes_per_token}");
    }
    let n_bytes: usize = expected.iter().map(|(_, text)| text.len()).sum();
    assert!(2 * n_bytes >= 5 * N_TOKENS, "too short texts: {n_bytes}");
}
