//! Rows of the system catalog.

use std::sync::Arc;

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Object, PUBLIC, Table, View, ViewKind};
use hotrow_transaction::program::{Procedure, ResultColumn};

use crate::relation::system::cells::{
    INFORMATION_SCHEMA, PG_CATALOG, PUBLIC_SCHEMA, default_text, dependency, identity, indexes,
    is_not_null, kept, materialized, schema_number, sequences, small, tables, text, views,
};
use crate::relation::system::classes::classes;
use crate::relation::system::constraints::{constraints, index_row};
use crate::type_table::type_modifier;

use super::functions;
use super::numbers::{DATABASE, DEFAULTS, INDEXES, PROCEDURES, TABLES, VIEWS, number_of};
use super::routines::written;
use super::texts::{
    Brackets, attribute_name, generation_text, index_definition, type_length, type_number,
};
use super::view_text::definition_of;
use super::{
    Fields, KNOWN, OF_RELATION, SystemContext, columns, descriptions, domain_numbers, domains,
    partitions, policies, rights, statistics, triggers, types, view_text,
};

pub(super) const HOTROW: i64 = 13_001;
pub(super) const BTREE: i64 = 403;
pub(super) const HASH: i64 = 405;
const SQL: i64 = 14;
const PLPGSQL: i64 = 13_500;
/// The extension that the views of schema `hotrow` are said to be of.
const OWN_VIEWS: i64 = 13_501;

/// What a column has of which nothing is known.
fn unknown(sql_type: SqlType) -> Value {
    match sql_type {
        SqlType::Scalar(DataType::Boolean) => Value::Bool(false),
        SqlType::Scalar(DataType::BigInt | DataType::Oid) => Value::BigInt(0),
        SqlType::Scalar(DataType::Integer) => Value::Int(0),
        SqlType::Scalar(DataType::SmallInt) => Value::SmallInt(0),
        SqlType::Scalar(DataType::Real) => Value::Real(0.0),
        _ => Value::Null,
    }
}

/// The rows of a relation of the system catalog, all columns of each.
pub fn system_rows(context: &SystemContext<'_>, relation: &str) -> Vec<Vec<Value>> {
    let known = columns(relation);
    let number = KNOWN.iter().position(|known| known.full_name == relation);
    let number = Value::BigInt(number_of(number.unwrap_or_default()));
    let fill = |fields: Fields| {
        let value = |(name, sql_type): &(&'static str, SqlType)| {
            if *name == OF_RELATION {
                return number.clone();
            }
            let given = fields.iter().find(|(field, _)| field == name);
            let value = given.map_or_else(|| unknown(*sql_type), |(_, value)| value.clone());
            debug_assert!(is_of(&value, *sql_type), "{relation}.{name} has another type");
            value
        };
        known.iter().map(value).collect()
    };
    fields(context, relation).into_iter().map(fill).collect()
}

/// Whether a value is written as those of a type.
fn is_of(value: &Value, sql_type: SqlType) -> bool {
    match (value, sql_type) {
        (Value::Null, _)
        | (Value::Bool(_), SqlType::Scalar(DataType::Boolean))
        | (Value::BigInt(_), SqlType::Scalar(DataType::BigInt | DataType::Oid))
        | (Value::Int(_), SqlType::Scalar(DataType::Integer))
        | (Value::SmallInt(_), SqlType::Scalar(DataType::SmallInt))
        | (Value::Real(_), SqlType::Scalar(DataType::Real))
        | (Value::TimestampTz(_), SqlType::Scalar(DataType::TimestampTz(_)))
        | (
            Value::Text(_),
            SqlType::Scalar(DataType::Text | DataType::Name | DataType::CatalogChar),
        ) => true,
        (Value::Array(values), SqlType::Array(of)) => {
            values.iter().all(|value| is_of(value, SqlType::Scalar(of)))
        }
        _ => false,
    }
}

