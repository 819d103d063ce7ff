//! What may be used of card and controller.

/// Option of the kernel command line, with a list of what to do without.
const OPTION: &str = "board.sd=";

/// What may be used of card and controller: ways around a board or a card that cannot do all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// CMD6 and 50 MHz.
    pub high_speed: bool,
    /// Four data lines.
    pub four_lines: bool,
    /// The controller writes memory.
    pub dma: bool,
}

impl Default for Modes {
    fn default() -> Self {
        Self {
            high_speed: true,
            four_lines: true,
            dma: true,
        }
    }
}

impl Modes {
    /// All but what `board.sd=` leaves out: `pio`, `25` (MHz) and `1bit`, with commas between them.
    pub fn of_command_line(line: &str) -> Self {
        let lists = line.split_ascii_whitespace();
        let lists = lists.filter_map(|word| word.strip_prefix(OPTION));
        let words = lists.flat_map(|list| list.split(','));
        words.fold(Self::default(), |modes, word| {
            modes.without(word).unwrap_or(modes)
        })
    }

    /// Whether `word` leaves something out.
    pub fn is_mode(word: &str) -> bool {
        Self::default().without(word).is_some()
    }

    fn without(mut self, word: &str) -> Option<Self> {
        match word {
            "pio" => self.dma = false,
            "25" => self.high_speed = false,
            "1bit" => self.four_lines = false,
            _ => return None,
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::Modes;

    #[test]
    fn words_of_the_command_line() {
        let all = Modes::default();
        let (high_speed, four_lines, dma) = (false, false, false);
        let cases = [
            ("cores=2 board.log", all),
            ("board.sd=pio", Modes { dma, ..all }),
            ("x board.sd=25 y", Modes { high_speed, ..all }),
            ("board.sd=1bit", Modes { four_lines, ..all }),
            (
                "board.sd=fast,pio board.sd=1bit",
                Modes {
                    dma,
                    four_lines,
                    ..all
                },
            ),
            ("my.board.sd=pio", all),
        ];
        for (line, modes) in cases {
            assert_eq!(Modes::of_command_line(line), modes, "{line}");
        }
    }
}
