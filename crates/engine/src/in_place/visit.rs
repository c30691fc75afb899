//! Visiting rows of ranges and tables.

use hotrow_base::sync::facade::atomic::AtomicU64;
use std::ops::ControlFlow;

use hotrow_base::ids::TableId;
use hotrow_base::key;
use hotrow_storage::btree::{GHOST, KeyRange};
use hotrow_storage::record::{Record, RecordId};
use hotrow_storage::table::Index as StoredIndex;
use hotrow_transaction::access::{Intent, RangeAt};
use hotrow_transaction::locks;
use hotrow_transaction::outcome::Stop;

use super::walk::{Holding, direction};
use super::{InPlace, Scratch, key_ranges};
use crate::protection::Protection;
use crate::schema::AccessPath;

/// The record of a B+-tree entry that is not a ghost.
#[inline]
pub(super) fn live_record(value: u64) -> Option<RecordId> {
    (value & GHOST == 0).then(|| RecordId::from_bits(value))
}

impl<'a, P: Protection> InPlace<'a, P> {
    pub(super) fn scan_range(
        &mut self,
        range: &RangeAt<'_>,
        intent: Intent,
        visit: impl FnMut(Record<'a>, &[AtomicU64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let path = self.schema.path(range.index);
        let is_held = Self::holds(range.reads);
        let by_key = P::LOCKS_KEYS && is_held && (P::ALWAYS || path.is_locked);
        if by_key && !key_ranges::is_whole(range) {
            return self.scan_keys(range, intent, visit);
        }
        if is_held {
            self.hold_range(range, path, intent)?;
        }
        let holds_table = path.is_wider_than_granules(range.prefix_parts);
        let rows = Self::holds_rows(range.reads) && !path.is_primary && !holds_table;
        self.visit_range(range, intent, rows, visit)
    }

    /// Visits a range that is held; `rows`: but for the rows.
    pub(super) fn visit_range(
        &mut self,
        range: &RangeAt<'_>,
        intent: Intent,
        rows: bool,
        mut visit: impl FnMut(Record<'a>, &[AtomicU64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let schema = self.schema;
        let path = schema.path(range.index);
        let parts = path.parts.of_prefix(range.prefix, range.prefix_parts);
        if parts.len() > 1 {
            let holding = Holding { intent, keys: false, rows };
            return self.walk_range(range, (path, parts), holding, visit);
        }
        let records = &*path.records;
        let protection = &mut self.protection;
        let Scratch { key: buffer, scan, found, part, .. } = &mut *self.scratch;
        let mut stopped = Ok(());
        let mut step = |id: RecordId| {
            let record = records.record(id);
            if record.is_ghost() {
                return ControlFlow::Continue(());
            }
            let row = record.row();
            if rows {
                stopped = Self::hold_row(protection, schema, buffer, range.table, row, intent);
                if stopped.is_err() {
                    return ControlFlow::Break(());
                }
            }
            visit(record, row)
        };
        match &*parts[0].stored {
            StoredIndex::BTree(tree) => {
                let keys = KeyRange { lower: range.lower, upper: range.upper };
                let buffers = scan;
                let _ = tree.scan_values(buffers, keys, direction(range), |value| {
                    live_record(value).map_or(ControlFlow::Continue(()), &mut step)
                });
            }
            StoredIndex::Hash(hash_index) => {
                // Equality on all declared columns; entries of a non-unique index have longer
                // keys, so the index hashes its declared columns only.
                let index = schema.catalog.index(range.index);
                hash_index.get_all(key::hash(range.prefix), found);
                if P::RUNS_AHEAD || !part.moved.is_empty() {
                    // A row that moved away and back has two entries until commit, also of who
                    // moved it and is undecided.
                    found.sort_unstable_by_key(|id| id.bits());
                    found.dedup();
                }
                for &id in found.iter() {
                    let row = records.record(id).row();
                    if schema.row_has_prefix(index, row, range.prefix) && step(id).is_break() {
                        break;
                    }
                }
            }
        }
        stopped
    }

    /// Holds what covers a range: its granule, or the table when it binds less than one.
    fn hold_range(
        &mut self,
        range: &RangeAt<'_>,
        path: &AccessPath,
        intent: Intent,
    ) -> Result<(), Stop> {
        if path.is_wider_than_granules(range.prefix_parts) {
            return self.hold_table(range.table, locks::granule_mode(intent));
        }
        self.hold_table(range.table, locks::intent_mode(intent))?;
        let mode = Self::path_mode(path, intent);
        Self::hold_granule(&mut self.protection, path, range.prefix, mode)
    }

    pub(super) fn scan_whole(
        &mut self,
        table: TableId,
        intent: Intent,
        mut visit: impl FnMut(Record<'a>, &[AtomicU64]) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.hold_table(table, locks::granule_mode(intent))?;
        let mut done = false;
        self.schema.table(table).records().for_each_record(|_, record| {
            if !done && !record.is_ghost() {
                done = visit(record, record.row()).is_break();
            }
        });
        Ok(())
    }
}
