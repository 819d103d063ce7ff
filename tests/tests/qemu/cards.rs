//! Every bad card ends in one clear line and a console that answers.

use ops::GgmlType;
use ops::crc32c::Crc32c;
use pilm::synth::{self, Shape};
use protocol::Op;
use protocol::event::ErrorCode;
use protocol::request::{Logits, Sampling};
use qemu::Machine;
use std::time::Duration;
use tests::boot::{assert_clean_log, boot, kernel, machine, session};
use tests::card::{Card, MODEL};
use tests::monitor::MonitorSocket;
use tests::requests::{self, complete, ids, refused, tokens};
use xtask::card::{CardFile, PARTITION_START, SECTOR};
use xtask::session::{PROMPT, Session};

const REPLY: Duration = Duration::from_secs(20);

/// First byte of the partition's boot sector.
const BOOT_SECTOR: u64 = PARTITION_START * SECTOR;

fn tiny() -> Vec<u8> {
    synth::bytes(&Shape::llama_tied(), GgmlType::Q8_0)
}

fn truncated() -> Vec<u8> {
    let mut bytes = tiny();
    bytes.truncate(bytes.len() * 2 / 3);
    bytes
}

fn wrong_magic() -> Vec<u8> {
    let mut bytes = tiny();
    bytes[..4].copy_from_slice(b"GGML");
    bytes
}

fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = Crc32c::new();
    crc.update(bytes);
    crc.value()
}

/// A card with a model and, beside it, a checksum file with this text.
fn with_checksum(text: String) -> Card {
    let checksum = format!("{MODEL}.crc32c");
    Card::with(&[
        CardFile::bytes(MODEL, tiny()),
        CardFile::bytes(&checksum, text),
    ])
}

/// The loaded model continues a prompt.
fn assert_answers(pi: &mut Session) {
    let (_, done) = complete(pi, ids(&[5, 6, 7]), tokens(3));
    assert_eq!(done.generated.unwrap().usage.completion_tokens, 3);
}

/// The boot says `expected` in one line, and the console answers a person and a program.
fn check(mut pi: Session, case: &str, expected: &[&str]) {
    let text = pi.boot_text().to_owned();
    let line = text
        .lines()
        .find(|line| expected.iter().all(|part| line.contains(part)));
    assert!(
        line.is_some(),
        "{case}: no line with {expected:?} in:\n{text}"
    );
    pi.qemu().send_line("/help").unwrap();
    let help = pi.qemu().expect(PROMPT, REPLY).unwrap();
    assert!(help.contains("/info"), "{case}: /help says:\n{help}");
    let op = Op::Complete(requests::text("x"), Sampling::default(), Logits::default());
    let error = refused(&mut pi, op);
    assert_eq!(error.code, ErrorCode::NoModel, "{case}: {error}");
    assert!(!error.message.is_empty(), "{case}");
    assert_clean_log(&mut pi);
}

#[test]
fn no_card() {
    let pi = session(&Machine::new(&kernel().image_path));
    check(pi, "no card", &["no card"]);
}

