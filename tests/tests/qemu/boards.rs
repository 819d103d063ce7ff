//! QEMU nearer to a board: junk in RAM, models in high RAM, cores that do not come up, a card on EMMC2, every
//! partition table, the firmware's device trees, and a card of which a sector cannot be read. The answer's bits are
//! those of the host each time.

use boot::device_tree::{Error, memory_nodes};
use boot::survey::Survey;
use ops::GgmlType;
use ops::crc32c::Crc32c;
use pilm::synth::{self, Shape};
use protocol::event::ErrorCode;
use qemu::Machine;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use tests::boot::{assert_clean_log, machine, session};
use tests::card::{Card, MODEL};
use tests::device_tree::{BOARDS, Board, USUAL_PLACE};
use tests::host;
use tests::layout::Layout;
use tests::ram::{Blob, junk, machine_with_x0};
use tests::requests::{info, load_op, prompt_checksums, refused};
use xtask::card::CardFile;
use xtask::session::PROMPT;

const REPLY: Duration = Duration::from_secs(20);
const IDS: [u32; 12] = [5, 42, 79, 116, 153, 190, 227, 264, 301, 338, 375, 6];

fn tiny() -> Vec<u8> {
    synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0)
}

fn files() -> [CardFile; 1] {
    [CardFile::bytes(MODEL, tiny())]
}

/// What the host computes.
fn expected() -> &'static [u32] {
    static CHECKSUMS: OnceLock<Vec<u32>> = OnceLock::new();
    CHECKSUMS.get_or_init(|| host::checksums(&tiny(), &IDS, 2))
}

/// The firmware comes up in `machine`, loads the card's model and answers with the host's bits.
fn answers(case: &str, machine: &Machine) -> Up {
    let mut pi = session(machine);
    assert_eq!(prompt_checksums(&mut pi, &IDS), expected(), "{case}");
    let cores = info(&mut pi).board.cores;
    let text = pi.boot_text().to_owned();
    pi.qemu().send_line("/info").unwrap();
    let info = pi.qemu().expect(PROMPT, REPLY).unwrap();
    assert_clean_log(&mut pi);
    Up { text, info, cores }
}

/// What the firmware has said of itself.
struct Up {
    /// Up to the first prompt.
    text: String,
    /// Its answer to `/info`.
    info: String,
    cores: usize,
}

/// Everything at once, as no emulator has it by itself.
#[test]
fn a_machine_as_unlike_the_emulator_as_can_be_gives_the_bits_of_the_host() {
    let card = Layout::Gpt.card(&files());
    let junk = junk();
    let machine = machine(&card).on_emmc2();
    let machine = machine.append("board.memory=above board.fail=core=3");
    let machine = junk
        .iter()
        .fold(machine, |machine, blob| blob.attach(machine));
    let up = answers("all at once", &machine);
    assert!(up.info.contains("card     EMMC2: QEMU!"), "{}", up.info);
    assert_eq!(up.cores, 3);
    let line = "did not come up: core 3; going on with 3 of 4";
    assert_eq!(up.text.matches(line).count(), 1, "{}", up.text);
}

#[test]
fn any_number_of_cores_that_come_up_gives_the_same_bits() {
    let card = Card::with(&files());
    // A core that is missing costs those behind it.
    for (stopped, alive) in [("3", 3), ("2", 2), ("2,3", 2), ("1", 1), ("3,1,2", 1)] {
        let machine = machine(&card).append(&format!("board.fail=core={stopped}"));
        let up = answers(stopped, &machine);
        assert_eq!(up.cores, alive, "{stopped}");
        let n_stopped = stopped.split(',').count();
        let line = up
            .text
            .lines()
            .find(|line| line.contains("did not come up"));
        let line = line.expect("it is said");
        assert_eq!(line.matches(" core ").count(), n_stopped, "{line}");
        assert!(
            line.ends_with(&format!("going on with {alive} of 4")),
            "{line}"
        );
    }
}

