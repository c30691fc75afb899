//! Workload rows as stored rows, and back: the way between a loader and a catalog's tables.
//!
//! Role         whoever has a catalog and a store needs no more than this to load a workload and to
//!              run its checks; it says how a stored row is put and visited
//! Invariants   I1 nothing is allocated per row once buffers have grown

use std::fmt;
use std::ops::ControlFlow;

use hotrow_base::datum::Datum;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::row::{Field, RowError, Words, read_field};
use hotrow_transaction::catalog::{Catalog, Table};

use crate::check::CheckContext;
use crate::workload::{Share, TransactionKind, Workload};

/// Why a workload could not be loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    /// the catalog has no such table: the workload's schema was not applied
    NoTable(&'static str),
    /// a row does not fit its table: the schema is another one
    Row(&'static str, RowError),
    /// the store took no more
    Stopped,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTable(table) => write!(f, "there is no table \"{table}\" to load"),
            Self::Row(table, error) => write!(f, "loading table \"{table}\": {error}"),
            Self::Stopped => f.write_str("loading stopped before the end"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Produces one part of a population as rows laid out for the catalog's tables.
pub fn load_rows(
    workload: &dyn Workload,
    catalog: &Catalog,
    part: Share,
    seed: u64,
    mut put: impl FnMut(&Table, &[u64]) -> ControlFlow<()>,
) -> Result<(), LoadError> {
    let mut words = Vec::new();
    let mut current: Option<(&'static str, &Table)> = None;
    let mut fault = None;
    let flow = workload.load(part, seed, &mut |name, values, heap| {
        let table = match current {
            Some((current, table)) if std::ptr::eq(current, name) => table,
            _ => match catalog.table_named(name) {
                Some(table) => current.insert((name, table)).1,
                None => {
                    fault = Some(LoadError::NoTable(name));
                    return ControlFlow::Break(());
                }
            },
        };
        if let Err(error) = table.layout.build(values, heap, &mut words) {
            fault = Some(LoadError::Row(name, error));
            return ControlFlow::Break(());
        }
        put(table, &words)
    });
    match (flow, fault) {
        (ControlFlow::Continue(()), _) => Ok(()),
        (ControlFlow::Break(()), fault) => Err(fault.unwrap_or(LoadError::Stopped)),
    }
}

/// A store at rest whose committed rows can be visited.
pub trait StoredRows {
    /// A row's words.
    type Row: Words + ?Sized;

    /// Visits every committed row of a table.
    fn visit(&mut self, table: TableId, visit: &mut dyn FnMut(&Self::Row));
}

/// What checks look at, over stored rows.
#[derive(Debug)]
pub struct StoredContext<'a, S> {
    /// tables and columns by name
    pub catalog: &'a Catalog,
    /// the rows
    pub rows: S,
    /// committed calls of each kind, where somebody counted
    pub committed: Option<&'a [u64]>,
    /// sum of the committed calls' tallies, where somebody counted
    pub tally: Option<u64>,
}

impl<S: StoredRows> CheckContext for StoredContext<'_, S> {
    fn rows(&mut self, table: &str, columns: &[&str], visit: &mut dyn FnMut(&[Datum], &[u8])) {
        let table = self.catalog.table_named(table).expect("the workload's schema was applied");
        let field = |name: &&str| -> Field {
            let column: ColumnId = table.column(name).expect("the workload's schema was applied");
            table.layout.field(column)
        };
        let fields: Vec<Field> = columns.iter().map(field).collect();
        let (mut datums, mut heap) = (Vec::new(), Vec::new());
        self.rows.visit(table.id, &mut |row| {
            heap.clear();
            datums.clear();
            datums.extend(fields.iter().map(|&field| read_field(field, row, &mut heap)));
            visit(&datums, &heap);
        });
    }

    fn committed(&self, kind: TransactionKind) -> Option<u64> {
        self.committed.map(|counts| counts[kind.index()])
    }

    fn tally(&self) -> Option<u64> {
        self.tally
    }
}

#[cfg(test)]
mod tests;
