//! Streaming tensors from the file, in the file's order, into packed rows.
//!
//! The calling core reads a chunk while the others work on the one before: they pack its rows and take
//! its checksum. Chunks follow each other without gaps and begin where a device reads fastest; what a
//! chunk's end cuts off of a group of rows is kept for the next one.

use alloc::vec::Vec;
use core::ops::Range;

use ops::arena::Arena;
use ops::matrix;
use parallel::{Cores, Private};

use super::chunk::Chunk;
use super::place::{Place, refused};
use super::share::Share;
use super::times::{LoadTimes, Timer};
use super::{Spec, Tensors};
use crate::gguf::TensorInfo;
use crate::load_error::LoadError;
use crate::source::ModelSource;

/// Chunks begin at a multiple of this after a gap: of a card's block, and of a host's page.
const START_BYTES: u64 = 4096;

/// Loads the tensors of one model.
pub struct Loader<'l, E> {
    /// The file.
    pub source: &'l mut dyn ModelSource<Error = E>,
    /// Who packs.
    pub cores: &'l dyn Cores,
    /// Bytes read at once.
    pub chunk_bytes: usize,
    /// Times the parts.
    pub timer: Timer,
    /// Hears how many bytes of how many are done.
    pub progress: &'l mut dyn FnMut(u64, u64),
}

impl<E: core::error::Error> Loader<'_, E> {
    /// Loads `tensors`, in the order of the file, into `arena`.
    ///
    /// # Errors
    /// An arena that is too small, before anything is read; then failures of the source, bad scales and
    /// numbers.
    pub fn load<'a>(
        mut self,
        tensors: &[(Spec, TensorInfo)],
        arena: &mut Arena<'a>,
    ) -> Result<(Tensors<'a>, LoadTimes), LoadError<E>> {
        let mut places = Vec::with_capacity(tensors.len());
        for (spec, tensor) in tensors {
            places.push(Place::new(spec, tensor, arena)?);
        }
        let times = self.fill(&mut places, &mut arena.scratch())?;
        let by_name = places.into_iter().map(Place::into_tensor).collect();
        Ok((Tensors { by_name }, times))
    }

    /// Fills the places, which are in the order of the file.
    fn fill(
        &mut self,
        places: &mut [Place<'_, '_>],
        scratch: &mut Arena<'_>,
    ) -> Result<LoadTimes, LoadError<E>> {
        let total = places.iter().map(Place::len_bytes).sum();
        let longest_unit = places.iter().map(Place::unit_bytes).max().unwrap_or(0);
        let file_bytes = self.source.len_bytes();
        let len = file_bytes.min(self.chunk_bytes.max(1) as u64);
        // Nothing at first: the first chunk is read beside no work.
        let mut chunk = Chunk::new(scratch, longest_unit, len as usize)?;
        let mut coming = Chunk::new(scratch, longest_unit, len as usize)?;
        let mut times = LoadTimes::default();
        let mut done = 0;
        loop {
            let mut shares = Share::of(self.cores.n_beside());
            let (taken, next) = take(places, &chunk, &mut shares)?;
            if let Some(from) = self.source.unchecked_from(chunk.range().start) {
                Share::deal_bytes(&mut shares, &chunk, from);
            }
            let coming_chunk = next.map(|next| {
                let start = read_start(&chunk, next);
                coming.follow(&chunk, next, start..file_bytes.min(start + len));
                &mut coming
            });
            let read = self.read_beside(coming_chunk, &mut shares, &mut times);
            if let Some((tensor, error)) = self.note(shares, &mut times) {
                return Err(refused(places[tensor].spec, error));
            }
            read.map_err(LoadError::Source)?;
            done += taken;
            (self.progress)(done, total);
            if next.is_none() {
                return Ok(times);
            }
            core::mem::swap(&mut chunk, &mut coming);
        }
    }

    /// Reads `chunk` while the other cores do their shares of the one before.
    fn read_beside(
        &mut self,
        chunk: Option<&mut Chunk<'_>>,
        shares: &mut [Share<'_>],
        times: &mut LoadTimes,
    ) -> Result<(), E> {
        let (source, timer) = (&mut *self.source, self.timer);
        let (mut chunk, mut read) = (chunk, Ok(()));
        let n = shares.len();
        let shares = Private::new(shares, n);
        self.cores.run_beside(
            &mut || {
                if let Some(chunk) = &mut chunk {
                    let started = timer();
                    read = source.read_unchecked(chunk.range().start, chunk.buffer());
                    times.read_us += timer().saturating_sub(started);
                }
            },
            &|core| core.private(&shares)[0].work(timer),
        );
        read
    }

    /// Takes note of what came of the shares; returns the first damaged tensor and what it has.
    fn note(
        &mut self,
        shares: Vec<Share<'_>>,
        times: &mut LoadTimes,
    ) -> Option<(usize, matrix::Error)> {
        for share in &shares {
            let Range { start, end } = share.checked;
            self.source.note_checksum(start, end - start, share.crc32c);
            times.pack_us += share.pack_us;
            times.checksum_us += share.checksum_us;
        }
        let damaged = shares.into_iter().filter_map(|share| share.damaged);
        damaged.min_by_key(|(tensor, _)| *tensor)
    }
}

/// Takes from `chunk` what it has of each tensor. Returns how many bytes that are, and where in the
/// file the first byte stands that is still missing.
fn take<'c, E>(
    places: &'c mut [Place<'_, '_>],
    chunk: &'c Chunk<'_>,
    shares: &mut [Share<'c>],
) -> Result<(u64, Option<u64>), LoadError<E>> {
    let end = chunk.range().end;
    let mut taken = 0;
    let missing = places
        .iter_mut()
        .enumerate()
        .filter(|(_, p)| p.missing_bytes() > 0);
    for (tensor, place) in missing {
        let start = place.next();
        let n = place.takes(end.saturating_sub(start));
        let is_filled = n == place.missing_bytes();
        if n > 0
            && let Some(packing) = place.take(chunk.bytes(start..start + n))?
        {
            Share::deal_rows(shares, tensor, packing);
        }
        taken += n;
        if !is_filled {
            return Ok((taken, Some(start + n)));
        }
    }
    Ok((taken, None))
}

/// Where to read on after `chunk`, for the byte `next` that is missing.
fn read_start(chunk: &Chunk<'_>, next: u64) -> u64 {
    chunk.range().end.max(next / START_BYTES * START_BYTES)
}
