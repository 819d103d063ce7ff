//! How many QEMUs run at once.

use std::sync::{Condvar, Mutex, PoisonError};

/// QEMUs of one process that run at the same time: each one keeps a host core busy.
const AT_ONCE: u32 = 2;

/// A place among the QEMUs that may run at once.
#[derive(Debug)]
pub(crate) struct Seat;

static FREE_SEATS: Mutex<u32> = Mutex::new(AT_ONCE);
static SEAT_FREED: Condvar = Condvar::new();

impl Seat {
    /// Waits for a free one.
    pub(crate) fn take() -> Seat {
        let free = FREE_SEATS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = SEAT_FREED
            .wait_while(free, |free| *free == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Seat
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        *FREE_SEATS.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        SEAT_FREED.notify_one();
    }
}
