//! Chunks: the pieces of a store's space that workers take to fill with slots.
//!
//! Role         hands a worker 64 KiB to 1 MiB at a time and charges the budget for it; knows
//!              where all chunks are, for visits of the whole table
//! Invariants   I1 a chunk is a power of two long, starts at a multiple of its length and lies in
//!              one segment
//!              I2 a chunk is charged before it is handed out

use hotrow_base::sync::facade::Mutex;
use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::PoisonError;

use crossbeam_utils::CachePadded;

use super::segments::{FIRST, POSITION_BITS, Segments, segment_words_at};
use crate::budget::{MemoryBudget, MemoryKind, OutOfMemoryBudget};

/// Smallest chunk: 64 KiB.
const CHUNK_WORDS_MIN: u64 = FIRST;
/// Largest chunk, unless one slot needs more: 1 MiB.
const CHUNK_WORDS_MAX: u64 = 1 << 17;
/// A chunk is this fraction of its segment, so that in a large table the unfilled ends of the
/// chunks of `w` workers are about `w / 2 / 64 / 2` of it: 6 % with 16 workers.
const CHUNKS_PER_SEGMENT: u64 = 64;

/// Positions `start .. end` of one chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// How much of the space is carved so far, and bytes taken.
#[derive(Debug)]
pub(crate) struct Chunks {
    carved: CachePadded<Mutex<Carved>>,
    bytes: AtomicU64,
}

#[derive(Debug)]
struct Carved {
    next: u64,
    chunks: Vec<Chunk>,
}

impl Chunks {
    pub(crate) fn new() -> Self {
        let carved = Carved { next: FIRST, chunks: Vec::new() };
        Self { carved: CachePadded::new(Mutex::new(carved)), bytes: AtomicU64::new(0) }
    }

    /// A new chunk with room for a slot of `slot_words`.
    pub(crate) fn carve(
        &self,
        segments: &Segments,
        budget: &MemoryBudget,
        slot_words: usize,
    ) -> Result<Chunk, OutOfMemoryBudget> {
        let mut carved = self.carved.lock().unwrap_or_else(PoisonError::into_inner);
        let words = chunk_words(carved.next, slot_words);
        // Positions skipped by this are never committed and cost nothing.
        let start = carved.next.next_multiple_of(words);
        let bytes = words * size_of::<u64>() as u64;
        if start >> POSITION_BITS != 0 {
            return Err(budget.refused(bytes));
        }
        budget.try_charge(MemoryKind::Records, bytes)?;
        if segments.ensure(start).is_none() {
            budget.release(MemoryKind::Records, bytes);
            return Err(budget.refused(bytes));
        }
        let chunk = Chunk { start, end: start + words };
        carved.next = chunk.end;
        carved.chunks.push(chunk);
        self.bytes.fetch_add(bytes, Relaxed);
        Ok(chunk)
    }

    /// All chunks handed out so far.
    pub(crate) fn all(&self) -> Vec<Chunk> {
        self.carved.lock().unwrap_or_else(PoisonError::into_inner).chunks.clone()
    }

    /// Bytes of all chunks handed out so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

fn chunk_words(next: u64, slot_words: usize) -> u64 {
    (segment_words_at(next) / CHUNKS_PER_SEGMENT)
        .clamp(CHUNK_WORDS_MIN, CHUNK_WORDS_MAX)
        .max((slot_words as u64).next_power_of_two())
}
