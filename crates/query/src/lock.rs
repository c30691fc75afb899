//! FOR UPDATE SKIP LOCKED: rows that were found unheld are held, or left out.

use crate::plan::{LockedRows, Plan};
use hotrow_base::value::Value;
use hotrow_transaction::program::SlotId;

use crate::memory::Seen;
use crate::order::key_of;
use crate::{Flow, Ground, MORE, Row, Runner, Take, place};

/// How many rows are read at first, where they are read by parts.
const ROWS_AT_FIRST: usize = 64;
/// And how many times as many, when too few of them could be held.
const GROWTH: usize = 4;

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

    /// The row's primary key.
    fn key_in<'r>(&self, row: &'r Row) -> impl Iterator<Item = &'r Value> {
        self.key.iter().map(|at| &row[*at])
    }

    /// Whether it is held now, and is what it was when it was found. If it is not, somebody had
    /// changed it and not committed then, or has since: it was not free.
    pub(crate) fn hold<G: Ground>(&self, ground: &mut G, row: &Row) -> Result<bool, G::Error> {
        let key: Vec<Value> = self.key_in(row).cloned().collect();
        if key.contains(&Value::Null) {
            return Ok(true); // an outer join has found none
        }
        let Some(held) = ground.hold(self.of.fetch, &key)? else { return Ok(false) };
        let found: Vec<Value> = self.columns.iter().map(|at| row[*at].clone()).collect();
        Ok(held.len() == found.len() && key_of(&held) == key_of(&found))
    }
}

impl<'g, G: Ground> Runner<'g, G> {
    /// Gives those of an operator's rows on that can be held. `by_parts`: see [`Plan::Lock`].
    pub(crate) fn locked(
        &mut self,
        input: &Plan,
        locks: &[LockedRows],
        by_parts: Option<SlotId>,
        take: Take<'_, 'g, G>,
    ) -> Flow<G::Error> {
        let layout = input.layout();
        let locks: Vec<_> = locks.iter().map(|lock| Lock::new(lock, &layout)).collect();
        let mut seen = Seen::new(&self.limits);
        let mut wanted = ROWS_AT_FIRST;
        loop {
            if let Some(slot) = by_parts {
                self.calculator.around[slot.index()] = Value::BigInt(wanted as i64);
            }
            let mut met = 0;
            let flow = self.each(input, &mut |runner, row| {
                runner.tick()?;
                met += 1;
                // Rows that were there before come again, perhaps at other places among them.
                let is_new = by_parts.is_none()
                    || seen.insert(locks.iter().flat_map(|lock| lock.key_in(&row)))?;
                if !is_new {
                    return Ok(MORE);
                }
                for lock in &locks {
                    if !lock.hold(runner.ground, &row)? {
                        return Ok(MORE);
                    }
                }
                take(runner, row)
            })?;
            if flow.is_break() || by_parts.is_none() || met < wanted {
                return Ok(flow);
            }
            wanted = wanted.saturating_mul(GROWTH);
        }
    }
}
