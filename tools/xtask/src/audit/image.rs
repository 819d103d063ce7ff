//! The kernel's packages and symbols: what it is made of, and that no C is in it.
//!
//! Two witnesses: the dependency graph (no package that links a native library) and the linked image
//! (nothing undefined, nothing dynamic, no symbol of a C library, a C runtime or a BLAS).

use super::code;
use crate::firmware;
use crate::voice::Voice;
use crate::workspace::{TARGET, cargo, printed};
use anyhow::{Context, Result, ensure};
use object::{Object, ObjectSymbol};
use serde::Deserialize;
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
    // all that `kernel` reaches by normal dependencies, macros left out
    let tree = printed(
        cargo()
            .args(["tree", "--locked", "--package=kernel", "--target", TARGET])
            .args(["--edges=normal,no-proc-macro", "--prefix=none"])
            .args(["--no-dedupe", "--format", "{p}"]),
    )?;
    let tree = packages(&tree);
    let metadata = printed(cargo().args(["metadata", "--format-version=1", "--locked"]))?;
    let metadata: Metadata = serde_json::from_str(&metadata)?;
    stdout::line!("{} packages in the kernel:", tree.len())?;
    for (name, version) in &tree {
        stdout::line!("  {name} {version}")?;
    }
    check_native(&tree, &metadata)?;
    stdout::line!("none of them links a native library")?;

    let firmware = firmware::build(voice)?;
    let elf = fs::read(&firmware.elf)?;
    let symbols = symbols(&elf)?;
    check_symbols(&symbols)?;
    stdout::line!(
        "{} symbols in the image: none undefined, none of a C library, a C runtime or a BLAS",
        symbols.len()
    )?;
    stdout::line!("{}", code::check(&elf)?)?;
    Ok(())
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    /// The native library that its build script links.
    links: Option<String>,
}

/// Names and versions in a tree of lines like `llm v0.1.0 (/folder)`.
fn packages(tree: &str) -> BTreeSet<(&str, &str)> {
    tree.lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(" v")?;
            Some((name, rest.split(' ').next()?))
        })
        .collect()
}

fn check_native(tree: &BTreeSet<(&str, &str)>, metadata: &Metadata) -> Result<()> {
    for package in &metadata.packages {
        let name = package.name.as_str();
        let is_native = package.links.is_some() || name.ends_with("-sys");
        ensure!(
            !is_native || !tree.contains(&(name, &package.version)),
            "{name} links a native library: the kernel must not"
        );
    }
    Ok(())
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
    fn only_a_native_package_of_the_kernel_is_refused() {
        let tree = packages(
            "kernel v0.1.0 (/folder)\nmath v1.0.0\nmath v1.0.0\nblas v1.2.0\nz-sys v1.0.0\n",
        );
        assert_eq!(tree.len(), 4);
        assert!(tree.contains(&("kernel", "0.1.0")));
        let check = |name: &str, version: &str, links: Option<&str>| {
            let (name, version, links) = (name.into(), version.into(), links.map(str::to_owned));
            let packages = vec![Package {
                name,
                version,
                links,
            }];
            check_native(&tree, &Metadata { packages }).map_err(|error| error.to_string())
        };
        assert_eq!(check("math", "1.0.0", None), Ok(()));
        assert_eq!(check("checker", "1.0.0", Some("z")), Ok(()));
        assert_eq!(check("blas", "1.0.0", Some("openblas")), Ok(()));
        for (name, version, links) in [
            ("blas", "1.2.0", Some("openblas")),
            ("z-sys", "1.0.0", None),
        ] {
            let error = check(name, version, links).unwrap_err();
            assert!(error.starts_with(&format!("{name} links")), "{error}");
        }
    }
}
