//! `board.…` on the kernel command line: how the board is brought up. Pure.
//!
//! | word | what it does |
//! |---|---|
//! | `board.log` | prints what a report about a board should contain |
//! | `board.memory=above` | models lie in the highest RAM first, where DMA of the older stepping does not reach |
//! | `board.prefetch=far` | longer prefetch distances (docs/hardware.md MMU-11) |
//! | `board.barrier=SECONDS` | how long a core may keep others waiting at a barrier, 0 for ever |
//! | `board.sd=…` | what is not used of the SD card, see [`Modes`] |
//! | `board.fail=…` | what is made to fail, see [`failures`](crate::failures) |

use drivers::sd::Modes;

use crate::failures::Failure;

/// What all these words begin with.
const PREFIX: &str = "board.";

/// What the words ask for, but for the card's modes and the failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Print what a report about a board should contain.
    pub log: bool,
    /// Models lie in the highest RAM first.
    pub highest_memory_first: bool,
    /// Undo on every core what the firmware's stub does to `CPUECTLR`.
    pub far_prefetch: bool,
    /// Seconds that a core may keep others waiting at a barrier.
    pub barrier_limit_s: Option<u64>,
}

impl Options {
    /// What `line` asks for; of several limits the last counts. Without the heap, and whatever bytes stand between the
    /// words: one that is no UTF-8 costs its own word.
    pub fn of_command_line(line: &[u8]) -> Self {
        let mut options = Self::default();
        let words = line.split(u8::is_ascii_whitespace);
        let words = words.filter_map(|word| str::from_utf8(word).ok()?.strip_prefix(PREFIX));
        for word in words.flat_map(parse) {
            match word {
                Word::Log => options.log = true,
                Word::HighestMemoryFirst => options.highest_memory_first = true,
                Word::FarPrefetch => options.far_prefetch = true,
                Word::BarrierLimit(limit_s) => options.barrier_limit_s = Some(limit_s),
                Word::Sd | Word::Fail => {}
            }
        }
        options
    }
}

