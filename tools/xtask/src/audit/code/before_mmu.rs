//! What runs before the MMU is on: a walk along the branches from the kernel's entry points to the writes of SCTLR.

use super::flow::{Flow, constant_before, flow};
use super::text::Text;
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// Where cores enter the kernel with the MMU off, and where its own branches lead that compute an address.
pub struct Start {
    /// The entry points.
    pub entries: &'static [&'static str],
    /// For each branch to a register: the label before it, and where it leads.
    pub computed: &'static [(&'static str, &'static str)],
}

/// The kernel's. `start.s` copies the mover behind the image and runs the copy, which ends in the image at its place.
pub const START: Start = Start {
    entries: &["_start", "_secondary_start"],
    computed: &[("_start", "__mover"), ("__mover", "__placed")],
};

/// Vectors of a table, and their distance: VBAR_ELx (DDI 0487, D1.3.1).
const VECTORS: u64 = 16;
const VECTOR_BYTES: u64 = 128;

/// System registers by the bits of MSR and MRS without the general register, at EL1, EL2 and EL3.
const SET_SCTLR: [u32; 3] = [0xD518_1000, 0xD51C_1000, 0xD51E_1000];
const SET_VBAR: [u32; 3] = [0xD518_C000, 0xD51C_C000, 0xD51E_C000];
const SET_ELR: [u32; 3] = [0xD518_4020, 0xD51C_4020, 0xD51E_4020];
const GET_SCTLR_EL1: u32 = 0xD538_1000;
/// SCTLR_ELx.M.
const MMU_ON: u64 = 1;

/// The addresses of all instructions that can run with the MMU off; exceptions count.
///
/// # Errors
/// A branch leads where the words do not tell, a write of SCTLR has a value that they do not tell, or control runs into
/// data.
pub fn reached(text: &Text, start: &Start) -> Result<BTreeSet<u64>> {
    let mut walk = Walk {
        text,
        start,
        targets: targets(text)?,
        pending: Vec::new(),
        visited: BTreeSet::new(),
        returns: BTreeSet::new(),
        callers: BTreeMap::new(),
        called_at: BTreeMap::new(),
        computed: BTreeSet::new(),
    };
    for entry in start.entries {
        walk.enter(text.label(entry)?);
    }
    while let Some(place) = walk.pending.pop() {
        if walk.visited.insert(place) {
            let step = walk.step(place);
            step.with_context(|| format!("before the MMU is on: {}", walk.way_to(place)))?;
        }
    }
    for (from, to) in start.computed {
        ensure!(
            walk.computed.contains(from),
            "no branch to a register follows {from}, which the list in before_mmu.rs takes to {to}"
        );
    }
    Ok(walk.visited.iter().map(|place| place.addr).collect())
}

/// All addresses that something in `.text` branches to directly; entries come in on the way.
fn targets(text: &Text) -> Result<BTreeSet<u64>> {
    let mut targets = BTreeSet::new();
    for addr in text.code() {
        match flow(addr, text.word(addr)?) {
            Flow::Jump(to) | Flow::Either(to) | Flow::Call(to) => _ = targets.insert(to),
            _ => {}
        }
    }
    Ok(targets)
}

/// An instruction, in the function that was entered at `function`: where a return leads depends on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    addr: u64,
    function: u64,
}

struct Walk<'t> {
    text: &'t Text,
    start: &'t Start,
    targets: BTreeSet<u64>,
    pending: Vec<Place>,
    visited: BTreeSet<Place>,
    /// Functions that return with the MMU off.
    returns: BTreeSet<u64>,
    /// For each function, where its callers go on.
    callers: BTreeMap<u64, BTreeSet<Place>>,
    /// For each function, the call that was seen first.
    called_at: BTreeMap<u64, Place>,
    /// The rows of `Start::computed` that were needed.
    computed: BTreeSet<&'static str>,
}

