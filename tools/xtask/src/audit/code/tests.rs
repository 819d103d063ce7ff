//! Planted instructions in a kernel of a few words.

use super::before_mmu::{Start, reached};
use super::check;
use super::small_elf::{BASE, elf};
use super::text::Text;

const NOP: u32 = 0xD503_201F;
const RET: u32 = 0xD65F_03C0;
const PARK: u32 = 0x1400_0000; // b .
const LDXR: u32 = 0x885F_7C20; // ldxr w0, [x1]
const AESE: u32 = 0x4E28_4820;
const SET_SCTLR: u32 = 0xD518_1009; // msr sctlr_el1, x9
const SET_VBAR: u32 = 0xD518_C009; // msr vbar_el1, x9
const SET_ELR: u32 = 0xD51C_4029; // msr elr_el2, x9
const ERET: u32 = 0xD69F_03E0;
const BR_X8: u32 = 0xD61F_0100;

fn bl(words: i32) -> u32 {
    0x9400_0000 | words as u32 & 0x03FF_FFFF
}

fn b(words: i32) -> u32 {
    0x1400_0000 | words as u32 & 0x03FF_FFFF
}

/// `mov x9, #value`.
fn mov_x9(value: u32) -> u32 {
    0xD280_0009 | value << 5
}

/// `adr x9, .+4*words`.
fn adr_x9(words: u32) -> u32 {
    0x1000_0009 | words << 5
}

/// A kernel as `start.s` lays it out, small: entry points, mover, the switch of the MMU; `early` is called before it.
fn kernel(early: &[u32]) -> Vec<u8> {
    let mut words = vec![
        BR_X8, // _start
        BR_X8, // __mover
        b(2),  // __placed
        b(1),  // _secondary_start
        bl(4), // early
        mov_x9(1),
        SET_SCTLR,
        LDXR, // the MMU is on
    ];
    words.extend(early);
    let labels = [
        (0, "$x"),
        (0, "_start"),
        (1, "__mover"),
        (2, "__placed"),
        (3, "_secondary_start"),
        (8, "early"),
    ];
    elf(&words, &labels)
}

fn error_of(elf: &[u8]) -> String {
    format!("{:#}", check(elf).unwrap_err())
}

/// The indices of the words that run with the MMU off from the first on.
fn walked(words: &[u32]) -> Result<Vec<u64>, String> {
    let start = Start {
        entries: &["entry"],
        computed: &[],
    };
    let text = Text::read(&elf(words, &[(0, "$x"), (0, "entry")])).unwrap();
    let reached = reached(&text, &start).map_err(|error| format!("{error:#}"))?;
    Ok(reached.into_iter().map(|addr| (addr - BASE) / 4).collect())
}

#[test]
fn a_planted_function_is_found_where_it_runs_before_the_mmu() {
    let line = check(&kernel(&[NOP, RET])).unwrap();
    assert!(
        line.contains("9 of them run before the MMU is on"),
        "{line}"
    );
    let error = error_of(&kernel(&[LDXR, RET]));
    assert_eq!(
        error,
        "early+0x0 (0x80020): an exclusive, before the MMU is on"
    );
    // called by the function that is called
    let error = error_of(&kernel(&[NOP, b(2), RET, LDXR, RET]));
    assert!(
        error.starts_with("early+0xc (0x8002c): an exclusive"),
        "{error}"
    );
    // nobody calls it
    assert!(check(&kernel(&[RET, LDXR])).is_ok());
}

#[test]
fn what_the_board_lacks_is_found_anywhere() {
    let error = error_of(&kernel(&[RET, AESE]));
    assert_eq!(
        error,
        "early+0x4 (0x80024): AES, which the board's cores lack"
    );
}