fn fields(context: &SystemContext<'_>, relation: &str) -> Vec<Fields> {
    match relation {
        "pg_catalog.pg_namespace" => [
            (PG_CATALOG, "pg_catalog"),
            (PUBLIC_SCHEMA, PUBLIC),
            (INFORMATION_SCHEMA, "information_schema"),
            (HOTROW, "hotrow"),
        ]
        .into_iter()
        .chain(own_schemas(context))
        .map(|(oid, name)| {
            let object = Object::Schema(name.into());
            let (owner, acl) = (rights::owner(context, &object), rights::acl(context, &object));
            let acl = match (name, acl) {
                (PUBLIC, Value::Null) => rights::acl_of_public(context, &object),
                (_, acl) => acl,
            };
            let oid = Value::BigInt(oid);
            vec![("oid", oid), ("nspname", text(name)), ("nspowner", owner), ("nspacl", acl)]
        })
        .collect(),
        own if own.starts_with("hotrow.") => (context.own)(own),
        of @ ("pg_catalog.pg_stat_activity"
        | "pg_catalog.pg_stat_database"
        | "pg_catalog.pg_stat_all_tables"
        | "pg_catalog.pg_stat_user_tables"
        | "pg_catalog.pg_statio_all_tables"
        | "pg_catalog.pg_statio_user_tables") => statistics::statistics(context, of),
        own @ "pg_catalog.pg_prepared_statements" => (context.own)(own),
        "pg_catalog.pg_class" => classes(context),
        "pg_catalog.pg_inherits" => partitions::inheritance(context),
        "pg_catalog.pg_partitioned_table" => partitions::partitioned(context),
        "pg_catalog.pg_attribute" => attributes(context),
        "pg_catalog.pg_attrdef" => defaults(context),
        "pg_catalog.pg_type" => [types::types(context), domains::types(context)].concat(),
        "information_schema.domains" => domains::information(context),
        "information_schema.domain_constraints" => domains::constraint_information(context),
        "pg_catalog.pg_enum" => types::labels(context),
        "pg_catalog.pg_range" => types::ranges(),
        "pg_catalog.pg_index" => {
            indexes(context).map(|(table, index)| index_row(context, table, index)).collect()
        }
        "pg_catalog.pg_constraint" => constraints(context),
        "pg_catalog.pg_proc" => procedures(context),
        "pg_catalog.pg_trigger" => triggers::rows(context),
        "pg_catalog.pg_policy" => policies::rows(context),
        "pg_catalog.pg_policies" => policies::shown(context),
        "information_schema.triggers" => triggers::information(context),
        "pg_catalog.pg_am" => [(BTREE, "btree"), (HASH, "hash")]
            .map(|(oid, name)| {
                vec![("oid", Value::BigInt(oid)), ("amname", text(name)), ("amtype", text("i"))]
            })
            .to_vec(),
        "pg_catalog.pg_database" => vec![vec![
            ("oid", Value::BigInt(DATABASE)),
            ("datname", text(context.database)),
            ("datdba", rights::owner(context, &Object::Database)),
            ("datacl", rights::acl(context, &Object::Database)),
            ("encoding", Value::Int(6)),
            ("datlocprovider", text("c")),
            ("datallowconn", Value::Bool(true)),
            ("datconnlimit", Value::Int(-1)),
            ("datcollate", text("C")),
            ("datctype", text("C.UTF-8")),
        ]],
        "pg_catalog.pg_roles" | "pg_catalog.pg_authid" => rights::roles(context),
        "pg_catalog.pg_user" => rights::users(context),
        "pg_catalog.pg_db_role_setting" => rights::session_settings(context),
        "pg_catalog.pg_auth_members" => rights::members(context),
        "pg_catalog.pg_default_acl" => rights::defaults(context),
        "information_schema.table_privileges" => rights::table_privileges(context, true),
        "information_schema.role_table_grants" => rights::table_privileges(context, false),
        "pg_catalog.pg_tables" => tables(context)
            .map(|table| {
                vec![
                    ("schemaname", text(&*table.schema)),
                    ("tablename", text(&table.name)),
                    ("tableowner", rights::owner_name(context, &Object::Table(table.id))),
                    ("hasindexes", Value::Bool(table.declared_indexes().next().is_some())),
                    ("rowsecurity", Value::Bool(table.security.is_enabled)),
                ]
            })
            .chain(partitions::all(context).map(|(view, _)| {
                vec![
                    ("schemaname", text(&view.schema)),
                    ("tablename", text(&view.name)),
                    ("tableowner", rights::owner_name(context, &Object::View(view.id))),
                ]
            }))
            .collect(),
        "pg_catalog.pg_views" => {
            let view = |view: &Arc<View>| {
                vec![
                    ("schemaname", text(&view.schema)),
                    ("viewname", text(&view.name)),
                    ("viewowner", rights::owner_name(context, &Object::View(view.id))),
                    ("definition", text(definition_of(context, view))),
                ]
            };
            views(context).map(view).collect()
        }
        "pg_catalog.pg_matviews" => {
            let all = kept(context)
                .filter_map(|table| Some((table, materialized(context.catalog, table)?)));
            all.map(|(table, view)| {
                vec![
                    ("schemaname", text(&view.schema)),
                    ("matviewname", text(&view.name)),
                    ("matviewowner", rights::owner_name(context, &Object::View(view.id))),
                    ("hasindexes", Value::Bool(table.declared_indexes().next().is_some())),
                    ("ispopulated", Value::Bool(view.kind == (ViewKind::Kept { is_filled: true }))),
                    ("definition", text(definition_of(context, view))),
                ]
            })
            .collect()
        }
        "pg_catalog.pg_indexes" => indexes(context)
            .map(|(table, index)| {
                vec![
                    ("schemaname", text(&*table.schema)),
                    ("tablename", text(table.user_name())),
                    ("indexname", text(&index.name)),
                    ("indexdef", text(index_definition(context, (table, index), Brackets::All))),
                ]
            })
            .collect(),
        "pg_catalog.pg_sequence" => sequences(context)
            .map(|(table, sequence)| {
                let of = SqlType::Scalar(sequence.data_type);
                vec![
                    ("seqrelid", Value::BigInt(TABLES.of(table.id.index()))),
                    ("seqtypid", Value::BigInt(type_number(of))),
                    ("seqstart", Value::BigInt(sequence.start)),
                    ("seqincrement", Value::BigInt(sequence.increment)),
                    ("seqmax", Value::BigInt(sequence.max)),
                    ("seqmin", Value::BigInt(sequence.min)),
                    ("seqcache", Value::BigInt(1)),
                    ("seqcycle", Value::Bool(sequence.cycle)),
                ]
            })
            .collect(),
        "pg_catalog.pg_sequences" => sequences(context)
            .map(|(table, sequence)| {
                let last = (context.last_number)(table.id);
                vec![
                    ("schemaname", text(&*table.schema)),
                    ("sequencename", text(&table.name)),
                    ("sequenceowner", rights::owner_name(context, &Object::Table(table.id))),
                    ("data_type", text(sequence.data_type.to_string())),
                    ("start_value", Value::BigInt(sequence.start)),
                    ("min_value", Value::BigInt(sequence.min)),
                    ("max_value", Value::BigInt(sequence.max)),
                    ("increment_by", Value::BigInt(sequence.increment)),
                    ("cycle", Value::Bool(sequence.cycle)),
                    ("cache_size", Value::BigInt(1)),
                    ("last_value", last.map_or(Value::Null, Value::BigInt)),
                ]
            })
            .collect(),
        "pg_catalog.pg_depend" => dependencies(context),
        "pg_catalog.pg_rewrite" => view_text::rules(context),
        "pg_catalog.pg_description" => descriptions::rows(context),
        "pg_catalog.pg_settings" => settings(context),
        "pg_catalog.pg_language" => [(PLPGSQL, "plpgsql", true), (SQL, "sql", false)]
            .map(|(oid, name, is_procedural)| {
                vec![
                    ("oid", Value::BigInt(oid)),
                    ("lanname", text(name)),
                    ("lanowner", Value::BigInt(rights::MAKER)),
                    ("lanispl", Value::Bool(is_procedural)),
                    ("lanpltrusted", Value::Bool(true)),
                ]
            })
            .to_vec(),
        // What is Hotrow's own is no user's: it goes into no dump.
        "pg_catalog.pg_extension" => vec![vec![
            ("oid", Value::BigInt(OWN_VIEWS)),
            ("extname", text("hotrow")),
            ("extowner", Value::BigInt(rights::MAKER)),
            ("extnamespace", Value::BigInt(HOTROW)),
            ("extversion", text(env!("CARGO_PKG_VERSION"))),
        ]],
        "pg_catalog.pg_tablespace" => {
            vec![vec![("oid", Value::BigInt(1663)), ("spcname", text("pg_default"))]]
        }
        other => super::information::fields(context, other),
    }
}

