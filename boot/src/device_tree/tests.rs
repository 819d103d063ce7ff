use super::*;

/// Builds a tree; properties by name and bytes.
struct Builder {
    structure: Vec<u8>,
    strings: Vec<u8>,
    reservations: Vec<u8>,
}

impl Builder {
    fn new() -> Self {
        Self {
            structure: Vec::new(),
            strings: Vec::new(),
            reservations: Vec::new(),
        }
    }

    fn word(&mut self, word: u32) -> &mut Self {
        self.structure.extend(word.to_be_bytes());
        self
    }

    fn pad(&mut self) {
        while !self.structure.len().is_multiple_of(4) {
            self.structure.push(0);
        }
    }

    fn node(&mut self, name: &str, inside: impl FnOnce(&mut Self)) -> &mut Self {
        self.word(BEGIN_NODE);
        self.structure.extend(name.bytes().chain([0]));
        self.pad();
        inside(self);
        self.word(END_NODE)
    }

    fn property(&mut self, name: &str, cells: &[u32]) -> &mut Self {
        let name_offset = self.strings.len() as u32;
        self.strings.extend(name.bytes().chain([0]));
        self.word(PROPERTY)
            .word(4 * cells.len() as u32)
            .word(name_offset);
        for &cell in cells {
            self.word(cell);
        }
        self
    }

    fn reserve(&mut self, start: u64, size: u64) -> &mut Self {
        self.reservations.extend(start.to_be_bytes());
        self.reservations.extend(size.to_be_bytes());
        self
    }

