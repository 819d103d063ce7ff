use super::*;
use crate::clock::fake::Ticking;
use crate::mmio::fake;

#[test]
fn divisors_of_the_manual() {
    let divisors = |baud| {
        let Divisors { integer, fraction } = Divisors::new(48_000_000, baud).unwrap();
        (integer, fraction)
    };
    assert_eq!(divisors(115_200), (26, 3));
    assert_eq!(divisors(921_600), (3, 16));
    assert_eq!(divisors(1_500_000), (2, 0));
    assert_eq!(divisors(3_000_000), (1, 0));
    assert_eq!(
        Divisors::new(48_000_000, 4_000_000),
        Err(BadBaudRate {
            baud: 4_000_000,
            max_baud: 3_000_000
        })
    );
    assert!(Divisors::new(48_000_000, 0).is_err());
}

#[test]
fn every_baud_rate_is_within_the_receivers_tolerance() {
    for baud in [9600, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600] {
        let divisors = Divisors::new(48_000_000, baud).unwrap();
        let in_64ths = 64 * divisors.integer + divisors.fraction;
        let real = 4.0 * 48e6 / f64::from(in_64ths);
        assert!((real / f64::from(baud) - 1.0).abs() < 0.01, "{baud}");
    }
}

#[test]
fn initialisation_writes_these_values() {
    let (words, registers) = fake::block();
    let mut uart = Pl011::new(registers);
    // what the firmware may have let through
    words.set(0x38, 0x7FF);
    uart.init(
        Divisors::new(48_000_000, 115_200).unwrap(),
        &Ticking::default(),
    );
    assert_eq!(words.get(0x24), 26, "IBRD");
    assert_eq!(words.get(0x28), 3, "FBRD");
    assert_eq!(words.get(0x2c), 0x70, "LCR_H: 8N1, FIFOs");
    assert_eq!(words.get(0x30), 0x301, "CR: on, both directions");
    assert_eq!(words.get(0x44), 0x7FF, "ICR");
    assert_eq!(words.get(0x38), 0, "IMSC: no interrupt yet");
    uart.enable_rx_interrupts();
    assert_eq!(words.get(0x34), 0b001 << 3, "IFLS");
    assert_eq!(words.get(0x38), 1 << 4 | 1 << 6 | 1 << 10, "IMSC");
    uart.set_speed(
        Divisors::new(48_000_000, 921_600).unwrap(),
        &Ticking::default(),
    );
    assert_eq!((words.get(0x24), words.get(0x28)), (3, 16));
    assert_eq!(words.get(0x30), 0x301, "CR: on again");
    assert_eq!(words.get(0x38), 1 << 4 | 1 << 6 | 1 << 10, "IMSC stays");
}

#[test]
fn a_full_fifo_takes_nothing() {
    let (words, registers) = fake::block();
    let mut uart = Pl011::new(registers);
    words.set(0x18, 1 << 5);
    assert!(!uart.try_write(b'x'));
    assert_eq!(words.get(0), 0);
    words.set(0x18, 0);
    assert!(uart.try_write(b'x'));
    assert_eq!(words.get(0), u32::from(b'x'));
}

#[test]
fn a_wedged_transmitter_does_not_hold_up_the_start() {
    let (words, registers) = fake::block();
    words.set(0x18, 1 << 3);
    let mut uart = Pl011::new(registers);
    uart.init(
        Divisors::new(48_000_000, 115_200).unwrap(),
        &Ticking::default(),
    );
    assert_eq!(words.get(0x30), 0x301);
}

#[test]
fn a_transmitter_without_a_clock_costs_100_ms_once() {
    let clock = Ticking::default();
    let mut tries = 0;
    let mut full = || {
        tries += 1;
        false
    };
    assert!(!send(false, &clock, &mut full));
    let waited_us = clock.now_us();
    assert!((100_000..=100_010).contains(&waited_us), "{waited_us}");
    assert!(!send(true, &clock, &mut full));
    assert!(clock.now_us() <= waited_us + 2, "dropped without a wait");
    assert!(send(true, &clock, &mut || true));
}

#[test]
fn a_receiver_without_a_clock_does_not_hold_the_interrupt() {
    let (_, registers) = fake::block();
    let ring = RxRing::<64>::new();
    // FR reads 0: never empty
    Pl011::new(registers).receive(&ring);
    assert!(!ring.is_empty());
}

#[test]
fn the_firmwares_speed_is_replaced() {
    let (words, registers) = fake::block();
    // as uart_2ndstage=1 leaves it: on, with divisors for another clock
    for (offset, value) in [(0x24, 29), (0x28, 0), (0x2c, 0x70), (0x30, 0x301)] {
        words.set(offset, value);
    }
    Pl011::new(registers).init(
        Divisors::new(48_000_000, 115_200).unwrap(),
        &Ticking::default(),
    );
    assert_eq!((words.get(0x24), words.get(0x28)), (26, 3));
}

const TXFF: u32 = 1 << 5;
const TX_INTERRUPT: u32 = 1 << 5;

#[test]
fn a_fifo_is_filled_from_the_ring_and_the_interrupt_asks_for_the_rest() {
    let (words, registers) = fake::block();
    let mut uart = Pl011::new(registers);
    uart.enable_rx_interrupts();
    let received = words.get(0x38);
    let ring = ByteRing::<64>::new();
    (0..40).for_each(|byte| assert!(ring.push(byte)));
    words.set(0x18, TXFF);
    uart.transmit(&ring, true);
    assert_eq!(ring.len(), 40, "a full FIFO takes none");
    assert_eq!(words.get(0x38), received | TX_INTERRUPT);
    words.set(0x18, 0);
    uart.transmit(&ring, true);
    assert_eq!(words.get(0), 31, "no more than the FIFO's depth");
    assert_eq!((ring.len(), words.get(0x38)), (8, received | TX_INTERRUPT));
    uart.transmit(&ring, true);
    assert_eq!((words.get(0), ring.len()), (39, 0));
    assert_eq!(words.get(0x38), received, "nothing is left to ask for");
}

#[test]
fn without_the_interrupt_the_rest_waits() {
    let (words, registers) = fake::block();
    let mut uart = Pl011::new(registers);
    let ring = ByteRing::<64>::new();
    (0..40).for_each(|byte| assert!(ring.push(byte)));
    uart.transmit(&ring, false);
    assert_eq!((ring.len(), words.get(0x38)), (8, 0));
    uart.let_transmit_interrupt(true);
    assert_eq!(words.get(0x38), TX_INTERRUPT);
    uart.let_transmit_interrupt(false);
    assert_eq!(words.get(0x38), 0);
}

#[test]
fn receiving_leaves_the_transmitters_interrupt() {
    let (words, registers) = fake::block();
    // FR: nothing received
    words.set(0x18, 1 << 4);
    Pl011::new(registers).receive(&RxRing::<64>::new());
    assert_eq!(words.get(0x44), 0x7FF & !TX_INTERRUPT, "ICR");
}
