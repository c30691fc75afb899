//! A capture: from the quiet point at which an image begins to its last row.

use hotrow_base::sync::facade::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_base::thread::{self, ThreadOptions};
use hotrow_storage::slab::Piece;

use super::copier::Copier;
use super::rows::RowSink;
use super::saved::{Amount, Turn};
use crate::schema::{Quiet, Schema};

/// An image that has begun. Dropped, it is given up: the walk is made all the same, as the next
/// one relies on it, and its rows are thrown away.
#[must_use = "transactions save rows for it from now on"]
pub struct Capture {
    schema: Arc<Schema>,
    tables: Vec<TableId>,
    walked: bool,
    /// given back when all else is over
    _turn: Turn,
}

/// How far a capture is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// rows captured
    pub rows: u64,
    /// bytes of records that were walked, and of how many, free places included
    pub bytes: u64,
    /// see `bytes`
    pub bytes_total: u64,
}

/// Rows of one table in an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableRows {
    /// the table
    pub table: TableId,
    /// its rows
    pub rows: u64,
}

/// What an image has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// each table, in the order of ids
    pub tables: Vec<TableRows>,
    /// rows of all tables that transactions saved, because they came before the walk
    pub saved_rows: u64,
}

impl Captured {
    /// Rows of all tables.
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

/// Begins an image of all tables as they are now, without what open transactions have changed.
/// Takes a microsecond or so: it flips one bit per table; and some 0.1 us for each of those
/// changes, see
/// [`SharedSchema::quiet_for_checkpoint`](crate::schema::SharedSchema::quiet_for_checkpoint). What
/// else belongs to the moment (the log's epoch) the caller settles before the quiet point ends.
pub fn begin(quiet: &Quiet<'_>, turn: Turn) -> Capture {
    let schema = quiet.schema();
    let tables = schema.catalog.tables().iter();
    let tables = tables.map(|table| table.id).collect();
    begin_of(quiet, turn, tables)
}

/// As [`begin`], of some tables, each named once.
pub fn begin_of(quiet: &Quiet<'_>, turn: Turn, tables: Vec<TableId>) -> Capture {
    let schema = quiet.schema();
    for &table in &tables {
        schema.table(table).records().begin_capture();
    }
    quiet.keep_prior_rows();
    Capture { schema, tables, walked: false, _turn: turn }
}

impl Capture {
    /// The schema of the image.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Copies all rows: one thread per sink, the calling one included. `progress` is called now
    /// and then, by each of them. Rows come to the sinks in no particular order.
    ///
    /// # Errors
    ///
    /// The first error of a sink, after the walk has been made to its end.
    ///
    /// # Panics
    ///
    /// Without a sink.
    pub fn run<S: RowSink>(
        mut self,
        sinks: &mut [S],
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Captured, S::Error> {
        let work = Work::new(&self, progress);
        let (first, others) = sinks.split_first_mut().expect("an image needs a sink");
        let mut copier = Copier::new(&work, first);
        let ended: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (1..)
                .zip(others)
                .filter_map(|(number, sink)| {
                    let work = &work;
                    let options = ThreadOptions::named(format!("checkpoint-{number}"));
                    // Where the system has no room for a thread the others do its work.
                    options.spawn_scoped(scope, move || Copier::new(work, sink).walk_all()).ok()
                })
                .collect();
            copier.walk();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        copier.drain(Amount::All);
        let mut ended = ended.into_iter().chain([copier.end()]);
        let captured = ended.try_fold(Captured::nothing(&self.tables), |sum, copied| {
            copied.map(|copied| sum.plus(&copied))
        });
        self.walked = true;
        captured
    }

    /// Makes the walk and throws its rows away.
    fn give_up(&self) {
        for &table in &self.tables {
            let records = self.schema.table(table).records();
            for piece in records.pieces() {
                records.capture_piece(piece, |_| {});
            }
        }
        self.schema.memory.saved_rows().drain(Amount::All, &mut Vec::new(), |_| {});
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        if !self.walked {
            self.give_up();
        }
    }
}

impl Captured {
    fn nothing(tables: &[TableId]) -> Self {
        let table = |&table| TableRows { table, rows: 0 };
        Self { tables: tables.iter().map(table).collect(), saved_rows: 0 }
    }

    fn plus(mut self, copied: &Copied) -> Self {
        for table in &mut self.tables {
            table.rows += copied.rows[table.table.index()];
        }
        self.saved_rows += copied.saved_rows;
        self
    }
}

/// What one thread copied.
#[derive(Debug)]
pub(super) struct Copied {
    /// by table id
    pub(super) rows: Vec<u64>,
    pub(super) saved_rows: u64,
}

/// What those who copy share.
pub(super) struct Work<'a> {
    pub(super) schema: &'a Schema,
    pieces: Vec<(TableId, Piece)>,
    next: AtomicUsize,
    rows: AtomicU64,
    bytes: AtomicU64,
    bytes_total: u64,
    /// a sink has failed: rows are walked and thrown away
    failed: AtomicBool,
    progress: &'a (dyn Fn(Progress) + Sync),
}

impl<'a> Work<'a> {
    fn new(capture: &'a Capture, progress: &'a (dyn Fn(Progress) + Sync)) -> Self {
        let schema = &*capture.schema;
        let of_table = |&table| {
            let pieces = schema.table(table).records().pieces();
            pieces.into_iter().map(move |piece| (table, piece))
        };
        let pieces: Vec<_> = capture.tables.iter().flat_map(of_table).collect();
        Self {
            schema,
            bytes_total: pieces.iter().map(|(_, piece)| piece.bytes()).sum(),
            pieces,
            next: AtomicUsize::new(0),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            progress,
        }
    }

    /// The next piece to walk; each is given once.
    pub(super) fn next(&self) -> Option<(TableId, Piece)> {
        // Relaxed, as all here: threads share nothing by these, and their end orders the rest.
        self.pieces.get(self.next.fetch_add(1, Relaxed)).copied()
    }

    /// Counts what was walked, and tells.
    pub(super) fn walked(&self, piece: Piece, rows: u64) {
        let rows = self.rows.fetch_add(rows, Relaxed) + rows;
        let bytes = self.bytes.fetch_add(piece.bytes(), Relaxed) + piece.bytes();
        (self.progress)(Progress { rows, bytes, bytes_total: self.bytes_total });
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    pub(super) fn fail(&self) {
        self.failed.store(true, Relaxed);
    }
}
