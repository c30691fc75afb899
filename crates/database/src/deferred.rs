//! What a transaction has left to its COMMIT: constraints to be checked, triggers to be fired.
//!
//! Role         statements of a transaction tell what they have found violated, and what triggers
//!              fire for ([`hotrow_transaction::deferred`]); here it is kept, and looked at again
//!              or fired when SET CONSTRAINTS asks for it, or COMMIT comes. A call that runs as a
//!              transaction of its own in the queue has nobody who would: it is made again, in a
//!              transaction of the session ([`SessionTransaction::checking`])
//! Invariants   I1 nothing is committed while a constraint that is kept here is violated
//!              I2 a look asks whether it is violated by then, whatever has happened in between, so
//!                 that a violation that was taken back may be kept; one that was mended is kept,
//!                 too, while a savepoint may take that back
//!              I3 a trigger is fired once for each event that was not taken back: an event is
//!                 forgotten with its savepoint, and is fired again if its firing was taken back
//! Bounds       what is kept is charged to the session's memory

use std::collections::HashSet;
use std::sync::Arc;

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::memory::{Charge, MemoryAccount};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_sql::{quoted, quoted_name};
use hotrow_transaction::catalog::{Catalog, Deferral, Table, TriggerEvent};
use hotrow_transaction::deferred::Pending;
use hotrow_transaction::invocation::Leaves;
use hotrow_transaction::outcome::SqlError;

use crate::error::advised;

/// What a transaction has left to be done.
pub(crate) struct Deferred {
    /// what SET CONSTRAINTS has said, the youngest last
    said: Vec<Said>,
    /// in the order in which it was told
    left: Vec<Left>,
    /// so many of these are known not to be due before COMMIT
    passed: usize,
    /// the violations among them
    known: HashSet<Pending>,
    /// so many events were told
    told: u64,
    charge: Charge,
}

/// Something that is left to be done.
pub(crate) struct Left {
    pub(crate) pending: Pending,
    /// how it was told
    pub(crate) said: SqlError,
    /// of an event: which of all, and so many savepoints were there
    number: u64,
    savepoints: usize,
    /// of an event that has been fired: beside so many savepoints
    fired: Option<usize>,
}

/// What SET CONSTRAINTS says of a constraint.
struct Said {
    /// none: of all
    of: Option<(TableId, String)>,
    is_deferred: bool,
    /// so many savepoints were there
    savepoints: usize,
}

impl Deferred {
    /// Nothing, for a session with this account.
    pub(crate) fn new(memory: &Arc<MemoryAccount>) -> Self {
        let (said, left, known) = (Vec::new(), Vec::new(), HashSet::new());
        Self { said, left, passed: 0, known, told: 0, charge: Charge::new(memory) }
    }

