mod shadow;

use super::*;
use crate::clock::fake::Ticking;
use crate::mmio::fake as blocks;

#[test]
fn the_address_goes_out_with_the_channel_and_must_come_back() {
    let (words, mut registers) = blocks::block::<Registers>();
    words.set(0x18, 0);
    words.set(0x00, 0xC008_1008);
    assert!(send(&mut registers, 0xC008_1008, &Ticking::default()));
    assert_eq!(words.get(0x20), 0xC008_1008);
    assert!(receive(&mut registers, 0xC008_1008, &Ticking::default()));
    words.set(0x00, 0xC009_9998);
    assert!(!receive(&mut registers, 0xC008_1008, &Ticking::default()));
}

/// A VideoCore that answers each question with the question.
#[derive(Default)]
struct Echo(std::collections::VecDeque<u32>);

impl Queues for Echo {
    fn answer(&mut self) -> Option<u32> {
        self.0.pop_front()
    }

    fn ask(&mut self, message: u32) -> bool {
        self.0.push_back(message);
        true
    }
}

#[test]
fn an_answer_that_nobody_waited_for_is_not_that_of_the_next_question() {
    let mut echo = Echo::default();
    // late, and of this very buffer
    echo.0.extend([0xC008_1008, 0xC009_9998]);
    assert!(send(&mut echo, 0xC008_1008, &Ticking::default()));
    assert_eq!(echo.0, [0xC008_1008], "the new one alone");
    assert!(receive(&mut echo, 0xC008_1008, &Ticking::default()));
    assert!(!receive(&mut echo, 0xC008_1008, &Ticking::default()));
}

#[test]
fn a_message_is_the_bus_address_and_channel_8() {
    assert_eq!(message(0x0008_1000), 0xC008_1008);
}

#[test]
fn a_late_answer_is_waited_for_before_the_buffer_is_used_again() {
    let mut mailbox = fake::mailbox(|_, value| Some(vec![value[0] + 1]));
    mailbox.set_silent_waits(2);
    let timeout = |tag| Err::<[u32; 1], _>(Error::Timeout { tag });
    assert_eq!(mailbox.ask_all(1, &[10]), timeout(1));
    assert_eq!(mailbox.ask_all(2, &[20]), timeout(2));
    assert_eq!(mailbox.n_rings(), 1, "the second was not sent");
    assert_eq!(mailbox.ask_all(3, &[30]), Ok([31]));
    assert_eq!(mailbox.n_rings(), 2);
}

#[test]
fn an_answer_is_checked_word_by_word() {
    let mut mailbox = fake::mailbox(|tag, value| match tag {
        1 => Some(vec![value[0] + 1, 7]),
        2 => Some(vec![]),
        3 => Some(vec![5]),
        _ => None,
    });
    assert_eq!(mailbox.ask_all(1, &[41]), Ok([42, 7]));
    assert_eq!(
        mailbox.ask_all::<1>(2, &[]),
        Err(Error::Unanswered { tag: 2 }),
        "QEMU's way of not knowing"
    );
    assert_eq!(
        mailbox.ask_all::<2>(3, &[]),
        Err(Error::Short { tag: 3, bytes: 4 })
    );
    assert_eq!(
        mailbox.ask_all::<1>(4, &[]),
        Err(Error::Unanswered { tag: 4 }),
        "the board's way"
    );
    mailbox.set_code(0x8000_0001);
    assert_eq!(
        mailbox.ask_all::<1>(1, &[0]),
        Err(Error::Refused {
            tag: 1,
            code: 0x8000_0001
        })
    );
}

#[test]
fn a_full_or_silent_mailbox_times_out() {
    let (words, mut registers) = blocks::block::<Registers>();
    words.set(0x18, EMPTY);
    words.set(0x38, FULL);
    assert!(!send(&mut registers, 0xC008_1008, &Ticking::default()));
    assert_eq!(words.get(0x20), 0, "nothing was written");
    words.set(0x38, 0);
    assert!(send(&mut registers, 0xC008_1008, &Ticking::default()));
    assert_eq!(words.get(0x20), 0xC008_1008);
    assert!(!receive(&mut registers, 0xC008_1008, &Ticking::default()));
}
