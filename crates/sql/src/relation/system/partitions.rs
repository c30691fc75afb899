//! Partitions as the system catalog lists them.

use hotrow_base::quote::identifier as quoted;
use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{
    Partition, PartitionBound, PartitionKey, PartitionStrategy, Table, View,
};

use super::cells::{small, tables, text};
use super::numbers::{TABLES, VIEWS};
use super::{Fields, SystemContext};

/// All partitions, by name.
pub(super) fn all<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (&'c Arc<View>, &'c Partition)> + use<'c> {
    context.catalog.views().filter_map(|view| Some((view, view.partition.as_deref()?)))
}

/// Whether a table, or a partition of it, has partitions.
pub(super) fn has_any(context: &SystemContext<'_>, table: TableId, parent: Option<u32>) -> bool {
    context.catalog.partitions_of(table).any(|(_, of)| of.parent == parent)
}

/// Whether a column of a partition may not be NULL.
pub(super) fn is_required(context: &SystemContext<'_>, view: &View, at: usize) -> bool {
    let table = view.partition.as_ref().map(|of| context.catalog.table(of.table));
    table.and_then(|table| table.columns.get(at)).is_some_and(|column| !column.nullable)
}

/// The number of what something is a partition of.
fn parent(partition: &Partition) -> i64 {
    match partition.parent {
        Some(view) => VIEWS.of(view as usize),
        None => TABLES.of(partition.table.index()),
    }
}

/// Rows of `pg_inherits`.
pub(super) fn inheritance(context: &SystemContext<'_>) -> Vec<Fields> {
    let row = |(view, partition): (&Arc<View>, &Partition)| {
        vec![
            ("inhrelid", Value::BigInt(VIEWS.of(view.id as usize))),
            ("inhparent", Value::BigInt(parent(partition))),
            ("inhseqno", Value::Int(1)),
        ]
    };
    all(context).map(row).collect()
}

/// What is partitioned: its number, its table, its number as a parent and its key.
fn keys<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (i64, &'c Table, Option<u32>, &'c PartitionKey)> + use<'c> {
    let catalog = context.catalog;
    let own = tables(context).filter_map(|table| {
        let key = &table.partitioning.as_ref()?.key;
        Some((TABLES.of(table.id.index()), table, None, key))
    });
    let partitions = all(context).filter_map(|(view, of)| {
        let number = VIEWS.of(view.id as usize);
        Some((number, catalog.table(of.table), Some(view.id), of.key.as_ref()?))
    });
    own.chain(partitions)
}

/// Rows of `pg_partitioned_table`.
pub(super) fn partitioned(context: &SystemContext<'_>) -> Vec<Fields> {
    let row = |(number, table, parent, key): (i64, &Table, Option<u32>, &PartitionKey)| {
        let strategy = match key.strategy {
            PartitionStrategy::Range => "r",
            PartitionStrategy::List => "l",
            PartitionStrategy::Hash => "h",
        };
        let mut own = context.catalog.partitions_of(table.id);
        let default =
            own.find(|(_, of)| of.parent == parent && of.bound == PartitionBound::Default);
        let default = default.map_or(0, |(view, _)| VIEWS.of(view.id as usize));
        let column = |name: &Option<String>| {
            let column = name.as_ref().and_then(|name| table.column(name));
            column.map_or(Value::SmallInt(0), |column| small(column.index() + 1))
        };
        let columns = key.parts.iter().map(|part| column(&part.column)).collect();
        vec![
            ("partrelid", Value::BigInt(number)),
            ("partstrat", text(strategy)),
            ("partnatts", small(key.parts.len())),
            ("partdefid", Value::BigInt(default)),
            ("partattrs", Value::Array(columns)),
        ]
    };
    keys(context).map(row).collect()
}

/// `RANGE (a, b)`, of a number in `pg_class`.
pub(super) fn key_text(context: &SystemContext<'_>, wanted: i64) -> Option<String> {
    let (_, _, _, key) = keys(context).find(|(number, ..)| *number == wanted)?;
    let part = |part: &hotrow_transaction::catalog::PartitionKeyPart| match &part.column {
        Some(column) => quoted(column),
        None => part.text.clone(),
    };
    let parts: Vec<_> = key.parts.iter().map(part).collect();
    Some(format!("{} ({})", key.strategy.name(), parts.join(", ")))
}
