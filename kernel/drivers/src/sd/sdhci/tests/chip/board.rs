//! What the rest of the chip does for the controller: time, caches, power, the firmware's answers.

use super::{Chip, FORGETS_AFTER_US, TURN_US};
use crate::clock::Clock;
use crate::dma::Caches;
use crate::sd::base_clock::Question;
use crate::sd::host::Notice;
use crate::sd::sdhci::{Board, GPIO_SD_PWR_ON};

impl Clock for &Chip<'_> {
    fn now_us(&self) -> u64 {
        self.time_us.get()
    }

    fn relax(&self) {
        self.wait_us(TURN_US);
    }

    fn wait_us(&self, us: u64) {
        self.time_us.set(self.time_us.get() + us);
    }
}

impl Caches for &Chip<'_> {
    fn clean_and_invalidate(&self, addr: usize, len_bytes: usize) {
        self.memory.clean_and_invalidate(addr, len_bytes);
    }
}

impl Board for &Chip<'_> {
    fn power_controller(&mut self) {}

    fn set_expander_gpio(&mut self, gpio: u32, high: bool) -> bool {
        let now_us = self.time_us.get();
        match (gpio == GPIO_SD_PWR_ON, high) {
            (true, false) => self.unpowered_since_us.set(Some(now_us)),
            (true, true) => {
                let since_us = self.unpowered_since_us.take();
                if since_us.is_some_and(|since_us| now_us - since_us >= FORGETS_AFTER_US) {
                    self.card.borrow_mut().power_on();
                }
            }
            _ => {}
        }
        true
    }

    fn phys_addr(&self, addr: usize, len: usize) -> Option<usize> {
        self.memory.phys_addr(addr, len)
    }

    fn tell(&mut self, notice: Notice) {
        self.told.borrow_mut().push(notice);
    }

    fn base_clock_hz(&mut self, question: Question) -> Option<u32> {
        self.answers[question as usize]
    }
}
