//! Who owns which RAM.
//!
//! ```text
//! page 0 │ image, stacks │ heap, 48 MiB │ arena: weights, KV cache, run state …
//!        0x80000         2 MiB-aligned, below 1 GiB: the SD controller and the VideoCore reach it
//! ```
//!
//! All RAM that is left over is cut into arenas at 2 MiB blocks; the largest is where a model goes.
//! What the firmware reserves, and what lies between the image and the next block, stays unmapped.

use core::fmt;
use core::ops::Range;

use boot::device_tree::{self, HEADER_BYTES, MemoryNodes};
use boot::mmu;
use boot::page_tables::{BLOCK_BYTES, MapError, Memory, PAGE_BYTES};
use boot::ram::{self, Ranges};
use ops::arena::Line;
use spin::Once;

use crate::heap;

/// If neither mailbox nor device tree answers: every Pi 4 has this much with any `gpu_mem`.
const CERTAIN_RAM: Range<u64> = 0..0x1000_0000;

/// More arenas than there are gaps on any board.
pub const MAX_ARENAS: usize = 8;

/// What is known about RAM before any of it is used.
#[derive(Clone, Debug)]
pub struct Survey {
    /// RAM that exists and is the ARM's.
    pub ram: Ranges,
    /// The part that the firmware keeps.
    pub reserved: Ranges,
    /// What the device tree says, if there is one.
    pub tree: Option<MemoryNodes>,
}

/// Why RAM could not be taken into use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The tables could not take it.
    Map(MapError),
    /// There is less than the heap needs below 1 GiB.
    TooLittle {
        /// Bytes in the largest range that could be used.
        largest_bytes: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Map(error) => error.fmt(f),
            Error::TooLittle { largest_bytes } => write!(
                f,
                "only {} MiB of RAM below 1 GiB are free: check gpu_mem in config.txt",
                largest_bytes >> 20
            ),
        }
    }
}

impl core::error::Error for Error {}

impl From<MapError> for Error {
    fn from(error: MapError) -> Self {
        Error::Map(error)
    }
}

/// Reads the device tree at `addr`, if there is one. Its pages are mapped for the time being only.
pub fn read_device_tree(addr: u64) -> Result<MemoryNodes, device_tree::Error> {
    let none = device_tree::Error::NoMagic { found: 0 };
    let image = boot::layout::image();
    let overlaps_image = addr < image.stacks.end && addr + HEADER_BYTES as u64 > image.text.start;
    let is_plausible = (PAGE_BYTES..ram::LOW_END).contains(&addr) && addr.is_multiple_of(8);
    if !is_plausible || overlaps_image {
        return Err(none);
    }
    let header = with_mapped(addr, HEADER_BYTES, |bytes| {
        device_tree::total_bytes(bytes.first_chunk().ok_or(none)?)
    });
    let total = header.unwrap_or(Err(none))?;
    with_mapped(addr, total, device_tree::memory_nodes).unwrap_or(Err(none))
}

/// Maps `len` bytes at `addr` for reading while `look` runs; nothing if something is there already.
fn with_mapped<R>(addr: u64, len: usize, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
    let start = addr / PAGE_BYTES * PAGE_BYTES;
    let end = (addr + len as u64).next_multiple_of(PAGE_BYTES);
    // SAFETY: RAM below 1 GiB that nothing uses yet; the firmware says that the tree is there.
    unsafe { mmu::map(start..end, Memory::ReadOnly) }.ok()?;
    let first: *const u8 = core::ptr::with_exposed_provenance(addr as usize);
    // SAFETY: just mapped, and written by nobody.
    let result = look(unsafe { core::slice::from_raw_parts(first, len) });
    // SAFETY: `look` has returned, and its result borrows nothing.
    unsafe { mmu::unmap(start..end) }.ok()?;
    Some(result)
}

