//! Rows that transactions were about to change before the walk of an image came by.
//!
//! Role         transactions put rows in, those who copy take them out
//! Invariants   I1 a row is in its buffer before its record counts as captured. So who takes all
//!              buffers after a walk that found every record captured has every row
//!              I2 a worker that has more than [`BYTES_MAX`] waits for room, outside transactions;
//!              so one turn's changes are what a buffer can be longer by
//! Concurrency  `rows` -> latched: by its worker for each row saved, by who copies for a swap;
//!              `words` -> written under the latch, read by anybody as a hint

use hotrow_base::sync::facade::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::Arc;

use hotrow_base::clock::Ticks;
use hotrow_base::counters::PerWorker;
use hotrow_base::ids::{TableId, WorkerId};
use hotrow_base::sync::{EventCount, Latch};
use hotrow_storage::record::Record;

use crate::schema::Memory;

/// Bytes of saved rows that a worker begins no turn above.
const BYTES_MAX: usize = 4 << 20;
const WORDS_MAX: usize = BYTES_MAX / size_of::<u64>();
/// Bytes from which a buffer is worth taking while the walk goes on.
const BYTES_WORTHWHILE: usize = 256 << 10;

/// Saved rows, a list for each worker; one at a time makes an image of them.
#[derive(Debug)]
pub struct SavedRows {
    workers: PerWorker<Saved>,
    room: EventCount,
    /// somebody has the turn to make an image
    in_use: AtomicBool,
    free: EventCount,
}

/// The turn to make an image: one is made at a time. Given back when dropped.
#[must_use = "others wait for it"]
pub struct Turn {
    memory: Arc<Memory>,
}

#[derive(Debug, Default)]
struct Saved {
    /// per row: a header, see [`header`], and its words
    rows: Latch<Vec<u64>>,
    words: AtomicUsize,
}

impl SavedRows {
    /// Empty buffers for the workers `0..workers`.
    pub fn new(workers: usize) -> Self {
        Self {
            workers: PerWorker::with_defaults(workers),
            room: EventCount::new(),
            in_use: AtomicBool::new(false),
            free: EventCount::new(),
        }
    }

    /// Copies the row of a record that is not captured, unless somebody else does or it is a
    /// ghost; afterwards the record is captured. The caller holds the record exclusively.
    pub fn save(&self, worker: WorkerId, table: TableId, record: Record<'_>) {
        let Some(claimed) = record.claim() else { return };
        let Some(row) = claimed.row() else { return };
        self.push(worker, table, (row.len(), row.iter().map(|word| word.load(Relaxed))));
        // `claimed`, which is what others wait for, is let go last: I1.
    }

    /// As [`SavedRows::save`], with the row as it was once, if it was there: for who has changed
    /// the record before the image began.
    pub fn save_prior(
        &self,
        worker: WorkerId,
        table: TableId,
        record: Record<'_>,
        prior: Option<&[u64]>,
    ) {
        let Some(_claimed) = record.claim() else { return };
        if let Some(row) = prior {
            self.push(worker, table, (row.len(), row.iter().copied()));
        }
    }

    fn push(
        &self,
        worker: WorkerId,
        table: TableId,
        (length, words): (usize, impl Iterator<Item = u64>),
    ) {
        let saved = self.workers.of(worker.index());
        let mut rows = saved.rows.lock();
        rows.push(header(table, length));
        rows.extend(words);
        saved.words.store(rows.len(), Relaxed);
    }

    /// Waits while the worker's saved rows take too much memory. To be called with nothing held:
    /// no lock, no latch, and outside the gate.
    #[inline]
    pub fn wait_for_room(&self, worker: WorkerId) {
        if !self.has_room(worker) {
            self.wait(self.workers.of(worker.index()));
        }
    }

    /// Whether [`SavedRows::wait_for_room`] would not wait.
    #[inline]
    pub fn has_room(&self, worker: WorkerId) -> bool {
        self.workers.of(worker.index()).words.load(Relaxed) <= WORDS_MAX
    }

    #[cold]
    fn wait(&self, saved: &Saved) {
        let has_room = || (saved.words.load(Relaxed) <= WORDS_MAX).then_some(());
        self.room.wait_for(None, has_room);
    }

    /// Bytes of the rows that wait to be copied now: a recent figure.
    pub fn bytes(&self) -> u64 {
        let words: usize = self.workers.iter().map(|saved| saved.words.load(Relaxed)).sum();
        (words * size_of::<u64>()) as u64
    }

    /// Gives what workers have saved to `take`, worker by worker; when not `all`, only what is
    /// worth it. `spare` is an empty buffer to leave in exchange.
    pub(super) fn drain(
        &self,
        amount: Amount,
        spare: &mut Vec<u64>,
        mut take: impl FnMut(&SavedBatch<'_>),
    ) {
        for saved in self.workers.iter() {
            if amount == Amount::Worthwhile
                && saved.words.load(Relaxed) * size_of::<u64>() < BYTES_WORTHWHILE
            {
                continue;
            }
            {
                let mut rows = saved.rows.lock();
                std::mem::swap(&mut *rows, spare);
                saved.words.store(0, Relaxed);
            }
            self.room.notify_all();
            take(&SavedBatch { words: spare });
            spare.clear();
        }
    }
}

impl Turn {
    /// Waits for it; none when the time is over.
    pub fn wait(memory: &Arc<Memory>, until: Option<Ticks>) -> Option<Self> {
        let saved = memory.saved_rows();
        // Acquire; partner: the Release in the drop of the turn before.
        let take = || (!saved.in_use.swap(true, Acquire)).then_some(());
        saved.free.sleep_for(until, take)?;
        Some(Self { memory: Arc::clone(memory) })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let saved = self.memory.saved_rows();
        // They are empty: who made an image has taken all.
        saved.workers.iter().for_each(|saved| saved.rows.lock().shrink_to_fit());
        saved.in_use.store(false, Release); // partner: the Acquire in `wait`
        saved.free.notify_all();
    }
}

/// How much to drain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Amount {
    /// everything
    All,
    /// the buffers that have a good deal in them
    Worthwhile,
}

/// What one worker had saved.
pub(super) struct SavedBatch<'a> {
    words: &'a [u64],
}

impl SavedBatch<'_> {
    /// Visits its rows.
    pub(super) fn for_each(&self, mut visit: impl FnMut(TableId, &[u64])) {
        let mut rest = self.words;
        while let [first, behind @ ..] = rest {
            let (row, next) = behind.split_at((first & LENGTH) as usize);
            visit(TableId((first >> LENGTH_BITS) as _), row);
            rest = next;
        }
    }
}

const LENGTH_BITS: u32 = 32;
const LENGTH: u64 = (1 << LENGTH_BITS) - 1;

/// What stands before a saved row: its table and its length in words.
fn header(table: TableId, words: usize) -> u64 {
    debug_assert!(words as u64 <= LENGTH, "rows are shorter than 2^17 words");
    (table.index() as u64) << LENGTH_BITS | words as u64
}
