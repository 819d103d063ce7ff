use super::*;
use crate::raw_image::{RawImage, Sizes};
use std::fs;
use std::io::Read as _;

#[test]
fn sizes_are_read_in_bytes_mib_and_gib() {
    assert_eq!(parse_size("64M").unwrap(), 64 << 20);
    assert_eq!(parse_size("4GiB").unwrap(), 4 << 30);
    assert_eq!(parse_size("67108864").unwrap(), 64 << 20);
    assert!(parse_size("big").is_err());
    assert!(parse_size("99999999999G").is_err());
}

#[test]
fn every_setting_of_config_txt_has_its_reason_above_it() {
    let text = fs::read_to_string(root().join("boot/config.txt")).unwrap();
    let mut previous = "";
    for line in text.lines() {
        if line.contains('=') && !line.starts_with('#') {
            assert!(previous.starts_with("# "), "no reason above {line}");
            // the board's firmware cuts long lines
            assert!(line.len() < 98);
        }
        previous = line;
    }
    assert!(text.contains("\nkernel_address=0x80000\n"));
}

fn small_firmware() -> Firmware {
    Firmware {
        elf: PathBuf::new(),
        image_path: PathBuf::new(),
        image: RawImage {
            bytes: vec![1, 2, 3],
            memory_end: 0,
            sizes: Sizes::default(),
            symbols_bytes: None,
        },
        commit: None,
    }
}

#[test]
fn files_for_a_card_with_an_operating_system_replace_none_of_its_own() {
    let files = guest_files(&small_firmware()).unwrap();
    for file in &files {
        let name = file.name.to_ascii_lowercase();
        let theirs = [
            "config.txt",
            "cmdline.txt",
            "bootcode.bin",
            "start",
            "fixup",
            "bcm27",
            "kernel",
            "initramfs",
            "overlays",
            "issue.txt",
            "licence",
            "autoboot.txt",
            "tryboot.txt",
            "user-data",
            "meta-data",
            "network-config",
        ];
        let taken = theirs.iter().find(|&&own| name.starts_with(own));
        assert_eq!(taken, None, "{name}");
    }
    let text = |name: &str| {
        let file = files.iter().find(|file| file.name == name);
        let mut bytes = Vec::new();
        file.unwrap()
            .open()
            .unwrap()
            .read_to_end(&mut bytes)
            .unwrap();
        bytes
    };
    assert_eq!(text("pilm8.img"), [1, 2, 3]);
    let config = String::from_utf8(text("pilm-config.txt")).unwrap();
    let kernels = config.lines().filter(|line| line.starts_with("kernel="));
    assert_eq!(kernels.collect::<Vec<_>>(), ["kernel=pilm8.img"]);
    // all the other settings of a card of its own
    let own = fs::read_to_string(root().join("boot/config.txt")).unwrap();
    let settings = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("kernel="));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(settings(&config), settings(&own));
    assert_eq!(files.len(), 3);
}

#[test]
fn a_card_has_all_that_a_board_starts_from() {
    let dir = output_dir().join("image-files-tests");
    fs::create_dir_all(&dir).unwrap();
    for name in ["start4.elf", "fixup4.dat", "bcm2711-rpi-4-b.dtb"] {
        fs::write(dir.join(name), name).unwrap();
    }
    let model = dir.join("m.gguf");
    fs::write(&model, "GGUF").unwrap();
    let firmware = small_firmware();
    let board = board_files::in_folder(&dir).unwrap();
    let files = all_files(board, &firmware, &[model]).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "start4.elf",
            "fixup4.dat",
            "bcm2711-rpi-4-b.dtb",
            "kernel8.img",
            "config.txt",
            "pilm.txt",
            "m.gguf",
            "m.gguf.crc32c"
        ]
    );
    assert!(files.iter().all(|file| file.len_bytes().unwrap() > 0));
}

#[test]
fn what_cannot_be_is_told_first() {
    let dir = output_dir().join("image-first-tests");
    fs::create_dir_all(&dir).unwrap();
    let model = dir.join("m.gguf");
    fs::write(&model, "GGUF").unwrap();
    let big = dir.join("big.gguf");
    fs::File::create(&big).unwrap().set_len(80 << 20).unwrap();
    let told = |models: &[&PathBuf], size| {
        let models: Vec<_> = models.iter().map(|&model| model.clone()).collect();
        check_first(&models, size).map_err(|error| error.to_string())
    };
    assert_eq!(told(&[&model], Some(64 << 20)), Ok(()));
    assert_eq!(told(&[&model, &big], None), Ok(()));
    for (models, size, says) in [
        (&[&dir][..], None, "is not a file"),
        (&[&dir.join("none.gguf")], None, "reading"),
        (&[&model], Some(65 << 20), "must be a power of two"),
        (&[], Some(1 << 20), "must be a power of two"),
        (&[&model, &big], Some(64 << 20), "do not fit"),
    ] {
        let error = told(models, size).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_model_brings_its_checksum() {
    let dir = output_dir().join("image-tests");
    fs::create_dir_all(&dir).unwrap();
    let model = dir.join("m.gguf");
    fs::write(&model, "123456789").unwrap();
    let [file, checksum] = model_files(&model).unwrap();
    assert_eq!(
        (file.name.as_str(), file.len_bytes().unwrap()),
        ("m.gguf", 9)
    );
    assert_eq!(checksum.name, "m.gguf.crc32c");
    assert_eq!(
        checksum.len_bytes().unwrap(),
        "e3069283  m.gguf\n".len() as u64
    );
    assert_eq!(crc32c(&model).unwrap(), 0xE306_9283);
}
