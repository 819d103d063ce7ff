use super::*;
use crate::boot_sector::Root;

/// A volume with 100 clusters of 4 blocks, the first at block 1000.
fn boot(fat_type: FatType) -> BootSector {
    BootSector {
        fat_type,
        fat_first_block: 10,
        fat_n_blocks: 10,
        root: Root::Cluster(2),
        data_first_block: 1000,
        cluster_blocks: 4,
        n_clusters: 100,
        end_block: 1400,
        fs_info_block: None,
        dirty: false,
    }
}

fn follow(table: &[(u32, u32)], first: u32, length: Length) -> Result<Runs, Error<u32>> {
    Runs::follow(&boot(FatType::Fat32), first, length, |cluster| {
        let entry = table.iter().find(|(c, _)| *c == cluster);
        entry.map(|(_, next)| *next).ok_or(cluster)
    })
}

fn run(file_block: u32, n_blocks: u32, card_block: u64) -> Run {
    Run {
        file_block,
        n_blocks,
        card_block,
    }
}

const END: u32 = 0x0FFF_FFFF;

#[test]
fn neighbours_join_and_gaps_separate() {
    let table = [(5, 6), (6, 7), (7, 20), (20, 21), (21, 4), (4, END)];
    let runs = follow(&table, 5, Length::Exactly(6)).unwrap();
    let expected = [run(0, 12, 1012), run(12, 8, 1072), run(20, 4, 1008)];
    assert_eq!(runs.as_slice(), expected);
    assert_eq!(runs.locate(0), Some((1012, 12)));
    assert_eq!(runs.locate(11), Some((1023, 1)));
    assert_eq!(runs.locate(13), Some((1073, 7)));
    assert_eq!(runs.locate(23), Some((1011, 1)));
    assert_eq!(runs.locate(24), None);
    assert_eq!(Runs::default().locate(0), None);
    assert_eq!(follow(&table, 5, Length::ToEnd(100)), Ok(runs));
}

#[test]
fn a_chain_longer_than_its_file_is_cut() {
    let table = [(5, 6), (6, 7)];
    let runs = follow(&table, 5, Length::Exactly(2)).unwrap();
    assert_eq!(runs.as_slice(), [run(0, 8, 1012)]);
    // The table is not read for what is not needed.
    assert_eq!(follow(&table, 5, Length::Exactly(4)), Err(Error::Table(7)));
}

#[test]
fn a_chain_shorter_than_its_file_is_counted() {
    for end in [END, 0x0FFF_FFF8, 0, 1, 0x0FFF_FFF7, 102, 0x0FFF_FFF0] {
        let result = follow(&[(5, 6), (6, end)], 5, Length::Exactly(4));
        assert_eq!(result, Err(Error::Short { have: 2, need: 4 }), "{end:#x}");
    }
    for first in [0, 1, 102, u32::MAX] {
        let result = follow(&[], first, Length::Exactly(1));
        assert_eq!(result, Err(Error::Short { have: 0, need: 1 }));
        let result = follow(&[], first, Length::ToEnd(9));
        assert_eq!(result, Err(Error::Short { have: 0, need: 9 }));
    }
    // A directory whose end is damaged shows what comes before.
    let runs = follow(&[(5, 6), (6, 0)], 5, Length::ToEnd(9)).unwrap();
    assert_eq!(runs.as_slice(), [run(0, 8, 1012)]);
}

#[test]
fn circles_end() {
    let circle = [(5, 6), (6, 9), (9, 5)];
    assert_eq!(follow(&circle, 5, Length::Exactly(50)), Err(Error::Loop));
    assert_eq!(follow(&circle, 5, Length::ToEnd(50)), Err(Error::Loop));
    assert_eq!(follow(&[(5, 5)], 5, Length::Exactly(2)), Err(Error::Loop));
    // Of a file so long that its pieces would be too many.
    let too_long = Length::Exactly(MAX_RUNS as u32 + 1);
    assert_eq!(follow(&[(5, 5)], 5, too_long), Err(Error::Loop));
    assert!(follow(&circle, 5, Length::Exactly(3)).is_ok());
}

#[test]
fn reserved_bits_and_narrow_entries() {
    let runs = follow(&[(5, 0xF000_0006)], 5, Length::Exactly(2)).unwrap();
    assert_eq!(runs.as_slice(), [run(0, 8, 1012)]);
    let link = |entry| Link::new(&boot(FatType::Fat16), entry);
    assert_eq!(link(0xFFF8), Link::End);
    assert_eq!(link(0xFFF7), Link::Broken);
    assert_eq!(link(0x0042), Link::Next(0x42));
    assert_eq!(link(0), Link::Broken);
}

#[test]
fn pieces_have_a_limit() {
    let boot = BootSector {
        n_clusters: 1 << 20,
        cluster_blocks: 1,
        ..boot(FatType::Fat32)
    };
    let length = |n| Length::Exactly(n);
    let every_other = |cluster| Ok::<_, ()>(cluster + 2);
    let most = MAX_RUNS as u32;
    let runs = Runs::follow(&boot, 2, length(most), every_other).unwrap();
    assert_eq!(runs.as_slice().len(), MAX_RUNS);
    assert_eq!(
        runs.locate(most - 1),
        Some((1000 + 2 * u64::from(most - 1), 1))
    );
    let result = Runs::follow(&boot, 2, length(most + 1), every_other);
    assert_eq!(result, Err(Error::TooFragmented));
}
