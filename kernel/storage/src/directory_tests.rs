use super::*;

const SHORT: &[u8; 11] = b"SMOLLM~1GGU";

fn short(name: &[u8; 11]) -> [u8; 32] {
    let mut entry = [0; 32];
    entry[..11].copy_from_slice(name);
    entry[11] = 0x20;
    entry[20..22].copy_from_slice(&0x0012u16.to_le_bytes());
    entry[26..28].copy_from_slice(&0x3456u16.to_le_bytes());
    entry[28..].copy_from_slice(&1234u32.to_le_bytes());
    entry
}

/// The long-name entries of `name`, in the order of the disk.
fn long(name: &str, sum: u8) -> Vec<[u8; 32]> {
    let mut units: Vec<u16> = name.encode_utf16().collect();
    if !units.len().is_multiple_of(13) {
        units.push(0);
        units.resize(units.len().next_multiple_of(13), 0xFFFF);
    }
    let n = units.len() / 13;
    let parts = units.chunks(13).enumerate().map(|(i, part)| {
        let mut entry = [0; 32];
        entry[0] = (i + 1) as u8 | if i + 1 == n { 0x40 } else { 0 };
        entry[11] = 0x0F;
        entry[13] = sum;
        let offsets = (1..11)
            .step_by(2)
            .chain((14..26).step_by(2))
            .chain([28, 30]);
        for (unit, at) in part.iter().zip(offsets) {
            entry[at..at + 2].copy_from_slice(&unit.to_le_bytes());
        }
        entry
    });
    let mut parts: Vec<_> = parts.collect();
    parts.reverse();
    parts
}

fn sum() -> u8 {
    checksum(&short(SHORT))
}

/// Names of the files and directories in `entries`.
fn names(entries: &[[u8; 32]]) -> Vec<String> {
    let mut scanner = Scanner::default();
    let mut names = Vec::new();
    for entry in entries {
        match scanner.push(entry, true) {
            Step::Entry(entry) => names.push(entry.name),
            Step::Nothing => {}
            Step::End => break,
        }
    }
    names
}

#[test]
fn long_names_of_every_length() {
    for name in [
        "a.gguf",
        "exactly13.txt",
        "SmolLM2-135M-Instruct.Q8_0.gguf",
        "модель – 模型 😀.gguf",
        &"x".repeat(255),
    ] {
        let mut entries = long(name, sum());
        entries.push(short(SHORT));
        assert_eq!(names(&entries), [name]);
    }
}

#[test]
fn fields_of_an_entry() {
    let mut scanner = Scanner::default();
    let Step::Entry(entry) = scanner.push(&short(b"PILM    TXT"), true) else {
        panic!("no entry")
    };
    assert_eq!((entry.first_cluster, entry.len_bytes), (0x0012_3456, 1234));
    assert!(!entry.is_directory);
    let Step::Entry(entry) = scanner.push(&short(b"PILM    TXT"), false) else {
        panic!("no entry")
    };
    assert_eq!(entry.first_cluster, 0x3456);
    let mut directory = short(b"OVERLAYS   ");
    directory[11] = 0x10;
    let Step::Entry(entry) = scanner.push(&directory, true) else {
        panic!("no entry")
    };
    assert!(entry.is_directory);
    assert_eq!(entry.name, "OVERLAYS");
}

#[test]
fn short_names_and_their_case() {
    let mut lower = short(b"KERNEL8 IMG");
    lower[12] = 0x18;
    let mut odd = short(b"A B     C  ");
    odd[0] = 0x05;
    odd[7] = 0x81;
    assert_eq!(
        names(&[short(b"CONFIG  TXT"), lower, odd]),
        ["CONFIG.TXT", "kernel8.img", "\u{FFFD} B    \u{FFFD}.C"]
    );
}

#[test]
fn deleted_labels_and_the_end() {
    let mut deleted = short(b"OLD     TXT");
    deleted[0] = 0xE5;
    let mut label = short(b"PILM       ");
    label[11] = 0x08;
    let end = [0; 32];
    let entries = [
        deleted,
        label,
        short(b"A       TXT"),
        end,
        short(b"B       TXT"),
    ];
    assert_eq!(names(&entries), ["A.TXT"]);
}

#[test]
fn a_long_name_that_is_not_whole_does_not_count() {
    let whole = long("SmolLM2-135M-Instruct.Q8_0.gguf", sum());
    assert_eq!(whole.len(), 3);
    let after = |parts: &[[u8; 32]]| {
        let mut entries = parts.to_vec();
        entries.push(short(SHORT));
        names(&entries)
    };
    let fallback = ["SMOLLM~1.GGU"];
    assert_eq!(after(&whole[1..]), fallback);
    assert_eq!(after(&whole[..2]), fallback);
    assert_eq!(after(&[whole[0], whole[2], whole[1]]), fallback);
    assert_eq!(after(&[whole[0], whole[0], whole[1]]), fallback);
    assert_eq!(after(&long("other.gguf", sum() ^ 1)), fallback);
    let mut deleted_between = whole.clone();
    deleted_between[1][0] = 0xE5;
    assert_eq!(after(&deleted_between), fallback);
    // A name of another entry does not reach the next but one.
    let mut entries = whole;
    entries.extend([short(SHORT), short(b"CONFIG  TXT")]);
    assert_eq!(names(&entries)[1], "CONFIG.TXT");
}

#[test]
fn numbers_out_of_range_do_no_harm() {
    for number in 0..=255u8 {
        let mut part = long("a.gguf", sum())[0];
        part[0] = number;
        let found = names(&[part, short(SHORT)]);
        match number {
            0x41 | 0xC1 => assert_eq!(found, ["a.gguf"]),
            0 => assert_eq!(found, [] as [&str; 0]),
            _ => assert_eq!(found, ["SMOLLM~1.GGU"]),
        }
    }
}

#[test]
fn lone_surrogates_are_replaced() {
    let mut parts = long(&"x".repeat(26), sum());
    // A low surrogate at the start of the second part, with thirteen units before it.
    parts[0][1..3].copy_from_slice(&0xDE00u16.to_le_bytes());
    parts.push(short(SHORT));
    let name = "x".repeat(13) + "\u{FFFD}" + &"x".repeat(12);
    assert_eq!(names(&parts), [name]);
}

#[test]
fn control_characters_are_replaced() {
    let mut entries = long("\x1b[2Ja\u{85}.gguf", sum());
    entries.extend([short(SHORT), short(b"A\x1bB\x7f    \r\n ")]);
    assert_eq!(
        names(&entries),
        [
            "\u{FFFD}[2Ja\u{FFFD}.gguf",
            "A\u{FFFD}B\u{FFFD}.\u{FFFD}\u{FFFD}"
        ]
    );
}

#[test]
fn names_are_compared_without_case() {
    let mut entries = long("Größe.GGUF", sum());
    entries.push(short(SHORT));
    let mut scanner = Scanner::default();
    let found = entries.iter().find_map(|e| match scanner.push(e, true) {
        Step::Entry(entry) => Some(entry),
        _ => None,
    });
    let entry = found.unwrap();
    assert!(entry.is_called("größe.gguf") && entry.is_called("GRÖßE.gguf"));
    assert!(entry.is_called("smollm~1.ggu"));
    assert!(!entry.is_called("grösse.gguf"));
}
