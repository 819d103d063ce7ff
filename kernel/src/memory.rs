//! Who owns which RAM.
//!
//! ```text
//! physical   page 0 │ image, stacks │ heap │ free ├─ VideoCore ─┤ free ├─ peripherals ─┤ free
//!                                               └──────┐           │                    │
//! arena at 16 GiB                                 free │ free │ free   in one piece
//! ```
//!
//! Image, heap and peripherals are seen where they are; all other RAM is seen once more of its own
//! accord, as one arena without gaps, lowest address first: what is loaded first is what the SD
//! controller reaches. `board.memory=above` turns the order round. What the firmware reserves, and what
//! lies between the image and the next 2 MiB block, stays unmapped.

use core::fmt;
use core::ops::Range;

use boot::device_tree::{self, HEADER_BYTES, MemoryNodes};
use boot::mmu;
use boot::page_tables::{BLOCK_BYTES, MapError, Memory, PAGE_BYTES};
use boot::ram::{self, MAX_RANGES};
use boot::survey::{Plan, Survey, TooLittle};
use ops::arena::Line;
use spin::Once;

use crate::heap;

/// Where the arena is seen: above all physical RAM.
const ARENA_START: u64 = 0x4_0000_0000;

/// Why RAM could not be taken into use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The tables could not take it.
    #[error(transparent)]
    Map(#[from] MapError),
    /// There is less than the heap needs below 1 GiB.
    #[error("only {} MiB of RAM below 1 GiB are free: check gpu_mem in config.txt", .largest_bytes >> 20)]
    TooLittle {
        /// Bytes in the longest range there.
        largest_bytes: u64,
    },
}

/// What came of reading the device tree.
#[derive(Clone, Debug)]
pub struct TreeReading {
    /// Where the firmware says that it is.
    pub addr: u64,
    /// The length that its header states, if there is a header.
    pub len_bytes: Option<usize>,
    /// What it says about memory, or why it says nothing.
    pub nodes: Result<MemoryNodes, device_tree::Error>,
}

/// Reads the device tree at `addr`, if there is one. Its pages are mapped for the time being only.
pub fn read_device_tree(addr: u64) -> TreeReading {
    let len_bytes = device_tree_len(addr);
    let nodes = len_bytes.and_then(|len| {
        let nodes = with_mapped(addr, len, device_tree::memory_nodes);
        nodes.unwrap_or(Err(device_tree::Error::BadAddress))
    });
    TreeReading {
        addr,
        len_bytes: len_bytes.ok(),
        nodes,
    }
}

fn device_tree_len(addr: u64) -> Result<usize, device_tree::Error> {
    let none = device_tree::Error::BadAddress;
    let image = boot::layout::image();
    let overlaps_image = addr < image.stacks.end && addr + HEADER_BYTES as u64 > image.text.start;
    let is_plausible = (PAGE_BYTES..ram::LOW_END).contains(&addr) && addr.is_multiple_of(8);
    if !is_plausible || overlaps_image {
        return Err(none);
    }
    let header = with_mapped(addr, HEADER_BYTES, |bytes| {
        device_tree::total_bytes(bytes.first_chunk().ok_or(none)?)
    });
    header.unwrap_or(Err(none))
}

/// Maps `len` bytes at `addr` for reading while `look` runs; nothing if something is mapped there already.
fn with_mapped<R>(addr: u64, len: usize, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
    let start = addr / PAGE_BYTES * PAGE_BYTES;
    let end = (addr + len as u64).next_multiple_of(PAGE_BYTES);
    let mut pages = (start..end).step_by(PAGE_BYTES as usize);
    if !pages.all(|page| mmu::lookup(page).is_none()) {
        return None;
    }
    // SAFETY: RAM below 1 GiB that nothing uses yet; the firmware says that the tree is there.
    unsafe { mmu::map(start..end, Memory::ReadOnly) }.ok()?;
    let first: *const u8 = core::ptr::with_exposed_provenance(addr as usize);
    // SAFETY: just mapped, and written by nobody.
    let result = look(unsafe { core::slice::from_raw_parts(first, len) });
    // SAFETY: `look` has returned, and its result borrows nothing.
    unsafe { mmu::unmap(start..end) }.ok()?;
    Some(result)
}

/// A part of the arena that is one piece of physical memory.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    start_addr: u64,
    physical_addr: u64,
    bytes: u64,
}

