//! The record store of one table: slots of words in slabs, one slab per worker.
//!
//! Role         allocates, resolves, retires and reuses records; engines call it through a table.
//!              Knows no index and no transaction: who may see a record is not its business
//! States       free -> live <-> ghost -> retired -> free. "Live" begins at `allocate`, before any
//!              index links the record; a retired one is free once its epoch is safe
//! Invariants   I1 memory is type-stable: a slot is a slot of one size until the store is dropped
//!              I2 a retired record's words stay as they are until its epoch is safe
//!              I3 the bytes of all chunks are charged to the budget
//! Concurrency  see `worker` (a worker's own state), `record` (a record's words); `workers`: each
//!              set once, by its worker when it first needs it; `spilled` is latched once per
//!              `BATCH` slots at most
//! Source       Bonwick, "The slab allocator" (1994), and per-thread magazines of Bonwick and
//!              Adams (2001); we differ: no slab is ever returned to the operating system
//!
//! # Alignment, with the arithmetic
//!
//! A hot record must not share its cache line with another record; a large table must not be
//! padded. So the slots in the first 2 MiB of a store are aligned to 64 bytes, and those behind
//! are packed to 8. Tables with few rows (warehouse, district, a fee account, counters) are where
//! hot rows live and fit into 2 MiB whole. What that costs at most: a slot of 9 words takes 16, so
//! 2 MiB hold 7/16 air, 0.9 MiB a table.
//!
//! Packed, a TPC-C order line (54 bytes raw, 8 row words) takes 80 bytes with its header, where
//! lines would take 128; a stock row (306 raw, 39 words) takes 41 words rounded to 42, 336 bytes; a
//! customer (655 raw, 82 words) 84 words, 672 bytes. Per warehouse, 30,000 customers, 100,000 stock
//! rows and 300,000 order lines are 66.5 MB raw and 77.8 MB here: 1.17 times, of the 1.5 allowed.
//! (Row lengths are estimates: columns of 4 bytes packed, two words for nulls and lengths.)

pub(crate) mod chunks;
pub(crate) mod segments;
pub(crate) mod size_class;
pub(crate) mod space;
pub(crate) mod worker;
pub(crate) mod zeroed_words;

use hotrow_base::sync::facade::atomic::Ordering::Relaxed;
use hotrow_base::sync::facade::{Mutex, MutexGuard};
use std::sync::{Arc, OnceLock, PoisonError};

use crossbeam_utils::CachePadded;
use hotrow_base::ids::WorkerId;
use hotrow_base::prefetch::prefetch;

use self::chunks::{Chunk, Chunks};
use self::size_class::SizeClass;
use self::space::Space;
use self::worker::{WorkerSlab, classes_for};
use crate::budget::{MemoryBudget, MemoryKind, OutOfMemoryBudget};
use crate::record::{Claimed, HEADER_WORDS, MAX_ROW_WORDS, Meta, Record, RecordId, RowWords};
use hotrow_base::sync::reclaim::ReclaimEpoch;

/// Records by number, and a slab for each worker that has written to the table.
#[derive(Debug)]
pub struct RecordStore {
    space: Space,
    chunks: Chunks,
    /// Made when a worker first needs its own: 3.6 KiB each, and of the workers of a server (one
    /// for each transaction that may be open) few ever write to one table.
    workers: Box<[OnceLock<Box<CachePadded<WorkerSlab>>>]>,
    /// Batches of free slots by class, from workers that free more than they allocate. As long as
    /// the largest class that was ever spilled asks for.
    spilled: CachePadded<Mutex<Vec<Vec<RecordId>>>>,
    budget: Arc<MemoryBudget>,
}

/// Where a record's row was before [`RecordStore::grow`] moved it: what to give to
/// [`RecordStore::settle`] when the transaction commits or to [`RecordStore::restore`] when it
/// rolls back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the old place leaks unless it is settled or restored"]
pub struct PriorRow(pub(crate) Meta);

/// A part of a store that one thread visits at a time.
#[derive(Clone, Copy, Debug)]
pub struct Piece(Chunk);

impl Piece {
    /// How long it is, free places included.
    #[must_use]
    pub fn bytes(self) -> u64 {
        (self.0.end - self.0.start) * size_of::<u64>() as u64
    }
}

impl RecordStore {
    /// An empty store for the workers `0..workers`, whose bytes are charged to `budget`.
    #[must_use]
    pub fn new(workers: usize, budget: Arc<MemoryBudget>) -> Self {
        Self {
            space: Space::new(),
            chunks: Chunks::new(),
            workers: (0..workers).map(|_| OnceLock::new()).collect(),
            spilled: CachePadded::default(),
            budget,
        }
    }

