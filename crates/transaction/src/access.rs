//! The access path: what an engine gives the interpreter to reach records.
//!
//! Role         implemented once per way of protecting records (a reference model, in place under
//!              locks, optimistic copies, planning itself); the interpreter is generic over it and
//!              monomorphised, so there is no dynamic call per record
//! Invariants   I1 a record handle stays valid until the transaction ends
//!              I2 `row` shows the transaction's own changes
//! Source       DESIGN section 1 ("Access path")

use std::convert::Infallible;
use std::ops::{Bound, ControlFlow};

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::row::{Field, Words};

use crate::dynamic::Definitions;
use crate::outcome::Stop;

/// Why rows are reached.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Intent {
    /// to read them
    Read,
    /// to change or remove them
    Write,
}

/// What of the rows that it reaches an access reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// the rows themselves
    Rows,
    /// only columns of the index's entries: rows need no protection
    Entries,
    /// nothing that anybody changes, neither of rows nor of the index: nothing needs protection
    /// (I4 of [`crate::granule`])
    Unchanged,
}

/// A full key of a unique index.
#[derive(Clone, Copy, Debug)]
pub struct KeyAt<'a> {
    /// the table
    pub table: TableId,
    /// the index
    pub index: IndexId,
    /// memcomparable bytes of the whole key
    pub key: &'a [u8],
    /// [`hotrow_base::key::hash`] of `key` where the index is a hash index; any number elsewhere
    pub hash: u64,
    /// what of the row is read
    pub reads: Reads,
    /// the plan's entry this key was planned as; none when there is no plan
    pub entry: Option<u32>,
}

/// A range of an index.
#[derive(Clone, Copy, Debug)]
pub struct RangeAt<'a> {
    /// the table
    pub table: TableId,
    /// the index
    pub index: IndexId,
    /// memcomparable bytes of the columns bound by equality; both ends start with it
    pub prefix: &'a [u8],
    /// how many key columns `prefix` holds
    pub prefix_parts: usize,
    /// lower end as bytes of key columns
    pub lower: Bound<&'a [u8]>,
    /// upper end as bytes of key columns; rows whose key merely *starts* with an included upper
    /// end belong to the range (the encoder passes an exclusive successor instead)
    pub upper: Bound<&'a [u8]>,
    /// visits from the upper end down
    pub descending: bool,
    /// what of the rows is read
    pub reads: Reads,
    /// the plan's entry this range was planned as
    pub entry: Option<u32>,
}

/// What happened to an insert.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// the row is there
    Yes,
    /// a row with the same key in this unique index was there already; nothing was changed
    Duplicate(IndexId),
}

/// The records an engine lets a transaction see and change.
///
/// Errors: a [`Stop`] ends the execution; the engine that returned it undoes the transaction.
pub trait RecordAccess {
    /// A record, found and protected.
    type Record: Copy;
    /// A row's words.
    type Row: Words + ?Sized;

    /// Finds the record with this key.
    fn find(&mut self, at: &KeyAt<'_>, intent: Intent) -> Result<Option<Self::Record>, Stop>;

    /// The row of a record found before.
    fn row(&self, table: TableId, record: Self::Record) -> &Self::Row;

    /// Visits the rows of an index range in order until `visit` breaks.
    fn scan(
        &mut self,
        range: &RangeAt<'_>,
        intent: Intent,
        visit: impl FnMut(Self::Record, &Self::Row) -> ControlFlow<()>,
    ) -> Result<(), Stop>;

    /// Visits every row of a table, in no particular order, until `visit` breaks.
    fn scan_table(
        &mut self,
        table: TableId,
        intent: Intent,
        visit: impl FnMut(Self::Record, &Self::Row) -> ControlFlow<()>,
    ) -> Result<(), Stop>;

    /// Sets columns of a record found with [`Intent::Write`]; byte-like values lie in `heap`.
    /// Never called for primary-key columns. `Ok(Duplicate)`: a unique index forbids it and
    /// nothing was changed.
    fn update(
        &mut self,
        table: TableId,
        record: Self::Record,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<Inserted, Stop>;

    /// Sets an integer column that is not NULL, to a value that fits it. As
    /// [`RecordAccess::update`], for which engines may have a shorter way here.
    #[inline]
    fn update_int(
        &mut self,
        table: TableId,
        record: Self::Record,
        field: Field,
        value: i64,
    ) -> Result<Inserted, Stop> {
        self.update(table, record, &[(field.column(), Datum::int(value))], &[])
    }

    /// Inserts a row (laid out by the table's layout) under all indexes of the table. `primary`
    /// is the key of its primary index, where it has one.
    fn insert(
        &mut self,
        table: TableId,
        row: &[u64],
        primary: Option<&KeyAt<'_>>,
    ) -> Result<Inserted, Stop>;

    /// A list for the interpreter to collect records in, empty. Engines that want no allocation
    /// hand out the one given back last.
    fn take_records(&mut self) -> Vec<Self::Record> {
        Vec::new()
    }

    /// Takes the list back for reuse.
    fn give_back_records(&mut self, _records: Vec<Self::Record>) {}

    /// Removes a record found with [`Intent::Write`] from the table and all its indexes.
    fn remove(&mut self, table: TableId, record: Self::Record) -> Result<(), Stop>;

    /// Of a trial read: the procedure removes this row, so what is read on trial later should not
    /// find it again. An access path that cannot leave it out goes on showing it, and the plan is a
    /// guess the more.
    fn forget(&mut self, _table: TableId, _record: Self::Record) {}

    /// What is defined, for statements that are compiled while the call runs; none: such a
    /// statement cannot run here.
    fn definitions(&self) -> Option<&dyn Definitions> {
        None
    }

    /// Whether nobody else runs at the same time, so that nothing needs protection.
    fn is_alone(&self) -> bool {
        false
    }

    /// Notes under a number how far the transaction has come, until the number is used again.
    /// An access path that changes nothing has nothing to note.
    fn note_place(&mut self, _number: u16) -> Result<(), Stop> {
        Ok(())
    }

    /// Takes back what was changed since a place was noted under this number by the same call.
    fn take_back_to(&mut self, _number: u16) -> Result<(), Stop> {
        Ok(())
    }
}

/// An access path to no records at all: for programs of expressions, which reach none, and for
/// planning from arguments alone.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoRows;

impl RecordAccess for NoRows {
    type Record = Infallible;
    type Row = [u64];

    fn find(&mut self, _: &KeyAt<'_>, _: Intent) -> Result<Option<Infallible>, Stop> {
        Ok(None)
    }

    fn row(&self, _: TableId, record: Infallible) -> &[u64] {
        match record {}
    }

    fn scan(
        &mut self,
        _: &RangeAt<'_>,
        _: Intent,
        _: impl FnMut(Infallible, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        Ok(())
    }

    fn scan_table(
        &mut self,
        _: TableId,
        _: Intent,
        _: impl FnMut(Infallible, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        Ok(())
    }

    fn update(
        &mut self,
        _: TableId,
        record: Infallible,
        _: &[(ColumnId, Datum)],
        _: &[u8],
    ) -> Result<Inserted, Stop> {
        match record {}
    }

    fn insert(&mut self, _: TableId, _: &[u64], _: Option<&KeyAt<'_>>) -> Result<Inserted, Stop> {
        Ok(Inserted::Yes)
    }

    fn remove(&mut self, _: TableId, record: Infallible) -> Result<(), Stop> {
        match record {}
    }
}