#[test]
fn constants_in_the_text_are_no_instructions() {
    let words = [mov_x9(1), SET_SCTLR, PARK, AESE, NOP, AESE];
    let symbols = |marks: &[(usize, &'static str)]| {
        let start = [
            (0, "_start"),
            (0, "_secondary_start"),
            (0, "__mover"),
            (0, "__placed"),
        ];
        [&start, marks].concat()
    };
    let start = Start {
        entries: &["_start"],
        computed: &[],
    };
    let findings = |marks: &[(usize, &'static str)]| {
        let text = Text::read(&elf(&words, &symbols(marks))).unwrap();
        reached(&text, &start).unwrap();
        text.code()
            .filter(|&addr| super::words::lacking(text.word(addr).unwrap()).is_some())
            .count()
    };
    assert_eq!(findings(&[(0, "$x")]), 2);
    assert_eq!(findings(&[(0, "$x"), (3, "$d")]), 0);
    assert_eq!(findings(&[(0, "$x"), (3, "$d.1"), (4, "$x.2")]), 1);
    assert_eq!(findings(&[(0, "$x"), (3, "$x"), (3, "$d"), (5, "$d")]), 1);
    let error = Text::read(&elf(&words, &symbols(&[]))).err().unwrap();
    assert!(error.to_string().contains("no mapping symbols"), "{error}");
}

#[test]
fn the_walk_ends_where_the_mmu_goes_on_and_not_before() {
    assert_eq!(walked(&[mov_x9(1), SET_SCTLR, LDXR]), Ok(vec![0, 1]));
    assert_eq!(
        walked(&[mov_x9(0x804), SET_SCTLR, PARK, LDXR]),
        Ok(vec![0, 1, 2])
    );
    // a literal
    let literal = 0x5800_0069; // ldr x9, .+12
    assert_eq!(
        walked(&[literal, SET_SCTLR, PARK, 0x30D0_1805, 0]),
        Ok(vec![0, 1])
    );
    assert_eq!(
        walked(&[literal, SET_SCTLR, PARK, 0x30D0_0800, 0]),
        Ok(vec![0, 1, 2])
    );
    // a function that switches it on does not return with it off
    let switch = [bl(2), LDXR, mov_x9(1), SET_SCTLR, RET];
    assert_eq!(walked(&switch), Ok(vec![0, 2, 3]));
    for (words, why) in [
        (&[SET_SCTLR, PARK][..], "SCTLR gets a value"),
        // x9 is something else where the branch comes from
        (
            &[0xB400_0040, mov_x9(1), SET_SCTLR, PARK],
            "SCTLR gets a value",
        ),
        // the function that is called may change x9
        (
            &[mov_x9(1), bl(3), SET_SCTLR, PARK, RET],
            "SCTLR gets a value",
        ),
        // add x9, x9, #1
        (
            &[mov_x9(0), 0x9100_0529, SET_SCTLR, PARK],
            "SCTLR gets a value",
        ),
        // msr sctlr_el2, x9
        (&[mov_x9(1), 0xD51C_1009, PARK], "another exception level"),
    ] {
        let error = walked(words).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn returns_go_to_every_caller_and_to_no_other() {
    // two calls of one function; the second comes after the first has returned
    assert_eq!(
        walked(&[bl(4), bl(3), PARK, LDXR, RET]),
        Ok(vec![0, 1, 2, 4])
    );
    // a function that does not return
    assert_eq!(walked(&[bl(2), LDXR, PARK]), Ok(vec![0, 2]));
    // a tail call returns to the first caller
    assert_eq!(
        walked(&[bl(2), PARK, b(2), LDXR, RET]),
        Ok(vec![0, 1, 2, 4])
    );
    // a function that calls itself
    assert_eq!(
        walked(&[bl(2), PARK, 0xB400_0040, bl(-1), RET]),
        Ok(vec![0, 1, 2, 3, 4])
    );
}

#[test]
fn exceptions_are_followed() {
    // adr x9, .Lback; msr elr_el2, x9; isb; eret
    let back = [adr_x9(5), SET_ELR, 0xD503_3FDF, ERET, LDXR, PARK];
    assert_eq!(walked(&back), Ok(vec![0, 1, 2, 3, 5]));
    assert!(walked(&[ERET]).unwrap_err().contains("do not set ELR"));
    assert!(
        walked(&[NOP, b(1), ERET])
            .unwrap_err()
            .contains("do not set ELR")
    );
    let call = [adr_x9(4), SET_ELR, bl(3), ERET, PARK, RET];
    assert!(walked(&call).unwrap_err().contains("do not set ELR"));
    // sixteen vectors of 32 words
    let mut vectors = vec![adr_x9(32), SET_VBAR, PARK];
    vectors.resize(32 + 16 * 32, LDXR);
    for vector in 1..=16 {
        vectors[32 * vector] = PARK;
    }
    let expected = [0, 1, 2]
        .into_iter()
        .chain((1..=16).map(|vector| 32 * vector));
    assert_eq!(walked(&vectors), Ok(expected.collect()));
    // mrs x0, sctlr_el1; tbz x0, #0, .+8: what runs with the MMU on is not reached; tbnz the other way
    assert_eq!(
        walked(&[0xD538_1000, 0x3600_0040, LDXR, PARK]),
        Ok(vec![0, 1, 3])
    );
    assert_eq!(
        walked(&[0xD538_1000, 0x3700_0060, PARK, NOP, LDXR]),
        Ok(vec![0, 1, 2])
    );
    // another register's bit 0, or another bit, tells nothing
    assert_eq!(
        walked(&[0xD538_1000, 0x3600_0041, PARK, PARK]),
        Ok(vec![0, 1, 2, 3])
    );
    assert_eq!(
        walked(&[0xD538_1000, 0x3608_0040, PARK, PARK]),
        Ok(vec![0, 1, 2, 3])
    );
}

#[test]
fn a_way_that_cannot_be_told_is_an_error() {
    for (words, why) in [
        (&[BR_X8][..], "does not say where"),
        (&[0xD63F_0100, PARK], "a call of a register"),
        (&[0xD65F_0240], "does not say where"), // ret x18
        (&[0xD400_0003, PARK], "not followed"), // smc #0
        (&[b(8)], "outside of .text"),
    ] {
        let error = walked(words).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    let error = walked(&[bl(2), PARK, bl(1), BR_X8]).unwrap_err();
    let way = "entry+0xc (0x8000c), called by entry+0x8 (0x80008), called by entry+0x0 (0x80000):";
    assert!(error.contains(way), "{error}");
    let text = Text::read(&elf(&[NOP, 0], &[(0, "$x"), (0, "entry"), (1, "$d")])).unwrap();
    let start = Start {
        entries: &["entry"],
        computed: &[],
    };
    let error = format!("{:#}", reached(&text, &start).unwrap_err());
    assert!(error.contains("is data"), "{error}");
    let start = Start {
        entries: &["entry"],
        computed: &[("entry", "entry")],
    };
    let text = Text::read(&elf(&[PARK], &[(0, "$x"), (0, "entry")])).unwrap();
    let error = reached(&text, &start).unwrap_err().to_string();
    assert!(
        error.contains("no branch to a register follows entry"),
        "{error}"
    );
}