fn attribute(relation: i64, at: usize, name: &str, of: SqlType) -> Fields {
    let data_type = of.packed();
    vec![
        ("attrelid", Value::BigInt(relation)),
        ("attname", text(name)),
        ("atttypid", Value::BigInt(type_number(of))),
        ("attstattarget", Value::Int(-1)),
        ("attlen", Value::SmallInt(type_length(data_type))),
        ("attnum", small(at + 1)),
        ("attcacheoff", Value::Int(-1)),
        ("atttypmod", Value::Int(type_modifier(data_type))),
        ("attstorage", text("p")),
        ("attcompression", text("")),
        ("attalign", text("i")),
        ("attidentity", text("")),
        ("attgenerated", text("")),
        ("attislocal", Value::Bool(true)),
    ]
}

fn attributes(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    for table in tables(context).chain(kept(context)) {
        for (at, column) in table.shown().iter().enumerate() {
            let of = SqlType::Scalar(column.data_type);
            let mut fields = attribute(TABLES.of(table.id.index()), at, &column.name, of);
            if let Some(domain) = domain_numbers::number_of_column(context, column) {
                fields.retain(|(name, _)| !matches!(*name, "atttypid" | "atttypmod"));
                fields.push(("atttypid", Value::BigInt(domain)));
                fields.push(("atttypmod", Value::Int(-1)));
            }
            fields.push(("attnotnull", Value::Bool(is_not_null(column))));
            let acl = rights::column_acl(context, &Object::Table(table.id), at);
            fields.push(("attacl", acl));
            let generation = generation_text(context, table, at);
            let has_default = generation.is_some() || default_text(context, column).is_some();
            fields.push(("atthasdef", Value::Bool(has_default)));
            fields.retain(|(name, _)| !matches!(*name, "attidentity" | "attgenerated"));
            fields.push(("attidentity", text(identity(column))));
            fields.push(("attgenerated", text(generation.map_or("", |_| "s"))));
            all.push(fields);
        }
    }
    for (table, index) in indexes(context) {
        for (at, id) in table.key_of(index).iter().enumerate() {
            let column = &table.columns[id.index()];
            let of = SqlType::Scalar(column.data_type);
            let name = attribute_name(table, *id);
            all.push(attribute(INDEXES.of(index.id.index()), at, name, of));
        }
    }
    let partitions = partitions::all(context).map(|(view, _)| view);
    for view in views(context).chain(partitions) {
        for (at, (name, of)) in view.columns.iter().enumerate() {
            let mut fields = attribute(VIEWS.of(view.id as usize), at, name, *of);
            let is_required = partitions::is_required(context, view, at);
            fields.push(("attnotnull", Value::Bool(is_required)));
            fields.push(("attacl", rights::column_acl(context, &Object::View(view.id), at)));
            all.push(fields);
        }
    }
    for of in types::composites(context) {
        for (at, (name, of_field)) in of.fields().iter().enumerate() {
            let of_field = SqlType::Scalar(*of_field);
            all.push(attribute(types::number_of_composite(of), at, name, of_field));
        }
    }
    for (relation, known) in KNOWN.iter().enumerate() {
        let columns = known.columns.iter().filter(|(name, _)| *name != OF_RELATION);
        for (at, (name, of)) in columns.enumerate() {
            all.push(attribute(number_of(relation), at, name, *of));
        }
    }
    all
}

