//! One worker's share of a record store: the chunk it fills, its free slots, its retired ids.
//!
//! Role         makes allocation touch no line that another worker writes
//! States       a slot goes: bump -> in use -> retired -> free list -> in use ...
//! Concurrency  `next`, `end`, `free`: written and read by the one thread that is this worker, so
//!              Relaxed loads and stores are enough. They are atomics and not a locked struct
//!              because a lock would cost more than the whole allocation. Two threads using one
//!              worker at a time could be given one slot twice: wrong data, not undefined
//!              behaviour. `retired`: a latch, which deletes take and nobody contends for

use hotrow_base::sync::facade::Mutex;
use hotrow_base::sync::facade::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::chunks::Chunk;
use super::segments::FIRST;
use super::size_class::SizeClass;
use super::space::Space;
use super::zeroed_words::LINE_WORDS;
use crate::record::{Meta, Record, RecordId};
use hotrow_base::sync::reclaim::Retired;

/// Slots below this position start on a cache line: the first 2 MiB of a store.
const ALIGNED_END: u64 = FIRST << 5;

/// Free slots handed from worker to worker at a time.
pub(crate) const BATCH: u32 = 64;

/// One worker's chunk, its free slots by size class, and its retired ids.
#[derive(Debug)]
pub(crate) struct WorkerSlab {
    next: AtomicU64,
    end: AtomicU64,
    free: [FreeList; SizeClass::COUNT],
    pub(crate) retired: Mutex<Retired<RecordId>>,
}

/// A list of free slots, linked through their meta words.
#[derive(Debug, Default)]
struct FreeList {
    head: AtomicU64,
    len: AtomicU32,
}

impl WorkerSlab {
    pub(crate) fn new() -> Self {
        Self {
            next: AtomicU64::new(0),
            end: AtomicU64::new(0),
            free: std::array::from_fn(|_| FreeList::default()),
            retired: Mutex::default(),
        }
    }

    /// A free slot for `words`, or one from the worker's chunk, with its class.
    #[inline]
    pub(crate) fn take(&self, space: &Space, words: usize) -> Option<(RecordId, SizeClass)> {
        let packed = SizeClass::for_words(words);
        if let Some(id) = self.take_free(space, packed) {
            return Some((id, packed));
        }
        let aligned = aligned_class(words);
        if aligned != packed
            && let Some(id) = self.take_free(space, aligned)
        {
            return Some((id, aligned));
        }
        let next = self.next.load(Relaxed);
        let class = if next < ALIGNED_END { aligned } else { packed };
        let after = next + class.words() as u64;
        if after > self.end.load(Relaxed) {
            return None;
        }
        self.next.store(after, Relaxed);
        Some((RecordId::from_bits(next), class))
    }

    #[inline]
    fn take_free(&self, space: &Space, class: SizeClass) -> Option<RecordId> {
        let list = &self.free[class.number()];
        let head = list.head.load(Relaxed);
        if head == 0 {
            return None;
        }
        let id = RecordId::from_bits(head);
        list.head.store(Record::resolve(space, id).meta().payload(), Relaxed);
        list.len.store(list.len.load(Relaxed) - 1, Relaxed);
        Some(id)
    }

    /// Puts a slot that nobody can reach on its free list.
    pub(crate) fn give(&self, space: &Space, id: RecordId) -> SizeClass {
        let record = Record::resolve(space, id);
        let class = record.class();
        let list = &self.free[class.number()];
        record.set_meta(Meta::new(Meta::FREE, class, list.head.load(Relaxed)));
        list.head.store(id.bits(), Relaxed);
        list.len.store(list.len.load(Relaxed) + 1, Relaxed);
        class
    }

    /// Cuts [`BATCH`] slots off the list of `class` if that leaves as many.
    pub(crate) fn take_batch(&self, space: &Space, class: SizeClass) -> Option<RecordId> {
        let list = &self.free[class.number()];
        let len = list.len.load(Relaxed);
        if len < 2 * BATCH {
            return None;
        }
        let first = RecordId::from_bits(list.head.load(Relaxed));
        let mut last = Record::resolve(space, first);
        for _ in 1..BATCH {
            last = Record::resolve(space, RecordId::from_bits(last.meta().payload()));
        }
        list.head.store(last.meta().payload(), Relaxed);
        list.len.store(len - BATCH, Relaxed);
        last.set_meta(last.meta().with_payload(0));
        Some(first)
    }

    /// Makes a batch from [`WorkerSlab::take_batch`] the list of `class`, which is empty.
    pub(crate) fn give_batch(&self, class: SizeClass, batch: RecordId) {
        let list = &self.free[class.number()];
        debug_assert_eq!(list.head.load(Relaxed), 0, "only an empty list is refilled");
        list.head.store(batch.bits(), Relaxed);
        list.len.store(BATCH, Relaxed);
    }

    /// Goes on with `chunk`, unless more is left of the old chunk than of this one after a slot of
    /// `words` (as happens when one slot is larger than usual chunks). Returns that slot.
    pub(crate) fn take_from_chunk(&self, chunk: Chunk, words: usize) -> (RecordId, SizeClass) {
        let class = if chunk.start < ALIGNED_END {
            aligned_class(words)
        } else {
            SizeClass::for_words(words)
        };
        let after = chunk.start + class.words() as u64;
        debug_assert!(after <= chunk.end, "the chunk was carved for the slot");
        if chunk.end - after >= self.end.load(Relaxed) - self.next.load(Relaxed) {
            self.next.store(after, Relaxed);
            self.end.store(chunk.end, Relaxed);
        }
        (RecordId::from_bits(chunk.start), class)
    }
}

/// The class for slots of `words` where slots start on cache lines.
pub(crate) fn aligned_class(words: usize) -> SizeClass {
    SizeClass::for_words(words.next_multiple_of(LINE_WORDS))
}

/// Whether `class` can hold a slot of `words` as either kind of class.
pub(crate) fn classes_for(words: usize) -> [SizeClass; 2] {
    [SizeClass::for_words(words), aligned_class(words)]
}
