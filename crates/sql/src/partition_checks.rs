//! Conditions of partitions, in step with what definitions change.
//!
//! Role         behind every definition ([`Compiler::settle_partitions`]): a partitioned table
//!              checks that its rows are in some partition, each partition has the columns of its
//!              table and a query that says its bound, and what a partition was of does not go
//!              without it
//! Invariants   I1 a condition is true or false for every row, whatever in it is NULL
//! Source       PostgreSQL 15, `get_qual_for_range`, `get_qual_for_list` (partbounds.c)

use std::collections::BTreeSet;
use std::sync::Arc;

use hotrow_base::conventions::Style;
use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{
    Catalog, Check, Hidden, Partition, PartitionBound, PartitionCheck, PartitionKey,
    PartitionKeyPart, Partitioning, RangeEnd, Table, View, is_temporary,
};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Place, SlotId};
use hotrow_transaction::walk;

use crate::apply::apply;
use crate::changes::CatalogChange;
use crate::error::{Advice, Result, error, unsupported};
use crate::mention::may_name;
use crate::scope::Compiler;
use crate::state::Row;
use crate::token::{expression_of_text, quoted};

impl Compiler<'_> {
    /// Adds to a definition what becomes of partitions by it.
    pub(crate) fn settle_partitions(&self, changes: &mut Vec<CatalogChange>) -> Result<()> {
        let makes_one = |change: &CatalogChange| match change {
            CatalogChange::CreateTable(of) => of.partition_key.is_some(),
            _ => false,
        };
        // One that another session has let go of may still be there by its name.
        let is_of_session = |change: &CatalogChange| match change {
            CatalogChange::CreateTable(of) => is_temporary(&of.schema),
            _ => false,
        };
        if changes.iter().any(is_of_session) {
            return Ok(());
        }
        let mut tables = self.catalog.tables().iter();
        let is_partitioned = |table: &Table| table.partitioning.is_some();
        if !tables.any(is_partitioned) && !changes.iter().any(makes_one) {
            return Ok(());
        }
        let gone: BTreeSet<TableId> = changes.iter().filter_map(dropped_table).collect();
        let is_of_gone = |change: &CatalogChange| {
            let moves = matches!(change, CatalogChange::MoveRows(of) if gone.contains(&of.from));
            moves && !matches!(change, CatalogChange::MoveRows(of) if of.into.is_some())
        };
        changes.retain(|change| !is_of_gone(change));
        let (next, more, place) = (self.catalog.clone(), Vec::new(), self.place);
        let mut settling = Settling { next, more, place };
        let mut renamed = Vec::new();
        for change in &*changes {
            if let CatalogChange::RenameColumn { table, column, name } = change {
                let old = &settling.next.table(*table).columns[column.index()].name;
                renamed.push((*table, old.clone(), name.clone()));
            }
            apply(&mut settling.next, change)?;
        }
        settling.drop_orphans()?;
        for (table, old, new) in renamed {
            settling.rename_in_keys(table, &old, &new)?;
        }
        for table in self.partitions_touched(&settling.next, changes) {
            settling.settle(table)?;
        }
        changes.append(&mut settling.more);
        Ok(())
    }

    /// The partitioned tables that changes have to do with.
    fn partitions_touched(&self, next: &Catalog, changes: &[CatalogChange]) -> BTreeSet<TableId> {
        let mut touched: BTreeSet<TableId> = self.catalog.tables_changed(next).collect();
        let of = |view: &View| view.partition.as_ref().map(|partition| partition.table);
        for change in changes {
            touched.extend(match change {
                CatalogChange::SetView(view) => of(view),
                CatalogChange::DropView(name) | CatalogChange::RenameView { name, .. } => {
                    self.catalog.view(name).and_then(|view| of(view))
                }
                _ => None,
            });
        }
        let is_one = |id: &TableId| {
            next.tables().at(id.index()).is_some_and(|table| table.partitioning.is_some())
        };
        touched.retain(is_one);
        touched
    }
}

fn dropped_table(change: &CatalogChange) -> Option<TableId> {
    match change {
        CatalogChange::DropTable(table) => Some(*table),
        _ => None,
    }
}

