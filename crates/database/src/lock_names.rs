//! What locks and procedures are called, for who reads figures.

use std::collections::HashMap;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::ids::{ColumnId, ProcedureId};
use hotrow_base::sync::Latch;
use hotrow_base::value::Value;
use hotrow_engine::schema::Schema;
use hotrow_engine::waits::{self, Locked};

/// Between two walks over all rows to find out which keys locks stand for.
const WALK_EVERY: Duration = Duration::from_secs(10);

/// What locks are called, as far as it was found out: that takes a walk over all rows.
#[derive(Default, Debug)]
pub(crate) struct LockNames {
    known: Latch<Known>,
}

#[derive(Default, Debug)]
struct Known {
    names: HashMap<u64, (String, String)>,
    walked: Option<Ticks>,
}

/// Beyond so many the names are found out anew.
const NAMES_MAX: usize = 10_000;

impl LockNames {
    /// The tables and keys of locks, in their order; empty where they are not known.
    pub(crate) fn of(
        &self,
        schema: &Schema,
        locks: impl Iterator<Item = u64> + Clone,
    ) -> Vec<(String, String)> {
        let mut known = self.known.lock();
        let is_rested = known.walked.is_none_or(|walked| walked.elapsed() >= WALK_EVERY);
        let unknown: Vec<_> =
            locks.clone().filter(|lock| !known.names.contains_key(lock)).collect();
        if is_rested && !unknown.is_empty() {
            if known.names.len() > NAMES_MAX {
                known.names.clear();
            }
            let found = waits::find_locked(schema, unknown.iter().copied());
            let named = found.keys().map(|lock| (*lock, name_of(schema, &found, *lock)));
            known.names.extend(named);
            known.walked = Some(Ticks::now());
        }
        locks.map(|lock| known.names.get(&lock).cloned().unwrap_or_default()).collect()
    }
}

/// Table and key of a lock, among those that were found.
pub(crate) fn name_of(
    schema: &Schema,
    locked: &HashMap<u64, Locked>,
    lock: u64,
) -> (String, String) {
    let catalog = &schema.catalog;
    let (index, values) = match locked.get(&lock) {
        None => return (String::new(), String::new()),
        Some(Locked::Table(table)) => return (catalog.table(*table).name.clone(), String::new()),
        Some(Locked::Granule(index, values) | Locked::Key(index, values)) => (*index, values),
    };
    let index = catalog.index(index);
    let table = catalog.table(index.table);
    let column =
        |(id, value): (ColumnId, &Value)| format!("{}={value}", table.columns[id.index()].name);
    let key: Vec<_> = index.columns.iter().copied().zip(values).map(column).collect();
    (table.name.clone(), key.join(", "))
}

/// What a procedure is called, there or not.
pub(crate) fn procedure_name(schema: &Schema, id: ProcedureId) -> String {
    match schema.procedure(id) {
        Some(compiled) => compiled.procedure.shown_name().to_owned(),
        None => "a procedure that was dropped".to_owned(),
    }
}