fn defaults(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    for table in tables(context) {
        for (at, column) in table.shown().iter().enumerate() {
            let generation = generation_text(context, table, at);
            let default = generation.or_else(|| default_text(context, column));
            let Some(default) = default else { continue };
            all.push(vec![
                ("oid", Value::BigInt(DEFAULTS.of_part(table.id.index(), at))),
                ("adrelid", Value::BigInt(TABLES.of(table.id.index()))),
                ("adnum", small(at + 1)),
                ("adbin", text(default)),
            ]);
        }
    }
    all
}

/// Of the sequences that go with columns.
fn dependencies(context: &SystemContext<'_>) -> Vec<Fields> {
    let of_extension =
        |kind: &str, object: i64| dependency((kind, object), ("pg_extension", OWN_VIEWS), "e");
    // A default depends on the sequence that it takes numbers from: dumps set it behind that.
    let of_default = |table: &Table, column: ColumnId, sequence: TableId| {
        let default = DEFAULTS.of_part(table.id.index(), column.index());
        dependency(("pg_attrdef", default), ("pg_class", TABLES.of(sequence.index())), "n")
    };
    let mut all = vec![of_extension("pg_namespace", HOTROW)];
    for (at, known) in KNOWN.iter().enumerate() {
        if known.schema == "hotrow" {
            all.push(of_extension("pg_class", number_of(at)));
        }
    }
    for table in tables(context) {
        for (column, sequence) in context.catalog.owned_by(table) {
            let kind = if context.catalog.is_of_identity(sequence) { "i" } else { "a" };
            let [sequence, owner] = [sequence, table.id].map(|id| TABLES.of(id.index()));
            let mut owned = dependency(("pg_class", sequence), ("pg_class", owner), kind);
            owned.push(("refobjsubid", Value::Int(i32::from(column.0) + 1)));
            all.push(owned);
        }
        for (at, column) in table.shown().iter().enumerate() {
            if let Some(draws) = column.draws.filter(|_| identity(column).is_empty()) {
                all.push(of_default(table, ColumnId(at as u16), draws.sequence));
            }
        }
    }
    all.extend(types::dependencies(context));
    all.extend(view_text::dependencies(context));
    all
}

