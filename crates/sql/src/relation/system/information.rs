//! Rows of `information_schema`.

use hotrow_base::ids::ColumnId;
use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{
    Column, Deferral, Object, Table, ViewCheck, is_temporary, local,
};

use crate::relation::system::cells::{
    default_text, identity, indexes, is_function, sequences, tables, text, views,
};
use crate::relation::system::constraints::{foreign_keys, key_kind};

use super::texts::{generation_text, short_name, standard_name};
use super::view_text::definition_of;
use super::{Fields, SystemContext, domains, partitions, rights};
use crate::scope::Compiler;

pub(super) fn fields(context: &SystemContext<'_>, relation: &str) -> Vec<Fields> {
    let catalog = || text(context.database);
    let of_relation = |schema: &str, name: &str| {
        vec![
            ("table_catalog", catalog()),
            ("table_schema", text(schema)),
            ("table_name", text(name)),
        ]
    };
    let of_table = |table: &Table| of_relation(&table.schema, &table.name);
    let of_constraint = |schema: &str, name: &str| {
        vec![
            ("constraint_catalog", catalog()),
            ("constraint_schema", text(schema)),
            ("constraint_name", text(name)),
        ]
    };
    let mut all = Vec::new();
    match relation {
        "information_schema.schemata" => {
            let own = context.catalog.schemas().map(|(name, _)| name);
            for name in
                ["pg_catalog", "public", "information_schema", "hotrow"].into_iter().chain(own)
            {
                all.push(vec![
                    ("catalog_name", catalog()),
                    ("schema_name", text(name)),
                    ("schema_owner", rights::owner_name(context, &Object::Schema(name.into()))),
                ]);
            }
        }
        "information_schema.tables" => {
            for table in tables(context) {
                let mut fields = of_table(table);
                let kind =
                    if is_temporary(&table.schema) { "LOCAL TEMPORARY" } else { "BASE TABLE" };
                fields.push(("table_type", text(kind)));
                fields.push(("is_insertable_into", text("YES")));
                fields.push(("is_typed", text("NO")));
                all.push(fields);
            }
            for (view, _) in partitions::all(context) {
                let mut fields = of_relation(&view.schema, &view.name);
                fields.push(("table_type", text("BASE TABLE")));
                fields.push(("is_insertable_into", text("YES")));
                fields.push(("is_typed", text("NO")));
                all.push(fields);
            }
            for view in views(context) {
                let mut fields = of_relation(&view.schema, &view.name);
                let is_updatable = yes_or_no(Compiler::new(context.catalog).is_updatable(view));
                fields.push(("table_type", text("VIEW")));
                fields.push(("is_insertable_into", is_updatable));
                fields.push(("is_typed", text("NO")));
                all.push(fields);
            }
        }
        "information_schema.views" => {
            for view in views(context) {
                let mut fields = of_relation(&view.schema, &view.name);
                fields.push(("view_definition", text(definition_of(context, view))));
                let check = match view.check {
                    ViewCheck::None => "NONE",
                    ViewCheck::Local => "LOCAL",
                    ViewCheck::Cascaded => "CASCADED",
                };
                fields.push(("check_option", text(check)));
                let is_updatable = yes_or_no(Compiler::new(context.catalog).is_updatable(view));
                fields.push(("is_updatable", is_updatable.clone()));
                fields.push(("is_insertable_into", is_updatable));
                for by_trigger in
                    ["is_trigger_updatable", "is_trigger_deletable", "is_trigger_insertable_into"]
                {
                    fields.push((by_trigger, text("NO")));
                }
                all.push(fields);
            }
        }
        "information_schema.columns" => {
            for table in tables(context) {
                for (at, column) in table.shown().iter().enumerate() {
                    let mut fields = of_table(table);
                    let generation = generation_text(context, table, at);
                    fields.extend(column_information(context, (at, generation), column));
                    all.push(fields);
                }
            }
            for (view, partition) in partitions::all(context) {
                let table = context.catalog.table(partition.table);
                for (at, column) in table.shown().iter().enumerate() {
                    let mut fields = of_relation(&view.schema, &view.name);
                    let generation = generation_text(context, table, at);
                    fields.extend(column_information(context, (at, generation), column));
                    all.push(fields);
                }
            }
            for view in views(context) {
                for (at, (name, sql_type)) in view.columns.iter().enumerate() {
                    let mut fields = of_relation(&view.schema, &view.name);
                    fields.extend(column_information(
                        context,
                        (at, None),
                        &Column::new(name.as_str(), sql_type.packed()),
                    ));
                    fields.retain(|(name, _)| *name != "is_updatable");
                    fields.push(("is_updatable", text("NO")));
                    all.push(fields);
                }
            }
        }
        "information_schema.table_constraints" => {
            for (name, kind, table, deferral) in named_constraints(context) {
                let mut fields = of_constraint(&table.schema, name);
                fields.extend(of_table(table));
                fields.push(("constraint_type", text(kind)));
                fields.push(("is_deferrable", yes_or_no(deferral.is_deferrable())));
                fields.push(("initially_deferred", yes_or_no(deferral == Deferral::Deferred)));
                all.push(fields);
            }
        }
        "information_schema.key_column_usage" => {
            for (name, table, columns, references) in key_columns(context) {
                for (at, column) in columns.iter().enumerate() {
                    let mut fields = of_constraint(&table.schema, name);
                    fields.extend(of_table(table));
                    fields.push(("column_name", text(&table.columns[column.index()].name)));
                    fields.push(("ordinal_position", Value::Int(at as i32 + 1)));
                    let position = if references { Value::Int(at as i32 + 1) } else { Value::Null };
                    fields.push(("position_in_unique_constraint", position));
                    all.push(fields);
                }
            }
        }
        "information_schema.referential_constraints" => {
            for (table, key) in foreign_keys(context) {
                let mut fields = of_constraint(&table.schema, &key.name);
                let parent = context.catalog.index(key.parent_index);
                let schema = &context.catalog.table(key.parent).schema;
                fields.push(("unique_constraint_catalog", catalog()));
                fields.push(("unique_constraint_schema", text(&**schema)));
                fields.push(("unique_constraint_name", text(&parent.name)));
                fields.push(("match_option", text("NONE")));
                fields.push(("update_rule", text(key.on_update.name())));
                fields.push(("delete_rule", text(key.on_delete.name())));
                all.push(fields);
            }
        }
        "information_schema.constraint_column_usage" => {
            for (name, table, columns, references) in key_columns(context) {
                if references {
                    continue;
                }
                for column in columns {
                    let mut fields = of_constraint(&table.schema, name);
                    fields.extend(of_table(table));
                    fields.push(("column_name", text(&table.columns[column.index()].name)));
                    all.push(fields);
                }
            }
            for (table, key) in foreign_keys(context) {
                let parent = context.catalog.table(key.parent);
                for column in &context.catalog.index(key.parent_index).columns {
                    let mut fields = of_constraint(&table.schema, &key.name);
                    fields.extend(of_table(parent));
                    fields.push(("column_name", text(&parent.columns[column.index()].name)));
                    all.push(fields);
                }
            }
        }
        "information_schema.sequences" => {
            for (table, sequence) in sequences(context) {
                let number = |number: i64| text(number.to_string());
                all.push(vec![
                    ("sequence_catalog", catalog()),
                    ("sequence_schema", text(&*table.schema)),
                    ("sequence_name", text(&table.name)),
                    ("data_type", text(sequence.data_type.to_string())),
                    ("start_value", number(sequence.start)),
                    ("minimum_value", number(sequence.min)),
                    ("maximum_value", number(sequence.max)),
                    ("increment", number(sequence.increment)),
                    ("cycle_option", text(if sequence.cycle { "YES" } else { "NO" })),
                ]);
            }
        }
        "information_schema.routines" => {
            for (_, procedure, source) in &context.procedures {
                let kind = if is_function(procedure) { "FUNCTION" } else { "PROCEDURE" };
                all.push(vec![
                    ("routine_catalog", catalog()),
                    ("routine_schema", text(procedure.schema())),
                    ("routine_name", text(procedure.shown_name())),
                    ("routine_type", text(kind)),
                    ("routine_definition", text(*source)),
                    ("external_language", text("PLPGSQL")),
                ]);
            }
        }
        _ => {}
    }
    all
}

