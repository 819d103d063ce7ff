//! `cargo xtask mca`: cycles of the image's hot loops on a Cortex-A72, as LLVM's model sees them.
//!
//! The loops are found in the shipped image: innermost loops that multiply int8 (`smull`, `smlal2`,
//! 8 products each), mask them by bits or accumulate floats (`fmla`, 4 each). The model knows the pipelines, not caches
//! and DRAM, and takes the A72 for an A57: figures to compare, not to time by.

mod hot;

pub use hot::{LoopCost, decode_loop, section};

use crate::voice::Voice;
use crate::workspace::printed;
use crate::{figures, firmware};
use anyhow::{Context, Result, bail, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::NamedTempFile;

/// The figures' file, and the section of docs/speed.md.
pub const FIGURES: &str = "mca";
/// LLVM's tools, as Debian names them; without a number where that is the name.
const VERSIONS: [&str; 6] = ["", "-22", "-21", "-20", "-19", "-18"];
/// Loops that multiply less often than this per turn are not what a product is made of.
const FEWEST_PRODUCTS: u64 = 16;
const TURNS: u64 = 100;
/// Parts of the names of functions that compute for comparison only.
const NOT_HOT: [&str; 2] = ["selftest", "scalar"];
/// Part of the names of functions that multiply with int8 activations.
const QUANTISED: &str = "gemm_quantized";
/// Part of the names of functions with dequantize kernels.
const DEQUANTIZED: &str = "gemm_dequantized";

/// An innermost loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Demangled name of the function that it is in.
    pub function: String,
    /// Address of its first instruction.
    pub addr: u64,
    /// Its instructions, the closing branch left out.
    pub body: Vec<String>,
}

/// What the model says about a loop.
#[derive(Clone, Debug)]
pub struct Cost {
    /// The loop.
    pub site: Loop,
    /// Cycles per turn.
    pub cycles: f64,
    /// Products per turn.
    pub products: u64,
}

impl Cost {
    /// Cycles per 32 products: per 32 weights of one token.
    pub fn cycles_per_32(&self) -> f64 {
        self.cycles * 32.0 / self.products as f64
    }

    /// Instructions per 32 products, the closing branch included.
    pub fn instructions_per_32(&self) -> f64 {
        self.n_instructions() as f64 * 32.0 / self.products as f64
    }

    fn n_instructions(&self) -> usize {
        self.site.body.len() + 1
    }
}

/// What to look at.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Another ELF than the kernel's.
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    /// Write the loops that matter to docs/figures and render docs/speed.md.
    #[arg(long)]
    pub write: bool,
}

/// Prints the cost of the hot loops of the kernel, which is built first.
///
/// # Errors
/// The kernel does not build, LLVM's tools are missing, or a loop misses its bar.
pub fn mca(options: &Options) -> Result<()> {
    let build = || firmware::build(Voice::new(false)).map(|firmware| firmware.elf);
    let elf = options.elf.clone().map_or_else(build, Ok)?;
    let listing = disassemble(&elf)?;
    let mut costs = Vec::new();
    for site in innermost_loops(&listing) {
        if NOT_HOT.iter().any(|part| site.function.contains(part)) {
            continue;
        }
        let products = products(&site);
        if products >= FEWEST_PRODUCTS {
            let cycles = cycles_per_turn(&site.body)?;
            costs.push(Cost {
                site,
                cycles,
                products,
            });
        }
    }
    ensure!(!costs.is_empty(), "no loop of the image multiplies");
    let hot = hot::loops(&costs)?;
    stdout::text!("{}\nAll loops:\n\n{}", section(&hot), table(&costs))?;
    if options.write {
        figures::write(FIGURES, &hot)?;
    }
    let misses = hot::misses(&hot);
    if !misses.is_empty() {
        bail!("{}", misses.join("\n"));
    }
    Ok(())
}

fn table(costs: &[Cost]) -> String {
    let mut table = format!(
        "{:>8} {:>7} {:>8} {:>8}  function\n",
        "products", "instr.", "cycles", "per 32"
    );
    for cost in costs {
        table.push_str(&format!(
            "{:>8} {:>7} {:>8.2} {:>8.2}  {} at {:#x}\n",
            cost.products,
            cost.n_instructions(),
            cost.cycles,
            cost.cycles_per_32(),
            cost.site.function,
            cost.site.addr
        ));
    }
    table
}

