//! How an answer is sampled where nobody has set it: that depends on who asks.

use super::Settings;

/// Who wants an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// Wants an answer to read, and no loops: small models fall into them when the likeliest token is always taken.
    Person,
    /// Wants the answer that it can compare with others: the likeliest token always.
    Program,
}

/// A person's, where nothing is set.
const TEMPERATURE: f32 = 0.7;
/// A person's at a temperature that is not 0, where nothing is set.
const REPEAT_PENALTY: f32 = 1.05;

impl Settings {
    /// The temperature of an answer.
    pub fn temperature_for(&self, asker: Asker) -> f32 {
        self.temperature.unwrap_or(match asker {
            Asker::Person => TEMPERATURE,
            Asker::Program => 0.0,
        })
    }

    /// The repeat penalty of an answer. Who has set the temperature to 0 wants the likeliest token, and none.
    pub fn repeat_penalty_for(&self, asker: Asker) -> f32 {
        self.repeat_penalty.unwrap_or(match asker {
            Asker::Person if self.temperature_for(asker) > 0.0 => REPEAT_PENALTY,
            Asker::Person | Asker::Program => 1.0,
        })
    }
}