fn column_information(
    context: &SystemContext<'_>,
    (at, generated): (usize, Option<String>),
    column: &Column,
) -> Fields {
    let data_type = column.data_type;
    let (length, digits, seconds) = match data_type {
        DataType::Varchar(n) | DataType::Char(n) => (Value::Int(n as i32), None, Value::Null),
        DataType::Numeric { precision, scale } => {
            (Value::Null, Some((precision, scale)), Value::Null)
        }
        DataType::SmallInt => (Value::Null, Some((16, 0)), Value::Null),
        DataType::Integer => (Value::Null, Some((32, 0)), Value::Null),
        DataType::BigInt => (Value::Null, Some((64, 0)), Value::Null),
        DataType::Time(digits) | DataType::Timestamp(digits) | DataType::TimestampTz(digits) => {
            (Value::Null, None, Value::Int(digits.into()))
        }
        _ => (Value::Null, None, Value::Null),
    };
    let of_digits = |pick: fn((u8, u8)) -> u8| {
        digits.map_or(Value::Null, |digits| Value::Int(i32::from(pick(digits))))
    };
    let (shown_type, udt_name) = match data_type {
        DataType::Array(of) => {
            let element = column.domain.as_deref().map(|of| local(&of.name));
            ("ARRAY", format!("_{}", element.unwrap_or(short_name(*of))))
        }
        of => (standard_name(of), short_name(of).to_owned()),
    };
    let default = default_text(context, column);
    let of_domain = domains::of_column(context, column);
    let generation = match identity(column) {
        "" => Value::Null,
        "a" => text("ALWAYS"),
        _ => text("BY DEFAULT"),
    };
    let mut fields = vec![
        ("column_name", text(&column.name)),
        ("ordinal_position", Value::Int(at as i32 + 1)),
        ("column_default", default.map_or(Value::Null, Value::Text)),
        ("is_nullable", text(if column.nullable { "YES" } else { "NO" })),
        ("data_type", text(shown_type)),
        ("character_maximum_length", length),
        ("numeric_precision", of_digits(|digits| digits.0)),
        ("numeric_scale", of_digits(|digits| digits.1)),
        ("datetime_precision", seconds),
        ("udt_name", Value::Text(udt_name)),
        ("is_identity", text(if generation.is_null() { "NO" } else { "YES" })),
        ("identity_generation", generation),
        ("is_generated", text(if generated.is_some() { "ALWAYS" } else { "NEVER" })),
        ("generation_expression", generated.map_or(Value::Null, Value::Text)),
        ("is_updatable", text("YES")),
    ];
    fields.extend(of_domain);
    fields
}