/// The arena's pieces, ascending as they are seen; those without bytes are unused.
static PIECES: Once<[Piece; MAX_RANGES]> = Once::new();

/// Where the arena lies, in its order.
pub struct Arena;

impl fmt::Display for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = PIECES.get().map_or(&[][..], |pieces| pieces);
        let used = pieces.iter().filter(|piece| piece.bytes > 0);
        for (i, piece) in used.enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            let start = piece.physical_addr;
            write!(f, "{separator}{start:#x}-{:#x}", start + piece.bytes - 1)?;
        }
        Ok(())
    }
}

/// The physical address of `bytes` bytes at `addr`, if they are one piece of memory.
pub fn physical_addr(addr: u64, bytes: u64) -> Option<u64> {
    if addr < ARENA_START {
        // seen where it is
        return Some(addr);
    }
    PIECES.get()?.iter().find_map(|piece| {
        let offset = addr.checked_sub(piece.start_addr)?;
        let inside = offset.checked_add(bytes)? <= piece.bytes;
        inside.then_some(piece.physical_addr + offset)
    })
}

/// Makes the whole 2 MiB blocks of `range` read-only, or writable again, on all cores.
///
/// For weights that are loaded: nothing writes them any more, and what tries to by mistake takes an
/// exception. Only memory of the arena is changed, whatever `range` says.
pub fn set_read_only(range: Range<u64>, read_only: bool) -> Result<(), Error> {
    let memory = if read_only {
        Memory::ReadOnly
    } else {
        Memory::Data
    };
    let pieces = PIECES.get().map_or(&[][..], |pieces| pieces);
    let arena: u64 = pieces.iter().map(|piece| piece.bytes).sum();
    let start = range.start.max(ARENA_START).next_multiple_of(BLOCK_BYTES);
    let end = range.end.min(ARENA_START + arena) / BLOCK_BYTES * BLOCK_BYTES;
    if start < end {
        // SAFETY: mapped as data by `init`, and neither code nor stack: a write that comes all the
        // same faults instead of changing anything.
        unsafe { mmu::protect(start..end, memory) }?;
    }
    Ok(())
}

/// Which free RAM begins the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// What every bus master reaches.
    LowestFirst,
    /// What few of them reach, to see that nothing depends on it.
    HighestFirst,
}

/// Maps the RAM of `survey`, starts the heap, and makes one arena of the rest. Once.
///
/// The heap, with all that a device writes by itself, lies below 1 GiB in either order.
pub fn init(survey: &Survey, order: Order) -> Result<&'static mut [Line], Error> {
    let image_end = boot::layout::image().stacks.end;
    let plan = survey.plan(image_end, BLOCK_BYTES, heap::HEAP_BYTES);
    let Plan { heap, rest } =
        plan.map_err(|TooLittle { largest_bytes }| Error::TooLittle { largest_bytes })?;
    // SAFETY: RAM that exists, belongs to the ARM, is not reserved and holds nothing of ours.
    unsafe { mmu::map(heap.clone(), Memory::Data) }?;
    // SAFETY: just mapped, and taken out of what the arena gets.
    unsafe { heap::init(heap) };

    let mut pieces = [Piece::default(); MAX_RANGES];
    let mut end = ARENA_START;
    let in_order = |i| match order {
        Order::LowestFirst => rest.iter().nth(i),
        Order::HighestFirst => rest.iter().rev().nth(i),
    };
    for (piece, range) in pieces.iter_mut().zip((0..).map_while(in_order)) {
        let bytes = range.end - range.start;
        // SAFETY: as for the heap; no other address leads there.
        unsafe { mmu::map_at(end..end + bytes, range.start, Memory::Data) }?;
        *piece = Piece {
            start_addr: end,
            physical_addr: range.start,
            bytes,
        };
        end += bytes;
    }
    PIECES.call_once(|| pieces);
    let first: *mut Line = core::ptr::with_exposed_provenance_mut(ARENA_START as usize);
    let n_lines = ((end - ARENA_START) / Line::BYTES as u64) as usize;
    // SAFETY: mapped RAM of our own without a gap, aligned to 2 MiB, given out once; every bit
    // pattern is a `Line`.
    Ok(unsafe { core::slice::from_raw_parts_mut(first, n_lines) })
}
