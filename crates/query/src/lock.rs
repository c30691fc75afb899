//! FOR UPDATE SKIP LOCKED: rows that were found unheld are held, or left out.

use crate::plan::LockedRows;
use hotrow_base::value::Value;
use hotrow_transaction::program::SlotId;

use crate::order::key_of;
use crate::{Ground, Row, place};

/// How one table's part of a row is held.
pub(crate) struct Lock<'p> {
    of: &'p LockedRows,
    /// where in the row its primary key is, and its columns
    key: Vec<usize>,
    columns: Vec<usize>,
}

impl<'p> Lock<'p> {
    pub(crate) fn new(of: &'p LockedRows, layout: &[SlotId]) -> Self {
        let places = |slots: &[SlotId]| {
            slots.iter().filter_map(|slot| place(layout, *slot).ok()).collect::<Vec<_>>()
        };
        let (key, columns) = (places(&of.key), places(&of.columns));
        debug_assert_eq!((key.len(), columns.len()), (of.key.len(), of.columns.len()));
        Self { of, key, columns }
    }

    /// Whether it is held now, and is what it was when it was found. If it is not, somebody had
    /// changed it and not committed then, or has since: it was not free.
    pub(crate) fn hold<G: Ground>(&self, ground: &mut G, row: &Row) -> Result<bool, G::Error> {
        let key: Vec<Value> = self.key.iter().map(|at| row[*at].clone()).collect();
        if key.contains(&Value::Null) {
            return Ok(true); // an outer join has found none
        }
        let Some(held) = ground.hold(self.of.fetch, &key)? else { return Ok(false) };
        let found: Vec<Value> = self.columns.iter().map(|at| row[*at].clone()).collect();
        Ok(held.len() == found.len() && key_of(&held) == key_of(&found))
    }
}