/// A catalog behind a definition, and what is added to that.
struct Settling {
    next: Catalog,
    more: Vec<CatalogChange>,
    place: Place,
}

impl Settling {
    fn add(&mut self, change: CatalogChange) -> Result<()> {
        apply(&mut self.next, &change)?;
        self.more.push(change);
        Ok(())
    }

    /// Drops the partitions of what has gone.
    fn drop_orphans(&mut self) -> Result<()> {
        loop {
            let is_orphan = |view: &&Arc<View>| {
                let Some(of) = &view.partition else { return false };
                let table = self.next.tables().at(of.table.index());
                table.is_none_or(|table| table.partitioning.is_none())
                    || of.parent.is_some_and(|id| self.next.views().all(|view| view.id != id))
            };
            let Some(orphan) = self.next.views().find(is_orphan) else { return Ok(()) };
            self.add(CatalogChange::DropView(orphan.qualified_name()))?;
        }
    }

    /// Has the keys of a table and its partitions call a column as it is called then.
    fn rename_in_keys(&mut self, id: TableId, from: &str, to: &str) -> Result<()> {
        let table = self.next.table(id).clone();
        for (relation, key) in self.next.partition_keys(&table) {
            let mut expressions = key.parts.iter().filter(|part| part.column.is_none());
            if expressions.any(|part| may_name(&part.text, from)) {
                let what = format!(
                    "a new name of column \"{from}\", which an expression of the partition key of \
                     \"{relation}\" names,"
                );
                return Err(unsupported(self.place, what, "make the table anew"));
            }
        }
        let renamed = |key: &PartitionKey| {
            let mut key = key.clone();
            key.rename_column(from, to, quoted(to));
            key
        };
        if let Some(of) = &table.partitioning {
            let partitioning = Partitioning { key: renamed(&of.key), checks: of.checks.clone() };
            self.add(CatalogChange::SetPartitioning { table: id, partitioning })?;
        }
        let all: Vec<_> = self.next.partitions_of(id).map(|(view, _)| Arc::clone(view)).collect();
        for view in all {
            let Some(of) = &view.partition else { continue };
            let Some(key) = &of.key else { continue };
            let partition = Partition { key: Some(renamed(key)), ..Partition::clone(of) };
            let partition = Some(Arc::new(partition));
            self.add(CatalogChange::SetView(View { partition, ..View::clone(&view) }))?;
        }
        Ok(())
    }

    /// Has a table and its partitions say what they are now.
    fn settle(&mut self, id: TableId) -> Result<()> {
        self.refuse_keys(self.next.table(id))?;
        let all: Vec<_> = self.next.partitions_of(id).map(|(view, _)| Arc::clone(view)).collect();
        for view in &all {
            let Some(partition) = &view.partition else { continue };
            let table = self.next.table(id);
            let condition = partition_condition(&self.next, partition);
            let (schema, name) = (quoted(&table.schema), quoted(&table.name));
            let text = format!("SELECT * FROM {schema}.{name} WHERE {condition}");
            let columns = table.shown().iter();
            let columns: Vec<_> =
                columns.map(|of| (of.name.clone(), SqlType::Scalar(of.data_type))).collect();
            if text != view.text || columns != view.columns {
                let given = columns.iter().map(|(name, _)| name.clone()).collect();
                let next = View { text, columns, given, ..View::clone(view) };
                self.add(CatalogChange::SetView(next))?;
            }
        }
        let table = self.next.table(id);
        let Some(of) = &table.partitioning else { return Ok(()) };
        let mut checks = Vec::new();
        checks.extend(self.check_of(table, (&table.name, None, &of.key))?);
        for (view, partition) in self.next.partitions_of(id) {
            let Some(key) = &partition.key else { continue };
            checks.extend(self.check_of(table, (&view.name, Some((view.id, partition)), key))?);
        }
        let partitioning = Partitioning { key: of.key.clone(), checks };
        self.add(CatalogChange::SetPartitioning { table: id, partitioning })
    }

