//! A store that refuses whatever lies outside a given set of granules.

use std::collections::HashMap;
use std::ops::ControlFlow;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, IndexId, TableId};
use hotrow_base::key::KeyBuffer;
use hotrow_transaction::access::{Inserted, Intent, KeyAt, RangeAt, Reads, RecordAccess};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::granule::{Granules, LockMode, Space};
use hotrow_transaction::locks::{granule_mode, intent_mode};
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::reference::ModelStore;

pub struct Checked<'a> {
    pub store: ModelStore,
    pub catalog: &'a Catalog,
    pub granules: &'a Granules,
    /// locks held; none: everything is allowed
    pub held: Option<HashMap<u64, LockMode>>,
    pub writes: usize,
}

impl Checked<'_> {
    fn need(&self, space: Space, key: &[u8], mode: LockMode) -> Result<(), Stop> {
        let Some(held) = &self.held else { return Ok(()) };
        match held.get(&space.lock_id(key)) {
            Some(has) if has.covers(mode) => Ok(()),
            _ => Err(Stop::Replan),
        }
    }

    fn need_granule(&self, index: IndexId, key: &[u8], mode: LockMode) -> Result<(), Stop> {
        let layout = &self.catalog.index(index).key;
        let len = layout.prefix_bytes(key, self.granules.parts(index));
        self.need(Space::Index(index), &key[..len], mode)
    }

    fn need_row(&self, index: IndexId, row: &[u64], mode: LockMode) -> Result<(), Stop> {
        self.need_granule(index, &self.key(index, row), mode)
    }

    /// A row's key in an index.
    pub fn key(&self, index: IndexId, row: &[u64]) -> Vec<u8> {
        let index = self.catalog.index(index);
        let mut key = KeyBuffer::new();
        index.key.encode_from_row(&index.fields, row, &mut key).expect("keys are short");
        key.to_vec()
    }

    fn announce(&self, table: TableId, intent: Intent) -> Result<(), Stop> {
        match self.granules.table(table).coarse {
            true => self.need(Space::Table(table), &[], intent_mode(intent)),
            false => Ok(()),
        }
    }

    fn needs_nothing(&self, table: TableId, reads: Reads) -> bool {
        reads == Reads::Unchanged || !self.granules.table(table).is_written()
    }

    fn indexes(&self, table: TableId) -> Vec<IndexId> {
        self.catalog.table(table).indexes().collect()
    }
}

impl RecordAccess for Checked<'_> {
    type Record = usize;
    type Row = [u64];

    fn note_place(&mut self, number: u16) -> Result<(), Stop> {
        self.store.note_place(number)
    }

    fn take_back_to(&mut self, number: u16) -> Result<(), Stop> {
        self.store.take_back_to(number)
    }

    fn find(&mut self, at: &KeyAt<'_>, intent: Intent) -> Result<Option<usize>, Stop> {
        let found = self.store.find(at, intent)?;
        if self.needs_nothing(at.table, at.reads) {
            return Ok(found);
        }
        self.announce(at.table, intent)?;
        let primary = self.catalog.table(at.table).primary.expect("it has an index");
        let mode = granule_mode(intent);
        if primary == at.index {
            self.need_granule(primary, at.key, mode)?;
            return Ok(found);
        }
        if self.granules.needs_granules(self.catalog, at.index) {
            self.need_granule(at.index, at.key, LockMode::Shared)?;
        }
        if let Some(record) = found
            && at.reads == Reads::Rows
        {
            self.need_row(primary, self.store.row(at.table, record), mode)?;
        }
        Ok(found)
    }

    fn row(&self, table: TableId, record: usize) -> &[u64] {
        self.store.row(table, record)
    }

    fn scan(
        &mut self,
        range: &RangeAt<'_>,
        intent: Intent,
        mut visit: impl FnMut(usize, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let table = range.table;
        if self.needs_nothing(table, range.reads) {
            return self.store.scan(range, intent, visit);
        }
        let mode = granule_mode(intent);
        let primary = self.catalog.table(table).primary.expect("it has an index");
        let is_coarse = range.prefix_parts == 0;
        if is_coarse {
            self.need(Space::Table(table), &[], mode)?;
        } else {
            self.announce(table, intent)?;
            let path_mode = if primary == range.index { mode } else { LockMode::Shared };
            if self.granules.needs_granules(self.catalog, range.index) {
                self.need_granule(range.index, range.prefix, path_mode)?;
            }
        }
        let mut rows = Vec::new();
        self.store.scan(range, intent, |record, row| {
            rows.push((record, row.to_vec()));
            ControlFlow::Continue(())
        })?;
        for (record, row) in rows {
            if !is_coarse && primary != range.index && range.reads == Reads::Rows {
                self.need_row(primary, &row, mode)?;
            }
            if visit(record, &row).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn scan_table(
        &mut self,
        table: TableId,
        intent: Intent,
        visit: impl FnMut(usize, &[u64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        if self.granules.table(table).is_written() {
            self.need(Space::Table(table), &[], granule_mode(intent))?;
        }
        self.store.scan_table(table, intent, visit)
    }

    fn update(
        &mut self,
        table: TableId,
        record: usize,
        changes: &[(ColumnId, Datum)],
        heap: &[u8],
    ) -> Result<Inserted, Stop> {
        self.writes += 1;
        let row = self.store.row(table, record).to_vec();
        let mut new = Vec::new();
        let layout = &self.catalog.table(table).layout;
        layout.rebuild(&row[..], changes, heap, &mut new).expect("the interpreter checks values");
        let whole = self.need(Space::Table(table), &[], LockMode::Exclusive).is_ok();
        for index in self.indexes(table) {
            if !whole && self.key(index, &row) != self.key(index, &new) {
                self.need_row(index, &row, LockMode::Exclusive)?;
                self.need_row(index, &new, LockMode::Exclusive)?;
            }
        }
        self.store.update(table, record, changes, heap)
    }

    fn insert(
        &mut self,
        table: TableId,
        row: &[u64],
        primary: Option<&KeyAt<'_>>,
    ) -> Result<Inserted, Stop> {
        self.writes += 1;
        self.announce(table, Intent::Write)?;
        for index in self.indexes(table) {
            self.need_row(index, row, LockMode::Exclusive)?;
        }
        self.store.insert(table, row, primary)
    }

    fn remove(&mut self, table: TableId, record: usize) -> Result<(), Stop> {
        self.writes += 1;
        let row = self.store.row(table, record).to_vec();
        let whole = self.need(Space::Table(table), &[], LockMode::Exclusive).is_ok();
        for index in self.indexes(table) {
            if !whole {
                self.need_row(index, &row, LockMode::Exclusive)?;
            }
        }
        self.store.remove(table, record)
    }
}
