//! What the terminal shows of the line, and the fewest bytes that bring it up to date.
//!
//! A serial terminal does not tell its width and does not step back over a wrapped line end, so a line
//! that is longer than the window scrolls sideways: only one screen row is ever touched, and `\b`
//! suffices to go left. The row is compared with what was drawn before; equal beginnings are not sent
//! again, so plain typing costs the typed bytes and nothing else.

use alloc::vec::Vec;
use core::ops::Range;
use unicode_width::UnicodeWidthChar;

/// One column or two of the screen; combining marks have width 0 and go with what precedes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    glyph: char,
    width: usize,
}

impl Cell {
    fn of(c: char) -> Self {
        // Line breaks and tabs are part of the text; on the row each takes one column.
        let glyph = match c {
            '\n' => '↵',
            '\t' => ' ',
            c if c.is_control() => '\u{FFFD}',
            c => c,
        };
        Self {
            glyph,
            width: glyph.width().unwrap_or(1),
        }
    }
}

/// The row behind the prompt as the terminal shows it.
#[derive(Debug)]
pub struct Display {
    /// Columns of the window behind the prompt.
    columns: usize,
    drawn: Vec<Cell>,
    /// Column of the terminal's cursor, counted from the end of the prompt.
    cursor: usize,
    /// First character of the line that is on show.
    first: usize,
}

impl Display {
    /// A window of `columns` columns, nothing drawn.
    pub const fn new(columns: usize) -> Self {
        Self {
            columns,
            drawn: Vec::new(),
            cursor: 0,
            first: 0,
        }
    }

    /// Sets the window's width for the lines to come.
    pub fn set_columns(&mut self, columns: usize) {
        self.columns = columns.max(8);
    }

    /// Forgets the row: the terminal is at the end of a fresh prompt.
    pub fn start(&mut self) {
        self.drawn.clear();
        self.cursor = 0;
        self.first = 0;
    }

    /// Whether a part of the line is out of sight.
    pub fn is_scrolled(&self, line: &str) -> bool {
        self.first > 0 || columns_of(line.chars()) >= self.columns
    }

    /// Brings the row up to date with `line` and its cursor (a byte offset).
    pub fn update(&mut self, line: &str, cursor: usize, echo: &mut Vec<u8>) {
        let before = &line[..cursor];
        let window = self.window(line, before);
        let shown = line.chars().skip(window.start).take(window.len());
        let next: Vec<Cell> = shown.map(Cell::of).collect();
        let target = width_of(&next[..before.chars().count() - window.start]);

        let equal = self
            .drawn
            .iter()
            .zip(&next)
            .take_while(|(a, b)| a == b)
            .count();
        // A combining mark joins what precedes it: such a change starts at the base character.
        let equal = base_before(&self.drawn, base_before(&next, equal));
        let drawn_width = width_of(&self.drawn);
        if equal < self.drawn.len() || equal < next.len() {
            self.go_to(width_of(&next[..equal]), &next[..equal], echo);
            for cell in &next[equal..] {
                push_char(echo, cell.glyph);
                self.cursor += cell.width;
            }
            for _ in self.cursor..drawn_width {
                echo.push(b' ');
            }
            self.cursor = self.cursor.max(drawn_width);
        }
        self.go_to(target, &next, echo);
        self.drawn = next;
    }

    /// Moves the cursor: `\b` to the left; to the right by writing `cells` again.
    fn go_to(&mut self, column: usize, cells: &[Cell], echo: &mut Vec<u8>) {
        if column > self.cursor {
            let mut at = 0;
            for cell in cells {
                // Marks right at the cursor are on the screen already, on the character before it.
                if at >= self.cursor && at < column && (cell.width > 0 || at > self.cursor) {
                    push_char(echo, cell.glyph);
                }
                at += cell.width;
            }
        } else {
            echo.extend(core::iter::repeat_n(b'\x08', self.cursor - column));
        }
        self.cursor = column;
    }

    /// The characters on show: a part of the line that has the cursor in it, behind `before`, and fits the window.
    fn window(&mut self, line: &str, before: &str) -> Range<usize> {
        // One column stays free so that the terminal never wraps.
        let room = self.columns - 1;
        let cursor = before.chars().count();
        if columns_of(line.chars()) <= room {
            self.first = 0;
        } else if cursor < self.first || columns_of(before.chars().skip(self.first)) > room {
            // Half a window of text stays before the cursor, so that scrolling is rare.
            self.first = cursor - fitting(before.chars().rev(), room / 2);
        }
        self.first..self.first + fitting(line.chars().skip(self.first), room)
    }
}

/// How many of the characters fit into `room` columns.
fn fitting(chars: impl Iterator<Item = char>, room: usize) -> usize {
    let mut width = 0;
    let fits = |c: &char| {
        width += Cell::of(*c).width;
        width <= room
    };
    chars.take_while(fits).count()
}

/// The largest index ≤ `at` that does not cut a base character from its marks.
fn base_before(cells: &[Cell], mut at: usize) -> usize {
    while at > 0 && cells.get(at).is_some_and(|cell| cell.width == 0) {
        at -= 1;
    }
    at
}

fn width_of(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| cell.width).sum()
}

fn columns_of(chars: impl Iterator<Item = char>) -> usize {
    chars.map(|c| Cell::of(c).width).sum()
}

pub(super) fn push_char(echo: &mut Vec<u8>, c: char) {
    echo.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}
