//! The UART's clock: switched on and set before the first divisor is computed from it.
//!
//! **Resources**: docs/hardware.md UART-3.

use crate::clock::Clock;
use crate::dma::Caches;
use crate::mailbox::{Doorbell, Mailbox};
use crate::property::ClockId;

/// Clock of the UART unless the firmware was told otherwise (`init_uart_clock`).
pub const DEFAULT_CLOCK_HZ: u32 = 48_000_000;
/// A clock outside these is not believed: QEMU's mailbox says 3 MHz.
const BELIEVABLE_CLOCK_HZ: core::ops::RangeInclusive<u32> = 40_000_000..=60_000_000;

/// `reported_hz` if it can be true, else [`DEFAULT_CLOCK_HZ`].
pub fn believable_clock_hz(reported_hz: Option<u32>) -> u32 {
    reported_hz
        .filter(|hz| BELIEVABLE_CLOCK_HZ.contains(hz))
        .unwrap_or(DEFAULT_CLOCK_HZ)
}

/// Switches the clock on, asks for [`DEFAULT_CLOCK_HZ`], and returns what it then runs at in Hz.
///
/// The firmware may have left it off, or at a rate of its own. No answer is not fatal.
pub fn start_clock<D: Doorbell, C: Clock, K: Caches>(mailbox: &mut Mailbox<D, C, K>) -> u32 {
    let _ = mailbox.set_clock_state(ClockId::Uart, true);
    let _ = mailbox.set_clock_rate_hz(ClockId::Uart, DEFAULT_CLOCK_HZ);
    believable_clock_hz(mailbox.clock_rate_hz(ClockId::Uart).ok())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::mailbox::fake::mailbox;

    #[test]
    fn an_emulators_clock_is_not_believed() {
        assert_eq!(believable_clock_hz(Some(3_000_000)), 48_000_000);
        assert_eq!(believable_clock_hz(None), 48_000_000);
        assert_eq!(believable_clock_hz(Some(58_000_000)), 58_000_000);
    }

    #[test]
    fn the_clock_is_switched_on_set_and_read_back() {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let mut firmware = mailbox(move |tag, value| {
            log.lock().unwrap().push((tag, value.to_vec()));
            Some(vec![2, 50_000_000])
        });
        assert_eq!(start_clock(&mut firmware), 50_000_000);
        let asked: Vec<_> = std::mem::take(&mut *asked.lock().unwrap());
        let expected = [
            (0x0003_8001, vec![2, 1]),
            (0x0003_8002, vec![2, 48_000_000, 0]),
            (0x0003_0002, vec![2]),
        ];
        assert!(
            asked.iter().zip(&expected).all(|(asked, expected)| {
                asked.0 == expected.0 && asked.1.starts_with(&expected.1)
            }) && asked.len() == expected.len(),
            "{asked:x?}"
        );
    }

    #[test]
    fn firmware_that_does_not_answer_is_taken_at_its_default() {
        assert_eq!(start_clock(&mut mailbox(|_, _| None)), 48_000_000);
    }
}
