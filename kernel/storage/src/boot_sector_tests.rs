use super::*;

/// A FAT32 volume of 1 GiB with 4 KiB clusters, fields as mkfs.vfat writes them.
fn fat32() -> Block {
    let mut s = [0; 512];
    s[..3].copy_from_slice(&[0xEB, 0x58, 0x90]);
    s[3..11].copy_from_slice(b"mkfs.fat");
    put16(&mut s, 11, 512);
    s[13] = 8;
    put16(&mut s, 14, 32);
    s[16] = 2;
    s[21] = 0xF8;
    put32(&mut s, 32, 2_097_152);
    put32(&mut s, 36, 2044);
    put32(&mut s, 44, 2);
    put16(&mut s, 48, 1);
    s[510..].copy_from_slice(&[0x55, 0xAA]);
    s
}

/// A FAT16 volume of 64 MiB with 2 KiB clusters.
fn fat16() -> Block {
    let mut s = fat32();
    s[13] = 4;
    put16(&mut s, 14, 4);
    put16(&mut s, 17, 512);
    put16(&mut s, 22, 128);
    put32(&mut s, 32, 131_072);
    s[36..52].fill(0);
    s
}

fn put16(s: &mut Block, at: usize, value: u16) {
    s[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

fn put32(s: &mut Block, at: usize, value: u32) {
    s[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn parse(s: &Block) -> Result<BootSector, Error> {
    BootSector::parse(s, 2048, 1 << 22)
}

/// Parses after one change.
fn changed(mut s: Block, change: impl FnOnce(&mut Block)) -> Result<BootSector, Error> {
    change(&mut s);
    parse(&s)
}

#[test]
fn geometry_of_fat32() {
    assert_eq!(
        parse(&fat32()).unwrap(),
        BootSector {
            fat_type: FatType::Fat32,
            fat_first_block: 2048 + 32,
            fat_n_blocks: 2044,
            root: Root::Cluster(2),
            data_first_block: 2048 + 32 + 2 * 2044,
            cluster_blocks: 8,
            n_clusters: (2_097_152 - 32 - 2 * 2044) / 8,
            end_block: 2048 + 2_097_152,
            fs_info_block: Some(2049),
            dirty: false,
        }
    );
}

#[test]
fn geometry_of_fat16() {
    let boot = parse(&fat16()).unwrap();
    assert_eq!(boot.fat_type, FatType::Fat16);
    let first = 2048 + 4 + 2 * 128;
    assert_eq!(
        boot.root,
        Root::Blocks {
            first,
            n_blocks: 32
        }
    );
    assert_eq!(boot.data_first_block, first + 32);
    assert_eq!(boot.n_clusters, (131_072 - 4 - 256 - 32) / 4);
    assert_eq!(boot.fs_info_block, None);
    assert_eq!(boot.cluster_first_block(2), boot.data_first_block);
    assert_eq!(boot.cluster_first_block(5), boot.data_first_block + 12);
    assert!(boot.is_cluster(2) && boot.is_cluster(boot.n_clusters + 1));
    assert!(!boot.is_cluster(1) && !boot.is_cluster(boot.n_clusters + 2));
}

#[test]
fn every_field_that_cannot_be_is_named() {
    let named = |result: Result<BootSector, Error>| match result {
        Err(Error::Field { name, .. }) => name,
        other => panic!("{other:?}"),
    };
    type Change = fn(&mut Block);
    let cases: [(&str, Change); 12] = [
        ("BPB_BytsPerSec", |s| put16(s, 11, 0)),
        ("BPB_SecPerClus", |s| s[13] = 0),
        ("BPB_SecPerClus", |s| s[13] = 24),
        ("BPB_RsvdSecCnt", |s| put16(s, 14, 0)),
        ("BPB_NumFATs", |s| s[16] = 0),
        ("BPB_NumFATs", |s| s[16] = 5),
        ("BPB_FATSz32", |s| put32(s, 36, 0)),
        ("BPB_TotSec", |s| put32(s, 32, 0)),
        ("BPB_TotSec", |s| put32(s, 32, 32 + 2 * 2044)),
        ("BPB_TotSec", |s| put32(s, 36, u32::MAX)),
        ("BPB_ExtFlags", |s| put16(s, 40, 0x82)),
        ("BPB_RootClus", |s| put32(s, 44, 1)),
    ];
    for (name, change) in cases {
        assert_eq!(named(changed(fat32(), change)), name);
    }
    assert_eq!(
        named(changed(fat16(), |s| put16(s, 17, 0))),
        "BPB_RootEntCnt"
    );
    // Too many clusters for 16-bit entries.
    assert_eq!(
        named(changed(fat16(), |s| put32(s, 32, 300_000))),
        "BPB_TotSec"
    );
    let root_after_the_end = |s: &mut Block| put32(s, 44, 261_634);
    assert_eq!(named(changed(fat32(), root_after_the_end)), "BPB_RootClus");
}

#[test]
fn other_formats_are_named() {
    assert_eq!(changed(fat32(), |s| s[510] = 0), Err(Error::NoSignature));
    let exfat = changed(fat32(), |s| s[3..11].copy_from_slice(b"EXFAT   "));
    assert_eq!(exfat, Err(Error::Other(Other::ExFat)));
    let ntfs = changed(fat32(), |s| s[3..11].copy_from_slice(b"NTFS    "));
    assert_eq!(ntfs, Err(Error::Other(Other::Ntfs)));
    let bytes = 4096;
    let sectors = changed(fat32(), |s| put16(s, 11, bytes));
    assert_eq!(sectors, Err(Error::SectorSize { bytes }));
    let fat12 = changed(fat16(), |s| put32(s, 32, 12_000));
    assert_eq!(fat12, Err(Error::Fat12 { n_clusters: 2927 }));
    let version = changed(fat32(), |s| put16(s, 42, 1));
    assert_eq!(version, Err(Error::Version { version: 1 }));
}

#[test]
fn a_volume_ends_where_its_card_does() {
    let end = 2048 + 2_097_152;
    assert!(BootSector::parse(&fat32(), 2048, end).is_ok());
    // An image on a card that is a little too small: what is there can be read.
    let whole = BootSector::parse(&fat32(), 2048, end).unwrap();
    let n_blocks = end - 10 * whole.cluster_blocks;
    let cut = BootSector::parse(&fat32(), 2048, n_blocks).unwrap();
    assert_eq!(cut.end_block, n_blocks);
    assert!((1..=10).contains(&(whole.n_clusters - cut.n_clusters)));
    let last = cut.cluster_first_block(cut.n_clusters + 1);
    assert!(last + cut.cluster_blocks <= n_blocks);
    // Without a cluster there is nothing.
    let n_blocks = whole.data_first_block;
    assert_eq!(
        BootSector::parse(&fat32(), 2048, n_blocks),
        Err(Error::BeyondCard { end, n_blocks })
    );
    let overflow = BootSector::parse(&fat32(), u64::MAX - 5, u64::MAX);
    assert!(matches!(overflow, Err(Error::BeyondCard { .. })));
}

#[test]
fn the_table_limits_the_clusters() {
    let boot = changed(fat32(), |s| put32(s, 36, 10)).unwrap();
    assert_eq!(boot.n_clusters, 10 * 128 - 2);
    // FAT32 is what has no 16-bit table size, however small it is.
    let boot = changed(fat32(), |s| put32(s, 32, 10_000)).unwrap();
    assert_eq!((boot.fat_type, boot.n_clusters), (FatType::Fat32, 735));
}

#[test]
fn the_table_in_use_and_the_dirty_flag() {
    let boot = changed(fat32(), |s| put16(s, 40, 0x81)).unwrap();
    assert_eq!(boot.fat_first_block, 2048 + 32 + 2044);
    assert!(changed(fat32(), |s| s[65] = 1).unwrap().dirty);
    assert!(changed(fat16(), |s| s[37] = 1).unwrap().dirty);
    let outside = changed(fat32(), |s| put16(s, 48, 32)).unwrap();
    assert_eq!(outside.fs_info_block, None);
}

#[test]
fn superfloppies_and_partition_tables_look_different() {
    assert!(BootSector::looks_like_one(&fat32()));
    assert!(BootSector::looks_like_one(&fat16()));
    let mut grub = [0; 512];
    grub[..3].copy_from_slice(&[0xEB, 0x63, 0x90]);
    assert!(!BootSector::looks_like_one(&grub));
    assert!(!BootSector::looks_like_one(&[0; 512]));
}