    /// That a row is in some partition; none: there is one for all others.
    fn check_of(
        &self,
        table: &Table,
        (name, within, key): (&str, Option<(u32, &Partition)>, &PartitionKey),
    ) -> Result<Option<PartitionCheck>> {
        let parent = within.map(|(id, _)| id);
        let all = self.next.partitions_of(table.id);
        let own: Vec<_> = all.filter(|(_, of)| of.parent == parent).map(|(_, of)| of).collect();
        if own.iter().any(|of| of.bound == PartitionBound::Default) {
            return Ok(None);
        }
        let conditions = own.iter().map(|of| bound_condition(key, &of.bound, &[]));
        let conditions: Vec<String> = conditions.collect();
        let any = match conditions.is_empty() {
            true => "false".to_owned(),
            false => conditions.join(" OR "),
        };
        let text = match within {
            None => any,
            Some((_, of)) => format!("NOT ({}) OR {any}", partition_condition(&self.next, of)),
        };
        let mut check = row_condition(&self.next, table, &text, self.place)?;
        name.clone_into(&mut check.name);
        let column = |part: &PartitionKeyPart| table.column(part.column.as_ref()?);
        let columns: Option<Vec<ColumnId>> = key.parts.iter().map(column).collect();
        if check.columns.is_empty() {
            // So that it is asked of whatever changes the key, too.
            check.columns = columns.clone().unwrap_or_default();
        }
        Ok(Some(PartitionCheck { check, key: columns.unwrap_or_default() }))
    }

    /// Fails where rows of two partitions could be equal to a unique index and a row's partition
    /// is not told by what the index has, as PostgreSQL does.
    fn refuse_keys(&self, table: &Table) -> Result<()> {
        let unique = table.declared_indexes().map(|id| self.next.index(id)).filter(|of| of.unique);
        for index in unique {
            // One of some of the rows, such as those of a partition, holds over all partitions.
            let is_condition = |column: &ColumnId| table.hidden(*column) == Some(Hidden::Condition);
            if index.columns.iter().any(is_condition) {
                continue;
            }
            let what = match () {
                () if table.primary == Some(index.id) => "PRIMARY KEY",
                () => "UNIQUE",
            };
            for (relation, key) in self.next.partition_keys(table) {
                if key.has_expressions() {
                    let message =
                        format!("unsupported {what} constraint with partition key definition");
                    return Err(error(b"0A000", self.place, message).detail(format!(
                        "{what} constraints cannot be used when partition keys include \
                         expressions."
                    )));
                }
                let has = |name: &String| {
                    let column = table.column(name);
                    column.is_some_and(|column| index.columns.contains(&column))
                };
                if let Some(lacking) = key.columns.iter().find(|name| !has(name)) {
                    let message = "unique constraint on partitioned table must include all \
                                   partitioning columns";
                    return Err(error(b"0A000", self.place, message).detail(format!(
                        "{what} constraint on table \"{relation}\" lacks column \"{lacking}\" \
                         which is part of the partition key."
                    )));
                }
            }
        }
        Ok(())
    }
}

/// A condition on rows of a table, compiled.
pub(crate) fn row_condition(
    catalog: &Catalog,
    table: &Table,
    text: &str,
    place: Place,
) -> Result<Check> {
    let mut compiler = Compiler::new(catalog);
    compiler.place = place;
    let written = expression_of_text(text, place)?;
    let row = Row::of(&table.name, table.shown());
    let compiled = compiler.with_row(row, |this| this.condition(&written, "PARTITION BY"));
    let (mut condition, row) = compiled.map_err(|failed| SqlError { place, ..failed })?;
    compiler.needs_query.take().map_or(Ok(()), Err)?;
    let position = |slot: SlotId| {
        row.bound.iter().position(|(_, of)| *of == slot).map_or(slot, |at| SlotId(at as u16))
    };
    walk::map_slots(&mut condition, &position);
    let columns = row.bound.iter().map(|(column, _)| *column).collect();
    Ok(Check { name: table.name.clone(), columns, condition })
}

