//! Rows of `pg_class`.

use hotrow_base::value::Value;
use hotrow_transaction::catalog::{
    ForeignKey, Index, IndexKind, Object, Table, ViewKind, is_temporary,
};

use crate::type_table::composite_type;

use super::cells::{
    INFORMATION_SCHEMA, PG_CATALOG, indexes, kept, materialized, schema_number, sequences, small,
    tables, text, views,
};
use super::constraints::foreign_keys;
use super::numbers::{INDEXES, TABLES, VIEWS, number_of};
use super::rows::{BTREE, HASH, HOTROW};
use super::types::{composites, number_of_composite, schema_of_type};
use super::{Fields, KNOWN, SystemContext, partitions, policies, rights};

fn class(oid: i64, (schema, name): (i64, &str), kind: &str, columns: usize) -> Fields {
    vec![
        ("oid", Value::BigInt(oid)),
        ("relname", text(name)),
        ("relnamespace", Value::BigInt(schema)),
        ("reltuples", Value::Real(-1.0)),
        ("relpersistence", text("p")),
        ("relkind", text(kind)),
        ("relnatts", small(columns)),
        ("relispopulated", Value::Bool(true)),
        ("relreplident", text("d")),
    ]
}

/// Whose a relation is, and who may what with it.
fn owned(context: &SystemContext<'_>, fields: &mut Fields, object: &Object) {
    fields.push(("relowner", rights::owner(context, object)));
    fields.push(("relacl", rights::acl(context, object)));
}

pub(super) fn classes(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    for of in composites(context) {
        let name = (schema_of_type(context, of.name()), of.name());
        let mut fields = class(number_of_composite(of), name, "c", of.fields().len());
        fields.push(("reltype", Value::BigInt(composite_type(of).oid)));
        fields.push(("relowner", Value::BigInt(rights::MAKER)));
        all.push(fields);
    }
    for table in tables(context) {
        let (oid, shown) = (TABLES.of(table.id.index()), table.shown().len());
        let kind = if table.partitioning.is_some() { "p" } else { "r" };
        let mut fields = class(oid, named(context, table), kind, shown);
        fields.push(("relhassubclass", Value::Bool(partitions::has_any(context, table.id, None))));
        fields.push(("relhasindex", Value::Bool(table.declared_indexes().next().is_some())));
        let own = table.checks.iter().filter(|check| !table.is_of_domain(&check.name));
        fields.push(("relchecks", small(own.count())));
        let refers =
            |(child, key): (&Table, &ForeignKey)| child.id == table.id || key.parent == table.id;
        let has_triggers = !table.triggers.is_empty() || foreign_keys(context).any(refers);
        fields.push(("relhastriggers", Value::Bool(has_triggers)));
        fields.extend(policies::switches(table));
        fields.push(("relam", Value::BigInt(2)));
        fields.push(("reltype", Value::BigInt(composite_type(table.row_type()).oid)));
        owned(context, &mut fields, &Object::Table(table.id));
        if is_temporary(&table.schema) {
            fields.retain(|(name, _)| *name != "relpersistence");
            fields.push(("relpersistence", text("t")));
        }
        all.push(fields);
    }
    for table in kept(context) {
        let Some(view) = materialized(context.catalog, table) else { continue };
        let name = (schema_number(context.catalog, &view.schema), &*view.name);
        let mut fields = class(TABLES.of(table.id.index()), name, "m", table.shown().len());
        fields.retain(|(name, _)| *name != "relispopulated");
        let is_filled = view.kind == (ViewKind::Kept { is_filled: true });
        fields.push(("relispopulated", Value::Bool(is_filled)));
        fields.push(("relhasindex", Value::Bool(table.declared_indexes().next().is_some())));
        fields.push(("relhasrules", Value::Bool(true)));
        fields.push(("relam", Value::BigInt(2)));
        owned(context, &mut fields, &Object::View(view.id));
        all.push(fields);
    }
    for (table, _) in sequences(context) {
        let mut fields = class(TABLES.of(table.id.index()), named(context, table), "S", 3);
        owned(context, &mut fields, &Object::Table(table.id));
        all.push(fields);
    }
    for view in views(context) {
        let name = (schema_number(context.catalog, &view.schema), &*view.name);
        let mut fields = class(VIEWS.of(view.id as usize), name, "v", view.columns.len());
        fields.push(("relhasrules", Value::Bool(true)));
        fields.push(("relhastriggers", Value::Bool(!view.triggers.is_empty())));
        let rows = view.row_type().map_or(0, |rows| composite_type(rows).oid);
        fields.push(("reltype", Value::BigInt(rows)));
        owned(context, &mut fields, &Object::View(view.id));
        all.push(fields);
    }
    for (view, partition) in partitions::all(context) {
        let name = (schema_number(context.catalog, &view.schema), &*view.name);
        let kind = if partition.key.is_some() { "p" } else { "r" };
        let mut fields = class(VIEWS.of(view.id as usize), name, kind, view.columns.len());
        let has_any = partitions::has_any(context, partition.table, Some(view.id));
        fields.push(("relhassubclass", Value::Bool(has_any)));
        fields.push(("relispartition", Value::Bool(true)));
        fields.push(("relpartbound", text(partition.bound.to_string())));
        fields.push(("relam", Value::BigInt(2)));
        owned(context, &mut fields, &Object::View(view.id));
        all.push(fields);
    }
    for (table, index) in indexes(context) {
        let oid = INDEXES.of(index.id.index());
        let name = (schema_number(context.catalog, &table.schema), &*index.name);
        let mut fields = class(oid, name, "i", table.key_of(index).len());
        fields.push(("relam", Value::BigInt(method(index))));
        fields.push(("relowner", rights::owner(context, &Object::Table(table.id))));
        all.push(fields);
    }
    for (at, known) in KNOWN.iter().enumerate() {
        let oid = number_of(at);
        let schema = match known.schema {
            "information_schema" => INFORMATION_SCHEMA,
            "hotrow" => HOTROW,
            _ => PG_CATALOG,
        };
        let mut fields = class(oid, (schema, known.name), "v", known.columns.len());
        fields.push(("relowner", Value::BigInt(rights::MAKER)));
        all.push(fields);
    }
    all
}

fn method(index: &Index) -> i64 {
    match index.kind {
        IndexKind::Hash => HASH,
        IndexKind::BTree => BTREE,
    }
}

/// The number of a table's schema, and its name.
fn named<'c>(context: &SystemContext<'c>, table: &'c Table) -> (i64, &'c str) {
    (schema_number(context.catalog, &table.schema), &table.name)
}