#[test]
fn junk_in_ram_changes_nothing() {
    let card = Card::with(&files());
    let junk = junk();
    for (words, arena) in [
        ("board.log", "-0x3bffffff, 0x40000000-0x7fffffff"),
        (
            "board.log board.memory=above",
            "arena      0x40000000-0x7fffffff, 0x",
        ),
    ] {
        let machine = machine(&card).append(words);
        let machine = junk
            .iter()
            .fold(machine, |machine, blob| blob.attach(machine));
        let up = answers(words, &machine);
        assert_eq!(up.cores, 4, "{words}");
        let line = up.text.lines().find(|line| line.starts_with("arena "));
        assert!(line.is_some_and(|line| line.contains(arena)), "{}", up.text);
    }
}

#[test]
fn every_partition_table_is_read_on_either_controller() {
    for layout in Layout::ALL {
        let card = layout.card(&files());
        for (controller, machine) in [
            ("EMMC: ", machine(&card)),
            ("EMMC2: ", machine(&card).on_emmc2()),
        ] {
            let case = format!("{layout:?} on {controller}");
            let up = answers(&case, &machine);
            assert!(
                up.info.contains(&format!("card     {controller}")),
                "{}",
                up.info
            );
        }
    }
}

#[test]
fn the_trees_of_all_boards_are_read_where_the_firmware_puts_them() {
    let card = Card::with(&files());
    for board in BOARDS {
        let tree = Blob::new(USUAL_PLACE, &board.tree());
        let (machine, _pieces) = machine_with_x0(USUAL_PLACE);
        let machine = tree.attach(machine).card(card.path()).append("board.log");
        let up = answers(&format!("{board:?}"), &machine);
        let nodes = memory_nodes(&board.tree()).unwrap();
        for line in [
            format!("tree RAM   {}", nodes.ram),
            format!("reserved   {}", nodes.reserved),
        ] {
            assert!(up.text.contains(&line), "no {line:?} in:\n{}", up.text);
        }
    }
}

#[test]
fn a_start_without_a_sound_tree_goes_on_without_it() {
    let card = Card::with(&files());
    let sound = BOARDS[2].tree();
    let cut = &sound[..sound.len() / 2];
    let cases: [(&str, u64, u64, &[u8]); 7] = [
        ("x0 = 0", 0, USUAL_PLACE, &sound),
        ("cut off", USUAL_PLACE, USUAL_PLACE, cut),
        ("unaligned", USUAL_PLACE + 4, USUAL_PLACE + 4, &sound),
        ("odd", USUAL_PLACE + 1, USUAL_PLACE + 1, &sound),
        ("nothing there", 0x1000_0000, USUAL_PLACE, &sound),
        ("in the image", 0x8_0000, USUAL_PLACE, &sound),
        ("beyond RAM", 0xDEAD_BEEF_0000, USUAL_PLACE, &sound),
    ];
    for (case, x0, addr, bytes) in cases {
        let tree = Blob::new(addr, bytes);
        let (machine, _pieces) = machine_with_x0(x0);
        let machine = tree.attach(machine).card(card.path()).append("board.log");
        let up = answers(case, &machine);
        assert!(!up.text.contains("tree RAM"), "{case}:\n{}", up.text);
        // what the mailbox and the revision say
        let ram = "RAM        0x0-0x3bffffff, 0x40000000-0x7fffffff";
        assert!(up.text.contains(ram), "{case}:\n{}", up.text);
    }
}

/// The sector of the card in which `bytes` begin.
fn sector_of(card: &Card, bytes: &[u8]) -> usize {
    let image = fs::read(card.path()).unwrap();
    let mut sectors = image.chunks_exact(512);
    let at = sectors.position(|sector| sector == &bytes[..512]);
    at.expect("the bytes are on the card")
}

/// Rules under which every read of `sector` fails on the host's side.
fn unreadable(card: &Card, sector: usize) -> PathBuf {
    let rules = card.path().with_extension("blkdebug");
    let rule = format!(
        "[inject-error]\nevent = \"none\"\niotype = \"read\"\nerrno = \"5\"\nsector = \"{sector}\"\n\
         once = \"off\"\nimmediately = \"off\"\n"
    );
    fs::write(&rules, rule).unwrap();
    rules
}

