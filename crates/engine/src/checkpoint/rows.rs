//! Rows on their way to and from a checkpoint: batches of one table's rows, as plain words.
//!
//! Role         what the walk fills, sinks write, sources read and the load takes apart
//!
//! ```text
//! batch    | length | words of a row ... | length | words of a row ... | ...
//! ```
//!
//! Words are the row's as they lie in memory, slack included: a row that is loaded behaves at its
//! next change exactly as the one that was captured, so a replayed call does what it did.

use std::fmt;

use hotrow_base::ids::TableId;
use hotrow_base::row::{Word, Words};

/// Rows of one table.
#[derive(Clone, Copy, Debug)]
pub struct RowBatch<'a> {
    /// the table
    pub table: TableId,
    /// how many
    pub rows: u64,
    /// see the module
    pub words: &'a [u64],
}

/// A batch's words are not rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("its words do not make the {rows} rows that it is said to have")]
pub struct BatchFault {
    /// how many it is said to have
    pub rows: u64,
}

impl RowBatch<'_> {
    /// Visits the rows, until `visit` fails or the words make no row.
    pub fn for_each<E: From<BatchFault>>(
        &self,
        mut visit: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let fault = BatchFault { rows: self.rows };
        let mut rest = self.words;
        for _ in 0..self.rows {
            let (&length, behind) = rest.split_first().ok_or(fault)?;
            let length = usize::try_from(length).map_err(|_| fault)?;
            let (row, next) = behind.split_at_checked(length).ok_or(fault)?;
            visit(row)?;
            rest = next;
        }
        if rest.is_empty() { Ok(()) } else { Err(fault.into()) }
    }
}

/// Where a thread that copies puts its rows.
pub trait RowSink: Send {
    /// What can go wrong. No more batches come afterwards.
    type Error: Send;

    /// Takes a batch of at least one row.
    fn put(&mut self, batch: RowBatch<'_>) -> Result<(), Self::Error>;
}

/// Where the rows of an image come from.
pub trait RowSource: Sync {
    /// What can go wrong.
    type Error: Send;
    /// Where a batch lies, for error messages.
    type Place: fmt::Display;

    /// Reads the next batch into `words`, whose content is replaced; `None` when there is no more.
    /// `bytes` is a buffer for whatever it takes. Called by several threads; each batch is given
    /// once.
    fn next(
        &self,
        bytes: &mut Vec<u8>,
        words: &mut Vec<u64>,
    ) -> Result<Option<BatchHead<Self::Place>>, Self::Error>;
}

/// What a source tells of a batch.
#[derive(Clone, Debug)]
pub struct BatchHead<P> {
    /// the table, as the schema to load into knows it
    pub table: TableId,
    /// rows in it
    pub rows: u64,
    /// where it lies
    pub place: P,
}

/// A batch that is being filled.
#[derive(Debug, Default)]
pub(super) struct Batch {
    rows: u64,
    words: Vec<u64>,
}

impl Batch {
    pub(super) fn push<W: Words + ?Sized>(&mut self, row: &W) {
        self.rows += 1;
        self.words.push(row.len() as u64);
        self.words.extend(row.words().iter().map(Word::load));
    }

    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    pub(super) fn of_table(&self, table: TableId) -> Option<RowBatch<'_>> {
        (self.rows > 0).then_some(RowBatch { table, rows: self.rows, words: &self.words })
    }

    /// Forgets the rows, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.rows = 0;
        self.words.clear();
    }
}