    /// The record at `id`.
    ///
    /// # Panics
    ///
    /// If `id` lies outside everything this store ever handed out.
    #[inline(always)]
    #[must_use]
    pub fn record(&self, id: RecordId) -> Record<'_> {
        Record::resolve(&self.space, id)
    }

    /// Asks for the first cache line of the record at `id`.
    #[inline]
    pub fn prefetch(&self, id: RecordId) {
        prefetch(self.record(id).control());
    }

    /// A new record holding a copy of `row`, with control word 0, not a ghost, in no index.
    ///
    /// # Errors
    ///
    /// [`OutOfMemoryBudget`] when no free slot fits and the budget has no room for a chunk.
    ///
    /// # Panics
    ///
    /// If `row` is longer than [`MAX_ROW_WORDS`].
    #[inline]
    pub fn allocate(&self, worker: WorkerId, row: &[u64]) -> Result<RecordId, OutOfMemoryBudget> {
        self.allocate_flagged(worker, row, 0)
    }

    /// Gives `id`, which the caller holds exclusively and no index links any more, back once
    /// `epoch` is safe. `epoch` was read after the unlinking.
    pub fn retire(&self, worker: WorkerId, id: RecordId, epoch: ReclaimEpoch) {
        let record = self.record(id);
        debug_assert!(!record.is_retired(), "a record is retired once");
        debug_assert!(
            record.meta().has(Meta::BODY) || record.is_captured(),
            "I3 of the record; what is in a body belongs to its record"
        );
        record.set_meta(record.meta().with(Meta::RETIRED));
        lock(&self.slab(worker).retired).retire(epoch, id);
    }

    /// Makes what `worker` retired before `safe` free for allocation. To be called now and then
    /// by each worker that deletes; costs next to nothing when there is nothing to do.
    pub fn reclaim(&self, worker: WorkerId, safe: ReclaimEpoch) {
        let Some(slab) = self.workers[worker.index()].get() else { return };
        lock(&slab.retired).drain_safe(safe, |id| {
            let meta = self.record(id).meta();
            if meta.has(Meta::FORWARDED) {
                self.free(slab, RecordId::from_bits(meta.payload()));
            }
            self.free(slab, id);
        });
    }

    /// How many slots of `worker` wait for their epoch.
    #[must_use]
    pub fn retired_len(&self, worker: WorkerId) -> usize {
        self.workers[worker.index()].get().map_or(0, |slab| lock(&slab.retired).len())
    }

    /// Gives the record at `id` the row `row` in a new place, whatever its length; the id stays.
    /// The old row stays where it is, for readers and for [`RecordStore::restore`].
    ///
    /// # Errors
    ///
    /// [`OutOfMemoryBudget`], with the record unchanged.
    ///
    /// # Panics
    ///
    /// If `row` is longer than [`MAX_ROW_WORDS`].
    pub fn grow(
        &self,
        worker: WorkerId,
        id: RecordId,
        row: &[u64],
    ) -> Result<PriorRow, OutOfMemoryBudget> {
        let body = self.allocate_flagged(worker, row, Meta::BODY)?;
        let record = self.record(id);
        debug_assert!(record.is_captured(), "I3 of the record");
        let prior = record.meta();
        let moved = Meta::new(Meta::FORWARDED, prior.class(), body.bits());
        record.set_meta(moved.with_flags_of(prior));
        Ok(PriorRow(prior))
    }

    /// The row as it was before a `grow` that is neither settled nor restored yet.
    #[must_use]
    pub fn prior_row(&self, id: RecordId, prior: PriorRow) -> RowWords<'_> {
        let PriorRow(meta) = prior;
        if meta.has(Meta::FORWARDED) {
            return self.record(RecordId::from_bits(meta.payload())).row();
        }
        &self.record(id).rest()[..meta.payload() as usize]
    }

    /// Makes a `grow` final: the old place is given back once `epoch` is safe.
    pub fn settle(&self, worker: WorkerId, prior: PriorRow, epoch: ReclaimEpoch) {
        self.retire_body(worker, prior.0, epoch);
    }

    /// Undoes a `grow` of the record at `id`; of several the newest first. Needs no memory.
    pub fn restore(&self, worker: WorkerId, id: RecordId, prior: PriorRow, epoch: ReclaimEpoch) {
        let record = self.record(id);
        let moved = record.meta();
        record.set_meta(prior.0.with_flags_of(moved));
        self.retire_body(worker, moved, epoch);
    }

    /// Visits every record that is not retired, ghosts and records in no index included, in no
    /// particular order. Records allocated meanwhile may be missed; the caller's epoch pin and
    /// the engine's protocol decide what may be read of each.
    pub fn for_each_record<'s>(&'s self, mut visit: impl FnMut(RecordId, Record<'s>)) {
        for chunk in self.chunks.all() {
            self.for_each_in(chunk, |record| visit(record.id(), record));
        }
    }

    /// Begins another image of the store: from now on no record that there is is captured, and
    /// each one made is. To be called when nothing else runs, and all were captured before
    /// (which the walk of the image before has seen to).
    pub fn begin_capture(&self) {
        self.space.flip_stamp();
    }

    /// The pieces of the store, for a walk by several threads. All records of an image that was
    /// begun before lie in them.
    #[must_use]
    pub fn pieces(&self) -> Vec<Piece> {
        self.chunks.all().into_iter().map(Piece).collect()
    }

    /// Gives each record of `piece` that is not captured to `copy`; each is, afterwards.
    pub fn capture_piece(&self, piece: Piece, mut copy: impl FnMut(&Claimed<'_>)) {
        self.for_each_in(piece.0, |record| {
            if !record.is_captured()
                && let Some(claimed) = record.claim()
            {
                copy(&claimed);
            }
        });
    }

    fn for_each_in<'s>(&'s self, chunk: Chunk, mut visit: impl FnMut(Record<'s>)) {
        let mut position = chunk.start;
        while position + HEADER_WORDS as u64 <= chunk.end {
            let record = self.record(RecordId::from_bits(position));
            let meta = record.meta();
            if meta.is_untouched() {
                break;
            }
            if !meta.has(Meta::NO_RECORD) {
                visit(record);
            }
            position += meta.class().words() as u64;
        }
    }

    /// Bytes charged to the budget for this store.
    #[must_use]
    pub fn bytes_used(&self) -> u64 {
        self.chunks.bytes()
    }

    #[inline]
    fn allocate_flagged(
        &self,
        worker: WorkerId,
        row: &[u64],
        flags: u64,
    ) -> Result<RecordId, OutOfMemoryBudget> {
        assert!(row.len() <= MAX_ROW_WORDS, "rows are checked where they are built");
        let slab = self.slab(worker);
        let words = HEADER_WORDS + row.len();
        let (id, class) = match slab.take(&self.space, words) {
            Some(taken) => taken,
            None => self.take_slowly(slab, words)?,
        };
        let record = self.record(id);
        // Relaxed: nobody can reach the record yet, and linking it into an index publishes it.
        record.control().store(0, Relaxed);
        for (word, &value) in record.rest().iter().zip(row) {
            word.store(value, Relaxed);
        }
        record.set_meta(Meta::new(flags | self.space.stamp(), class, row.len() as u64));
        Ok(id)
    }

    /// A slot from what others freed, or else from a new chunk.
    #[cold]
    fn take_slowly(
        &self,
        slab: &WorkerSlab,
        words: usize,
    ) -> Result<(RecordId, SizeClass), OutOfMemoryBudget> {
        for class in classes_for(words) {
            let batch = lock(&self.spilled).get_mut(class.number()).and_then(Vec::pop);
            if let Some(batch) = batch {
                slab.give_batch(class, batch);
                return Ok(slab.take(&self.space, words).expect("a batch was just given"));
            }
        }
        let slot_words = classes_for(words).map(SizeClass::words).into_iter().max();
        let slot_words = slot_words.expect("there are two classes");
        let chunk = self.chunks.carve(&self.space.segments, &self.budget, slot_words)?;
        Ok(slab.take_from_chunk(chunk, words))
    }

    fn free(&self, slab: &WorkerSlab, id: RecordId) {
        let class = slab.give(&self.space, id);
        if let Some(batch) = slab.take_batch(&self.space, class) {
            let spilled = &mut *lock(&self.spilled);
            if spilled.len() <= class.number() {
                spilled.resize_with(class.number() + 1, Vec::new);
            }
            spilled[class.number()].push(batch);
        }
    }

    fn retire_body(&self, worker: WorkerId, meta: Meta, epoch: ReclaimEpoch) {
        if meta.has(Meta::FORWARDED) {
            self.retire(worker, RecordId::from_bits(meta.payload()), epoch);
        }
    }

    #[inline]
    fn slab(&self, worker: WorkerId) -> &WorkerSlab {
        self.workers[worker.index()].get_or_init(new_slab)
    }
}

impl Drop for RecordStore {
    fn drop(&mut self) {
        self.budget.release(MemoryKind::Records, self.bytes_used());
    }
}

#[cold]
fn new_slab() -> Box<CachePadded<WorkerSlab>> {
    Box::new(CachePadded::new(WorkerSlab::new()))
}

/// No code under these latches can leave them half done, so poison means nothing here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod capture_tests;
#[cfg(test)]
mod tests;
