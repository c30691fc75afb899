//! Which thread has changed which row when: recorded to be drawn.
//!
//! Role         off, unless somebody asks before an engine starts; then each commit tells of the
//!              rows of one table that it has changed, on the thread that has changed them
//! Bounds       [`ACCESSES_MAX`] for each worker, the first ones
//! Concurrency  table -> set once; the records of a worker -> latched, written by the worker, taken
//!              by whoever asks
//! Source       dora.txt 1.1, figure 2: accesses to the records of District, by thread, with
//!              Payment alone, which changes each that it reads

use hotrow_base::clock::Ticks;
use hotrow_base::counters::PerWorker;
use hotrow_base::ids::{TableId, WorkerId};
use hotrow_base::sync::Latch;
use hotrow_storage::record::RecordId;
use hotrow_storage::undo::{Undo, UndoLog};

/// Accesses recorded for each worker.
pub const ACCESSES_MAX: usize = 1 << 16;

/// A row changed by a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowAccess {
    /// the worker that is the thread's
    pub worker: u16,
    /// the row
    pub row: RecordId,
    /// when its change became final, in nanoseconds since recording began
    pub nanos: u64,
}

/// Changes of one table's rows, in a list for each worker.
#[derive(Debug)]
pub struct AccessTrace {
    table: TableId,
    began: Ticks,
    workers: PerWorker<Latch<Vec<RowAccess>>>,
}

impl AccessTrace {
    /// Of a table's rows, for so many workers.
    pub fn new(table: TableId, workers: usize) -> Self {
        Self { table, began: Ticks::now(), workers: PerWorker::with_defaults(workers) }
    }

    /// Records the rows that a worker's transaction has changed.
    #[cold]
    pub(crate) fn note(&self, worker: WorkerId, undo: &UndoLog) {
        let mut known = None;
        for entry in undo.iter().filter(|entry| entry.table == self.table) {
            let is_change = !matches!(entry.undo, Undo::Index { .. });
            if is_change && known.replace(entry.record) != Some(entry.record) {
                let mut accesses = self.workers.of(worker.0.into()).lock();
                if accesses.len() < ACCESSES_MAX {
                    let nanos = Ticks::now().nanos_since(self.began);
                    accesses.push(RowAccess { worker: worker.0, row: entry.record, nanos });
                }
            }
        }
    }

    /// What was recorded since this was asked last, worker by worker.
    pub fn take(&self) -> Vec<RowAccess> {
        self.workers.iter().flat_map(|worker| std::mem::take(&mut *worker.lock())).collect()
    }
}
