//! A thread that copies rows into an image: it walks pieces of tables, and between two of them
//! takes what transactions have saved.
//!
//! Invariants   I1 nothing is written while a record is claimed: a transaction may be spinning
//!              I2 a sink's error ends the writing, not the walk

use hotrow_base::ids::TableId;
use hotrow_storage::slab::Piece;

use super::capture::{Copied, Work};
use super::rows::{Batch, RowSink};
use super::saved::Amount;

/// Words of a batch that is worth writing: 256 KiB.
const BATCH_WORDS: usize = 1 << 15;
/// Words of all batches of a thread, above which small ones are written too: 2 MiB.
const BATCHES_WORDS_MAX: usize = 1 << 18;

/// One thread's share of the work, its batches by table, and the first error.
pub(super) struct Copier<'a, S: RowSink> {
    work: &'a Work<'a>,
    sink: &'a mut S,
    /// by table id
    batches: Vec<Batch>,
    spare: Vec<u64>,
    copied: Copied,
    error: Option<S::Error>,
}

impl<'a, S: RowSink> Copier<'a, S> {
    pub(super) fn new(work: &'a Work<'a>, sink: &'a mut S) -> Self {
        let tables = work.schema.catalog.tables().len();
        Self {
            work,
            sink,
            batches: (0..tables).map(|_| Batch::default()).collect(),
            spare: Vec::new(),
            copied: Copied { rows: vec![0; tables], saved_rows: 0 },
            error: None,
        }
    }

    /// Walks until there is nothing left to walk, and ends.
    pub(super) fn walk_all(mut self) -> Result<Copied, S::Error> {
        self.walk();
        self.end()
    }

    /// Walks until there is nothing left to walk.
    pub(super) fn walk(&mut self) {
        while let Some((table, piece)) = self.work.next() {
            let rows = self.walk_piece(table, piece);
            self.work.walked(piece, rows);
            self.write(BATCH_WORDS);
            self.drain(Amount::Worthwhile);
        }
    }

    /// Takes what transactions have saved.
    pub(super) fn drain(&mut self, amount: Amount) {
        let Self { work, batches, copied, spare, .. } = self;
        let failed = work.has_failed();
        work.schema.memory.saved_rows().drain(amount, spare, |saved| {
            saved.for_each(|table, row| {
                copied.rows[table.index()] += 1;
                copied.saved_rows += 1;
                if !failed {
                    batches[table.index()].push(row);
                }
            });
        });
        self.write(BATCH_WORDS);
    }

    /// Writes what is left.
    pub(super) fn end(mut self) -> Result<Copied, S::Error> {
        self.write(0);
        self.error.map_or(Ok(self.copied), Err)
    }

    /// Copies the rows of a piece that are due; how many.
    fn walk_piece(&mut self, table: TableId, piece: Piece) -> u64 {
        let batch = &mut self.batches[table.index()];
        let failed = self.work.has_failed();
        let mut rows = 0;
        let records = self.work.schema.table(table).records();
        records.capture_piece(piece, |claimed| {
            if let Some(row) = claimed.row() {
                rows += 1;
                if !failed {
                    batch.push(row);
                }
            }
        });
        self.copied.rows[table.index()] += rows;
        rows
    }

    /// Writes the batches of at least `words`, or all when they are too much together.
    fn write(&mut self, words: usize) {
        let total: usize = self.batches.iter().map(Batch::words).sum();
        let words = if total > BATCHES_WORDS_MAX { 0 } else { words };
        for (table, batch) in self.batches.iter_mut().enumerate() {
            if batch.words() < words.max(1) {
                continue;
            }
            if !self.work.has_failed()
                && let Some(rows) = batch.of_table(TableId(table as u16))
                && let Err(error) = self.sink.put(rows)
            {
                self.work.fail();
                self.error = Some(error);
            }
            batch.clear();
        }
    }
}
