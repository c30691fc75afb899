//! What rows of the system catalog are made of: values, and what there is of each kind.

use hotrow_base::ids::ColumnId;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Column, Index, Numbering, Sequence, Table};
use hotrow_transaction::program::Procedure;

use super::{SystemContext, deparse, functions};

pub(super) fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

pub(crate) fn small(number: usize) -> Value {
    Value::SmallInt(number as i16)
}

pub(crate) fn smalls(columns: &[ColumnId]) -> Value {
    Value::Array(columns.iter().map(|column| small(column.index() + 1)).collect())
}

pub(super) fn tables<'c>(context: &SystemContext<'c>) -> impl Iterator<Item = &'c Table> + use<'c> {
    context.catalog.tables().iter().filter(|table| table.sequence.is_none())
}

pub(super) fn sequences<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (&'c Table, Sequence)> + use<'c> {
    let tables = context.catalog.tables().iter();
    tables.filter_map(|table| Some((table, table.sequence?)))
}

pub(super) fn indexes<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (&'c Table, &'c Index)> {
    let catalog = context.catalog;
    let all = catalog.indexes().iter();
    let all = all.map(|index| (catalog.table(index.table), index));
    all.filter(|(table, _)| table.sequence.is_none())
}

pub(crate) const PUBLIC: i64 = 2200;

/// What DEFAULT says.
pub(super) fn default_text(context: &SystemContext<'_>, column: &Column) -> Option<String> {
    match column.draws {
        Some(draws) if identity(column).is_empty() => {
            let name = functions::quoted(&context.catalog.table(draws.sequence).name);
            Some(format!("nextval('{}'::regclass)", name.replace('\'', "''")))
        }
        Some(_) => None,
        None => column.default.as_ref().map(|default| deparse::text(default, &|_| String::new())),
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

pub(super) fn is_function(procedure: &Procedure) -> bool {
    procedure.returns_set || !procedure.result.is_empty()
}
