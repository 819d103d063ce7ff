//! Rust's core library for the board.

use super::rustc::rustc;
use super::{rust_source, succeeds};
use crate::voice::Voice;
use crate::workspace::{TARGET, output_dir};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::process::{Command, Stdio};

/// Makes sure that crates can be compiled for the board.
///
/// # Errors
/// The target is missing and cannot be installed; the message says what to do.
pub fn ensure(voice: Voice) -> Result<()> {
    let rustup = || {
        succeeds(Command::new("rustup").arg("--version")).then(|| {
            voice.run(
                &format!("Installing Rust's {TARGET} target"),
                Command::new("rustup").args(["target", "add", TARGET]),
            )
        })
    };
    bring(&works, &rustup, &|| rust_source::build_target(voice))
}

/// Brings the target where crates do not compile for the board yet: by rustup, which may not be there, or out of the
/// source package of exactly this rustc.
fn bring(
    works: &dyn Fn() -> Result<bool>,
    add_by_rustup: &dyn Fn() -> Option<Result<()>>,
    build_from_source: &dyn Fn() -> Result<()>,
) -> Result<()> {
    if works()? {
        return Ok(());
    }
    let by_rustup = match add_by_rustup() {
        Some(Ok(())) if works()? => return Ok(()),
        Some(Ok(())) => "rustup has added it to another toolchain than rustc's".to_owned(),
        Some(Err(error)) => format!("{error:#}"),
        None => "there is no rustup here".to_owned(),
    };
    if let Err(error) = build_from_source() {
        bail!(
            "rustc has no {TARGET} target ({by_rustup}; {error:#}): run `rustup target add {TARGET}` where Rust's \
             servers can be reached, then start again"
        );
    }
    ensure!(
        works()?,
        "the target was made, but rustc cannot use it: was rustc updated meanwhile? Start again"
    );
    Ok(())
}

/// Compiles a crate of two lines for the board: files that are there but belong to another rustc do not count.
fn works() -> Result<bool> {
    let dir = output_dir().join("setup");
    fs::create_dir_all(&dir)?;
    let probe = dir.join("target_probe.rs");
    fs::write(&probe, "#![no_std]\nextern crate alloc;\n")?;
    let status = Command::new(rustc())
        .args(["--crate-type=lib", "--emit=metadata", "--target", TARGET])
        .arg("--out-dir")
        .arg(&dir)
        .arg(&probe)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("rustc cannot be started: install Rust first")?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;
    use anyhow::anyhow;
    use std::cell::{Cell, RefCell};

    /// A machine whose rustup and source package do what they are told, and that writes down what was asked.
    struct Fake {
        has_target: Cell<bool>,
        rustup: Option<Result<bool, &'static str>>,
        source: Result<bool, &'static str>,
        asked: RefCell<Vec<&'static str>>,
    }

    impl Fake {
        fn new(
            rustup: Option<Result<bool, &'static str>>,
            source: Result<bool, &'static str>,
        ) -> Fake {
            let (has_target, asked) = (Cell::new(false), RefCell::default());
            Fake {
                has_target,
                rustup,
                source,
                asked,
            }
        }

        fn ask(&self, who: &'static str, answer: Result<bool, &'static str>) -> Result<()> {
            self.asked.borrow_mut().push(who);
            self.has_target.set(answer.map_err(|error| anyhow!(error))?);
            Ok(())
        }

        /// What becomes of it, and who was asked.
        fn run(self) -> (Result<(), String>, Vec<&'static str>) {
            let rustup = || self.rustup.map(|answer| self.ask("rustup", answer));
            let source = || self.ask("source", self.source);
            let result = bring(&|| Ok(self.has_target.get()), &rustup, &source);
            let result = result.map_err(|error| format!("{error:#}"));
            (result, self.asked.into_inner())
        }
    }

    #[test]
    fn a_target_that_is_there_is_left_alone() {
        let machine = Fake::new(Some(Ok(true)), Ok(true));
        machine.has_target.set(true);
        assert_eq!(machine.run(), (Ok(()), vec![]));
    }

    #[test]
    fn rustup_comes_first_and_alone_where_it_works() {
        let machine = Fake::new(Some(Ok(true)), Ok(true));
        assert_eq!(machine.run(), (Ok(()), vec!["rustup"]));
    }

    #[test]
    fn the_source_package_helps_where_rustup_does_not() {
        for (rustup, asked) in [
            (None, vec!["source"]),
            (Some(Err("no route to host")), vec!["rustup", "source"]),
            (Some(Ok(false)), vec!["rustup", "source"]),
        ] {
            assert_eq!(Fake::new(rustup, Ok(true)).run(), (Ok(()), asked));
        }
    }

    #[test]
    fn one_line_says_what_failed_and_what_to_do() {
        for (rustup, why) in [
            (None, "there is no rustup here"),
            (Some(Err("no route to host")), "no route to host"),
            (Some(Ok(false)), "another toolchain"),
        ] {
            let (result, _) = Fake::new(rustup, Err("testing has 1.97.1")).run();
            let error = result.unwrap_err();
            assert!(
                error.contains(why) && error.contains("; testing has 1.97.1)"),
                "{error}"
            );
            assert!(
                error.contains("run `rustup target add aarch64-unknown-none`"),
                "{error}"
            );
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn a_target_that_does_not_work_is_no_success() {
        let (result, _) = Fake::new(None, Ok(false)).run();
        assert!(result.unwrap_err().contains("rustc cannot use it"));
    }

    #[test]
    fn no_file_pins_a_toolchain() {
        // its targets or components would have to be downloaded before cargo starts, on every machine
        for name in ["rust-toolchain", "rust-toolchain.toml"] {
            assert!(!root().join(name).exists(), "{name}");
        }
    }
}