/// The name under which an LLVM tool is installed.
fn tool(name: &str) -> Result<String> {
    VERSIONS
        .iter()
        .map(|version| format!("{name}{version}"))
        .find(|program| printed(Command::new(program).arg("--version")).is_ok())
        .with_context(|| format!("{name} is not installed: it is in Debian's package llvm-19"))
}

fn disassemble(elf: &Path) -> Result<String> {
    let mut objdump = Command::new(tool("llvm-objdump")?);
    objdump.args(["--disassemble", "--demangle", "--no-show-raw-insn"]);
    printed(objdump.arg("--section=.text").arg(elf))
}

/// An address, and the instruction there.
type Instruction<'t> = (u64, &'t str);

/// The innermost loops of a listing: a branch back to an instruction with no other such branch between.
fn innermost_loops(listing: &str) -> Vec<Loop> {
    let mut loops = Vec::new();
    let mut function = "";
    let mut instructions: Vec<Instruction<'_>> = Vec::new();
    for line in listing.lines().chain(["0 <end>:"]) {
        if let Some(name) = line
            .split_once(" <")
            .filter(|(addr, _)| !addr.is_empty() && addr.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|(_, rest)| rest.strip_suffix(">:"))
        {
            loops.extend(loops_of(function, &instructions));
            function = name;
            instructions.clear();
        } else if let Some((addr, text)) = line.trim_start().split_once(':')
            && let Ok(addr) = u64::from_str_radix(addr, 16)
        {
            instructions.push((addr, text.trim()));
        }
    }
    loops
}