/// QEMU then gives the guest what it had read before, and no error: only a checksum shows it.
#[test]
fn stale_data_with_a_clean_status_is_one_clear_line() {
    let model = tiny();
    let mut crc = Crc32c::new();
    crc.update(&model);
    let checksum = CardFile::bytes(&format!("{MODEL}.crc32c"), format!("{:08x}\n", crc.value()));
    let card = Card::with(&[CardFile::bytes(MODEL, model.clone()), checksum]);
    answers("every sector can be read", &machine(&card));
    // amid the weights
    let middle = model.len() / 2 / 512 * 512;
    let rules = unreadable(&card, sector_of(&card, &model[middle..]));
    for machine in [machine(&card), machine(&card).on_emmc2()] {
        let mut pi = session(&machine.read_errors(&rules));
        let text = pi.boot_text().to_owned();
        let lines = text.lines().filter(|line| line.contains("CRC-32C"));
        let lines: Vec<_> = lines.collect();
        assert!(
            matches!(lines[..], [line] if line.contains(MODEL) && line.contains("damaged")),
            "{text}"
        );
        let error = refused(&mut pi, load_op(MODEL));
        assert_eq!(error.code, ErrorCode::Card, "{error}");
        pi.qemu().send_line("/help").unwrap();
        let help = pi.qemu().expect(PROMPT, REPLY).unwrap();
        assert!(help.contains("/info"), "{help}");
        pi.qemu().send_line("/reboot").unwrap();
        pi.qemu().wait(REPLY).unwrap();
        let text = pi.qemu().transcript();
        assert!(text.contains("read error on host side"), "{text}");
    }
    fs::remove_file(rules).unwrap();
}

#[test]
fn the_trees_of_all_boards_say_what_there_is() {
    for board @ Board { gigabytes, .. } in BOARDS {
        let nodes = memory_nodes(&board.tree()).unwrap();
        assert_eq!(nodes.sdram_gbit, Some(8 * gigabytes));
        assert_eq!(nodes.emmc2_dma_base, Some(board.emmc2_bus.into()));
        let mut ranges = vec![0..0x3B40_0000];
        match gigabytes {
            1 => {}
            2 => ranges.push(0x4000_0000..0x8000_0000),
            3 => ranges.push(0x4000_0000..0xC000_0000),
            _ => ranges.push(0x4000_0000..0xFC00_0000),
        }
        if gigabytes == 8 {
            ranges.push(0x1_0000_0000..0x2_0000_0000);
        }
        assert!(nodes.ram.iter().eq(ranges.iter().cloned()), "{}", nodes.ram);
        let survey = Survey::new(
            Some(&nodes),
            Some(0..0x3B40_0000),
            Some(board.revision),
            false,
        );
        assert_eq!(survey.ram, nodes.ram, "{gigabytes} GB");
        // the spin table, the tree itself, the copy of the EEPROM's settings
        let reserved = [
            0..0x1000,
            0x2EFF_4000..0x2F00_0000,
            0x3AF5_C6A4..0x3AF5_C726,
        ];
        assert!(nodes.reserved.iter().eq(reserved), "{}", nodes.reserved);
    }
}

#[test]
fn every_cut_of_a_boards_tree_is_refused() {
    for board in BOARDS {
        let tree = board.tree();
        for len in 0..tree.len() {
            assert!(memory_nodes(&tree[..len]).is_err(), "cut to {len}");
        }
        // what lies behind a cut in memory is no part of the tree, but may look like one
        let mut zeros_behind = tree.clone();
        zeros_behind[tree.len() / 2..].fill(0);
        let error = memory_nodes(&zeros_behind).unwrap_err();
        assert!(
            matches!(
                error,
                Error::BadToken { token: 0, .. } | Error::Truncated { .. }
            ),
            "{error}"
        );
    }
}
