//! Pins: what they are connected to, their pulls, and the ACT LED.
//!
//! **Resources**: BCM2711 ARM Peripherals, chapter 5; docs/hardware.md UART-1, UART-2, BOOT-15.

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::register_structs;
use tock_registers::registers::{ReadWrite, WriteOnly};

use crate::mmio::Mmio;

register_structs! {
    /// The register block.
    #[allow(missing_docs)]
    pub Registers {
        (0x00 => pub gpfsel: [ReadWrite<u32>; 6]),
        (0x18 => _reserved1),
        (0x1c => pub gpset: [WriteOnly<u32>; 2]),
        (0x24 => _reserved2),
        (0x28 => pub gpclr: [WriteOnly<u32>; 2]),
        (0x30 => _reserved3),
        (0xe4 => pub pup_pdn: [ReadWrite<u32>; 4]),
        (0xf4 => @END),
    }
}

/// What a pin is connected to; the numbers are the hardware's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Function {
    /// Input.
    Input = 0b000,
    /// Output.
    Output = 0b001,
    /// Alternate function 0: the PL011 on pins 14 and 15.
    Alt0 = 0b100,
}

/// The resistor on a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Pull {
    /// None.
    None = 0b00,
    /// To 3.3 V.
    Up = 0b01,
}

/// Transmit and receive of the console: header pins 8 and 10.
const TXD: usize = 14;
const RXD: usize = 15;
/// Where the firmware routes the PL011 for Bluetooth: CTS, RTS, TXD, RXD.
const BLUETOOTH: core::ops::RangeInclusive<usize> = 30..=33;
/// The green LED, on when high.
const ACT_LED: usize = 42;

/// All pins.
pub struct Gpio {
    registers: Mmio<Registers>,
}

impl Gpio {
    /// Pins behind `registers`.
    pub const fn new(registers: Mmio<Registers>) -> Self {
        Self { registers }
    }

    /// Connects `pin` (0–57).
    pub fn set_function(&mut self, pin: usize, function: Function) {
        let register = &self.registers.gpfsel[pin / 10];
        let shift = pin % 10 * 3;
        register.set(register.get() & !(0b111 << shift) | (function as u32) << shift);
    }

    /// Sets the pull of `pin` (0–57).
    pub fn set_pull(&mut self, pin: usize, pull: Pull) {
        let register = &self.registers.pup_pdn[pin / 16];
        let shift = pin % 16 * 2;
        register.set(register.get() & !(0b11 << shift) | (pull as u32) << shift);
    }

    /// Drives `pin` (0–57), which is an output.
    pub fn write(&mut self, pin: usize, high: bool) {
        let bit = 1 << (pin % 32);
        if high {
            self.registers.gpset[pin / 32].set(bit);
        } else {
            self.registers.gpclr[pin / 32].set(bit);
        }
    }

    /// Routes the PL011 to header pins 8 and 10, whatever the firmware did with it: Bluetooth's pins
    /// let go first, so that the receiver is never driven from two sides.
    pub fn route_console(&mut self) {
        for pin in BLUETOOTH {
            self.set_function(pin, Function::Input);
        }
        self.set_function(TXD, Function::Alt0);
        self.set_function(RXD, Function::Alt0);
        self.set_pull(TXD, Pull::None);
        self.set_pull(RXD, Pull::Up);
    }

    /// Switches the green LED.
    pub fn set_led(&mut self, on: bool) {
        self.set_function(ACT_LED, Function::Output);
        self.write(ACT_LED, on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mmio::fake;

    #[test]
    fn the_console_gets_its_pins_and_bluetooth_loses_them() {
        let (words, registers) = fake::block();
        // as the firmware leaves it: mini-UART on 14 and 15 (ALT5), Bluetooth on 30 to 33 (ALT3)
        words.set(0x04, 0b010 << 12 | 0b010 << 15 | 0b001);
        words.set(
            0x0c,
            0b111 | 0b111 << 3 | 0b111 << 6 | 0b111 << 9 | 0b001 << 27,
        );
        words.set(0xe4, 0xAAA9_5555);
        Gpio::new(registers).route_console();
        assert_eq!(
            words.get(0x04),
            0b100 << 12 | 0b100 << 15 | 0b001,
            "GPFSEL1"
        );
        assert_eq!(
            words.get(0x0c),
            0b001 << 27,
            "GPFSEL3: inputs, the rest untouched"
        );
        assert_eq!(words.get(0xe4), 0x4AA9_5555, "pin 14 none, pin 15 up");
    }

    #[test]
    fn the_led_is_pin_42() {
        let (words, registers) = fake::block();
        let mut gpio = Gpio::new(registers);
        gpio.set_led(true);
        assert_eq!(words.get(0x10), 0b001 << 6, "GPFSEL4");
        assert_eq!(words.get(0x20), 1 << 10, "GPSET1");
        assert_eq!(words.get(0x2c), 0, "GPCLR1");
        gpio.set_led(false);
        assert_eq!(words.get(0x2c), 1 << 10, "GPCLR1");
    }
}