/// What holds for the rows of a partition, and for no others of its table.
pub(crate) fn partition_condition(catalog: &Catalog, of: &Partition) -> String {
    let mut all = catalog.partitions_of(of.table);
    let parent = of.parent.and_then(|id| all.find(|(view, _)| view.id == id));
    let key = match parent {
        Some((_, parent)) => parent.key.as_ref(),
        None => catalog.table(of.table).partitioning.as_ref().map(|of| &of.key),
    };
    let Some(key) = key else { return "false".to_owned() };
    let siblings = catalog.partitions_of(of.table).filter(|(_, other)| other.parent == of.parent);
    let siblings: Vec<_> = siblings.map(|(_, other)| &other.bound).collect();
    let own = bound_condition(key, &of.bound, &siblings);
    match parent {
        Some((_, parent)) => format!("{} AND {own}", partition_condition(catalog, parent)),
        None => own,
    }
}

/// What holds for the rows with a bound; `siblings`: all bounds beside it, which DEFAULT leaves.
pub(crate) fn bound_condition(
    key: &PartitionKey,
    bound: &PartitionBound,
    siblings: &[&PartitionBound],
) -> String {
    let parts: Vec<&str> = key.parts.iter().map(|part| part.text.as_str()).collect();
    match bound {
        PartitionBound::Range { from, to } => {
            let mut all: Vec<_> = parts.iter().map(|part| format!("{part} IS NOT NULL")).collect();
            all.extend(from_condition(&parts, from).filter(|text| text != "true"));
            all.extend(to_condition(&parts, to).filter(|text| text != "true"));
            format!("({})", all.join(" AND "))
        }
        PartitionBound::List(values) => {
            let part = parts.first().copied().unwrap_or_default();
            let known: Vec<_> = values.iter().filter(|of| !of.is_null()).map(literal).collect();
            let is_null = known.len() < values.len();
            let known = (!known.is_empty()).then(|| format!("{part} IN ({})", known.join(", ")));
            match (is_null, known) {
                (true, None) => format!("({part} IS NULL)"),
                (true, Some(known)) => format!("({part} IS NULL OR {known})"),
                (false, known) => {
                    format!("({part} IS NOT NULL AND {})", known.as_deref().unwrap_or("false"))
                }
            }
        }
        PartitionBound::Hash { modulus, remainder } => {
            let parts = parts.join(", ");
            format!("satisfies_hash_partition(0, {modulus}, {remainder}, {parts})")
        }
        PartitionBound::Default => {
            let others = siblings.iter().filter(|of| ***of != PartitionBound::Default);
            let others: Vec<_> = others.map(|of| bound_condition(key, of, &[])).collect();
            match others.is_empty() {
                true => "true".to_owned(),
                false => format!("(NOT ({}))", others.join(" OR ")),
            }
        }
    }
}

fn literal(value: &Value) -> String {
    let _usual = Style::DEFAULT.enter(); // it is read by sessions with other styles
    format!("'{}'", value.to_string().replace('\'', "''"))
}

/// That values are not before the beginning of a range; none: it has no parts.
fn from_condition(parts: &[&str], ends: &[RangeEnd]) -> Option<String> {
    let (part, end) = (parts.first()?, ends.first()?);
    let value = match end {
        RangeEnd::Least => return Some("true".to_owned()),
        RangeEnd::Greatest => return Some("false".to_owned()),
        RangeEnd::At(value) => literal(value),
    };
    Some(match from_condition(&parts[1..], &ends[1..]).as_deref() {
        None | Some("true") => format!("{part} >= {value}"),
        Some("false") => format!("{part} > {value}"),
        Some(rest) => format!("({part} > {value} OR ({part} = {value} AND {rest}))"),
    })
}

/// That values are before the end of a range.
fn to_condition(parts: &[&str], ends: &[RangeEnd]) -> Option<String> {
    let (part, end) = (parts.first()?, ends.first()?);
    let value = match end {
        RangeEnd::Least => return Some("false".to_owned()),
        RangeEnd::Greatest => return Some("true".to_owned()),
        RangeEnd::At(value) => literal(value),
    };
    Some(match to_condition(&parts[1..], &ends[1..]).as_deref() {
        None | Some("false") => format!("{part} < {value}"),
        Some("true") => format!("{part} <= {value}"),
        Some(rest) => format!("({part} < {value} OR ({part} = {value} AND {rest}))"),
    })
}
