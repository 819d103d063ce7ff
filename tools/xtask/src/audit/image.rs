//! The kernel's packages and symbols: what it is made of, and that no C is in it.
//!
//! Two witnesses: the dependency graph (no package that links a native library) and the linked image
//! (nothing undefined, nothing dynamic, no symbol of a C library, a C runtime or a BLAS).

use crate::firmware;
use crate::voice::Voice;
use crate::workspace::{TARGET, cargo};
use anyhow::{Context, Result, bail, ensure};
use object::{Object, ObjectSymbol};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Symbols that only a C library, its start-up code, or a Fortran-style BLAS brings.
const FOREIGN: [&str; 14] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "printf",
    "fopen",
    "pthread_create",
    "__libc_start_main",
    "__cxa_atexit",
    "_init",
    "_fini",
    "sgemm_",
    "dgemm_",
    "sgemv_",
];
/// Beginnings of such symbols.
const FOREIGN_PREFIXES: [&str; 5] = ["cblas_", "openblas", "__libc_", "__cxa_", "_ZSt"];

/// Prints both witnesses' findings.
///
/// # Errors
/// Something foreign is in the kernel.
pub fn audit() -> Result<()> {
    let voice = Voice::new(false);
    let packages = packages(&metadata()?)?;
    stdout::line!("{} packages in the kernel:", packages.len())?;
    for package in &packages {
        stdout::line!("  {} {}", package.name, package.version)?;
    }
    let native: Vec<_> = packages.iter().filter(|p| p.is_native()).collect();
    if let Some(package) = native.first() {
        bail!(
            "{} links a native library: the kernel must not",
            package.name
        );
    }
    stdout::line!("none of them links a native library")?;

    let firmware = firmware::build(voice)?;
    let elf = fs::read(&firmware.elf)?;
    let symbols = symbols(&elf)?;
    check_symbols(&symbols)?;
    stdout::line!(
        "{} symbols in the image: none undefined, none of a C library, a C runtime or a BLAS",
        symbols.len()
    )?;
    Ok(())
}

/// A package of the kernel.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    /// The native library that its build script links, by the manifest's `links`.
    links: Option<String>,
}

impl Package {
    fn is_native(&self) -> bool {
        self.links.is_some() || self.name.ends_with("-sys")
    }
}

fn metadata() -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", TARGET])
        .output()
        .context("cargo cannot be started")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The packages that are compiled into `kernel`: all that it reaches by normal dependencies.
fn packages(metadata: &Value) -> Result<BTreeSet<Package>> {
    let list = |value: &Value, key: &str| -> Result<Vec<Value>> {
        let list = value[key].as_array();
        Ok(list.with_context(|| format!("no {key}"))?.clone())
    };
    let packages = list(metadata, "packages")?;
    let nodes = list(&metadata["resolve"], "nodes")?;
    let kernel = packages.iter().find(|p| p["name"] == "kernel");
    let mut to_visit = vec![kernel.context("no package kernel")?["id"].clone()];
    let mut seen = BTreeSet::new();
    let mut found = BTreeSet::new();
    while let Some(id) = to_visit.pop() {
        if !seen.insert(id.to_string()) {
            continue;
        }
        let package = packages.iter().find(|p| p["id"] == id);
        let package = package.with_context(|| format!("no package {id}"))?;
        let text = |key: &str| package[key].as_str().map(str::to_owned);
        let macros_only = package["targets"]
            .as_array()
            .is_some_and(|targets| targets.iter().any(|t| t["kind"][0] == "proc-macro"));
        if macros_only {
            continue;
        }
        found.insert(Package {
            name: text("name").context("a package without a name")?,
            version: text("version").context("a package without a version")?,
            links: text("links"),
        });
        let node = nodes.iter().find(|n| n["id"] == id);
        for dependency in list(node.with_context(|| format!("no node {id}"))?, "deps")? {
            let normal = list(&dependency, "dep_kinds")?
                .iter()
                .any(|kind| kind["kind"].is_null());
            if normal {
                to_visit.push(dependency["pkg"].clone());
            }
        }
    }
    Ok(found)
}

/// A symbol's name, and whether the image lacks it.
type Symbol = (String, bool);

fn symbols(elf: &[u8]) -> Result<Vec<Symbol>> {
    let file = object::File::parse(elf).context("the kernel is no ELF file")?;
    ensure!(
        file.section_by_name(".dynamic").is_none() && file.section_by_name(".interp").is_none(),
        "the kernel asks for a dynamic linker"
    );
    let symbols: Vec<Symbol> = file
        .symbols()
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some((name.to_owned(), symbol.is_undefined()))
        })
        .collect();
    ensure!(
        !symbols.is_empty(),
        "the kernel has no symbols: nothing can be told"
    );
    Ok(symbols)
}

fn check_symbols(symbols: &[Symbol]) -> Result<()> {
    for (name, undefined) in symbols {
        ensure!(!undefined, "{name} is used in the kernel, and not in it");
        let foreign = FOREIGN.contains(&name.as_str())
            || FOREIGN_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix));
        ensure!(
            !foreign,
            "{name} is in the kernel: a C library, a C runtime or a BLAS has come in"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn symbol(name: &str, undefined: bool) -> Symbol {
        (name.to_owned(), undefined)
    }

    #[test]
    fn foreign_and_missing_symbols_are_found() {
        let own = symbol("_RNvCs1_6kernel4main", false);
        assert!(check_symbols(&[own.clone(), symbol("memcpy", false)]).is_ok());
        for name in ["malloc", "cblas_sgemv", "__libc_start_main"] {
            let error = check_symbols(&[own.clone(), symbol(name, false)]).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        assert!(check_symbols(&[own, symbol("memcpy", true)]).is_err());
    }

    #[test]
    fn only_what_is_compiled_in_counts() {
        let dependency = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind, "target": null}]});
        let package = |name: &str, kind: &str, links: Value| {
            json!({"id": name, "name": name, "version": "1.0.0", "links": links,
                   "targets": [{"kind": [kind]}]})
        };
        let node = |name: &str, deps: Vec<Value>| json!({"id": name, "deps": deps});
        let metadata = json!({
            "packages": [
                package("kernel", "bin", Value::Null),
                package("math", "lib", Value::Null),
                package("blas", "lib", json!("openblas")),
                package("derive", "proc-macro", Value::Null),
                package("checker", "lib", json!("z")),
            ],
            "resolve": {"nodes": [
                node("kernel", vec![
                    dependency("math", Value::Null),
                    dependency("derive", Value::Null),
                    dependency("checker", json!("dev")),
                ]),
                node("math", vec![dependency("blas", Value::Null)]),
                node("blas", vec![]),
                node("derive", vec![]),
                node("checker", vec![]),
            ]},
        });
        let found = packages(&metadata).unwrap();
        let names: Vec<_> = found.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["blas", "kernel", "math"]);
        let native: Vec<_> = found.iter().filter(|p| p.is_native()).collect();
        assert_eq!(native.len(), 1);
        assert_eq!(native[0].name, "blas");
    }
}
