//! `board.fail=…` on the kernel command line: what is made to fail, to see what becomes of it. Pure.
//!
//! | word | what fails |
//! |---|---|
//! | `panic` | core 0, by a panic |
//! | `exception` | the last core, by a read from where nothing is mapped |
//! | `interrupts` | every interrupt, as where the firmware routes none to the cores |
//! | `hang=2` | this core, in a step that the others wait for |
//! | `core=1,3` | these cores stop before they say that they are alive |

use boot::layout::N_CORES;

/// The option; a command line may have it several times.
const OPTION: &str = "board.fail=";

/// What is made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Core 0 panics.
    Panic,
    /// The last core takes an exception.
    Exception,
    /// A core stays in a step.
    Hang(usize),
    /// No interrupt arrives.
    Interrupts,
    /// Cores that never come up: bit N is core N.
    Cores(u8),
}

impl Failure {
    /// What `word`, behind the option, stands for; nothing if it is none of them.
    pub fn parse(word: &str) -> Option<Self> {
        match word.split_once('=') {
            None if word == "panic" => Some(Self::Panic),
            None if word == "exception" => Some(Self::Exception),
            None if word == "interrupts" => Some(Self::Interrupts),
            Some(("hang", core)) => core
                .parse()
                .ok()
                .filter(|&core| core < N_CORES)
                .map(Self::Hang),
            Some(("core", list)) => secondary_cores(list).map(Self::Cores),
            _ => None,
        }
    }
}

/// What `line` asks for, in its order. Words that stand for nothing are `options`' to say.
pub fn of_command_line(line: &str) -> impl Iterator<Item = Failure> {
    let words = line.split_ascii_whitespace();
    let words = words.filter_map(|word| word.strip_prefix(OPTION));
    words.filter_map(Failure::parse)
}

/// The cores that `line` stops before they are alive.
pub fn cores_that_stop(line: &str) -> u8 {
    of_command_line(line).fold(0, |all, failure| match failure {
        Failure::Cores(cores) => all | cores,
        _ => all,
    })
}

/// Whether `line` lets no interrupt arrive.
pub fn stop_interrupts(line: &str) -> bool {
    of_command_line(line).any(|failure| failure == Failure::Interrupts)
}

/// Numbers of cores with commas between them; core 0 reads the command line and is none of them.
fn secondary_cores(list: &str) -> Option<u8> {
    list.split(',').try_fold(0, |cores, number| match number {
        "1" => Some(cores | 1 << 1),
        "2" => Some(cores | 1 << 2),
        "3" => Some(cores | 1 << 3),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<Failure> {
        of_command_line(line).collect()
    }

    #[test]
    fn words_of_the_command_line() {
        assert_eq!(of("cores=2 board.log my.board.fail=panic"), []);
        assert_eq!(of("a board.fail=panic b"), [Failure::Panic]);
        assert_eq!(of("board.fail=exception"), [Failure::Exception]);
        assert_eq!(of("board.fail=hang=0"), [Failure::Hang(0)]);
        assert_eq!(of("board.fail=core=2"), [Failure::Cores(0b100)]);
        assert_eq!(
            of("board.fail=core=3,1 board.fail=panic"),
            [Failure::Cores(0b1010), Failure::Panic]
        );
    }

    #[test]
    fn interrupts_are_stopped_by_their_word_alone() {
        assert!(stop_interrupts("board.log board.fail=interrupts"));
        assert!(!stop_interrupts("board.fail=core=1 board.fail=interrupt"));
    }

    #[test]
    fn what_stands_for_nothing_is_no_failure() {
        for word in [
            "", "panics", "hang", "hang=4", "hang=-1", "core", "core=", "core=0", "core=4",
            "core=1,", "core=1,0",
        ] {
            assert_eq!(Failure::parse(word), None, "{word}");
            assert_eq!(of(&format!("board.fail={word}")), []);
        }
    }

    #[test]
    fn cores_of_several_words_add_up() {
        let line = "board.fail=core=1 board.fail=panic board.fail=core=3 board.fail=core=9";
        assert_eq!(cores_that_stop(line), 0b1010);
        assert_eq!(cores_that_stop("board.log"), 0);
    }
}
