//! Any bytes as the firmware's device tree.

use boot::device_tree::{HEADER_BYTES, memory_nodes, total_bytes};
use boot::ram::{self, MAX_RANGES, Ranges};

/// A tree is refused in one line, or says ranges of addresses that are ascending and apart; what is made of them is
/// never more than the mailbox says and never the peripherals. A tree that is cut is refused.
pub fn check(data: &[u8]) {
    let nodes = match memory_nodes(data) {
        Ok(nodes) => nodes,
        Err(error) => {
            let sentence = error.to_string();
            assert!(sentence.contains("device tree") && !sentence.contains(char::is_control));
            return;
        }
    };
    let header: &[u8; HEADER_BYTES] = data.first_chunk().expect("a tree has a header");
    let len = total_bytes(header).expect("it was read");
    for cut in [0, HEADER_BYTES, len / 2, len - 1] {
        assert!(memory_nodes(&data[..cut]).is_err(), "{cut} of {len} bytes");
    }
    for ranges in [&nodes.ram, &nodes.reserved] {
        check_ranges(ranges);
    }
    for total in [nodes.total_bytes(), 1 << 30, 3 << 30, u64::MAX] {
        let mailbox = ram::from_mailbox(0..0x3C00_0000, Some(total));
        let used = ram::reconcile(Some(&nodes.ram), &mailbox, false);
        check_ranges(&used);
        assert_eq!(used.intersection(&mailbox), used);
        for range in used.iter() {
            assert!(range.end <= ram::MAX_TOTAL);
            assert!(range.end <= ram::PERIPHERALS_START || range.start >= ram::PERIPHERALS_END);
        }
    }
}

fn check_ranges(ranges: &Ranges) {
    let all: Vec<_> = ranges.iter().collect();
    assert!(all.len() <= MAX_RANGES);
    assert!(all.iter().all(|range| range.start < range.end));
    assert!(all.windows(2).all(|pair| pair[0].end < pair[1].start));
}

const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const END: u32 = 9;

/// A flattened tree in the making.
#[derive(Default)]
struct Tree {
    structure: Vec<u8>,
    strings: Vec<u8>,
}

impl Tree {
    fn word(&mut self, word: u32) {
        self.structure.extend(word.to_be_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.structure.extend(bytes);
        let len = self.structure.len().next_multiple_of(4);
        self.structure.resize(len, 0);
    }

    fn begin(&mut self, name: &str) {
        self.word(BEGIN_NODE);
        self.padded(&[name.as_bytes(), &[0]].concat());
    }

    fn end(&mut self) {
        self.word(END_NODE);
    }

    fn property(&mut self, name: &str, cells: &[u32]) {
        let at = self.strings.len() as u32;
        self.strings.extend([name.as_bytes(), &[0]].concat());
        self.word(PROPERTY);
        self.word(4 * cells.len() as u32);
        self.word(at);
        cells.iter().for_each(|&cell| self.word(cell));
    }

    fn finish(mut self) -> Vec<u8> {
        self.word(END);
        let reservations = HEADER_BYTES + 8;
        let structure = reservations + 32;
        let strings = structure + self.structure.len();
        let total = strings + self.strings.len();
        let sizes = [
            0xD00D_FEED,
            total as u32,
            structure as u32,
            strings as u32,
            reservations as u32,
            17,
            16,
            0,
            self.strings.len() as u32,
            self.structure.len() as u32,
        ];
        let mut tree: Vec<u8> = sizes.iter().flat_map(|word| word.to_be_bytes()).collect();
        tree.resize(reservations, 0);
        // page 0, then the end of the list
        tree.extend(
            [0, 0x1000, 0, 0]
                .iter()
                .flat_map(|word: &u64| word.to_be_bytes()),
        );
        tree.extend(self.structure);
        tree.extend(self.strings);
        tree
    }
}

/// A tree of a board, with memory nodes of these cells.
fn board(size_cells: u32, memory: &[&[u32]], gbit: Option<u32>) -> Vec<u8> {
    let mut tree = Tree::default();
    tree.begin("");
    tree.property("#address-cells", &[2]);
    tree.property("#size-cells", &[size_cells]);
    tree.begin("chosen");
    if let Some(gbit) = gbit {
        tree.property("rpi-sdram-size-gbit", &[gbit]);
    }
    tree.end();
    for (i, cells) in memory.iter().enumerate() {
        tree.begin(&format!("memory@{i}"));
        tree.property("reg", cells);
        tree.end();
    }
    tree.begin("reserved-memory");
    tree.property("#address-cells", &[2]);
    tree.property("#size-cells", &[1]);
    tree.begin("nvram@0");
    tree.property("reg", &[0, 0x3EF0_0000, 0x1000]);
    tree.property("no-map", &[]);
    tree.end();
    tree.end();
    tree.begin("emmc2bus");
    tree.property("#address-cells", &[2]);
    tree.property("#size-cells", &[1]);
    tree.property("dma-ranges", &[0, 0xC000_0000, 0, 0, 0x4000_0000]);
    tree.end();
    tree.end();
    tree.finish()
}

/// The seeds, by name.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let low: &[u32] = &[0, 0, 0x3B40_0000];
    let mut cut_off = board(1, &[low], None);
    cut_off.truncate(200);
    vec![
        ("1-gb", board(1, &[low], None)),
        (
            "2-gb",
            board(1, &[low, &[0, 0x4000_0000, 0x4000_0000]], None),
        ),
        (
            "3-gb",
            board(1, &[low, &[0, 0x4000_0000, 0x8000_0000]], Some(24)),
        ),
        (
            "8-gb",
            board(
                2,
                &[&[
                    0,
                    0,
                    0,
                    0x3B40_0000,
                    0,
                    0x4000_0000,
                    0,
                    0xBC00_0000,
                    1,
                    0,
                    1,
                    0,
                ]],
                None,
            ),
        ),
        (
            "descending",
            board(
                1,
                &[&[1, 0, 0x4000_0000], &[0, 0x4000_0000, 0x4000_0000], low],
                None,
            ),
        ),
        ("no-memory", board(1, &[], None)),
        ("cut-off", cut_off),
        (
            "atags",
            [5_u32, 0x5441_0001, 0, 0, 0]
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect(),
        ),
    ]
}