#[test]
fn bad_cards() {
    let cases: [(&str, Card, &[&str]); 12] = [
        ("blank", Card::blank(), &["FAT32"]),
        ("no files", Card::with(&[]), &["no *.gguf"]),
        (
            "no model among the files",
            Card::with(&[
                CardFile::bytes("readme.txt", *b"hello"),
                // a Mac leaves such a file beside every file it copies
                CardFile::bytes("._Tiny.gguf", *b"Mac OS X"),
            ]),
            &["no *.gguf"],
        ),
        (
            "exFAT",
            Card::with(&[]).patched(BOOT_SECTOR + 3, b"EXFAT   "),
            &["exFAT"],
        ),
        (
            "NTFS",
            Card::with(&[]).patched(BOOT_SECTOR + 3, b"NTFS    "),
            &["NTFS"],
        ),
        (
            "Linux only",
            Card::with(&[]).patched(450, &[0x83]),
            &["no FAT partition", "0x83"],
        ),
        (
            "a checksum that differs",
            with_checksum(format!("{:08x}  {MODEL}\n", !crc32c(&tiny()))),
            &[MODEL, "CRC-32C"],
        ),
        (
            "a checksum file without one",
            with_checksum("see the web page".to_owned()),
            &[MODEL, "hexadecimal"],
        ),
        ("GPT", Card::with(&[]).patched(450, &[0xEE]), &["GPT"]),
        (
            "truncated",
            Card::with(&[CardFile::bytes(MODEL, truncated())]),
            &[MODEL],
        ),
        (
            "wrong magic",
            Card::with(&[CardFile::bytes(MODEL, wrong_magic())]),
            &[MODEL],
        ),
        (
            "an empty model",
            Card::with(&[CardFile::bytes(MODEL, Vec::new())]),
            &[MODEL],
        ),
    ];
    for (case, card, expected) in cases {
        check(boot(&card), case, expected);
    }
}

/// The guest's CRC instructions and the host's tables agree.
#[test]
fn a_model_with_its_checksum_is_loaded() {
    let mut pi = boot(&with_checksum(format!("{:08X}\n", crc32c(&tiny()))));
    assert_answers(&mut pi);
    pi.qemu().send_line("/info").unwrap();
    let info = pi.qemu().expect(PROMPT, REPLY).unwrap();
    assert!(info.contains("card     EMMC: QEMU!"), "{info}");
    assert_clean_log(&mut pi);
}

/// QEMU's cards of up to 2 GiB count in bytes, larger ones in blocks.
#[test]
fn byte_and_block_addressed_cards_are_read() {
    for size in [64 << 20, 4 << 30] {
        let card = Card::sized(size, &[CardFile::bytes(MODEL, tiny())]);
        let mut pi = boot(&card);
        println!("{size} bytes");
        assert_answers(&mut pi);
        assert_clean_log(&mut pi);
    }
}

/// Cards are pulled out and pushed in while the firmware runs.
#[test]
fn another_card_is_found_without_a_restart() {
    let first = Card::with(&[CardFile::bytes(MODEL, tiny())]);
    let second = Card::with(&[CardFile::bytes("Second.gguf", tiny())]);
    let socket = MonitorSocket::new(first.path());
    let mut pi = session(&socket.attach(machine(&first)));
    let mut hand = socket.connect();
    let type_line = |pi: &mut Session, line: &str| {
        pi.qemu().send_line(line).unwrap();
        pi.qemu().expect(PROMPT, REPLY).unwrap()
    };

    hand.eject();
    let text = type_line(&mut pi, "/models");
    assert!(text.contains("no card"), "{text}");
    hand.insert(second.path());
    let text = type_line(&mut pi, "/models");
    assert!(text.contains("Second.gguf"), "{text}");

    // Without /models the volume is still that of the card that went away.
    hand.eject();
    let text = type_line(&mut pi, "/load Second.gguf");
    assert!(text.contains("SD"), "{text}");
    hand.insert(first.path());
    let text = type_line(&mut pi, &format!("/load {MODEL}"));
    assert!(text.contains(MODEL) && !text.contains("SD card"), "{text}");
    assert_answers(&mut pi);
    assert_clean_log(&mut pi);
}

/// What a remote tester needs when a mode does not work on his board.
#[test]
fn the_command_line_leaves_modes_out() {
    let card = Card::with(&[CardFile::bytes(MODEL, tiny())]);
    for (words, expected) in [
        ("", "4 lines at 50 MHz (high speed)"),
        ("board.sd=25,pio,1bit", "1 line at 25 MHz out of"),
    ] {
        let mut pi = session(&machine(&card).append(words));
        pi.qemu().send_line("/info").unwrap();
        let text = pi.qemu().expect(PROMPT, REPLY).unwrap();
        assert!(text.contains(expected), "{text}");
        assert_answers(&mut pi);
        assert_clean_log(&mut pi);
    }
}
