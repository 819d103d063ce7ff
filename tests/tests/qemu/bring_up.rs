//! How the firmware comes up: where the image lies, what is mapped, which cores and which RAM there are.

use qemu::Machine;
use std::path::PathBuf;
use std::time::Duration;
use tests::boot::{end_of, image, kernel};
use tests::card::Card;
use xtask::card::CardFile;
use xtask::session::PROMPT;

const PATIENCE: Duration = Duration::from_secs(120);

fn scratch(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    std::fs::create_dir_all(&dir).unwrap();
    dir.join(format!("{}-{name}", std::process::id()))
}

/// What the firmware prints until its prompt, without a card.
fn start_of(machine: &Machine) -> String {
    let mut pi = machine.boot().unwrap();
    pi.expect("> ", PATIENCE).unwrap();
    pi.transcript()
}

#[test]
fn an_image_that_is_loaded_elsewhere_moves_itself() {
    // mov x1, #0x200000; br x1
    let jump: [u32; 2] = [0xD2A0_0401, 0xD61F_0020];
    let stub = scratch("jump.img");
    let bytes: Vec<u8> = jump.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&stub, bytes).unwrap();
    let image = kernel().image_path.display();
    let loader = format!("loader,file={image},addr=0x200000,force-raw=on");
    let text = start_of(&Machine::new(&stub).arg("-device").arg(loader));
    assert!(text.contains("loaded at 0x200000 and moved"), "{text}");
    assert!(!text.contains("did not come up"), "{text}");
    let text = start_of(&Machine::new(&kernel().image_path));
    assert!(!text.contains("and moved"), "{text}");
}

#[test]
fn missing_cores_are_said_once_and_the_rest_goes_on() {
    // Given an ELF, QEMU starts all cores at once and has no spin table: only core 0 is used.
    let text = start_of(&Machine::new(&kernel().elf));
    let line = "did not come up: core 1 core 2 core 3; going on with 1 of 4";
    assert_eq!(text.matches(line).count(), 1, "{text}");
}

#[test]
fn the_log_for_reports_has_what_the_machine_is() {
    let text = start_of(&Machine::new(&kernel().image_path).append("board.log"));
    assert_has_the_log(&text);
}

/// By the setting and by the command too, where nobody can change the command line.
#[test]
fn the_log_for_reports_comes_without_the_command_line() {
    let card = Card::with(&[CardFile::bytes("pilm.txt", b"log = on\r\n".to_vec())]);
    let mut pi = Machine::new(&kernel().image_path)
        .card(card.path())
        .boot()
        .unwrap();
    let text = pi.expect(PROMPT, PATIENCE).unwrap();
    assert_has_the_log(&text);
    pi.send_line("/set log off").unwrap();
    pi.expect(PROMPT, PATIENCE).unwrap();
    pi.send_line("/log").unwrap();
    assert_has_the_log(&pi.expect(PROMPT, PATIENCE).unwrap());
}

