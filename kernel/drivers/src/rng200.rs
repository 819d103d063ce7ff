//! The random number generator: a seed that nobody chose. Absent in QEMU, so probe first.
//!
//! **Resources**: docs/hardware.md RNG-1; Linux `iproc-rng200.c` for the meaning of the bits.

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::register_structs;
use tock_registers::registers::{ReadOnly, ReadWrite};

use crate::clock::Clock;
use crate::mmio::Mmio;

register_structs! {
    /// The register block.
    #[allow(missing_docs)]
    pub Registers {
        (0x00 => pub ctrl: ReadWrite<u32>),
        (0x04 => _reserved1),
        (0x0c => pub total_bit_count: ReadOnly<u32>),
        (0x10 => _reserved2),
        (0x20 => pub fifo_data: ReadOnly<u32>),
        (0x24 => pub fifo_count: ReadOnly<u32>),
        (0x28 => @END),
    }
}

const ENABLE_FIELD: u32 = 0x1FFF;
/// The slowest sampling, and every bit of the enable field, as Linux starts the block.
const START: u32 = 0b11 << 13 | ENABLE_FIELD;
/// Bits that come before the generator has warmed up.
const WARM_UP_BITS: u32 = 16;
const COUNT_FIELD: u32 = 0xFF;
const LIMIT_US: u64 = 100_000;

/// A seed where there is no generator: differs from board to board, and from start to start as far as the ticks since
/// power-on do.
pub const fn seed_without(ticks: u64, serial: u64) -> u64 {
    ticks ^ serial.rotate_left(32)
}

/// The generator.
pub struct Rng200 {
    registers: Mmio<Registers>,
}

impl Rng200 {
    /// The generator behind `registers`.
    pub const fn new(registers: Mmio<Registers>) -> Self {
        Self { registers }
    }

    /// 64 random bits, or nothing if it does not deliver in time.
    pub fn read(&mut self, clock: &impl Clock) -> Option<u64> {
        let registers = &self.registers;
        // A block that runs, for the firmware perhaps, is left alone.
        if registers.ctrl.get() & ENABLE_FIELD == 0 {
            registers.ctrl.set(START);
        }
        let enough = clock.wait_until(LIMIT_US, &mut || {
            registers.total_bit_count.get() > WARM_UP_BITS
                && registers.fifo_count.get() & COUNT_FIELD >= 2
        });
        let word = || u64::from(registers.fifo_data.get());
        enough.then(|| word() << 32 | word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::fake::Ticking;
    use crate::mmio::fake;

    #[test]
    fn without_it_boards_and_starts_differ() {
        let seed = seed_without(54_000_000, 0x1000_0000_ABCD_EF01);
        assert_ne!(seed, seed_without(54_000_000, 0x1000_0000_ABCD_EF02));
        assert_ne!(seed, seed_without(54_000_001, 0x1000_0000_ABCD_EF01));
    }

    #[test]
    fn it_is_switched_on_as_linux_does_and_warms_up() {
        let (words, registers) = fake::block();
        let mut rng = Rng200::new(registers);
        assert_eq!(rng.read(&Ticking::default()), None);
        assert_eq!(words.get(0x00), 0x7FFF, "RNG_CTRL");
        words.set(0x24, 0x1_0002);
        words.set(0x20, 0x1234_5678);
        words.set(0x0c, 16);
        assert_eq!(rng.read(&Ticking::default()), None, "still warming up");
        words.set(0x0c, 17);
        assert_eq!(rng.read(&Ticking::default()), Some(0x1234_5678_1234_5678));
    }

    #[test]
    fn a_running_generator_is_left_alone() {
        let (words, registers) = fake::block();
        words.set(0x00, 0xABCD_0001);
        assert_eq!(Rng200::new(registers).read(&Ticking::default()), None);
        assert_eq!(words.get(0x00), 0xABCD_0001);
    }
}
