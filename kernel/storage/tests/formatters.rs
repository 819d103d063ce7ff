//! Cards as mkfs.fat and sgdisk format them and mtools fill them: names, lengths and bytes are those that mtools say.
//!
//! `cargo test -p storage --test formatters -- --ignored`, where dosfstools, gdisk and mtools are installed.

mod images;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use images::{Card, MIB, pattern, read_all};
use storage::Volume;
use storage::boot_sector::FatType;

/// What stands in front of the volume.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Table {
    None,
    Gpt,
    /// A GPT with a master boot record that names the same partition.
    Hybrid,
    /// A GPT whose partition has the type of an EFI system.
    Efi,
}

/// One way to format a card.
#[derive(Clone, Copy, Debug)]
struct Format {
    table: Table,
    mib: usize,
    fat_type: FatType,
    cluster_sectors: usize,
    n_fats: usize,
    reserved_sectors: usize,
    root_entries: usize,
}

const FAT16: Format = Format {
    table: Table::None,
    mib: 48,
    fat_type: FatType::Fat16,
    cluster_sectors: 8,
    n_fats: 2,
    reserved_sectors: 1,
    root_entries: 512,
};

const FAT32: Format = Format {
    mib: 64,
    fat_type: FatType::Fat32,
    cluster_sectors: 1,
    reserved_sectors: 32,
    ..FAT16
};

/// Every table with both kinds of FAT; sizes of clusters, numbers of tables, reserved sectors, root directories.
fn formats() -> Vec<Format> {
    let tables = [Table::None, Table::Gpt, Table::Hybrid, Table::Efi];
    let mut all = Vec::new();
    for table in tables {
        all.extend([Format { table, ..FAT16 }, Format { table, ..FAT32 }]);
    }
    for (cluster_sectors, mib) in [(1, 16), (2, 32), (4, 64), (16, 128), (64, 512), (128, 1024)] {
        let fat16 = Format {
            cluster_sectors,
            mib,
            ..FAT16
        };
        all.push(fat16);
    }
    for (cluster_sectors, mib) in [(2, 96), (8, 300), (32, 1100), (128, 4300)] {
        let fat32 = Format {
            cluster_sectors,
            mib,
            ..FAT32
        };
        all.push(fat32);
    }
    for n_fats in [1, 3, 4] {
        all.extend([Format { n_fats, ..FAT16 }, Format { n_fats, ..FAT32 }]);
    }
    for reserved_sectors in [16, 100] {
        all.extend([
            Format {
                reserved_sectors,
                ..FAT16
            },
            Format {
                reserved_sectors,
                ..FAT32
            },
        ]);
    }
    for root_entries in [64, 2048] {
        all.push(Format {
            root_entries,
            ..FAT16
        });
    }
    all
}

