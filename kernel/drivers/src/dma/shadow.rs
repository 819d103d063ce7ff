//! Memory that lies as hardware does: a device has a copy of its own, and lines move between the two by
//! maintenance, by evictions and by prefetches alone.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::Caches;

pub(crate) const LINE: usize = 64;
type Line = [u8; LINE];

/// What memory holds where nothing was ever written back.
const JUNK: Line = [0xA5; LINE];

/// Memory and the caches before it.
pub(crate) struct ShadowMemory {
    /// Ranges that exist: virtual address, length, physical address. Whole lines that outlive this.
    ranges: RefCell<Vec<(usize, usize, usize)>>,
    memory: RefCell<HashMap<usize, Line>>,
    /// What each line held when memory and cache last agreed.
    agreed: RefCell<HashMap<usize, Line>>,
    random: Cell<u64>,
}

/// A line as the cores see it.
fn core_line(addr: usize) -> Line {
    // SAFETY: one of `ShadowMemory::ranges`, all of which outlive it and are whole lines.
    unsafe { core::ptr::with_exposed_provenance::<Line>(addr).read() }
}

fn set_core_line(addr: usize, line: Line) {
    // SAFETY: as above; a driver hands the line to a device at this moment, and reads it later.
    unsafe { core::ptr::with_exposed_provenance_mut::<Line>(addr).write(line) }
}

impl ShadowMemory {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            ranges: RefCell::default(),
            memory: RefCell::default(),
            agreed: RefCell::default(),
            random: Cell::new(seed),
        }
    }

    /// Lets `bytes` be at the physical address `phys`, and nothing else there.
    pub(crate) fn map<T: ?Sized>(&self, bytes: &mut T, phys: usize) {
        let len = size_of_val(bytes);
        let addr = core::ptr::from_mut(bytes).expose_provenance();
        assert!([addr, len, phys].iter().all(|n| n.is_multiple_of(LINE)));
        let mut ranges = self.ranges.borrow_mut();
        let are_apart = |a: usize, b: usize, b_len: usize| a + len <= b || b + b_len <= a;
        ranges.retain(|r| are_apart(addr, r.0, r.1) && are_apart(phys, r.2, r.1));
        ranges.push((addr, len, phys));
    }

    pub(crate) fn phys_addr(&self, addr: usize, len: usize) -> Option<usize> {
        let holds = |r: &&(usize, usize, usize)| r.0 <= addr && addr + len <= r.0 + r.1;
        let ranges = self.ranges.borrow();
        ranges.iter().find(holds).map(|r| r.2 + addr - r.0)
    }

    fn addr_of_phys(&self, phys: usize) -> Option<usize> {
        let holds = |r: &&(usize, usize, usize)| (r.2..r.2 + r.1).contains(&phys);
        let ranges = self.ranges.borrow();
        ranges.iter().find(holds).map(|r| r.0 + phys - r.2)
    }

    /// A random number below `n`.
    pub(crate) fn below(&self, n: usize) -> usize {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        (x >> 16) as usize % n
    }

    fn memory_line(&self, addr: usize) -> Line {
        *self.memory.borrow().get(&addr).unwrap_or(&JUNK)
    }

    fn is_clean(&self, addr: usize) -> bool {
        self.agreed.borrow().get(&addr) == Some(&core_line(addr))
    }

    fn write_back(&self, addr: usize) {
        let line = core_line(addr);
        self.memory.borrow_mut().insert(addr, line);
        self.agreed.borrow_mut().insert(addr, line);
    }

    /// The cores' next read finds what is in memory.
    fn drop_line(&self, addr: usize) {
        let line = self.memory_line(addr);
        set_core_line(addr, line);
        self.agreed.borrow_mut().insert(addr, line);
    }

    /// A device's read of `buf.len()` bytes; nothing where there is no memory.
    pub(crate) fn read(&self, phys: usize, buf: &mut [u8]) -> Option<()> {
        for (i, byte) in buf.iter_mut().enumerate() {
            let addr = self.addr_of_phys(phys + i)?;
            *byte = self.memory_line(addr / LINE * LINE)[addr % LINE];
        }
        Some(())
    }

    pub(crate) fn read_word(&self, phys: usize) -> Option<u32> {
        let mut bytes = [0; 4];
        self.read(phys, &mut bytes)?;
        Some(u32::from_le_bytes(bytes))
    }

    /// A device's write.
    pub(crate) fn write(&self, phys: usize, bytes: &[u8]) -> Option<()> {
        let mut phys = phys;
        let mut rest = bytes;
        while !rest.is_empty() {
            let addr = self.addr_of_phys(phys)?;
            let (start, at) = (addr / LINE * LINE, addr % LINE);
            let (piece, after) = rest.split_at(rest.len().min(LINE - at));
            let mut line = self.memory_line(start);
            line[at..at + piece.len()].copy_from_slice(piece);
            self.memory.borrow_mut().insert(start, line);
            phys += piece.len();
            rest = after;
        }
        Some(())
    }

    /// What caches do by themselves: a dirty line is written back, over whatever a device wrote; a clean
    /// one is dropped. One line in two stays.
    pub(crate) fn wander(&self) {
        for &(start, len, _) in &*self.ranges.borrow() {
            for addr in (start..start + len).step_by(LINE) {
                match (self.below(2), self.is_clean(addr)) {
                    (0, _) => {}
                    (_, true) => self.drop_line(addr),
                    (_, false) => self.write_back(addr),
                }
            }
        }
    }
}

impl Caches for &ShadowMemory {
    fn clean_and_invalidate(&self, addr: usize, len_bytes: usize) {
        assert!(addr.is_multiple_of(LINE) && len_bytes.is_multiple_of(LINE));
        for addr in (addr..addr + len_bytes).step_by(LINE) {
            if self.is_clean(addr) {
                self.drop_line(addr);
            } else {
                self.write_back(addr);
            }
        }
    }
}
