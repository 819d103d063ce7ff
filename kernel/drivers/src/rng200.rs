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
        (0x20 => pub fifo_data: ReadOnly<u32>),
        (0x24 => pub fifo_count: ReadOnly<u32>),
        (0x28 => @END),
    }
}

const ENABLE: u32 = 1;
const ENABLE_FIELD: u32 = 0x1FFF;
const COUNT_FIELD: u32 = 0xFF;
const LIMIT_US: u64 = 100_000;

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
        let ctrl = registers.ctrl.get();
        registers.ctrl.set(ctrl & !ENABLE_FIELD | ENABLE);
        let enough = clock.wait_until(LIMIT_US, &mut || {
            registers.fifo_count.get() & COUNT_FIELD >= 2
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
    fn it_is_switched_on_and_waited_for() {
        let (words, registers) = fake::block();
        words.set(0x00, 0xABCD_E000);
        let mut rng = Rng200::new(registers);
        assert_eq!(rng.read(&Ticking::default()), None);
        assert_eq!(words.get(0x00), 0xABCD_E001);
        words.set(0x24, 0x1_0002);
        words.set(0x20, 0x1234_5678);
        assert_eq!(rng.read(&Ticking::default()), Some(0x1234_5678_1234_5678));
    }
}