    /// What statements only tell.
    pub(crate) fn leaves(&self) -> Leaves {
        if self.said.is_empty() { Leaves::Deferred } else { Leaves::Any }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// So many events were told so far.
    pub(crate) fn told(&self) -> u64 {
        self.told
    }

    /// Forgets the events that were told behind so many: what was done is taken back.
    pub(crate) fn forget_behind(&mut self, told: u64) {
        if self.told > told {
            self.left.retain(|left| !left.pending.is_event || left.number < told);
            self.passed = 0;
        }
    }

    /// Keeps what a statement has told, beside so many savepoints.
    pub(crate) fn note(&mut self, told: Vec<SqlError>, savepoints: usize) -> Result<(), SqlError> {
        for said in told {
            let Some(pending) = Pending::of(&said) else { continue };
            if self.known.contains(&pending) {
                continue;
            }
            let texts = [Some(&said.message), said.detail.as_ref(), said.hint.as_ref()];
            let texts: usize = texts.into_iter().flatten().map(String::len).sum();
            // The values are there as texts of their own, and those of a violation twice: in the
            // set, too.
            self.charge.add(size_of::<Left>() + 4 * texts)?;
            if !pending.is_event {
                self.known.insert(pending.clone());
            }
            let number = self.told;
            self.told += u64::from(pending.is_event);
            self.left.push(Left { pending, said, number, savepoints, fired: None });
        }
        Ok(())
    }

    /// SET CONSTRAINTS, beside so many savepoints.
    pub(crate) fn set(
        &mut self,
        of: Option<(TableId, String)>,
        is_deferred: bool,
        savepoints: usize,
    ) {
        // What is said of all, or of the same one, holds in place of what was said before; of what
        // stands before a savepoint, until that is gone back to.
        self.said.retain(|said| said.savepoints != savepoints || of.is_some() && said.of != of);
        self.said.push(Said { of, is_deferred, savepoints });
        self.passed = 0;
    }

    /// A savepoint with so many before it is gone back to, or released: what was said since is
    /// forgotten, or stays.
    pub(crate) fn end_savepoint(&mut self, before: usize, stays: bool) {
        if stays {
            let inside = self.said.iter_mut().filter(|said| said.savepoints > before);
            inside.for_each(|said| said.savepoints = before);
            for left in &mut self.left {
                left.savepoints = left.savepoints.min(before);
                left.fired = left.fired.map(|fired| fired.min(before));
            }
        } else {
            self.said.retain(|said| said.savepoints <= before);
            self.left.retain(|left| !left.pending.is_event || left.savepoints <= before);
            for left in &mut self.left {
                left.fired = left.fired.filter(|fired| *fired <= before); // I3
            }
            self.passed = 0;
        }
    }

    /// Takes what is to be done now: all before COMMIT, else what is not deferred any more.
    pub(crate) fn take_due(&mut self, catalog: &Catalog, at_end: bool) -> Vec<Left> {
        let from = if at_end { 0 } else { self.passed };
        let looked_at = self.left.split_off(from.min(self.left.len()));
        let is_due = |left: &Left| {
            left.fired.is_none() && (at_end || !self.is_deferred(catalog, &left.pending))
        };
        let (due, stays): (Vec<_>, Vec<_>) = looked_at.into_iter().partition(is_due);
        self.left.extend(stays);
        self.passed = self.left.len();
        due
    }

    /// What was taken is to be done still: a savepoint behind it may be gone back to.
    pub(crate) fn put_back(&mut self, due: Vec<Left>) {
        self.left.extend(due);
        self.left.sort_by_key(|left| left.number);
        self.passed = 0;
    }

    /// What was taken is not violated any more. Where one of so many savepoints may be gone back
    /// to, it may be again, so COMMIT looks once more.
    pub(crate) fn pass(&mut self, due: Vec<Left>, savepoints: usize) {
        if savepoints > 0 {
            self.left.extend(due);
            self.passed = self.left.len();
            return;
        }
        for left in &due {
            self.known.remove(&left.pending);
        }
        self.settle_charge();
    }

    /// The triggers of these events have fired. Where one of so many savepoints may be gone back
    /// to, that may be taken back, and they have to fire again.
    pub(crate) fn has_fired(&mut self, events: Vec<Left>, savepoints: usize) {
        if savepoints > 0 {
            let fired = Some(savepoints);
            self.left.extend(events.into_iter().map(|left| Left { fired, ..left }));
        }
        self.settle_charge();
    }

    fn settle_charge(&mut self) {
        if self.left.is_empty() {
            let _ = self.charge.set(0); // less is never refused
        }
    }

    fn is_deferred(&self, catalog: &Catalog, pending: &Pending) -> bool {
        let is_of = |said: &&Said| {
            said.of
                .as_ref()
                .is_none_or(|(table, name)| (*table, name) == (pending.table, &pending.name))
        };
        match self.said.iter().rev().find(is_of) {
            Some(said) => said.is_deferred,
            None => {
                let of = catalog.deferrable_of(pending.table);
                let mut named = of.filter(|(name, _)| *name == pending.name);
                named.any(|(_, deferral)| deferral == Deferral::Deferred)
            }
        }
    }
}

/// So many values are looked for one by one; more of them by one query.
pub(crate) const FEW_VALUES: usize = 16;

/// How a constraint is looked at again. It is violated where each of the queries gives what is
/// said.
pub(crate) struct Look {
    /// with the values of its columns as parameters: a text, and whether it gives a row then
    pub(crate) queries: Vec<(String, bool)>,
    /// with a list of values for each column: which of them is the first that is violated, by a
    /// number from 1 on; no row: none is
    pub(crate) of_many: String,
    /// types of the values
    pub(crate) types: Vec<DataType>,
}

impl Look {
    /// How a constraint is looked at; none: it is not there any more.
    pub(crate) fn at(catalog: &Catalog, pending: &Pending) -> Option<Self> {
        let child = catalog.tables().at(pending.table.index())?;
        let mut keys = catalog.deferrable_keys(child);
        let own = |columns: &[ColumnId]| {
            columns.iter().map(|column| child.columns[column.index()].data_type).collect()
        };
        if let Some(index) = keys.find(|index| index.name == pending.name) {
            let one =
                |value: &str| format!("{} LIMIT 1 OFFSET 1", find(child, &index.columns, value));
            let second = format!("EXISTS ({})", one("v.c"));
            let of_many = first_where(&second, index.columns.len());
            let queries = vec![(one("$"), true)];
            return Some(Self { queries, of_many, types: own(&index.columns) });
        }
        let key = child.foreign_keys.iter().find(|key| key.name == pending.name)?;
        let (parent, index) = (catalog.table(key.parent), catalog.index(key.parent_index));
        let parent = |value: &str| find(parent, &index.columns, value);
        let children = |value: &str| find(child, &key.child_columns, value);
        let orphan = format!("NOT EXISTS ({}) AND EXISTS ({})", parent("v.c"), children("v.c"));
        // The parent first: it is there more often than not, and found by an index.
        let queries = vec![
            (format!("{} LIMIT 1", parent("$")), false),
            (format!("{} LIMIT 1", children("$")), true),
        ];
        let of_many = first_where(&orphan, key.child_columns.len());
        Some(Self { queries, of_many, types: own(&key.child_columns) })
    }