/// Schemas that were made, with their numbers.
fn own_schemas<'c>(context: &SystemContext<'c>) -> impl Iterator<Item = (i64, &'c str)> {
    let catalog = context.catalog;
    catalog.schemas().map(|(name, _)| (schema_number(catalog, name), name))
}

fn procedures(context: &SystemContext<'_>) -> Vec<Fields> {
    let one = |(number, procedure, source): &(u32, &Procedure, &str)| {
        let written = written(source);
        let parameters = procedure.given();
        let types = parameters.iter().map(|p| Value::BigInt(type_number(p.sql_type)));
        let result = match procedure.result.as_slice() {
            [] if procedure.trigger.is_some() => functions::TRIGGER,
            [] => functions::VOID,
            [column] => type_number(SqlType::Scalar(column.data_type)),
            _ => functions::RECORD,
        };
        let mut names: Vec<_> = parameters.iter().map(|p| text(&p.name)).collect();
        let mut all_types: Vec<_> = types.clone().collect();
        let mut modes = vec![text("i"); names.len()];
        let mut element = 0;
        if procedure.is_variadic
            && let (Some(last), Some(SqlType::Array(of))) =
                (modes.last_mut(), parameters.last().map(|p| p.sql_type))
        {
            *last = text("v");
            element = type_number(SqlType::Scalar(of));
        }
        // A value has its function's name; what has names of its own is a parameter, too.
        let is_value = |column: &ResultColumn| column.name == procedure.shown_name();
        if !procedure.result.iter().all(is_value) {
            for column in &procedure.result {
                names.push(text(&column.name));
                let of = SqlType::Scalar(column.data_type);
                all_types.push(Value::BigInt(type_number(of)));
                modes.push(text(if procedure.returns_set { "t" } else { "o" }));
            }
        }
        let has_more = names.len() > parameters.len() || procedure.is_variadic;
        let object = Object::Function(procedure.name.as_str().into());
        let settings = match written.settings.as_slice() {
            [] => Value::Null,
            all => Value::Array(all.iter().map(text).collect()),
        };
        let or_null = |all: Vec<Value>| if has_more { Value::Array(all) } else { Value::Null };
        vec![
            ("oid", Value::BigInt(PROCEDURES.of(*number as usize))),
            ("proname", text(procedure.shown_name())),
            ("pronamespace", Value::BigInt(schema_number(context.catalog, procedure.schema()))),
            ("proowner", rights::owner(context, &object)),
            ("proacl", rights::acl(context, &object)),
            ("prolang", Value::BigInt(if written.language == "sql" { SQL } else { PLPGSQL })),
            ("prosecdef", Value::Bool(written.is_definer)),
            ("proisstrict", Value::Bool(written.is_strict)),
            ("procost", Value::Real(100.0)),
            ("prorows", Value::Real(if procedure.returns_set { 1000.0 } else { 0.0 })),
            ("proconfig", settings),
            ("prosupport", text("-")),
            ("prokind", text(if written.is_function { "f" } else { "p" })),
            ("proretset", Value::Bool(procedure.returns_set)),
            ("provariadic", Value::BigInt(element)),
            ("provolatile", text(written.volatility)),
            ("proparallel", text("u")),
            ("pronargs", small(parameters.len())),
            ("prorettype", Value::BigInt(result)),
            ("proargtypes", Value::Array(types.collect())),
            ("proallargtypes", or_null(all_types)),
            ("proargmodes", or_null(modes)),
            ("proargnames", Value::Array(names)),
            ("prosrc", text(written.body)),
        ]
    };
    context.procedures.iter().map(one).collect()
}

fn settings(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all: Vec<Fields> = Vec::new();
    for (name, value, description) in &context.settings {
        all.push(vec![
            ("name", text(name)),
            ("setting", text(value)),
            ("short_desc", text(description)),
            ("vartype", text("string")),
            ("context", text("user")),
            ("source", text("default")),
        ]);
    }
    if all.iter().all(|fields| fields[0].1 != text("max_index_keys")) {
        let fields = [("name", text("max_index_keys")), ("setting", text("32"))];
        all.push(fields.into());
    }
    all
}
