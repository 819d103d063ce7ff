//! `board.…` on the kernel command line: how the board is brought up. Pure.
//!
//! | word | what it does |
//! |---|---|
//! | `board.log` | prints what a report about a board should contain |
//! | `board.memory=above` | models lie in the highest RAM first, out of reach of DMA controllers of the older stepping |
//! | `board.prefetch=far` | longer prefetch distances (docs/hardware.md MMU-11) |
//! | `board.barrier=SECONDS` | how long a core may keep others waiting at a barrier, 0 for ever |
//! | `board.sd=…` | what is not used of the SD card, see [`Modes`] |
//! | `board.fail=…` | what is made to fail, see [`failures`](crate::failures) |

use drivers::sd::Modes;

use crate::failures::{self, Failure};

const LOG: &str = "board.log";
const HIGHEST_MEMORY_FIRST: &str = "board.memory=above";
const FAR_PREFETCH: &str = "board.prefetch=far";
const BARRIER_LIMIT: &str = "board.barrier=";

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
    /// What `line` asks for; of several limits the last counts.
    pub fn of_command_line(line: &str) -> Self {
        let mut options = Self::default();
        for word in words(line).flatten() {
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
        "{0}: unknown; there are {LOG}, {HIGHEST_MEMORY_FIRST}, {FAR_PREFETCH}, {BARRIER_LIMIT}SECONDS, \
         {sd}pio|25|1bit and {fail}panic|exception|interrupts|hang=N|core=N[,N]",
        sd = Modes::OPTION,
        fail = failures::OPTION
    )]
    Unknown(&'l str),
    /// An option that takes one value, or none, has another.
    #[error("{word}: must be {right}")]
    Value {
        /// The word.
        word: &'l str,
        /// The only one that is right.
        right: &'static str,
    },
    /// A limit that is no number.
    #[error("{0}: must be a whole number of seconds, 0 for no limit")]
    Seconds(&'l str),
    /// Modes of the card that are not there.
    #[error("{0}: must be pio, 25 or 1bit, or several with commas between them")]
    SdModes(&'l str),
    /// Nothing fails by that name.
    #[error("{0}: must be panic, exception, interrupts, hang=N or core=N[,N]")]
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
    words.filter(|word| word.starts_with("board.")).map(parse)
}

fn parse(word: &str) -> Result<Word, Mistake<'_>> {
    match word {
        LOG => return Ok(Word::Log),
        HIGHEST_MEMORY_FIRST => return Ok(Word::HighestMemoryFirst),
        FAR_PREFETCH => return Ok(Word::FarPrefetch),
        _ => {}
    }
    let name = name(word);
    // without a value, none of the lists below has an entry
    let value = word.get(name.len() + 1..).unwrap_or_default();
    let is = |option| name == self::name(option);
    if is(BARRIER_LIMIT) {
        let limit_s = value.parse().map(Word::BarrierLimit);
        limit_s.map_err(|_| Mistake::Seconds(word))
    } else if is(Modes::OPTION) {
        let is_right = value.split(',').all(Modes::is_mode);
        is_right.then_some(Word::Sd).ok_or(Mistake::SdModes(word))
    } else if is(failures::OPTION) {
        let failure = Failure::parse(value);
        failure.map(|_| Word::Fail).ok_or(Mistake::Failure(word))
    } else {
        let of_one_value = [LOG, HIGHEST_MEMORY_FIRST, FAR_PREFETCH];
        let right = of_one_value.into_iter().find(|&option| is(option));
        Err(
            right.map_or(Mistake::Unknown(word), |right| Mistake::Value {
                word,
                right,
            }),
        )
    }
}

/// What stands before a value.
fn name(word: &str) -> &str {
    word.split_once('=').map_or(word, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Vec<String> {
        mistakes(line).map(|mistake| mistake.to_string()).collect()
    }

    #[test]
    fn words_of_the_command_line() {
        let of = Options::of_command_line;
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
    fn every_word_is_named_where_one_is_unknown() {
        let known = Mistake::Unknown("").to_string();
        for option in [
            LOG,
            HIGHEST_MEMORY_FIRST,
            FAR_PREFETCH,
            BARRIER_LIMIT,
            Modes::OPTION,
            failures::OPTION,
        ] {
            assert!(known.contains(option), "{option}");
            assert!(
                !matches!(parse(option), Err(Mistake::Unknown(_))),
                "{option}"
            );
        }
        for value in ["panic", "exception", "interrupts", "hang=2", "core=1,3"] {
            assert_eq!(said(&format!("board.fail={value}")), [""; 0]);
        }
    }
}