    /// The values that it is asked for.
    pub(crate) fn values(&self, pending: &Pending) -> Result<Vec<Value>, SqlError> {
        let values = self.types.iter().zip(&pending.values);
        values.map(|(of, text)| value_of(*of, text.as_deref())).collect()
    }
}

/// A value of a type, as it was told.
pub(crate) fn value_of(of: DataType, text: Option<&str>) -> Result<Value, SqlError> {
    Ok(text.map_or(Ok(Value::Null), |text| Value::parse(of, text))?)
}

/// The rows of a table with these values of its columns, which begin so and end with a number.
fn find(table: &Table, columns: &[ColumnId], value: &str) -> String {
    let equals = columns.iter().enumerate().map(|(at, column)| {
        format!("t.{} = {value}{}", quoted(&table.columns[column.index()].name), at + 1)
    });
    let (name, equals) = (quoted_name(&table.qualified_name()), equals.collect::<Vec<_>>());
    format!("SELECT 1 FROM {name} t WHERE {}", equals.join(" AND "))
}

/// Which of the values `v.c1`, `v.c2` and so on, each a parameter's elements, is the first for
/// which a condition holds.
fn first_where(condition: &str, columns: usize) -> String {
    let list =
        |of: &str| (1..=columns).map(|at| format!("{of}{at}")).collect::<Vec<_>>().join(", ");
    let (parameters, names) = (list("$"), list("c"));
    format!(
        "SELECT v.n FROM unnest({parameters}) WITH ORDINALITY AS v({names}, n) WHERE {condition} \
         ORDER BY v.n LIMIT 1"
    )
}

/// The types of the columns of the rows that a trigger is given: as it was, and as it is.
fn types_of(table: &Table, event: TriggerEvent) -> impl Iterator<Item = DataType> {
    let rows = if event == TriggerEvent::Update { 2 } else { 1 };
    let types = table.columns.iter().map(|column| column.data_type);
    std::iter::repeat_n(types, rows).flatten()
}

/// A trigger that fires for events of a kind.
pub(crate) struct Fires {
    pub(crate) table: TableId,
    pub(crate) trigger: String,
    pub(crate) event: TriggerEvent,
    /// of what it is given: columns of the row as it was, and as it is
    pub(crate) types: Vec<DataType>,
}

impl Fires {
    /// What fires for an event; none: the trigger is not there any more.
    pub(crate) fn of(catalog: &Catalog, event: &Pending) -> Option<Self> {
        let table = catalog.tables().at(event.table.index())?;
        table.triggers.iter().find(|trigger| trigger.name == event.name)?;
        let Some(Some(name)) = event.values.first() else { return None };
        let all = [TriggerEvent::Insert, TriggerEvent::Update, TriggerEvent::Delete];
        let kind = all.into_iter().find(|kind| kind.name() == name)?;
        let types = types_of(table, kind).collect();
        Some(Self { table: event.table, trigger: event.name.clone(), event: kind, types })
    }

    /// Whether it is [what fires for an event](Fires::of), as the catalog is now.
    pub(crate) fn is_for(&self, catalog: &Catalog, event: &Pending) -> bool {
        let Some(table) = catalog.tables().at(event.table.index()) else { return false };
        let name = event.values.first().and_then(Option::as_deref);
        (self.table, &self.trigger) == (event.table, &event.name)
            && name == Some(self.event.name())
            && table.triggers.iter().any(|trigger| trigger.name == self.trigger)
            && self.types.iter().copied().eq(types_of(table, self.event))
    }

    /// What it is given for an event.
    pub(crate) fn values(&self, event: &Pending) -> Result<Vec<Value>, SqlError> {
        let told = &event.values[1..];
        if told.len() != self.types.len() {
            let name = &event.name;
            let message = format!("the rows that trigger \"{name}\" is to fire for have changed");
            let hint = "Write COMMIT, or SET CONSTRAINTS ALL IMMEDIATE, before the definition.";
            return Err(advised(b"55006", message, hint));
        }
        self.types.iter().zip(told).map(|(of, text)| value_of(*of, text.as_deref())).collect()
    }
}
