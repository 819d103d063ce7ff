//! Time, as far as drivers need it.

/// Monotonic time, and how to wait.
pub trait Clock {
    /// Microseconds since some fixed moment.
    fn now_us(&self) -> u64;

    /// Called in every turn of a waiting loop: gives way to other cores (`yield` or `wfe`).
    fn relax(&self);

    /// Waits at least `us` microseconds: the first one may have begun long ago.
    fn wait_us(&self, us: u64) {
        let start = self.now_us();
        while self.now_us().wrapping_sub(start) <= us {
            self.relax();
        }
    }

    /// Waits until `done` or until `limit_us` have passed; says whether it was done.
    fn wait_until(&self, limit_us: u64, done: &mut dyn FnMut() -> bool) -> bool {
        let start = self.now_us();
        while !done() {
            if self.now_us().wrapping_sub(start) >= limit_us {
                return done();
            }
            self.relax();
        }
        true
    }
}

#[cfg(test)]
pub(crate) mod fake {
    use core::cell::Cell;

    use super::Clock;

    /// A clock that moves by one microsecond whenever it is looked at.
    #[derive(Default)]
    pub(crate) struct Ticking(Cell<u64>);

    impl Clock for Ticking {
        fn now_us(&self) -> u64 {
            self.0.replace(self.0.get() + 1)
        }

        fn relax(&self) {}
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;
    use super::fake::Ticking;

    #[test]
    fn waiting_ends_by_success_or_by_the_limit() {
        let clock = Ticking::default();
        let mut turns = 0;
        assert!(clock.wait_until(100, &mut || {
            turns += 1;
            turns == 5
        }));
        assert_eq!(turns, 5);
        let start = clock.now_us();
        assert!(!clock.wait_until(100, &mut || false));
        assert!(clock.now_us() - start >= 100);
    }

    /// The board's counter: 54 ticks in a microsecond, of which whole microseconds are seen.
    struct Counter(core::cell::Cell<u64>);

    impl Clock for Counter {
        fn now_us(&self) -> u64 {
            self.0.replace(self.0.get() + 1) / 54
        }

        fn relax(&self) {}
    }

    #[test]
    fn waiting_is_never_shorter_than_asked() {
        for start in 0..54 {
            let clock = Counter(start.into());
            clock.wait_us(1);
            let waited = clock.0.get() - start;
            assert!((54..3 * 54).contains(&waited), "{waited} ticks");
        }
    }
}
