//! Who waits for whom, in words.

use std::fmt;
use std::time::Duration;

use hotrow_engine::schema::Schema;
use hotrow_engine::waits::{self, Awaited, Party, Waited};

use crate::core::Core;
use crate::lock_names::{name_of, procedure_name};

/// What was waited for, by whom and because of whom, since the engine started.
#[derive(Clone, PartialEq, Debug)]
pub struct Wait {
    /// the table; empty where nobody knows any more
    pub table: String,
    /// the key, or the part of it that is locked, as `column=value, ...`; empty for a table as a
    /// whole, and for keys that no row has
    pub key: String,
    /// the procedure that waited, or `a session`
    pub waiter: String,
    /// the procedure that was in the way, or `a session`; of several the first
    pub holder: String,
    /// times
    pub count: u64,
    /// all of them together
    pub total: Duration,
    /// the longest
    pub longest: Duration,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, key, waiter, holder, count, total, longest } = self;
        let what = match (table.as_str(), key.as_str()) {
            ("", _) => "a key that no row has".to_owned(),
            (table, "") => table.to_owned(),
            (table, key) => format!("{table} ({key})"),
        };
        let (total, longest) = (total.as_secs_f64() * 1e3, longest.as_secs_f64() * 1e3);
        write!(f, "{what}: {waiter} for {holder}, {count} times, {total:.1} ms")?;
        write!(f, ", longest {longest:.2} ms")
    }
}

impl Core {
    /// As [`crate::Database::waits`], with the names of keys that are known: see
    /// [`crate::Database::hot_keys`].
    pub(crate) fn waits(&self, most: usize) -> Vec<Wait> {
        let mut waits = self.engine_waits();
        waits.truncate(most);
        let schema = self.schema.current();
        let names = self.names.of(&schema, waits.iter().map(|(awaited, _)| awaited.lock));
        in_words(&schema, waits, names)
    }
}

/// Says in words who waited for whom; finds the keys by a walk over all rows.
pub(crate) fn describe_waits(schema: &Schema, waits: Vec<(Awaited, Waited)>) -> Vec<Wait> {
    let locked = waits::find_locked(schema, waits.iter().map(|(awaited, _)| awaited.lock));
    let names = waits.iter().map(|(awaited, _)| name_of(schema, &locked, awaited.lock));
    let names = names.collect();
    in_words(schema, waits, names)
}

fn in_words(
    schema: &Schema,
    waits: Vec<(Awaited, Waited)>,
    names: Vec<(String, String)>,
) -> Vec<Wait> {
    let wait = |((awaited, waited), (table, key)): ((Awaited, Waited), (String, String))| Wait {
        table,
        key,
        waiter: party(schema, awaited.waiter),
        holder: party(schema, awaited.holder),
        count: waited.count,
        total: Duration::from_nanos(waited.total_ns),
        longest: Duration::from_nanos(waited.longest_ns),
    };
    waits.into_iter().zip(names).map(wait).collect()
}

fn party(schema: &Schema, party: Party) -> String {
    match party {
        Party::Unknown => "somebody".to_owned(),
        Party::Session => "a session".to_owned(),
        Party::Procedure(id) => procedure_name(schema, id),
    }
}
