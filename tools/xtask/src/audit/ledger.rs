//! The lists of ARCHITECTURE.md that the sources are held against.

use crate::marked::cut;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// What ARCHITECTURE.md allows.
#[derive(Debug)]
pub struct Ledger {
    /// Folders (ending in `/`) and files in which `unsafe` may stand, with how often it does.
    rooms: BTreeMap<String, usize>,
    /// Pairs of files that still name each other.
    circles: BTreeSet<(String, String)>,
}

impl Ledger {
    /// Reads the sections `unsafe` and `circles` of `page`.
    ///
    /// # Errors
    /// A section is missing, or a row of it cannot be read.
    pub fn read(page: &str) -> Result<Ledger> {
        let mut rooms = BTreeMap::new();
        for [room, count] in rows(page, "unsafe")? {
            let count = count.parse();
            let count =
                count.with_context(|| format!("the row of {room} has no number of sites"))?;
            let is_new = rooms.insert(room.to_owned(), count).is_none();
            ensure!(is_new, "{room} has two rows");
        }
        let circles = rows(page, "circles")?
            .into_iter()
            .map(|[a, b]| (a.to_owned(), b.to_owned()));
        Ok(Ledger {
            rooms,
            circles: circles.collect(),
        })
    }

    /// Compares the sources' `unsafe` with the rooms.
    ///
    /// # Errors
    /// A file is in no room, or a room has another number of sites.
    pub fn check_unsafe(&self, sites: &BTreeMap<String, usize>) -> Result<()> {
        let mut found = BTreeMap::<&str, usize>::new();
        for (file, count) in sites {
            let room = self
                .rooms
                .keys()
                .filter(|room| file == *room || (room.ends_with('/') && file.starts_with(*room)));
            let room = room.max_by_key(|room| room.len()).with_context(|| {
                format!(
                    "{file} says unsafe {count} times and lies in no room of ARCHITECTURE.md's list"
                )
            })?;
            *found.entry(room).or_default() += count;
        }
        for (room, expected) in &self.rooms {
            let count = found.remove(room.as_str()).unwrap_or(0);
            ensure!(
                count == *expected,
                "{room} says unsafe {count} times, ARCHITECTURE.md's list has {expected}"
            );
        }
        Ok(())
    }

    /// Compares the circles found with those listed.
    ///
    /// # Errors
    /// A circle is not listed, or one that is listed is gone.
    pub fn check_circles(&self, found: &BTreeSet<(String, String)>) -> Result<()> {
        let new = found.difference(&self.circles).map(|(a, b)| {
            format!("{a} and {b} name each other: move what both need into a file below them")
        });
        let gone = self.circles.difference(found).map(|(a, b)| {
            format!(
                "{a} and {b} name each other no more: take the row out of ARCHITECTURE.md's list"
            )
        });
        let differences: Vec<String> = new.chain(gone).collect();
        ensure!(differences.is_empty(), "{}", differences.join("\n"));
        Ok(())
    }
}

/// The first two cells of each row of a section's table, its head and rule left out.
fn rows<'p>(page: &'p str, section: &str) -> Result<Vec<[&'p str; 2]>> {
    let (_, text, _) = cut(page, section)
        .with_context(|| format!("ARCHITECTURE.md has no section <!-- {section} -->"))?;
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix('|')?.strip_suffix('|'));
    let cells = |row: &'p str| {
        let mut cells = row.split('|').map(|cell| cell.trim().trim_matches('`'));
        let first_two = cells.next().zip(cells.next()).map(<[_; 2]>::from);
        first_two.with_context(|| format!("the row{row}has one cell"))
    };
    rows.skip(2).map(cells).collect()
}
