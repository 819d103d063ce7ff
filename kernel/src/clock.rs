//! Time: the generic timer's counter.

use boot::wait;

/// The counter that all cores share: 54 MHz on the board.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl drivers::clock::Clock for Clock {
    fn now_us(&self) -> u64 {
        // in two steps: 54 MHz times 1e6 overflows after four days
        let (ticks, hz) = (wait::ticks(), wait::ticks_per_second());
        ticks / hz * 1_000_000 + ticks % hz * 1_000_000 / hz
    }

    fn relax(&self) {
        wait::relax();
    }
}
