//! What rows of the system catalog are made of: values, and what there is of each kind.

use hotrow_base::ids::ColumnId;
use hotrow_base::quote::identifier as quoted;
use hotrow_base::value::Value;
use std::sync::Arc;

use hotrow_transaction::catalog::{
    Catalog, Column, Index, Numbering, SearchPath, Sequence, Table, View, ViewKind, qualified,
};
use hotrow_transaction::program::Procedure;

use super::numbers::number_of_named;
use super::texts::default_value;
use super::{Fields, SystemContext};

pub(super) fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

pub(crate) fn small(number: usize) -> Value {
    Value::SmallInt(number as i16)
}

pub(crate) fn smalls(columns: &[ColumnId]) -> Value {
    Value::Array(columns.iter().map(|column| small(column.index() + 1)).collect())
}

/// Tables and sequences, but for other sessions' temporary ones.
fn shown_tables<'c>(context: &SystemContext<'c>) -> impl Iterator<Item = &'c Table> + use<'c> {
    let path = context.path;
    let all = context.catalog.tables().iter();
    all.filter(move |table| path.shows(&table.schema, &table.name))
}

pub(super) fn tables<'c>(context: &SystemContext<'c>) -> impl Iterator<Item = &'c Table> + use<'c> {
    shown_tables(context).filter(|table| table.sequence.is_none() && !table.is_kept)
}

/// The tables of materialized views.
pub(super) fn kept<'c>(context: &SystemContext<'c>) -> impl Iterator<Item = &'c Table> + use<'c> {
    shown_tables(context).filter(|table| table.is_kept)
}

/// Views that are no part of a materialized one.
pub(super) fn views<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = &'c Arc<View>> + use<'c> {
    context.catalog.views().filter(|view| view.kind == ViewKind::Plain)
}

/// The materialized view whose rows a table has.
pub(super) fn materialized<'c>(catalog: &'c Catalog, table: &Table) -> Option<&'c Arc<View>> {
    let name = qualified(&table.schema, table.user_name());
    catalog.view(&name).filter(|view| table.is_kept && view.kind != ViewKind::Plain)
}

pub(super) fn sequences<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (&'c Table, Sequence)> + use<'c> {
    shown_tables(context).filter_map(|table| Some((table, table.sequence?)))
}

pub(super) fn indexes<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (&'c Table, &'c Index)> {
    let catalog = context.catalog;
    let all = catalog.indexes().iter();
    let all = all.map(|index| (catalog.table(index.table), index));
    let path = context.path;
    // One that was not asked for is nobody's.
    let is_declared = |table: &Table, index: &Index| {
        table.primary != Some(index.id) || table.identity().is_none()
    };
    all.filter(move |(table, index)| {
        table.sequence.is_none()
            && path.shows(&table.schema, &table.name)
            && is_declared(table, index)
    })
}

/// A row of `pg_depend`: that an object depends on another one, each by its catalog and number.
pub(super) fn dependency(
    (catalog, object): (&str, i64),
    (referred_catalog, referred): (&str, i64),
    how: &str,
) -> Fields {
    vec![
        ("classid", Value::BigInt(number_of_named(catalog))),
        ("objid", Value::BigInt(object)),
        ("refclassid", Value::BigInt(number_of_named(referred_catalog))),
        ("refobjid", Value::BigInt(referred)),
        ("deptype", text(how)),
    ]
}

/// The numbers of the catalog's schemas.
pub(super) const PG_CATALOG: i64 = 11;
pub(super) const INFORMATION_SCHEMA: i64 = 13_000;
/// The number of schema `public`; others have theirs behind [`SCHEMAS`].
pub(super) const PUBLIC_SCHEMA: i64 = 2200;
const SCHEMAS: i64 = 700_000_000;

/// The number of a schema in the system catalog.
pub(crate) fn schema_number(catalog: &Catalog, schema: &str) -> i64 {
    let number = catalog.schemas().find(|(name, _)| *name == schema);
    match (schema, number) {
        ("pg_catalog", _) => PG_CATALOG,
        ("information_schema", _) => INFORMATION_SCHEMA,
        (_, number) => number.map_or(PUBLIC_SCHEMA, |(_, number)| SCHEMAS + i64::from(number)),
    }
}

/// A name as it is written where a path leads to other schemas than its own.
pub(super) fn name_from(path: &SearchPath, schema: &str, name: &str) -> String {
    let name = quoted(name);
    let is_temporary = path.temporary_schema() == Some(schema);
    match is_temporary || path.schemas().any(|seen| seen == schema) {
        true => name,
        false => format!("{}.{name}", quoted(schema)),
    }
}

/// Whether a column is NOT NULL by itself: that of its domain is told of that.
pub(super) fn is_not_null(column: &Column) -> bool {
    !column.nullable && !column.domain.as_deref().is_some_and(|of| of.gives_not_null)
}

/// What DEFAULT says of a column, and not of its domain.
pub(super) fn default_text(context: &SystemContext<'_>, column: &Column) -> Option<String> {
    match column.draws {
        None if column.domain.as_deref().is_some_and(|of| of.gives_default) => None,
        Some(draws) if identity(column).is_empty() => {
            let sequence = context.catalog.table(draws.sequence);
            let name = name_from(context.path, &sequence.schema, &sequence.name);
            Some(format!("nextval('{}'::regclass)", name.replace('\'', "''")))
        }
        Some(_) => None,
        None => column.default.as_ref().map(|default| default_value(context, default)),
    }
}

/// The letter for GENERATED ... AS IDENTITY.
pub(super) fn identity(column: &Column) -> &'static str {
    match column.draws.map(|draws| draws.as_written) {
        Some(Numbering::Always) => "a",
        Some(Numbering::ByDefault) => "d",
        Some(Numbering::Serial | Numbering::Default) | None => "",
    }
}

/// Whether it was made by CREATE FUNCTION, as far as what it gives tells.
pub fn is_function(procedure: &Procedure) -> bool {
    procedure.returns_set || !procedure.result.is_empty()
}
