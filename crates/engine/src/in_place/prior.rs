//! Rows as they were before an open transaction changed them: what an image that begins while the
//! transaction is between two statements has in their place.
//!
//! Role         undoes the transaction's changes on copies, newest first, and saves those
//! Invariants   I1 the transaction is not running: a quiet point keeps it from its next statement
//!              I2 afterwards its records are captured, so that it goes on, or is undone, without
//!              the image being told

use hotrow_base::sync::facade::atomic::Ordering::Relaxed;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use hotrow_base::ids::TableId;
use hotrow_storage::record::{RecordId, RowWords};
use hotrow_storage::undo::Undo;

use super::Scratch;
use crate::schema::Schema;

/// A row, on its way back.
struct Prior {
    row: Vec<u64>,
    is_there: bool,
}

impl Scratch {
    /// Saves the rows of an image's tables that the transaction has changed, as they were before.
    pub(crate) fn keep_prior_rows(&self, schema: &Schema) {
        let mut priors: HashMap<(TableId, RecordId), Prior> = HashMap::new();
        for at in (0..self.part.undo.len()).rev() {
            let entry = self.part.undo.entry(at);
            let records = schema.table(entry.table).records();
            let record = records.record(entry.record);
            if record.is_captured() || matches!(entry.undo, Undo::Index { .. }) {
                continue; // of another table, or of no row
            }
            let prior = match priors.entry((entry.table, entry.record)) {
                Entry::Occupied(prior) => prior.into_mut(),
                Entry::Vacant(place) => {
                    place.insert(Prior { row: words(record.row()), is_there: !record.is_ghost() })
                }
            };
            match entry.undo {
                Undo::Word { index, old } => prior.row[index] = old,
                Undo::Row { old } => {
                    prior.row.clear();
                    prior.row.extend_from_slice(old);
                }
                Undo::Grown { prior: place } => {
                    prior.row = words(records.prior_row(entry.record, place));
                }
                Undo::Inserted | Undo::Revived => prior.is_there = false,
                Undo::Deleted => prior.is_there = true,
                Undo::Index { .. } => {}
            }
        }
        for ((table, id), prior) in priors {
            let record = schema.table(table).records().record(id);
            let row = prior.is_there.then_some(&*prior.row);
            schema.memory.saved_rows().save_prior(self.worker, table, record, row);
        }
    }
}

fn words(row: RowWords<'_>) -> Vec<u64> {
    row.iter().map(|word| word.load(Relaxed)).collect()
}
