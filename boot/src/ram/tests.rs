use super::*;

const MB: u64 = 1 << 20;

fn list(ranges: &Ranges) -> Vec<Range<u64>> {
    ranges.iter().collect()
}

#[test]
fn each_model_gets_its_ranges() {
    let low = 0..0x3B40_0000;
    // revisions of 1, 2, 4 and 8 GB boards
    let cases = [
        (0xA0_3111, vec![0..0x3B40_0000]),
        (0xB0_3115, vec![0..0x3B40_0000, LOW_END..0x8000_0000]),
        (0xC0_3114, vec![0..0x3B40_0000, LOW_END..PERIPHERALS_START]),
        (
            0xD0_3114,
            vec![
                0..0x3B40_0000,
                LOW_END..PERIPHERALS_START,
                PERIPHERALS_END..0x2_0000_0000,
            ],
        ),
    ];
    for (revision, expected) in cases {
        let ram = from_mailbox(low.clone(), total_bytes_of_revision(revision));
        assert_eq!(list(&ram), expected, "{revision:#x}");
    }
    assert_eq!(from_mailbox(low.clone(), None).largest(), low);
}

#[test]
fn gpu_memory_is_never_ours() {
    let ram = from_mailbox(0..0x3C00_0000, total_bytes_of_revision(0xC0_3114));
    assert!(
        ram.iter()
            .all(|range| range.end <= 0x3C00_0000 || range.start >= LOW_END)
    );
    let ram = from_mailbox(0..0x4800_0000, total_bytes_of_revision(0xA0_3111));
    assert_eq!(ram.largest().end, LOW_END);
}

#[test]
fn only_what_both_say_is_used() {
    let mailbox = from_mailbox(0..0x3B40_0000, total_bytes_of_revision(0xC0_3114));
    let tree: Ranges = [0..0x3800_0000, LOW_END..0x1_0000_0000]
        .into_iter()
        .collect();
    assert_eq!(
        list(&reconcile(Some(&tree), &mailbox, false)),
        [0..0x3800_0000, LOW_END..PERIPHERALS_START]
    );
    assert_eq!(reconcile(None, &mailbox, false), mailbox);
    assert_eq!(reconcile(Some(&Ranges::EMPTY), &mailbox, false), mailbox);
    // no answer from the mailbox
    assert_eq!(
        list(&reconcile(Some(&tree), &Ranges::EMPTY, false)),
        [0..0x3800_0000, LOW_END..PERIPHERALS_START]
    );
}

#[test]
fn the_emulators_short_tree_is_not_believed() {
    let mailbox = from_mailbox(0..0x3C00_0000, total_bytes_of_revision(0xB0_3115));
    let tree = from_mailbox(0..0x3C00_0000, None);
    assert_eq!(reconcile(Some(&tree), &mailbox, true), mailbox);
}

#[test]
fn a_tree_is_believed_up_to_what_a_board_can_have() {
    let tree: Ranges = [0..0x3B40_0000, PERIPHERALS_END..u64::MAX]
        .into_iter()
        .collect();
    let ram = reconcile(Some(&tree), &Ranges::EMPTY, false);
    assert_eq!(list(&ram), [0..0x3B40_0000, PERIPHERALS_END..MAX_TOTAL]);
}

#[test]
fn what_is_in_use_is_never_forgotten() {
    let used = |i: u64| 4 * i * MB..(4 * i + 1) * MB;
    let mut ranges = Ranges::EMPTY;
    for i in (0..2 * MAX_RANGES as u64).rev() {
        ranges.cover(used(i));
    }
    // two that are close to each other
    ranges.cover(1000 * MB..1001 * MB);
    ranges.cover(1001 * MB + 1..1002 * MB);
    for i in 0..2 * MAX_RANGES as u64 {
        assert!(
            ranges
                .iter()
                .any(|range| range.start <= used(i).start && used(i).end <= range.end)
        );
    }
    ranges.cover(2000 * MB..2001 * MB);
    assert!(list(&ranges).contains(&(1000 * MB..1002 * MB)), "{ranges}");
    assert!(list(&ranges).contains(&(2000 * MB..2001 * MB)), "{ranges}");
    assert!(ranges.iter().is_sorted_by(|a, b| a.end < b.start));
}

#[test]
fn ranges_join_split_and_align() {
    let mut ranges: Ranges = [4 * MB..8 * MB, 0..2 * MB, 2 * MB..3 * MB]
        .into_iter()
        .collect();
    assert_eq!(list(&ranges), [0..3 * MB, 4 * MB..8 * MB]);
    ranges.remove(5 * MB..5 * MB + 1);
    assert_eq!(
        list(&ranges),
        [0..3 * MB, 4 * MB..5 * MB, 5 * MB + 1..8 * MB]
    );
    ranges.remove(0..4 * MB + 1);
    assert_eq!(ranges.aligned(2 * MB).largest(), 6 * MB..8 * MB);
    assert_eq!(ranges.largest(), 5 * MB + 1..8 * MB);
    assert_eq!(ranges.bytes(), 4 * MB - 2);
    let before = ranges;
    ranges.remove(6 * MB..6 * MB);
    assert_eq!(ranges, before);
}

#[test]
fn a_size_code_beyond_the_powers_of_two_is_no_size() {
    // a 3 GB board ("other") and one that does not exist
    for revision in [0xF0_3116, 0xE0_3116] {
        let total = total_bytes_of_revision(revision);
        assert_eq!(total, None, "{revision:#x}");
        let low = 0..0x3B40_0000;
        assert_eq!(list(&from_mailbox(low.clone(), total)), vec![low]);
    }
}

#[test]
fn no_board_has_more_than_8_gib() {
    let ram = from_mailbox(0..0x3B40_0000, Some(1 << 40));
    assert_eq!(ram.iter().next_back(), Some(PERIPHERALS_END..MAX_TOTAL));
}
