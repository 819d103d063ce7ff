//! Settings that hold for some models: the sections of `pilm.txt`.

use super::{Effect, Setting, SettingError, Settings};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What holds while a model is loaded whose file name begins so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    name: String,
    values: Vec<(Setting, String)>,
}

impl Section {
    /// An empty section.
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_string(),
            values: Vec::new(),
        }
    }

    /// Sets `key` to `value`, both as typed.
    ///
    /// # Errors
    /// [`SettingError`]; also for a setting that no model can have for itself.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), SettingError> {
        let setting = Settings::default().set(key, value)?;
        let is_of_console = matches!(setting, Setting::Columns | Setting::Stats | Setting::Baud);
        if is_of_console || setting.effect() == Effect::Boot {
            return Err(SettingError::NotOfModel { setting });
        }
        self.values.push((setting, value.to_string()));
        Ok(())
    }

    /// Whether it is for a model at all.
    pub(super) fn has_name(&self) -> bool {
        !self.name.is_empty()
    }

    fn is_for(&self, file: &str) -> bool {
        let start = file.as_bytes().get(..self.name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(self.name.as_bytes()))
    }
}

/// Where settings come from, each overriding those before: the start, the sections, what was set since.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Layers {
    start: Settings,
    sections: Vec<Section>,
    since: Vec<(Setting, String)>,
}

impl Layers {
    /// The settings of the start and the sections.
    pub fn new(start: Settings, sections: Vec<Section>) -> Self {
        Self {
            start,
            sections,
            since: Vec::new(),
        }
    }

    /// Notes what was set by now: it outlives the model.
    pub fn note(&mut self, setting: Setting, value: &str) {
        self.since.retain(|(earlier, _)| *earlier != setting);
        self.since.push((setting, value.to_string()));
    }

    /// The settings while the model in `file` is loaded.
    pub fn for_model(&self, file: &str) -> Settings {
        let mut settings = self.start.clone();
        let sections = self.sections.iter().filter(|section| section.is_for(file));
        let values = sections.flat_map(|section| &section.values);
        for (setting, value) in values.chain(&self.since) {
            // It was taken once already.
            let _ = settings.set(setting.key(), value);
        }
        settings
    }
}
