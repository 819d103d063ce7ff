//! How tokens are chosen.

use core::ops::RangeInclusive;

/// Settings of a [`super::Sampler`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Logits are divided by this; 0 takes the most likely token always.
    pub temperature: f32,
    /// Only this many of the most likely tokens may be drawn; 0 is no limit.
    pub top_k: usize,
    /// Only the fewest most likely tokens that have this much probability; 1 is no limit.
    pub top_p: f32,
    /// Only tokens at least this likely, relative to the most likely one; 0 is no limit.
    pub min_p: f32,
    /// Logits of recent tokens are divided by this when positive, multiplied when negative; 1 does
    /// nothing.
    pub repeat_penalty: f32,
    /// How many recent tokens the penalty looks at.
    pub repeat_last_n: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Settings {
    /// The most likely token always: the setting in which results can be compared.
    pub const GREEDY: Settings = Settings {
        temperature: 0.0,
        top_k: 0,
        top_p: 1.0,
        min_p: 0.0,
        repeat_penalty: 1.0,
        repeat_last_n: 64,
        seed: 0,
    };

    /// What `temperature` may be.
    pub const TEMPERATURE: RangeInclusive<f32> = 0.0..=5.0;
    /// What `top_p` may be: anything above 0, up to 1.
    pub const TOP_P: RangeInclusive<f32> = f32::MIN_POSITIVE..=1.0;
    /// What `min_p` may be.
    pub const MIN_P: RangeInclusive<f32> = 0.0..=1.0;
    /// What `repeat_penalty` may be.
    pub const REPEAT_PENALTY: RangeInclusive<f32> = 0.1..=10.0;
    /// Most tokens that the penalty can look at.
    pub const MAX_REPEAT_LAST_N: usize = 4096;

    /// Checks every setting's range.
    ///
    /// # Errors
    /// The first setting that is out of its range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let ranges = [
            ("temperature", self.temperature, Self::TEMPERATURE),
            ("top_p", self.top_p, Self::TOP_P),
            ("min_p", self.min_p, Self::MIN_P),
            ("repeat_penalty", self.repeat_penalty, Self::REPEAT_PENALTY),
            (
                "repeat_last_n",
                self.repeat_last_n as f32,
                0.0..=Self::MAX_REPEAT_LAST_N as f32,
            ),
        ];
        for (name, value, range) in ranges {
            if !range.contains(&value) {
                return Err(SettingsError {
                    name,
                    value,
                    min: *range.start(),
                    max: *range.end(),
                });
            }
        }
        Ok(())
    }
}

/// A setting out of its range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{name} is {value}; choose a number from {} to {max}", lowest(*.min))]
pub struct SettingsError {
    /// The setting's name.
    pub name: &'static str,
    /// What it was to be.
    pub value: f32,
    /// The lowest value.
    pub min: f32,
    /// The highest value.
    pub max: f32,
}

/// The lowest useful `top_p` is written as what it means: above 0.
fn lowest(min: f32) -> f32 {
    if min == f32::MIN_POSITIVE { 0.0 } else { min }
}
