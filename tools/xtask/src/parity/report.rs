//! A section of the page in the making.

use crate::marked::with_section;
use crate::voice::Voice;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Text, and which of the comparisons in it failed.
pub struct Report {
    voice: Voice,
    text: String,
    failed: Vec<String>,
}

impl Report {
    /// An empty one.
    pub fn new(voice: Voice) -> Report {
        Report {
            voice,
            text: String::new(),
            failed: Vec::new(),
        }
    }

    /// Appends `text`.
    pub fn text(&mut self, text: &str) {
        self.text += text;
    }

    /// Appends what `command` prints; a comparison that does not succeed is noted as failed.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn output(&mut self, what: &str, command: &mut Command) -> Result<()> {
        self.voice.say(format!("{what} …"));
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("{what}: the program cannot be started"))?;
        self.text += &String::from_utf8_lossy(&output.stdout);
        self.hold(what, output.status.success());
        Ok(())
    }

    /// Notes that `what` holds, or not.
    pub fn hold(&mut self, what: &str, holds: bool) {
        if !holds {
            self.failed.push(what.to_owned());
        }
    }

    /// Puts the text between the marks `section` of `page`; what failed.
    ///
    /// # Errors
    /// The page or its marks are missing, or it cannot be written.
    pub fn write(self, section: &str, page: &Path) -> Result<Vec<String>> {
        let name = page.display();
        let old = fs::read_to_string(page).with_context(|| format!("reading {name}"))?;
        let new = with_section(&old, section, &self.text)
            .with_context(|| format!("{name} has no marks for {section}"))?;
        fs::write(page, new).with_context(|| format!("writing {name}"))?;
        self.voice.say(format!("Written: {section} in {name}"));
        Ok(self.failed)
    }
}