impl Walk<'_> {
    fn enter(&mut self, function: u64) {
        let addr = function;
        self.targets.insert(addr);
        self.pending.push(Place { addr, function });
    }

    /// The place and the calls that lead to it.
    fn way_to(&self, mut place: Place) -> String {
        let mut way = self.text.at(place.addr);
        let mut seen = BTreeSet::new();
        while let Some(&call) = self.called_at.get(&place.function)
            && seen.insert(place.function)
        {
            way += &format!(", called by {}", self.text.at(call.addr));
            place = call;
        }
        way
    }

    fn step(&mut self, place: Place) -> Result<()> {
        let Place { addr, function } = place;
        let word = self.text.word(addr)?;
        let next = addr + 4;
        let mut go = |addr| self.pending.push(Place { addr, function });
        match flow(addr, word) {
            Flow::Next => {
                if !self.switches_mmu_on(addr, word)? {
                    self.pending.push(Place {
                        addr: next,
                        function,
                    });
                }
            }
            Flow::Jump(to) => go(to),
            Flow::Either(to) => match self.mmu_test(addr, word)? {
                Some(way) => self.pending.push(Place {
                    addr: way,
                    function,
                }),
                None => self
                    .pending
                    .extend([to, next].map(|addr| Place { addr, function })),
            },
            Flow::Call(to) => {
                self.enter(to);
                self.called_at.entry(to).or_insert(place);
                let after = Place {
                    addr: next,
                    function,
                };
                self.callers.entry(to).or_default().insert(after);
                if self.returns.contains(&to) {
                    self.pending.push(after);
                }
            }
            Flow::Return => {
                self.returns.insert(function);
                let callers = self.callers.get(&function);
                self.pending.extend(callers.into_iter().flatten());
            }
            Flow::Indirect => {
                let computed = self.start.computed.iter();
                let mut known = computed.filter(|(from, _)| self.text.is_below(addr, from));
                let (from, to) = known.next().context(
                    "a branch to a register, and the list in before_mmu.rs does not say where",
                )?;
                self.computed.insert(from);
                self.pending.push(Place {
                    addr: self.text.label(to)?,
                    function,
                });
            }
            Flow::ExceptionReturn => {
                let to = self.return_address(addr)?;
                self.pending.push(Place { addr: to, function });
            }
            Flow::Stop => {}
            Flow::IndirectCall => bail!("a call of a register leads anywhere"),
            Flow::Unknown => bail!("a branch or an exception of a kind that is not followed"),
        }
        Ok(())
    }

    /// Whether the MMU is on behind the instruction, which is no branch. A new table of vectors is entered.
    fn switches_mmu_on(&mut self, addr: u64, word: u32) -> Result<bool> {
        let system_register = word & !0x1F;
        if SET_VBAR.contains(&system_register) {
            let table = self
                .constant(addr, word)
                .context("VBAR gets a value that the words do not tell")?;
            for vector in 0..VECTORS {
                self.enter(table + vector * VECTOR_BYTES);
            }
        }
        if !SET_SCTLR.contains(&system_register) {
            return Ok(false);
        }
        let value = self
            .constant(addr, word)
            .context("SCTLR gets a value that the words do not tell")?;
        let is_on = value & MMU_ON != 0;
        ensure!(
            !is_on || system_register == SET_SCTLR[0],
            "the MMU of another exception level than EL1 is switched on"
        );
        Ok(is_on)
    }

    /// Where a test of SCTLR_EL1.M leads while it is 0, if the branch is one: `mrs xN, sctlr_el1` and `tbz xN, #0`.
    fn mmu_test(&self, addr: u64, word: u32) -> Result<Option<u64>> {
        let is_read = !self.targets.contains(&addr)
            && self.text.word(addr - 4)? == GET_SCTLR_EL1 | word & 0x1F;
        let Flow::Either(to) = flow(addr, word) else {
            return Ok(None);
        };
        // Test and branch (immediate), of bit 0: TBZ, TBNZ
        Ok(match word & 0xFFF8_0000 {
            0x3600_0000 if is_read => Some(to),
            0x3700_0000 if is_read => Some(addr + 4),
            _ => None,
        })
    }

    /// Where ERET leads: the last value of ELR before it.
    fn return_address(&self, addr: u64) -> Result<u64> {
        let mut before = addr;
        while !self.targets.contains(&before) {
            before -= 4;
            let word = self.text.word(before)?;
            if SET_ELR.contains(&(word & !0x1F)) {
                return self.constant(before, word);
            }
            if flow(before, word) != Flow::Next {
                break;
            }
        }
        bail!("an ERET, and the instructions before it do not set ELR")
    }

    /// The value of the register that the MSR `word` at `addr` reads.
    fn constant(&self, addr: u64, word: u32) -> Result<u64> {
        let is_target = |addr| self.targets.contains(&addr);
        constant_before(self.text, is_target, addr, word & 0x1F)?
            .context("the register's value is not a constant of the instructions before")
    }
}