/// Puts together what mailbox, revision and device tree say.
pub fn survey(
    tree: Option<MemoryNodes>,
    low: Option<Range<u64>>,
    revision: Option<u32>,
    emulated: bool,
) -> Survey {
    let mailbox = low.map_or(Ranges::EMPTY, |low| ram::from_mailbox(low, revision));
    let mut ram = ram::reconcile(tree.as_ref().map(|tree| &tree.ram), &mailbox, emulated);
    if ram.is_empty() {
        ram.add(CERTAIN_RAM);
    }
    let reserved = tree.as_ref().map_or(Ranges::EMPTY, |tree| tree.reserved);
    Survey {
        ram,
        reserved,
        tree,
    }
}

/// RAM to put a model into, largest first.
pub struct Arenas {
    lines: [Option<&'static mut [Line]>; MAX_ARENAS],
}

impl Arenas {
    /// Takes the largest arena that is left.
    pub fn take_largest(&mut self) -> Option<&'static mut [Line]> {
        self.lines.iter_mut().find_map(Option::take)
    }
}

/// What the arenas are made of.
static ARENAS: Once<Ranges> = Once::new();

/// Makes the whole 2 MiB blocks of `range` read-only, or writable again, on all cores.
///
/// For weights that are loaded: nothing writes them any more, and what tries to by mistake takes an
/// exception. Only memory of the arenas is changed, whatever `range` says.
pub fn set_read_only(range: Range<u64>, read_only: bool) -> Result<(), Error> {
    let memory = if read_only {
        Memory::ReadOnly
    } else {
        Memory::Data
    };
    let asked: Ranges = core::iter::once(range).collect();
    let arenas = ARENAS.get().map_or(Ranges::EMPTY, |arenas| *arenas);
    for blocks in arenas.intersection(&asked).aligned(BLOCK_BYTES).iter() {
        // SAFETY: mapped as data by `init`, and neither code nor stack: a write that comes all the
        // same faults instead of changing anything.
        unsafe { mmu::protect(blocks, memory) }?;
    }
    Ok(())
}

/// Maps the RAM of `survey`, starts the heap, and cuts the rest into arenas. Once.
pub fn init(survey: &Survey) -> Result<Arenas, Error> {
    let image_end = boot::layout::image().stacks.end;
    let mut free = survey.ram;
    for range in survey.reserved.iter() {
        free.remove(range);
    }
    free.remove(0..image_end.next_multiple_of(BLOCK_BYTES));
    let mut free = free.aligned(BLOCK_BYTES);
    for range in free.iter() {
        // SAFETY: RAM that exists, belongs to the ARM, is not reserved and holds nothing of ours.
        unsafe { mmu::map(range, Memory::Data) }?;
    }

    let heap = free
        .iter()
        .find(|range| range.end - range.start >= heap::HEAP_BYTES)
        .filter(|range| range.start + heap::HEAP_BYTES <= ram::LOW_END)
        .map(|range| range.start..range.start + heap::HEAP_BYTES)
        .ok_or(Error::TooLittle {
            largest_bytes: free.largest().end - free.largest().start,
        })?;
    free.remove(heap.clone());
    ARENAS.call_once(|| free);
    // SAFETY: mapped above, and taken out of what the arenas get.
    unsafe { heap::init(heap) };

    let mut arenas = Arenas {
        lines: [const { None }; MAX_ARENAS],
    };
    for slot in &mut arenas.lines {
        let range = free.largest();
        if range.is_empty() {
            break;
        }
        free.remove(range.clone());
        let first: *mut Line = core::ptr::with_exposed_provenance_mut(range.start as usize);
        let n_lines = ((range.end - range.start) / Line::BYTES as u64) as usize;
        // SAFETY: mapped RAM of our own, aligned to 2 MiB, given out once; every bit pattern is a
        // `Line`.
        *slot = Some(unsafe { core::slice::from_raw_parts_mut(first, n_lines) });
    }
    Ok(arenas)
}