/// Runs a tool; what it prints.
fn run(program: &str, args: &[&str]) -> Vec<u8> {
    let mut command = Command::new(program);
    // a tool of an administrator is not on everybody's path
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    command
        .env("PATH", path)
        .env("MTOOLS_SKIP_CHECK", "1")
        .args(args);
    let output = command.output().unwrap_or_else(|error| {
        panic!("{program} cannot be started ({error}): install dosfstools, gdisk and mtools")
    });
    assert!(
        output.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// A folder of this test, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("formatters-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0
            .join(name)
            .to_str()
            .expect("a path of text")
            .to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // left behind it costs room in target/ and nothing else
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// First sector of a partition.
const FIRST: usize = 2048;

impl Format {
    /// Formats `image`; how mtools call the volume in it.
    fn make(self, image: &str) -> String {
        let file = File::create(image).unwrap();
        file.set_len((self.mib * MIB) as u64).unwrap();
        let kind = if self.table == Table::Efi {
            "1:EF00"
        } else {
            "1:0700"
        };
        if self.table != Table::None {
            let new = format!("1:{FIRST}:0");
            run("sgdisk", &["-o", "-n", &new, "-t", kind, image]);
        }
        if self.table == Table::Hybrid {
            run("sgdisk", &["-h", "1", image]);
        }
        let first = if self.table == Table::None { 0 } else { FIRST };
        // the copy of the table at the end is no part of the partition
        let end = self.mib * MIB - if first == 0 { 0 } else { 34 * 512 };
        let kib = ((end - first * 512) / 1024).to_string();
        let number = |n: usize| n.to_string();
        let bits = if self.fat_type == FatType::Fat32 {
            "32"
        } else {
            "16"
        };
        let (offset, clusters) = (number(first), number(self.cluster_sectors));
        let (n_fats, reserved) = (number(self.n_fats), number(self.reserved_sectors));
        let mut args = vec![
            "-F", bits, "-s", &clusters, "-f", &n_fats, "-R", &reserved, "--offset", &offset, "-a",
            "-n", "TRIAL",
        ];
        let root_entries = number(self.root_entries);
        if self.fat_type == FatType::Fat16 {
            args.extend(["-r", &root_entries]);
        }
        args.extend([image, &kib]);
        run("mkfs.fat", &args);
        format!("{image}@@{}", first * 512)
    }
}

/// Names that each ask something else of a reader.
const NAMES: [&str; 6] = [
    "SHORT.TXT",
    "lower.txt",
    "A name of some length with blanks.Q8_0.gguf",
    "Größe und 語.gguf",
    "two.dots.gguf",
    "no extension",
];

/// Fills the volume, deletes a part and fills the gaps, so that files lie in pieces; what has to be there.
fn fill(folder: &Folder, volume: &str, cluster_bytes: usize) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut copy = |name: &str, bytes: Vec<u8>| {
        let source = folder.file("source");
        fs::write(&source, &bytes).unwrap();
        run("mcopy", &["-i", volume, &source, &format!("::{name}")]);
        files.insert(name.to_owned(), bytes);
    };
    for i in 0..12 {
        copy(&format!("gap{i}"), pattern(i, cluster_bytes));
    }
    for i in (0..12).step_by(2) {
        run("mdel", &["-i", volume, &format!("::gap{i}")]);
    }
    for (i, name) in NAMES.iter().enumerate() {
        let len = [
            0,
            1,
            cluster_bytes,
            3 * cluster_bytes + 7,
            5000,
            2 * cluster_bytes - 1,
        ][i];
        copy(name, pattern(100 + i as u64, len));
    }
    for i in (0..12).step_by(2) {
        files.remove(&format!("gap{i}"));
    }
    files
}

/// What mtools list: a name for each file of the top folder.
fn listed(volume: &str) -> Vec<String> {
    let text = run("mdir", &["-b", "-i", volume, "::"]);
    let text = String::from_utf8(text).expect("names of text");
    let names = text
        .lines()
        .map(|line| line.trim_start_matches("::/").to_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

fn check(folder: &Folder, format: Format) {
    println!("{format:?}");
    let image = folder.file("card");
    let volume = format.make(&image);
    let cluster_bytes = format.cluster_sectors * 512;
    let files = fill(folder, &volume, cluster_bytes);

    let mut ours = Volume::mount(Card::new(File::open(&image).unwrap())).unwrap();
    let geometry = *ours.geometry();
    assert_eq!(geometry.fat_type, format.fat_type);
    assert_eq!(geometry.cluster_blocks as usize, format.cluster_sectors);
    assert!(ours.was_ejected_cleanly());

    let mut names: Vec<_> = ours
        .list()
        .unwrap()
        .into_iter()
        .map(|file| file.name)
        .collect();
    names.sort();
    assert_eq!(names, listed(&volume));
    assert_eq!(names, files.keys().cloned().collect::<Vec<_>>());
    for (name, bytes) in &files {
        let file = ours.open(name).unwrap();
        assert!(read_all(&mut ours, &file) == *bytes, "{name}");
        let theirs = folder.file("copy");
        run(
            "mcopy",
            &["-n", "-o", "-i", &volume, &format!("::{name}"), &theirs],
        );
        assert!(fs::read(&theirs).unwrap() == *bytes, "{name}");
    }
}

#[test]
#[ignore = "needs mkfs.fat, sgdisk and mtools: see the top of the file"]
fn cards_of_other_formatters_are_read_as_mtools_read_them() {
    let folder = Folder::new();
    let formats = formats();
    assert!(formats.len() >= 30, "{}", formats.len());
    for format in formats {
        check(&folder, format);
    }
}