/// A word that does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake<'l> {
    /// No such option.
    #[error(
        "{PREFIX}{0}: unknown; there are board.log, board.memory=above, board.prefetch=far, board.barrier=SECONDS, \
         board.sd=pio|25|1bit and board.fail=panic|exception|interrupts|hang=N|core=N[,N]"
    )]
    Unknown(&'l str),
    /// An option that takes one value has another, or none.
    #[error("{PREFIX}{word}: must be {PREFIX}{right}")]
    Value {
        /// The word.
        word: &'l str,
        /// The only one that is right.
        right: &'static str,
    },
    /// A limit that is no number.
    #[error("{PREFIX}{0}: must be a whole number of seconds, 0 for no limit")]
    Seconds(&'l str),
    /// Modes of the card that are not there.
    #[error("{PREFIX}{0}: must be pio, 25 or 1bit, or several with commas between them")]
    SdModes(&'l str),
    /// Nothing fails by that name.
    #[error("{PREFIX}{0}: must be panic, exception, interrupts, hang=N or core=N[,N]")]
    Failure(&'l str),
}

/// The words of `line` that do nothing.
pub fn mistakes(line: &str) -> impl Iterator<Item = Mistake<'_>> {
    words(line).filter_map(Result::err)
}

/// A word that is right.
enum Word {
    Log,
    HighestMemoryFirst,
    FarPrefetch,
    BarrierLimit(u64),
    /// [`Modes`] reads it.
    Sd,
    /// [`failures`](crate::failures) reads it.
    Fail,
}

fn words(line: &str) -> impl Iterator<Item = Result<Word, Mistake<'_>>> {
    let words = line.split_ascii_whitespace();
    let words = words.filter_map(|word| word.strip_prefix(PREFIX));
    words.map(parse)
}

/// Reads what stands behind [`PREFIX`].
fn parse(word: &str) -> Result<Word, Mistake<'_>> {
    let only = |right, is_right| match is_right {
        true => Ok(()),
        false => Err(Mistake::Value { word, right }),
    };
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    match name {
        "log" => only("log", value.is_none()).map(|()| Word::Log),
        "memory" => only("memory=above", value == Some("above")).map(|()| Word::HighestMemoryFirst),
        "prefetch" => only("prefetch=far", value == Some("far")).map(|()| Word::FarPrefetch),
        "barrier" => {
            let limit_s = value.and_then(|value| value.parse().ok());
            limit_s
                .map(Word::BarrierLimit)
                .ok_or(Mistake::Seconds(word))
        }
        "sd" => {
            let is_right = value.is_some_and(|list| list.split(',').all(Modes::is_mode));
            is_right.then_some(Word::Sd).ok_or(Mistake::SdModes(word))
        }
        "fail" => {
            let failure = value.and_then(Failure::parse);
            failure.map(|_| Word::Fail).ok_or(Mistake::Failure(word))
        }
        _ => Err(Mistake::Unknown(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Vec<String> {
        mistakes(line).map(|mistake| mistake.to_string()).collect()
    }

    #[test]
    fn words_of_the_command_line() {
        let of = |line: &str| Options::of_command_line(line.as_bytes());
        assert_eq!(of("cores=2 my.board.log boards.log"), Options::default());
        let all = "x board.log board.memory=above board.prefetch=far board.barrier=30 board.sd=pio,25 board.fail=panic";
        let expected = Options {
            log: true,
            highest_memory_first: true,
            far_prefetch: true,
            barrier_limit_s: Some(30),
        };
        assert_eq!(of(all), expected);
        assert_eq!(said(all), [""; 0]);
        assert_eq!(
            of("board.barrier=5 board.barrier=0").barrier_limit_s,
            Some(0)
        );
        assert_eq!(
            of("board.barrier=5 board.barrier=-1").barrier_limit_s,
            Some(5)
        );
    }

    #[test]
    fn a_byte_that_is_no_utf_8_costs_its_own_word() {
        let line = b"caf\xE9 board.log board.barrier=\xB2 \tboard.memory=above\n\xFF";
        let expected = Options {
            log: true,
            highest_memory_first: true,
            ..Options::default()
        };
        assert_eq!(Options::of_command_line(line), expected);
    }

    #[test]
    fn a_word_that_does_nothing_is_one_line() {
        for (line, says) in [
            (
                "board.barrier=ten",
                "board.barrier=ten: must be a whole number of seconds, 0 for no limit",
            ),
            ("board.barrier", "board.barrier: must be a whole number"),
            (
                "board.barrier=-1",
                "board.barrier=-1: must be a whole number",
            ),
            ("board.log=on", "board.log=on: must be board.log"),
            (
                "board.memory=below",
                "board.memory=below: must be board.memory=above",
            ),
            ("board.memory", "board.memory: must be board.memory=above"),
            (
                "board.prefetch=near",
                "board.prefetch=near: must be board.prefetch=far",
            ),
            (
                "board.sd=fast,pio",
                "board.sd=fast,pio: must be pio, 25 or 1bit",
            ),
            ("board.sd=", "board.sd=: must be pio"),
            ("board.sd", "board.sd: must be pio"),
            (
                "board.fail=fire",
                "board.fail=fire: must be panic, exception, interrupts, hang=N or core=N[,N]",
            ),
            ("board.fail", "board.fail: must be panic"),
            (
                "board.bariier=3",
                "board.bariier=3: unknown; there are board.log, board.memory=above",
            ),
            ("board.", "board.: unknown"),
        ] {
            let said = said(&format!("console=x {line} board.log"));
            assert!(
                matches!(&said[..], [one] if one.starts_with(says)),
                "{line}: {said:?}"
            );
        }
        assert_eq!(said("board.a board.b board.barrier=c").len(), 3);
    }

    #[test]
    fn every_word_is_named_where_one_is_unknown_and_in_the_docs() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let docs = std::fs::read_to_string(root.parent().unwrap().join("docs/board.md")).unwrap();
        let known = Mistake::Unknown("").to_string();
        for word in [
            "board.log",
            "board.memory=above",
            "board.prefetch=far",
            "board.barrier=SECONDS",
            "board.sd=",
            "board.fail=",
        ] {
            assert!(known.contains(word), "{word}");
            assert!(docs.contains(&format!("| `{word}")), "{word}");
            // what is named is read
            let name = word[PREFIX.len()..].split('=').next().unwrap();
            assert!(!matches!(parse(name), Err(Mistake::Unknown(_))), "{word}");
        }
    }
}
