//! A store that notes whatever lies outside a given set of partitions.

use std::ops::ControlFlow;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_transaction::access::{Inserted, Intent, KeyAt, RangeAt, Reads, RecordAccess};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::routing::{PartitionSet, Place, Routing};

use crate::checked::Checked;

/// Execution inside a footprint ([`Checked`]) and inside partitions.
pub struct Noted<'a> {
    pub inner: Checked<'a>,
    pub routing: &'a Routing,
    /// where execution may be
    pub named: PartitionSet,
    /// what was touched elsewhere
    pub outside: Vec<String>,
    /// how many records and keys were looked at
    pub seen: usize,
}

impl Noted<'_> {
    fn note(&mut self, place: Place, what: impl FnOnce() -> String) {
        self.seen += 1;
        let inside = match place {
            Place::Anywhere => true,
            Place::Partition(partition) => self.named.contains(partition),
            Place::Everywhere => self.named.len() == usize::from(self.routing.partition_count()),
        };
        if !inside {
            self.outside.push(format!("{} at {place:?}", what()));
        }
    }

    /// A row, and its entries in all indexes where they are written.
    fn note_row(&mut self, table: TableId, row: &[u64], written: bool) {
        let catalog = self.inner.catalog;
        let place = self.routing.place_of_row(catalog, table, row).expect("keys are short");
        self.note(place, || format!("a row of {}", catalog.table(table).name));
        for index in catalog.table(table).indexes().filter(|_| written) {
            let place = self.routing.place_of_key(catalog, index, &self.inner.key(index, row));
            self.note(place, || format!("an entry of {}", catalog.index(index).name));
        }
    }
}

impl RecordAccess for Noted<'_> {
    type Record = usize;
    type Row = [u64];

    fn note_place(&mut self, number: u16) -> Result<(), Stop> {
        self.inner.note_place(number)
    }

    fn take_back_to(&mut self, number: u16) -> Result<(), Stop> {
        self.inner.take_back_to(number)
    }

    fn find(&mut self, at: &KeyAt<'_>, intent: Intent) -> Result<Option<usize>, Stop> {
        let found = self.inner.find(at, intent)?;
        let catalog = self.inner.catalog;
        if at.reads != Reads::Unchanged && self.inner.granules.needs_granules(catalog, at.index) {
            let place = self.routing.place_of_key(catalog, at.index, at.key);
            self.note(place, || format!("a key of {}", catalog.index(at.index).name));
        }
        if let Some(record) = found.filter(|_| at.reads == Reads::Rows) {
            let row = self.inner.row(at.table, record).to_vec();
            self.note_row(at.table, &row, false);
        }
        Ok(found)
    }

    fn row(&self, table: TableId, record: usize) -> &[u64] {
        self.inner.row(table, record)
    }

    fn scan(
        &mut self,
        range: &RangeAt<'_>,
        intent: Intent,
        mut visit: impl FnMut(usize, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let mut rows = Vec::new();
        self.inner.scan(range, intent, |record, row| {
            rows.push(row.to_vec());
            visit(record, row)
        })?;
        let rows = rows.iter().filter(|_| range.reads == Reads::Rows);
        rows.for_each(|row| self.note_row(range.table, row, false));
        Ok(())
    }

    fn scan_table(
        &mut self,
        table: TableId,
        intent: Intent,
        mut visit: impl FnMut(usize, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let mut rows = Vec::new();
        self.inner.scan_table(table, intent, |record, row| {
            rows.push(row.to_vec());
            visit(record, row)
        })?;
        rows.iter().for_each(|row| self.note_row(table, row, false));
        Ok(())
    }

    fn update(
        &mut self,
        table: TableId,
        record: usize,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<Inserted, Stop> {
        let updated = self.inner.update(table, record, changes, heap)?;
        let row = self.inner.row(table, record).to_vec();
        self.note_row(table, &row, false);
        Ok(updated)
    }

    fn insert(
        &mut self,
        table: TableId,
        row: &[u64],
        primary: Option<&KeyAt<'_>>,
    ) -> Result<Inserted, Stop> {
        let inserted = self.inner.insert(table, row, primary)?;
        self.note_row(table, row, true);
        Ok(inserted)
    }

    fn remove(&mut self, table: TableId, record: usize) -> Result<(), Stop> {
        let row = self.inner.row(table, record).to_vec();
        self.inner.remove(table, record)?;
        // A coarse delete holds the table, and so the partitions of all entries.
        self.note_row(table, &row, true);
        Ok(())
    }
}