    fn finish(&mut self) -> Vec<u8> {
        self.word(END);
        self.reserve(0, 0);
        let reservations = HEADER_BYTES;
        let structure = reservations + self.reservations.len();
        let strings = structure + self.structure.len();
        let total = strings + self.strings.len();
        let header = [
            MAGIC,
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
        let mut tree: Vec<u8> = header.iter().flat_map(|word| word.to_be_bytes()).collect();
        tree.extend(&self.reservations);
        tree.extend(&self.structure);
        tree.extend(&self.strings);
        tree
    }
}

fn eight_gigabytes() -> Vec<u8> {
    let mut builder = Builder::new();
    builder.reserve(0, 0x1000).reserve(0x2EFF_4000, 0xC000);
    builder.node("", |root| {
        root.property("#address-cells", &[2])
            .property("#size-cells", &[1]);
        root.node("memory@0", |memory| {
            memory.property(
                "reg",
                &[
                    0,
                    0,
                    0x3B40_0000,
                    0,
                    0x4000_0000,
                    0xBC00_0000,
                    1,
                    0,
                    0x8000_0000,
                    1,
                    0x8000_0000,
                    0x8000_0000,
                ],
            );
        });
        root.node("reserved-memory", |reserved| {
            reserved
                .property("#address-cells", &[2])
                .property("#size-cells", &[1]);
            reserved.property("ranges", &[]);
            reserved.node("linux,cma", |cma| {
                cma.property("size", &[0x0400_0000]);
            });
            reserved.node("nvram@0", |nvram| {
                nvram
                    .property("reg", &[0, 0x3AF5_C6A4, 0x82])
                    .property("no-map", &[]);
            });
        });
        root.node("emmc2bus", |bus| {
            bus.property("#address-cells", &[2]);
            bus.property("dma-ranges", &[0, 0xC000_0000, 0, 0, 0x4000_0000]);
            bus.node("mmc@7e340000", |mmc| {
                mmc.property("reg", &[0, 0x7E34_0000, 0x100]);
            });
        });
    });
    builder.finish()
}

#[test]
fn a_board_with_eight_gigabytes() {
    let nodes = memory_nodes(&eight_gigabytes()).unwrap();
    let ram: Vec<_> = nodes.ram.iter().collect();
    assert_eq!(
        ram,
        [
            0..0x3B40_0000,
            0x4000_0000..0xFC00_0000,
            0x1_0000_0000..0x2_0000_0000
        ]
    );
    let reserved: Vec<_> = nodes.reserved.iter().collect();
    assert_eq!(
        reserved,
        [
            0..0x1000,
            0x2EFF_4000..0x2F00_0000,
            0x3AF5_C6A4..0x3AF5_C726
        ]
    );
    assert_eq!(nodes.emmc2_dma_base, Some(0xC000_0000));
}

#[test]
fn more_reserved_pieces_than_there_is_room_for_stay_reserved() {
    let start = |i: usize| 0x10_0000 * (i as u64 + 1);
    let n = ram::MAX_RANGES + 1;
    let mut by_header = Builder::new();
    (0..n).for_each(|i| {
        by_header.reserve(start(i), 0x1000);
    });
    by_header.node("", |_| {});
    let cells: Vec<u32> = (0..n).flat_map(|i| [0, start(i) as u32, 0x1000]).collect();
    let mut by_node = Builder::new();
    by_node.node("", |root| {
        root.node("reserved-memory", |reserved| {
            reserved.node("all", |all| {
                all.property("reg", &cells);
            });
        });
    });
    for mut tree in [by_header, by_node] {
        let nodes = memory_nodes(&tree.finish()).unwrap();
        for i in 0..n {
            let holds = |range: core::ops::Range<u64>| range.contains(&start(i));
            assert!(nodes.reserved.iter().any(holds), "{i}: {}", nodes.reserved);
        }
    }
}

#[test]
fn one_cell_addresses() {
    let mut builder = Builder::new();
    builder.node("", |root| {
        root.property("#address-cells", &[1])
            .property("#size-cells", &[1]);
        root.node("memory", |memory| {
            memory.property("reg", &[0, 0x3C00_0000]);
        });
    });
    let nodes = memory_nodes(&builder.finish()).unwrap();
    assert_eq!(nodes.ram.largest(), 0..0x3C00_0000);
    assert_eq!(nodes.emmc2_dma_base, None);
}

#[test]
fn atags_are_no_tree() {
    // what QEMU leaves at 0x100
    let mut atags = [0_u8; HEADER_BYTES];
    atags[..8].copy_from_slice(&[5, 0, 0, 0, 1, 0, 0x41, 0x54]);
    assert_eq!(
        total_bytes(&atags),
        Err(Error::NoMagic { found: 0x0500_0000 })
    );
}

#[test]
fn every_cut_and_every_flipped_byte_comes_back() {
    let tree = eight_gigabytes();
    for len in 0..tree.len() {
        assert!(memory_nodes(&tree[..len]).is_err(), "cut to {len}");
    }
    for at in 0..tree.len() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut damaged = tree.clone();
            damaged[at] ^= flip;
            // no panic, and whatever is believed is in order
            if let Ok(nodes) = memory_nodes(&damaged) {
                assert!(nodes.ram.iter().is_sorted_by(|a, b| a.end < b.start));
            }
        }
    }
}

#[test]
fn a_board_of_3_gb_by_its_tree() {
    let of = |chosen: &[u32]| {
        let mut builder = Builder::new();
        builder.node("", |root| {
            root.node("memory@0", |memory| {
                memory.property("reg", &[0, 0, 0x3B40_0000, 0, 0x4000_0000, 0x8000_0000]);
            });
            root.node("chosen", |node| {
                node.property("rpi-sdram-size-gbit", chosen);
            });
        });
        memory_nodes(&builder.finish()).unwrap()
    };
    let with = |nodes: &MemoryNodes| {
        let mailbox = ram::from_mailbox(0..0x3B40_0000, Some(nodes.total_bytes()));
        ram::reconcile(Some(&nodes.ram), &mailbox, false)
    };
    let named = of(&[24]);
    assert_eq!(named.total_bytes(), 3 << 30);
    assert_eq!(with(&named), named.ram);
    // a tree that names no size is believed as it is
    let unnamed = of(&[]);
    assert_eq!(unnamed.total_bytes(), ram::MAX_TOTAL);
    assert_eq!(with(&unnamed), unnamed.ram);
}
