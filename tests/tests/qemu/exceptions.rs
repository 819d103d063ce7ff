//! What the translation tables forbid is reported, decoded, on whichever core it happens.

use qemu::Machine;
use std::sync::OnceLock;
use std::time::Duration;
use tests::boot::image;
use xtask::firmware::Firmware;

const PATIENCE: Duration = Duration::from_secs(60);

/// What the image says after `case`; it ends by itself.
fn report_of(case: &str) -> String {
    static IMAGE: OnceLock<Firmware> = OnceLock::new();
    let image = IMAGE.get_or_init(|| image("exceptions"));
    let mut pi = Machine::new(&image.image_path).boot().unwrap();
    pi.expect("ready\n", PATIENCE).unwrap();
    pi.send_line(case).unwrap();
    let status = pi.wait(PATIENCE).unwrap();
    let text = pi.transcript();
    assert!(status.success(), "{text}");
    text
}

fn assert_reports(case: &str, expected: &[&str]) {
    let text = report_of(case);
    for part in expected {
        assert!(text.contains(part), "{case}: no {part:?} in:\n{text}");
    }
}

#[test]
fn memory_that_is_not_mapped_cannot_be_read() {
    assert_reports(
        "read unmapped",
        &[
            "exception on core 0",
            "data read failed: nothing is mapped there",
            "FAR 0x0000000030000000",
        ],
    );
}

#[test]
fn code_and_constants_cannot_be_written() {
    for case in ["write text", "write rodata"] {
        assert_reports(case, &["data write failed: not permitted there"]);
    }
}

#[test]
fn data_stacks_and_devices_cannot_be_executed() {
    for case in ["execute data", "execute stack", "execute device"] {
        assert_reports(case, &["instruction fetch failed: not permitted there"]);
    }
}

#[test]
fn a_stack_that_is_full_says_so() {
    assert_reports(
        "overflow",
        &["stack overflow", "main stack of core 0", "core 0 is done"],
    );
    assert_reports(
        "overflow on core 1",
        &["stack overflow", "main stack of core 1", "core 1 is done"],
    );
}

#[test]
fn what_is_allowed_takes_no_exception() {
    let text = report_of("write data");
    assert!(text.contains("nothing happened"), "{text}");
    assert!(!text.contains("exception"), "{text}");
}
