//! What a long run came to, window by window.

use crate::guard::THROTTLED_NOW;
use crate::statistics::series::last_over_first_quarter;
use crate::window::Window;
use alloc::vec::Vec;

/// A long run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Soak {
    /// From the start to the end of the first window with a throttle flag; nothing if there was none.
    pub first_throttle_ns: Option<u64>,
    /// The median speed of the last quarter of the windows over that of the first.
    pub last_over_first_quarter: Option<f64>,
    /// The highest temperature.
    pub max_celsius: Option<f32>,
}

/// Returns what windows of equal work, one after the other, come to.
pub fn soak(windows: &[Window]) -> Soak {
    let mut elapsed_ns = 0;
    let mut first_throttle_ns = None;
    for window in windows {
        elapsed_ns += window.ns;
        let is_throttled = window
            .throttled
            .iter()
            .flatten()
            .any(|flags| flags & THROTTLED_NOW != 0);
        if is_throttled && first_throttle_ns.is_none() {
            first_throttle_ns = Some(elapsed_ns);
        }
    }
    let timed = windows.iter().filter(|w| w.ns > 0);
    let speeds: Vec<f64> = timed.map(|w| 1e9 / w.ns as f64).collect();
    let temperatures = windows.iter().flat_map(|w| w.celsius).flatten();
    Soak {
        first_throttle_ns,
        last_over_first_quarter: last_over_first_quarter(&speeds),
        max_celsius: temperatures.reduce(f32::max),
    }
}

#[cfg(test)]
mod tests {
    use super::soak;
    use crate::window::Window;

    /// A mass that heats with the clock's power and cools to the air; at 80 °C the clock goes down by a third.
    #[test]
    fn a_planted_thermal_model() {
        let (mut celsius, mut windows) = (40.0f32, Vec::new());
        let mut first = None;
        for minute in 1..=60u64 {
            let is_throttled = celsius >= 80.0;
            let clock = if is_throttled { 2.0 / 3.0 } else { 1.0 };
            let before = celsius;
            celsius += (25.0 + 75.0 * clock - celsius) / 10.0;
            windows.push(Window {
                ns: (1e9 / clock) as u64,
                celsius: [Some(before), Some(celsius)],
                throttled: [Some(0), Some(4 * u32::from(is_throttled))],
                ..Window::default()
            });
            if is_throttled && first.is_none() {
                first = Some((minute - 1) * 1_000_000_000 + 1_500_000_000);
            }
        }
        let found = soak(&windows);
        assert!(first.is_some() && found.first_throttle_ns.unwrap().abs_diff(first.unwrap()) < 2);
        let ratio = found.last_over_first_quarter.unwrap();
        assert!((0.66..0.84).contains(&ratio), "{ratio}");
        assert!((80.0..90.0).contains(&found.max_celsius.unwrap()));
        assert_eq!(soak(&[]).first_throttle_ns, None);
    }
}
