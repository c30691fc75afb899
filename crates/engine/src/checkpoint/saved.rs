//! Rows that transactions were about to change before the walk of a checkpoint came by.
//!
//! Role         transactions put rows in, those who copy take them out
//! Invariants   I1 a row is in its buffer before its record counts as captured. So who takes all
//!              buffers after a walk that found every record captured has every row
//!              I2 a worker that has more than [`BYTES_MAX`] waits for room, outside transactions;
//!              so one turn's changes are what a buffer can be longer by
//! Concurrency  `rows` -> latched: by its worker for each row saved, by who copies for a swap;
//!              `words` -> written under the latch, read by anybody as a hint

use std::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use hotrow_base::counters::PerWorker;
use hotrow_base::ids::{TableId, WorkerId};
use hotrow_base::sync::{EventCount, Latch};
use hotrow_storage::record::Record;

/// Bytes of saved rows that a worker begins no turn above.
const BYTES_MAX: usize = 4 << 20;
const WORDS_MAX: usize = BYTES_MAX / size_of::<u64>();
/// Bytes from which a buffer is worth taking while the walk goes on.
const BYTES_WORTHWHILE: usize = 256 << 10;

/// See the module.
#[derive(Debug)]
pub struct SavedRows {
    workers: PerWorker<Saved>,
    room: EventCount,
    /// a capture is under way
    in_use: AtomicBool,
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
        }
    }

    /// Copies the row of a record that is not captured, unless somebody else does or it is a
    /// ghost; afterwards the record is captured. The caller holds the record exclusively.
    pub fn save(&self, worker: WorkerId, table: TableId, record: Record<'_>) {
        let Some(claimed) = record.claim() else { return };
        let Some(row) = claimed.row() else { return };
        let saved = self.workers.of(worker.index());
        let mut rows = saved.rows.lock();
        rows.push(header(table, row.len()));
        rows.extend(row.iter().map(|word| word.load(Relaxed)));
        saved.words.store(rows.len(), Relaxed);
        // `rows` is let go before `claimed`, which is what others wait for: I1.
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

    /// Whether the buffers were free, and are in use from now on. At a quiet point.
    pub(super) fn begin(&self) -> bool {
        !self.in_use.swap(true, Acquire) // partner: the Release in `end`
    }

    /// Gives the buffers, which are empty, and their memory back.
    pub(super) fn end(&self) {
        self.workers.iter().for_each(|saved| saved.rows.lock().shrink_to_fit());
        self.in_use.store(false, Release); // partner: the Acquire in `begin`
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
