//! Trial reads: what planning looks at before anything is held.
//!
//! Role         [`RecordAccess`] that only reads, asks for no protection and trusts nothing: what
//!              it sees decides a plan, and the planned execution checks that it stays inside it
//! Invariants   I1 under the worker's epoch pin, so that what it reaches stays readable; rows are
//!              atomic words, so a torn row is a wrong guess and nothing worse
//! Source       orthrus.txt 3.2 (OLLP)

use hotrow_base::sync::facade::atomic::AtomicU64;
use std::ops::ControlFlow;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_storage::record::{Record, RecordId};
use hotrow_transaction::access::{Inserted, Intent, KeyAt, RangeAt, RecordAccess};
use hotrow_transaction::dynamic::Definitions;
use hotrow_transaction::outcome::Stop;

use crate::in_place::{InPlace, Scratch};
use crate::protection::{Alone, Protection};
use crate::schema::Schema;

/// Rows that later reads leave out, at most: who removes more in a loop gets a plan that is short.
const GONE_MAX: usize = 16;

/// Reads without protection. `P` hears which locks would protect them, and refuses none.
pub struct TrialReads<'a, P: Protection = Alone> {
    reads: InPlace<'a, P>,
    /// rows that the procedure removes: the first `gone_count`
    gone: [(TableId, RecordId); GONE_MAX],
    gone_count: usize,
}

impl<'a> TrialReads<'a> {
    /// Reads a schema's tables. `scratch` is only used for buffers.
    pub fn new(schema: &'a Schema, scratch: &'a mut Scratch) -> Self {
        Self::watched(schema, scratch, Alone)
    }
}

impl<'a, P: Protection> TrialReads<'a, P> {
    /// As [`TrialReads::new`], with somebody who hears what would protect the reads.
    pub fn watched(schema: &'a Schema, scratch: &'a mut Scratch, watch: P) -> Self {
        Self::of(InPlace::new(schema, scratch, watch))
    }

    fn of(reads: InPlace<'a, P>) -> Self {
        let none = (TableId(0), RecordId::from_bits(0));
        Self { reads, gone: [none; GONE_MAX], gone_count: 0 }
    }

    fn gone(&self) -> &[(TableId, RecordId)] {
        &self.gone[..self.gone_count]
    }
}

impl<'a> TrialReads<'a> {
    /// Of a transaction that goes on, with the buffers it has.
    pub fn resume(schema: &'a Schema, scratch: &'a mut Scratch) -> Self {
        Self::of(InPlace::resume(schema, scratch, Alone))
    }
}

impl<'a, P: Protection> RecordAccess for TrialReads<'a, P> {
    type Record = Record<'a>;
    type Row = [AtomicU64];

    fn definitions(&self) -> Option<&dyn Definitions> {
        self.reads.definitions()
    }

    /// Whatever it is found for, a trial only reads it.
    fn find(&mut self, at: &KeyAt<'_>, _: Intent) -> Result<Option<Record<'a>>, Stop> {
        let found = self.reads.find(at, Intent::Read)?;
        Ok(found.filter(|record| !self.gone().contains(&(at.table, record.id()))))
    }

    fn row(&self, table: TableId, record: Record<'a>) -> &[AtomicU64] {
        self.reads.row(table, record)
    }

    fn scan(
        &mut self,
        range: &RangeAt<'_>,
        intent: Intent,
        mut visit: impl FnMut(Record<'a>, &[AtomicU64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let Self { reads, gone, gone_count } = self;
        let (gone, table) = (&gone[..*gone_count], range.table);
        reads.scan(range, intent, |record, row| match gone.contains(&(table, record.id())) {
            true => ControlFlow::Continue(()),
            false => visit(record, row),
        })
    }

    fn scan_table(
        &mut self,
        table: TableId,
        intent: Intent,
        mut visit: impl FnMut(Record<'a>, &[AtomicU64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let Self { reads, gone, gone_count } = self;
        let gone = &gone[..*gone_count];
        reads.scan_table(table, intent, |record, row| match gone.contains(&(table, record.id())) {
            true => ControlFlow::Continue(()),
            false => visit(record, row),
        })
    }

    fn forget(&mut self, table: TableId, record: Record<'a>) {
        if let Some(place) = self.gone.get_mut(self.gone_count) {
            *place = (table, record.id());
            self.gone_count += 1;
        }
    }

    fn update(
        &mut self,
        _: TableId,
        _: Record<'a>,
        _: &[(ColumnId, Datum)],
        _: &[u8],
    ) -> Result<Inserted, Stop> {
        unreachable!("slices only read (slice, I2)")
    }

    fn insert(&mut self, _: TableId, _: &[u64], _: Option<&KeyAt<'_>>) -> Result<Inserted, Stop> {
        unreachable!("slices only read (slice, I2)")
    }

    fn remove(&mut self, _: TableId, _: Record<'a>) -> Result<(), Stop> {
        unreachable!("slices only read (slice, I2)")
    }
}