fn assert_has_the_log(text: &str) {
    for line in [
        "board      Raspberry Pi 4B rev 1.5 (0x00b03115)",
        "entry      EL2, counter 62500000 Hz",
        "emulated   true",
        "RAM        0x0-0x3bffffff, 0x40000000-0x7fffffff",
        "tree       at 0x100: no device tree: none can be there",
        // the probe of a register that QEMU does not have comes back
        "chip       -",
        "EMMC2 caps 0x052134b4",
    ] {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
}

#[test]
fn a_word_that_does_nothing_is_said_once() {
    let words = "board.barrier=ten board.lag board.sd=pio";
    let text = start_of(&Machine::new(&kernel().image_path).append(words));
    for line in [
        "board.barrier=ten: must be a whole number of seconds",
        "board.lag: unknown; there are board.log, ",
    ] {
        assert_eq!(text.matches(line).count(), 1, "no {line:?} in:\n{text}");
    }
    assert!(!text.contains("board.sd=pio:"), "{text}");
}

#[test]
fn a_panic_says_where_and_a_key_restarts() {
    let text = end_of("board.fail=panic");
    assert!(
        text.contains("core 0 panicked at kernel/src/firmware.rs"),
        "{text}"
    );
    assert!(text.contains("called from 0x"), "{text}");
}

#[test]
fn an_exception_on_any_core_is_reported() {
    let text = end_of("board.fail=exception");
    assert!(text.contains("exception on core 3"), "{text}");
    assert!(text.contains("null pointer"), "{text}");
    assert!(text.contains("called from 0x"), "{text}");
}

#[test]
fn a_device_tree_is_read() {
    let path = scratch("tree.dtb");
    std::fs::write(&path, smallest_tree()).unwrap();
    let machine = Machine::new(&kernel().image_path)
        .append("board.log")
        .arg("-dtb")
        .arg(path);
    let text = start_of(&machine);
    assert!(text.contains("tree       at 0x8000000, "), "{text}");
    assert!(text.contains("tree RAM   0x0-0x3bffffff"), "{text}");
    assert!(
        text.contains("reserved   0x0-0xfff, 0x39000000-0x39ffffff"),
        "{text}"
    );
    // QEMU's tree leaves out what is above 1 GiB: the mailbox and the revision know better
    assert!(
        text.contains("RAM        0x0-0x3bffffff, 0x40000000-0x7fffffff"),
        "{text}"
    );
}

#[test]
fn a_device_tree_that_cannot_be_read_is_said() {
    let tree = smallest_tree();
    let mut impossible = tree.clone();
    impossible[4..8].copy_from_slice(&0xFFFF_FFFF_u32.to_be_bytes());
    let mut cut_off = tree.clone();
    cut_off.truncate(120);
    cut_off[4..8].copy_from_slice(&120_u32.to_be_bytes());
    for (name, bytes, what) in [
        (
            "junk",
            vec![0xA5; 64],
            "no device tree: it starts with 0xa5a5a5a5",
        ),
        (
            "impossible",
            impossible,
            "device tree ignored: impossible sizes",
        ),
        ("cut-off", cut_off, "device tree ignored: cut off at byte"),
    ] {
        let path = scratch(&format!("{name}.dtb"));
        std::fs::write(&path, bytes).unwrap();
        // mov x0, #0x8000000; mov x1, #0x200000; br x1
        let stub = scratch(&format!("{name}.img"));
        let jump = [0xD2A1_0000_u32, 0xD2A0_0401, 0xD61F_0020];
        let words: Vec<u8> = jump.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&stub, words).unwrap();
        let image = kernel().image_path.display();
        let machine = Machine::new(&stub)
            .arg("-device")
            .arg(format!("loader,file={image},addr=0x200000,force-raw=on"))
            .arg("-device")
            .arg(format!(
                "loader,file={},addr=0x8000000,force-raw=on",
                path.display()
            ));
        let text = start_of(&machine);
        assert_eq!(text.matches(what).count(), 1, "no {what:?} in:\n{text}");
        assert!(
            text.contains("(at 0x8000000); RAM as the mailbox"),
            "{text}"
        );
    }
    let text = start_of(&Machine::new(&kernel().image_path));
    assert!(!text.contains("device tree"), "{text}");
}

/// A tree with two reserved pieces and a root that QEMU can add its memory node to.
fn smallest_tree() -> Vec<u8> {
    let strings = b"#address-cells\0#size-cells\0";
    let reservations: [u64; 6] = [0, 0x1000, 0x3900_0000, 0x100_0000, 0, 0];
    let structure: [u32; 12] = [
        1, 0, // begin "", padded
        3, 4, 0, 2, // #address-cells = 2
        3, 4, 15, 1, // #size-cells = 1
        2, 9, // end
    ];
    let reservations_at = 40;
    let structure_at = reservations_at + 8 * reservations.len();
    let strings_at = structure_at + 4 * structure.len();
    let header = [
        0xD00D_FEED,
        strings_at + strings.len(),
        structure_at,
        strings_at,
        reservations_at,
        17,
        16,
        0,
        strings.len(),
        4 * structure.len(),
    ];
    let mut tree: Vec<u8> = header
        .iter()
        .flat_map(|&word| (word as u32).to_be_bytes())
        .collect();
    tree.extend(reservations.iter().flat_map(|word| word.to_be_bytes()));
    tree.extend(structure.iter().flat_map(|word| word.to_be_bytes()));
    tree.extend(strings);
    tree
}

#[test]
fn memory_has_the_attributes_that_caches_and_devices_need() {
    let translations = image("translations");
    let mut pi = Machine::new(&translations.image_path).boot().unwrap();
    pi.expect("ready\n", PATIENCE).unwrap();
    pi.send_line("go").unwrap();
    pi.wait(PATIENCE).unwrap();
    let text = pi.transcript();
    // 0xff: Normal, write-back, allocating; 3: inner shareable. 0x00: Device-nGnRnE.
    let normal = "attribute 0xff, shareability 3, same address true";
    for line in [
        &format!("text: {normal}, writable false"),
        &format!("rodata: {normal}, writable false"),
        &format!("data: {normal}, writable true"),
        &format!("stack: {normal}, writable true"),
        "guard: none",
        "exception guard: none",
        "device: attribute 0x00, shareability 2, same address true, writable true",
        &format!("page 0: {normal}, writable true"),
        "page 0 later: none",
        "before map: none",
        &format!("after map: {normal}, writable true"),
        &format!("read-only: {normal}, writable false"),
        "after unmap: none",
        "Ok(()) Ok(()) Ok(())",
    ] {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
}