fn named_constraints<'c>(
    context: &SystemContext<'c>,
) -> Vec<(&'c str, &'static str, &'c Table, Deferral)> {
    let keys = indexes(context).filter_map(|(table, index)| {
        let kind = key_kind(table, index)?;
        let kind = if kind == "p" { "PRIMARY KEY" } else { "UNIQUE" };
        Some((index.name.as_str(), kind, table, index.deferral))
    });
    let mut all: Vec<_> = keys.collect();
    let references = foreign_keys(context);
    all.extend(references.map(|(table, key)| (&*key.name, "FOREIGN KEY", table, key.deferral)));
    for table in tables(context) {
        let own = table.checks.iter().filter(|check| !table.is_of_domain(&check.name));
        all.extend(own.map(|check| (&*check.name, "CHECK", table, Deferral::Never)));
    }
    all
}

/// Name, table and columns of keys, and whether they reference others.
fn key_columns<'c>(context: &SystemContext<'c>) -> Vec<(&'c str, &'c Table, &'c [ColumnId], bool)> {
    let keys = indexes(context).filter_map(|(table, index)| {
        key_kind(table, index)?;
        Some((index.name.as_str(), table, index.columns.as_slice(), false))
    });
    let mut all: Vec<_> = keys.collect();
    let references = foreign_keys(context);
    all.extend(
        references
            .map(|(table, key)| (key.name.as_str(), table, key.child_columns.as_slice(), true)),
    );
    all
}

fn yes_or_no(value: bool) -> Value {
    text(if value { "YES" } else { "NO" })
}
