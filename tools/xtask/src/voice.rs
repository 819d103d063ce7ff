//! What xtask says while it works: on stderr, so that stdout carries results alone.

use crate::workspace::printed;
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How much is said. Progress is drawn only where stderr is a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Voice {
    quiet: bool,
}

impl Voice {
    /// Says each step; with `quiet`, only shows bars that vanish when they are done.
    pub fn new(quiet: bool) -> Voice {
        Voice { quiet }
    }

    /// Whether only bars are shown.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// One line about what happens now.
    pub fn say(self, line: impl AsRef<str>) {
        if !self.quiet {
            eprintln!("{}", line.as_ref());
        }
    }

    /// A bar for `total` bytes of `what`.
    pub fn bytes(self, what: &str, total: u64) -> ProgressBar {
        let style = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {eta}")
            .expect("the template is valid");
        ProgressBar::new(total)
            .with_style(style)
            .with_message(what.to_owned())
    }

    /// A sign of life for work whose length is not known.
    pub fn spinner(self, what: &str) -> ProgressBar {
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
            .expect("the template is valid");
        let bar = ProgressBar::new_spinner()
            .with_style(style)
            .with_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        bar
    }

    /// Runs `command`, whose output is what the person asked for.
    ///
    /// # Errors
    /// The command cannot be started or does not succeed.
    pub fn show(self, what: &str, command: &mut Command) -> Result<()> {
        self.say(what);
        let program = command.get_program().to_string_lossy().into_owned();
        let status = command
            .status()
            .with_context(|| format!("{program} cannot be started"))?;
        if !status.success() {
            bail!("{what}: {program} failed ({status}); its own message is above");
        }
        Ok(())
    }

    /// Runs `command`, which shows its own progress; when quiet its output is shown only if it fails.
    ///
    /// # Errors
    /// The command cannot be started or does not succeed.
    pub fn run(self, what: &str, command: &mut Command) -> Result<()> {
        if !self.quiet {
            // what the command prints is progress, never a result: keep it off stdout
            return self.show(what, command.stdout(std::io::stderr()));
        }
        let bar = self.spinner(what);
        let result = printed(command.stdin(Stdio::null()));
        bar.finish_and_clear();
        result.map(drop).context(what.to_owned())
    }
}
