//! Rows of the system catalog: indexes and constraints.

use hotrow_base::ids::ColumnId;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Catalog, Deferral, ForeignKey, Index, ReferentialAction, Table};

use crate::relation::system::cells::{indexes, schema_number, small, smalls, tables, text};

use super::numbers::{CHECKS, CONSTRAINTS, FOREIGN_KEYS, INDEXES, TABLES, TRIGGERS};
use super::texts::{Brackets, check_text, condition_text, expressions_text};
use super::{Fields, SystemContext, domains};

pub(crate) fn index_row(context: &SystemContext<'_>, table: &Table, index: &Index) -> Fields {
    let columns = table.key_of(index);
    let count = columns.len();
    let number = |column: &ColumnId| match table.hidden(*column) {
        None => small(column.index() + 1),
        Some(_) => small(0), // an expression
    };
    let shown = |written: Option<String>| written.map_or(Value::Null, Value::Text);
    // PostgreSQL's bits of DESC: descending, NULLs first.
    let option = |column| Value::SmallInt(if index.descending.contains(column) { 3 } else { 0 });
    vec![
        ("indexrelid", Value::BigInt(INDEXES.of(index.id.index()))),
        ("indrelid", Value::BigInt(TABLES.of(table.id.index()))),
        ("indnatts", small(count)),
        ("indnkeyatts", small(count)),
        ("indisunique", Value::Bool(index.unique || index.deferral.is_deferrable())),
        ("indisprimary", Value::Bool(table.primary == Some(index.id))),
        ("indimmediate", Value::Bool(!index.deferral.is_deferrable())),
        ("indisvalid", Value::Bool(true)),
        ("indisready", Value::Bool(true)),
        ("indislive", Value::Bool(true)),
        ("indkey", Value::Array(columns.iter().map(number).collect())),
        ("indcollation", Value::Array(vec![Value::BigInt(0); count])),
        ("indclass", Value::Array(vec![Value::BigInt(0); count])),
        ("indoption", Value::Array(columns.iter().map(option).collect())),
        ("indexprs", shown(expressions_text(context, (table, index)))),
        ("indpred", shown(condition_text(context, (table, index), Brackets::All))),
    ]
}

/// A constraint: its number, name, kind and table.
pub(crate) fn constraint(
    catalog: &Catalog,
    oid: i64,
    name: &str,
    kind: &str,
    table: &Table,
    columns: &[ColumnId],
) -> Fields {
    vec![
        ("oid", Value::BigInt(oid)),
        ("conname", text(name)),
        ("connamespace", Value::BigInt(schema_number(catalog, &table.schema))),
        ("contype", text(kind)),
        ("convalidated", Value::Bool(!table.not_valid.iter().any(|known| known == name))),
        ("conrelid", Value::BigInt(TABLES.of(table.id.index()))),
        ("conislocal", Value::Bool(true)),
        ("conkey", smalls(columns)),
    ]
}

/// Of a unique index: the primary key's, or one that makes a UNIQUE constraint.
pub(crate) fn key_kind(table: &Table, index: &Index) -> Option<&'static str> {
    match table.primary == Some(index.id) {
        true => Some("p"),
        false => index.is_constraint.then_some("u"),
    }
}

pub(crate) fn constraints(context: &SystemContext<'_>) -> Vec<Fields> {
    let catalog = context.catalog;
    let mut all = Vec::new();
    for (table, index) in indexes(context) {
        let Some(kind) = key_kind(table, index) else { continue };
        let oid = CONSTRAINTS.of(index.id.index());
        let mut fields = constraint(catalog, oid, &index.name, kind, table, &index.columns);
        fields.push(("conindid", Value::BigInt(INDEXES.of(index.id.index()))));
        fields.extend(deferral_of(index.deferral));
        all.push(fields);
    }
    for table in tables(context) {
        for (at, check) in table.checks.iter().enumerate() {
            if table.is_of_domain(&check.name) {
                continue;
            }
            let oid = CHECKS.of_part(table.id.index(), at);
            let mut fields = constraint(catalog, oid, &check.name, "c", table, &check.columns);
            fields.push(("conbin", text(check_text(context, table, check))));
            all.push(fields);
        }
        for (at, key) in table.foreign_keys.iter().enumerate() {
            let oid = FOREIGN_KEYS.of_part(table.id.index(), at);
            let mut fields = constraint(catalog, oid, &key.name, "f", table, &key.child_columns);
            let parents = &context.catalog.index(key.parent_index).columns;
            fields.push(("conindid", Value::BigInt(INDEXES.of(key.parent_index.index()))));
            fields.push(("confrelid", Value::BigInt(TABLES.of(key.parent.index()))));
            fields.push(("confupdtype", text(action_letter(key.on_update))));
            fields.push(("confdeltype", text(action_letter(key.on_delete))));
            fields.push(("confmatchtype", text("s")));
            fields.push(("confkey", smalls(parents)));
            fields.extend(deferral_of(key.deferral));
            all.push(fields);
        }
        for (at, trigger) in table.triggers.iter().enumerate() {
            let Some(deferral) = trigger.constraint else { continue };
            let oid = TRIGGERS.of_part(table.id.index(), at);
            let mut fields = constraint(catalog, oid, &trigger.name, "t", table, &[]);
            fields.extend(deferral_of(deferral));
            all.push(fields);
        }
    }
    all.append(&mut domains::constraints(context));
    all
}

/// When a constraint is checked.
fn deferral_of(deferral: Deferral) -> Fields {
    vec![
        ("condeferrable", Value::Bool(deferral.is_deferrable())),
        ("condeferred", Value::Bool(deferral == Deferral::Deferred)),
    ]
}

pub(crate) fn action_letter(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "a",
        ReferentialAction::Restrict => "r",
        ReferentialAction::Cascade => "c",
        ReferentialAction::SetNull => "n",
        ReferentialAction::SetDefault => "d",
    }
}

pub(crate) fn foreign_keys<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (&'c Table, &'c ForeignKey)> + use<'c> {
    tables(context).flat_map(|table| table.foreign_keys.iter().map(move |key| (table, key)))
}
