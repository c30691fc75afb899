//! Rows that definitions make anew, move, or look through.

use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_base::value::Value;
use hotrow_engine::schema::{ColumnFrom, Rebuilt, RowsThat, Schema, Trees};
use hotrow_sql::{CatalogChange, Columns, Filled, MovedRows, Truncation};
use hotrow_transaction::catalog::Catalog;
use hotrow_transaction::constant::evaluate;
use hotrow_transaction::outcome::SqlError;

use super::Next;

/// TRUNCATE
pub(super) fn empty(schema: &Schema, truncation: &Truncation) -> Result<Next, SqlError> {
    let mut next = schema.clone();
    let tables = truncation.tables.iter();
    let emptied = |&table| Rebuilt { table, from: table, columns: None, rows: Vec::new() };
    let mut emptied: Vec<_> = tables.map(emptied).collect();
    for partition in &truncation.partitions {
        let rows = vec![RowsThat::DoNot(partition.rows.clone())];
        let left = Rebuilt { rows, ..Rebuilt::unchanged(schema.catalog.table(partition.table)) };
        add_rebuilt(&mut emptied, left)?;
    }
    let memory = Arc::clone(&next.memory);
    // The empty indexes are there before the full ones go: a full database is to be emptied, too.
    let _makes_room = memory.budget().suspend_limit();
    let unfilled = next.adopt(schema.catalog.clone(), Trees::new(), &emptied)?;
    Ok(Next::new(next, unfilled).of_rows())
}

/// Adds what becomes of a table's rows to what becomes of them before.
pub(super) fn add_rebuilt(all: &mut Vec<Rebuilt>, next: Rebuilt) -> Result<(), SqlError> {
    let is_it = |before: &&mut Rebuilt| before.table == next.table && before.from == next.from;
    match all.iter_mut().find(is_it) {
        Some(before) => before.followed_by(next)?,
        None => all.push(next),
    }
    Ok(())
}

/// Fails with 23514 or 23503 where rows that there are violate what is asked of them anew.
pub(super) fn check_constraints(next: &Schema, changes: &[CatalogChange]) -> Result<(), SqlError> {
    for change in changes {
        match change {
            CatalogChange::AddCheck { table, check, is_valid: true } => {
                next.check_rows(*table, check)?;
            }
            CatalogChange::AddForeignKey { table, key, is_valid: true } => {
                let mut keys = next.catalog.table(*table).foreign_keys.iter();
                let key = keys.find(|known| known.name == key.name);
                key.map_or(Ok(()), |key| next.check_foreign_key(key))?;
            }
            CatalogChange::Validate { table, name } => {
                let table = next.catalog.table(*table);
                if let Some(check) = table.checks.iter().find(|check| check.name == *name) {
                    next.check_rows(table.id, check)?;
                }
                let mut keys = table.foreign_keys.iter().filter(|key| key.name == *name);
                keys.try_for_each(|key| next.check_foreign_key(key))?;
            }
            CatalogChange::RequireRows { table, rows, refused } => {
                next.require_rows(*table, rows, || SqlError::clone(refused))?;
            }
            CatalogChange::MoveRows(moved) => check_moved(next, moved)?,
            _ => {}
        }
    }
    Ok(())
}

/// Fails where rows that have come or gone violate constraints.
fn check_moved(next: &Schema, moved: &MovedRows) -> Result<(), SqlError> {
    let known = |id: TableId| next.catalog.tables().at(id.index());
    if let Some(into) = moved.into.and_then(known) {
        into.checks.iter().try_for_each(|check| next.check_rows(into.id, check))?;
        into.foreign_keys.iter().try_for_each(|key| next.check_foreign_key(key))?;
    }
    let tables = next.catalog.tables().iter();
    let mut keys = tables.flat_map(|table| &table.foreign_keys);
    keys.try_for_each(|key| match key.parent == moved.from {
        true => next.check_foreign_key(key),
        false => Ok(()),
    })
}

/// The rows that a change makes anew, with defaults as they are now.
pub(super) fn rebuilt(
    catalog: &Catalog,
    change: &CatalogChange,
    now_us: i64,
) -> Result<Vec<Rebuilt>, SqlError> {
    match change {
        CatalogChange::Columns(Columns { table, filled, .. }) => {
            let (columns, rows) = (Some(columns_from(filled, now_us)?), Vec::new());
            Ok(vec![Rebuilt { table: *table, from: *table, columns, rows }])
        }
        CatalogChange::MoveRows(moved) => {
            let MovedRows { from, into, of, columns, refused, kept } = &**moved;
            let stay = |id: TableId| catalog.tables().at(id.index()).map(Rebuilt::unchanged);
            let rows = match refused {
                Some(refused) => RowsThat::Must(of.clone(), Box::new(refused.clone())),
                None => RowsThat::Satisfy(of.clone()),
            };
            let mut all = Vec::new();
            if let Some(into) = *into {
                let kept = kept
                    .iter()
                    .map(|(of, failed)| RowsThat::Must(of.clone(), Box::new(failed.clone())));
                let kept: Vec<_> = kept.collect();
                all.extend(stay(into).map(|stay| Rebuilt { rows: kept, ..stay }));
                let (columns, rows) = (Some(columns_from(columns, now_us)?), vec![rows]);
                all.push(Rebuilt { table: into, from: *from, columns, rows });
            }
            if refused.is_none() {
                let left = vec![RowsThat::DoNot(of.clone())];
                all.extend(stay(*from).map(|stay| Rebuilt { rows: left, ..stay }));
            }
            Ok(all)
        }
        _ => Ok(Vec::new()),
    }
}

/// Where columns of rows that are made anew come from.
fn columns_from(filled: &[Filled], now_us: i64) -> Result<Vec<ColumnFrom>, SqlError> {
    let columns = filled.iter().map(|filled| {
        Ok(match filled {
            Filled::Old(column) => ColumnFrom::Old(*column),
            Filled::By(None) => ColumnFrom::Constant(Value::Null),
            Filled::By(Some(default)) => ColumnFrom::Constant(evaluate(default, now_us)?),
            Filled::Computed(of) => ColumnFrom::Computed(of.clone(), now_us),
            Filled::Converted(of) => ColumnFrom::Converted(of.clone(), now_us),
            Filled::Numbered(sequence) => ColumnFrom::Numbered(*sequence),
            Filled::Identity => ColumnFrom::Identity,
        })
    });
    columns.collect()
}
