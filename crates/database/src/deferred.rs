//! Constraints whose check a transaction has left to its COMMIT.
//!
//! Role         statements of a transaction tell what they have found violated
//!              ([`hotrow_transaction::deferred`]); here it is kept, and looked at again when SET
//!              CONSTRAINTS asks for it, or COMMIT comes. A call that runs as a transaction of its
//!              own in the queue has nobody who would look: it is made again, in a transaction of
//!              the session ([`SessionTransaction::checking`])
//! Invariants   I1 nothing is committed while what is kept here is violated
//!              I2 a look asks whether it is violated by then, whatever has happened in between, so
//!                 that a violation that was taken back may be kept; one that was mended is kept,
//!                 too, while a savepoint may take that back
//! Bounds       what is kept is charged to the session's memory

use std::collections::HashSet;
use std::sync::Arc;

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::memory::{Charge, MemoryAccount};
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_sql::{quoted, quoted_name};
use hotrow_transaction::catalog::{Catalog, Deferral, Table};
use hotrow_transaction::deferred::Violated;
use hotrow_transaction::invocation::Leaves;
use hotrow_transaction::outcome::SqlError;

/// What a transaction has left to be checked.
pub(crate) struct Deferred {
    /// what SET CONSTRAINTS has said, the youngest last
    said: Vec<Said>,
    found: Vec<(Violated, SqlError)>,
    /// so many of these are known not to be due before COMMIT
    passed: usize,
    known: HashSet<Violated>,
    charge: Charge,
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
        let (said, found, known) = (Vec::new(), Vec::new(), HashSet::new());
        Self { said, found, passed: 0, known, charge: Charge::new(memory) }
    }

    /// Which violations statements only tell.
    pub(crate) fn leaves(&self) -> Leaves {
        if self.said.is_empty() { Leaves::Deferred } else { Leaves::Any }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Keeps what a statement has found violated.
    pub(crate) fn note(&mut self, found: Vec<SqlError>) -> Result<(), SqlError> {
        for error in found {
            let Some(violated) = Violated::of(&error) else { continue };
            if self.known.contains(&violated) {
                continue;
            }
            let texts = [Some(&error.message), error.detail.as_ref(), error.hint.as_ref()];
            let texts: usize = texts.into_iter().flatten().map(String::len).sum();
            // The values are there as texts of their own, and twice: in the set, too.
            self.charge.add(size_of::<(Violated, SqlError)>() + 4 * texts)?;
            self.known.insert(violated.clone());
            self.found.push((violated, error));
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
        } else {
            self.said.retain(|said| said.savepoints <= before);
            self.passed = 0;
        }
    }

    /// Takes what is to be looked at now: all before COMMIT, else what is not deferred any more.
    pub(crate) fn take_due(
        &mut self,
        catalog: &Catalog,
        at_end: bool,
    ) -> Vec<(Violated, SqlError)> {
        let from = if at_end { 0 } else { self.passed };
        let looked_at = self.found.split_off(from.min(self.found.len()));
        let is_due =
            |(violated, _): &(Violated, SqlError)| at_end || !self.is_deferred(catalog, violated);
        let (due, left): (Vec<_>, Vec<_>) = looked_at.into_iter().partition(is_due);
        self.found.extend(left);
        self.passed = self.found.len();
        due
    }

    /// What was taken is violated still: a savepoint behind it may be gone back to.
    pub(crate) fn put_back(&mut self, due: Vec<(Violated, SqlError)>) {
        self.found.extend(due);
        self.passed = 0;
    }

    /// What was taken is not violated any more. Where a savepoint may be gone back to
    /// (`may_return`), it may be again, so COMMIT looks once more.
    pub(crate) fn pass(&mut self, due: Vec<(Violated, SqlError)>, may_return: bool) {
        if may_return {
            self.found.extend(due);
            self.passed = self.found.len();
            return;
        }
        for (violated, _) in &due {
            self.known.remove(violated);
        }
        if self.found.is_empty() {
            let _ = self.charge.set(0); // less is never refused
        }
    }

    fn is_deferred(&self, catalog: &Catalog, violated: &Violated) -> bool {
        let is_of = |said: &&Said| {
            said.of
                .as_ref()
                .is_none_or(|(table, name)| (*table, name) == (violated.table, &violated.name))
        };
        match self.said.iter().rev().find(is_of) {
            Some(said) => said.is_deferred,
            None => {
                let of = catalog.deferrable_of(violated.table);
                let mut named = of.filter(|(name, _)| *name == violated.name);
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
    pub(crate) fn at(catalog: &Catalog, violated: &Violated) -> Option<Self> {
        let child = catalog.tables().at(violated.table.index())?;
        let mut keys = catalog.deferrable_keys(child);
        let own = |columns: &[ColumnId]| {
            columns.iter().map(|column| child.columns[column.index()].data_type).collect()
        };
        if let Some(index) = keys.find(|index| index.name == violated.name) {
            let one =
                |value: &str| format!("{} LIMIT 1 OFFSET 1", find(child, &index.columns, value));
            let second = format!("EXISTS ({})", one("v.c"));
            let of_many = first_where(&second, index.columns.len());
            let queries = vec![(one("$"), true)];
            return Some(Self { queries, of_many, types: own(&index.columns) });
        }
        let key = child.foreign_keys.iter().find(|key| key.name == violated.name)?;
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
    pub(crate) fn values(&self, violated: &Violated) -> Result<Vec<Value>, SqlError> {
        let values = self.types.iter().zip(&violated.values);
        values.map(|(of, text)| Ok(Value::parse(*of, text)?)).collect()
    }
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
