use super::descriptor::{PXN, READ_ONLY, UXN};
use super::*;

const BASE: u64 = 0x10_0000;

fn with_tables(pool: usize, test: impl FnOnce(&mut PageTables<'_>)) {
    let mut tables: Vec<Table> = (0..pool).map(|_| Table::EMPTY).collect();
    let mut used = 0;
    test(&mut PageTables::new(&mut tables, BASE, &mut used));
}

#[test]
fn descriptors_have_the_bits_of_the_manual() {
    with_tables(4, |tables| {
        tables.map(0x8_0000..0x8_1000, Memory::Code).unwrap();
        tables.map(0x8_1000..0x8_2000, Memory::ReadOnly).unwrap();
        tables.map(0x8_2000..0x8_3000, Memory::Data).unwrap();
        tables.map(0x20_0000..0x40_0000, Memory::Device).unwrap();
        let level3 = &tables.tables[2].0;
        // UXN; AF, inner shareable, read-only, attribute 0, page
        assert_eq!(level3[0x80], 0x0040_0000_0008_0783);
        // the same with PXN
        assert_eq!(level3[0x81], 0x0060_0000_0008_1783);
        // writable
        assert_eq!(level3[0x82], 0x0060_0000_0008_2703);
        // UXN, PXN, AF, attribute 1, block
        assert_eq!(tables.tables[1].0[1], 0x0060_0000_0020_0405);
        // tables one behind the other
        assert_eq!(tables.tables[0].0[0], BASE + 0x1003);
        assert_eq!(tables.tables[1].0[0], BASE + 0x2003);
    });
}

#[test]
fn nothing_is_writable_and_executable() {
    for memory in [Memory::Code, Memory::ReadOnly, Memory::Data, Memory::Device] {
        let bits = memory.attributes();
        let executable = bits & PXN == 0;
        assert!(!executable || bits & READ_ONLY != 0, "{memory:?}");
        assert_ne!(bits & UXN, 0, "{memory:?}");
    }
}

#[test]
fn whole_pieces_become_blocks_and_edges_become_pages() {
    with_tables(8, |tables| {
        tables.map(0x1F_F000..0x40_1000, Memory::Data).unwrap();
        let bytes = |addr| tables.lookup(addr).map(|mapping| mapping.bytes);
        assert_eq!(bytes(0x1F_EFFF), None);
        assert_eq!(bytes(0x1F_F000), Some(PAGE_BYTES));
        assert_eq!(bytes(0x20_0000), Some(BLOCK_BYTES));
        assert_eq!(bytes(0x3F_FFFF), Some(BLOCK_BYTES));
        assert_eq!(bytes(0x40_0FFF), Some(PAGE_BYTES));
        assert_eq!(bytes(0x40_1000), None);
    });
}

#[test]
fn eight_gigabytes_and_the_peripherals_fit_the_pool() {
    with_tables(crate::POOL_TABLES, |tables| {
        tables.map(0x1000..0x8_0000, Memory::Data).unwrap();
        tables.map(0x8_0000..0x3B40_0000, Memory::Data).unwrap();
        tables.map(0x4000_0000..0xFC00_0000, Memory::Data).unwrap();
        tables
            .map(0xFC00_0000..0x1_0000_0000, Memory::Device)
            .unwrap();
        tables
            .map(0x1_0000_0000..0x2_0000_0000, Memory::Data)
            .unwrap();
        tables
            .map_at(0x4_0000_0000..0x5_E000_0000, 0x2_0000_0000, Memory::Data)
            .unwrap();
        assert!(tables.tables_used() + 4 <= crate::POOL_TABLES);
        assert_eq!(tables.lookup(0x3B40_0000), None, "VideoCore memory");
        assert_eq!(
            tables.lookup(0xFE20_1000).map(|mapping| mapping.memory),
            Some(Memory::Device)
        );
        assert!(tables.lookup(0x1_FFFF_FFFF).is_some());
    });
}

#[test]
fn addresses_may_differ_from_physical_ones() {
    with_tables(8, |tables| {
        let window = 0x4_0000_0000..0x4_0060_0000;
        tables
            .map_at(window, 0x1234_0000_u64 & !(BLOCK_BYTES - 1), Memory::Data)
            .unwrap();
        let found = tables.lookup(0x4_0020_0040).unwrap();
        assert_eq!(found.physical_addr, 0x1240_0000);
        assert_eq!(found.bytes, BLOCK_BYTES);
        // what is not aligned to blocks on both sides becomes pages
        tables
            .map_at(0x4_0080_0000..0x4_00A0_0000, 0x1000, Memory::Data)
            .unwrap();
        let found = tables.lookup(0x4_0080_1040).unwrap();
        assert_eq!((found.physical_addr, found.bytes), (0x2000, PAGE_BYTES));
        assert_eq!(
            tables.map_at(0x4_0100_0000..0x4_0100_1000, 0x10, Memory::Data),
            Err(MapError::Unaligned { addr: 0x10 })
        );
        assert!(
            tables
                .map_at(0x4_0100_0000..0x4_0100_1000, 1 << VA_BITS, Memory::Data)
                .is_err()
        );
    });
}

#[test]
fn a_map_is_continued_later() {
    let mut tables: Vec<Table> = (0..8).map(|_| Table::EMPTY).collect();
    let mut used = 0;
    PageTables::new(&mut tables, BASE, &mut used)
        .map(0..0x1000, Memory::Data)
        .unwrap();
    let mut later = PageTables::new(&mut tables, BASE, &mut used);
    later.map(0x1000..0x2000, Memory::Code).unwrap();
    assert_eq!(later.tables_used(), 3);
    assert_eq!(later.lookup(0).unwrap().memory, Memory::Data);
}

#[test]
fn permissions_change_only_where_a_leaf_is_whole() {
    with_tables(8, |tables| {
        tables.map(0x20_0000..0x80_0000, Memory::Data).unwrap();
        tables
            .protect(0x40_0000..0x60_0000, Memory::ReadOnly)
            .unwrap();
        let memory = |tables: &PageTables<'_>, addr| tables.lookup(addr).unwrap().memory;
        assert_eq!(memory(tables, 0x3F_FFFF), Memory::Data);
        assert_eq!(memory(tables, 0x40_0000), Memory::ReadOnly);
        assert_eq!(memory(tables, 0x60_0000), Memory::Data);
        assert_eq!(
            tables.protect(0x41_0000..0x60_0000, Memory::Data),
            Err(MapError::NotMapped { addr: 0x41_0000 })
        );
        tables.unmap(0x40_0000..0x60_0000).unwrap();
        assert_eq!(tables.lookup(0x40_0000), None);
    });
}

#[test]
fn bad_ranges_are_refused() {
    with_tables(3, |tables| {
        let data = Memory::Data;
        assert_eq!(
            tables.map(0x10..0x1000, data),
            Err(MapError::Unaligned { addr: 0x10 })
        );
        let empty = 0x1000..0x1000;
        assert_eq!(
            tables.map(empty, data),
            Err(MapError::OutOfRange { end: 0x1000 })
        );
        let end = (1 << VA_BITS) + 0x1000;
        assert_eq!(tables.map(0..end, data), Err(MapError::OutOfRange { end }));
        tables.map(0..0x2000, data).unwrap();
        assert_eq!(
            tables.map(0x1000..0x3000, data),
            Err(MapError::Occupied { addr: 0x1000 })
        );
        tables.map(0x20_0000..0x40_0000, data).unwrap();
        assert_eq!(
            tables.map(0x20_1000..0x20_2000, data),
            Err(MapError::Occupied { addr: 0x20_1000 })
        );
        assert_eq!(
            tables.map(0x4000_0000..0x4000_1000, data),
            Err(MapError::OutOfTables { tables: 3 })
        );
        assert_eq!(
            tables.unmap(0x40_0000..0x60_0000),
            Err(MapError::NotMapped { addr: 0x40_0000 })
        );
    });
}