fn loops_of(function: &str, instructions: &[Instruction<'_>]) -> Vec<Loop> {
    let mut loops = Vec::new();
    // after the last branch back, nothing before it can start an innermost loop
    let mut barrier = 0;
    for (end, (_, text)) in instructions.iter().enumerate() {
        let back = branch_target(text).and_then(|target| {
            let mut until = instructions[..=end].iter();
            until.position(|&(addr, _)| addr == target)
        });
        let Some(start) = back else {
            continue;
        };
        let inside = instructions.get(start..end).unwrap_or_default();
        // a call hides what is done in a turn
        if start >= barrier && !inside.iter().any(|(_, text)| text.starts_with("bl")) {
            let texts = inside.iter().map(|&(_, text)| text);
            let body = texts.filter(|text| branch_target(text).is_none());
            loops.push(Loop {
                function: function.to_owned(),
                addr: instructions[start].0,
                body: body
                    .map(|text| text.split(" <").next().unwrap_or(text).to_owned())
                    .collect(),
            });
        }
        barrier = end + 1;
    }
    loops
}

/// Where a branch inside a function goes: `b.ne 0x80010 <name+0x10>`, `cbz x0, 0x80010 <…>`.
fn branch_target(text: &str) -> Option<u64> {
    let (mnemonic, operands) = text.split_once(char::is_whitespace)?;
    let is_branch = mnemonic == "b"
        || mnemonic.starts_with("b.")
        || ["cbz", "cbnz", "tbz", "tbnz"].contains(&mnemonic);
    if !is_branch {
        return None;
    }
    let target = operands.split(" <").next()?.rsplit(", ").next()?;
    u64::from_str_radix(target.trim().strip_prefix("0x")?, 16).ok()
}

/// Products per turn of a loop: of int8 if there are any, whose sums a few float products then scale; else of floats.
///
/// Dequantize kernels scale each weight, right after it has become a float, by `fmul`, or by `fmla` if it has a
/// minimum; that is no product with an activation.
fn products(site: &Loop) -> u64 {
    let count = |mnemonics: &[&str], lanes: &str| {
        site.body
            .iter()
            .filter(|text| text.contains(lanes))
            .filter_map(|text| text.split_whitespace().next())
            .filter(|mnemonic| mnemonics.contains(mnemonic))
            .count() as u64
    };
    let int8 = 8 * count(&["smull", "smull2", "smlal", "smlal2"], ".8h");
    if int8 > 0 {
        return int8;
    }
    // Weights of one bit are masks; of a block's two sums the second is accumulated onto the first.
    let signs = 32 * count(&["sadalp"], ".16b");
    if signs > 0 && site.function.contains(QUANTISED) {
        return signs;
    }
    let scaled = if site.function.contains(DEQUANTIZED) {
        count(&["scvtf", "ucvtf"], ".4s").saturating_sub(count(&["fmul"], ".4s"))
    } else {
        0
    };
    4 * count(&["fmla"], ".4s").saturating_sub(scaled)
}

fn cycles_per_turn(body: &[String]) -> Result<f64> {
    let mut input = NamedTempFile::new()?;
    writeln!(input, "{}", body.join("\n"))?;
    let mut mca = Command::new(tool("llvm-mca")?);
    mca.args(["-march=aarch64", "-mcpu=cortex-a72"])
        .arg(format!("-iterations={TURNS}"))
        .arg(input.path());
    let cycles = total_cycles(&printed(&mut mca)?).context("llvm-mca tells no cycles")?;
    Ok(cycles as f64 / TURNS as f64)
}

fn total_cycles(report: &str) -> Option<u64> {
    report
        .lines()
        .find_map(|line| line.strip_prefix("Total Cycles:"))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
0000000000080000 <ops::neon::dot>:
   80000:      \tmov\tx0, #0x0
   80004:      \tldp\tq0, q1, [x1]
   80008:      \tsmull\tv2.8h, v0.8b, v1.8b
   8000c:      \tsmlal2\tv2.8h, v0.16b, v1.16b
   80010:      \tcbz\tx3, 0x80018 <ops::neon::dot+0x18>
   80014:      \tsadalp\tv3.4s, v2.8h
   80018:      \tsubs\tx0, x0, #0x1
   8001c:      \tb.ne\t0x80004 <ops::neon::dot+0x4>
   80020:      \tcbnz\tx4, 0x80000 <ops::neon::dot>
   80024:      \tret

0000000000080028 <other>:
   80028:      \tbl\t0x80000 <ops::neon::dot>
   8002c:      \tb\t0x80028 <other>
";

    #[test]
    fn innermost_loops_without_calls_are_found() {
        let loops = innermost_loops(LISTING);
        assert_eq!(loops.len(), 1);
        assert_eq!(loops[0].function, "ops::neon::dot");
        assert_eq!(loops[0].addr, 0x8_0004);
        assert_eq!(
            loops[0].body,
            [
                "ldp\tq0, q1, [x1]",
                "smull\tv2.8h, v0.8b, v1.8b",
                "smlal2\tv2.8h, v0.16b, v1.16b",
                "sadalp\tv3.4s, v2.8h",
                "subs\tx0, x0, #0x1"
            ]
        );
        assert_eq!(products(&loops[0]), 16);
    }

    #[test]
    fn scaling_a_weight_is_no_product() {
        let site = |function: &str, scale: &str| Loop {
            function: function.into(),
            addr: 0x8_0000,
            body: ["scvtf\tv1.4s, v1.4s", scale, "fmla\tv0.4s, v1.4s, v4.4s"]
                .map(str::to_owned)
                .to_vec(),
        };
        let by_fmla = "fmla\tv1.4s, v2.4s, v3.4s";
        assert_eq!(products(&site("gemm_dequantized::<Q4_1, 1>", by_fmla)), 4);
        let by_fmul = "fmul\tv1.4s, v1.4s, v3.4s";
        assert_eq!(products(&site("gemm_dequantized::<Q8_0, 1>", by_fmul)), 4);
        assert_eq!(products(&site("attend", by_fmla)), 8);
    }

    #[test]
    fn masked_activations_are_products_where_weights_are_bits() {
        let site = |function: &str| Loop {
            function: function.into(),
            addr: 0x8_0000,
            body: [
                "and\tv1.16b, v2.16b, v3.16b",
                "saddlp\tv1.8h, v1.16b",
                "sadalp\tv1.8h, v4.16b",
                "sadalp\tv5.4s, v1.8h",
            ]
            .map(str::to_owned)
            .to_vec(),
        };
        assert_eq!(products(&site("gemm_quantized::<Q1_0, 1>")), 32);
        assert_eq!(products(&site("quantize")), 0);
    }

    #[test]
    fn the_model_s_report_is_read() {
        let report = "Iterations:        100\nTotal Cycles:      517\n";
        assert_eq!(total_cycles(report), Some(517));
        assert_eq!(total_cycles("error"), None);
    }
}
