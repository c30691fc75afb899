//! Rows of the system catalog.

use hotrow_base::ids::{ColumnId, TableId};
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{ForeignKey, Index, IndexKind, Table};
use hotrow_transaction::program::Procedure;

use super::functions::{self, CONSTRAINTS, DEFAULTS, INDEXES, Number, SYSTEM_RELATIONS, TABLES};
use super::{KNOWN, SystemContext, columns, deparse};

const PG_CATALOG: i64 = 11;
const PUBLIC: i64 = 2200;
const INFORMATION_SCHEMA: i64 = 13_000;
const OWNER: i64 = 10;
const BTREE: i64 = 403;
const HASH: i64 = 405;
const PLPGSQL: i64 = 13_500;
const DATABASE: i64 = 16_383;

/// A row being made: names and values; the rest is filled in.
type Fields = Vec<(&'static str, Value)>;

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

fn small(number: usize) -> Value {
    Value::SmallInt(number as i16)
}

fn smalls(columns: &[ColumnId]) -> Value {
    Value::Array(columns.iter().map(|column| small(column.index() + 1)).collect())
}

/// What a column has of which nothing is known.
fn unknown(sql_type: SqlType) -> Value {
    match sql_type {
        SqlType::Scalar(DataType::Boolean) => Value::Bool(false),
        SqlType::Scalar(DataType::BigInt) => Value::BigInt(0),
        SqlType::Scalar(DataType::Integer) => Value::Int(0),
        SqlType::Scalar(DataType::SmallInt) => Value::SmallInt(0),
        SqlType::Scalar(DataType::Real) => Value::Real(0.0),
        _ => Value::Null,
    }
}

/// The rows of a relation of the system catalog, all columns of each.
pub fn system_rows(context: &SystemContext<'_>, relation: &str) -> Vec<Vec<Value>> {
    let known = columns(relation);
    let fill = |fields: Fields| {
        let value = |(name, sql_type): &(&'static str, SqlType)| {
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
        | (Value::BigInt(_), SqlType::Scalar(DataType::BigInt))
        | (Value::Int(_), SqlType::Scalar(DataType::Integer))
        | (Value::SmallInt(_), SqlType::Scalar(DataType::SmallInt))
        | (Value::Real(_), SqlType::Scalar(DataType::Real))
        | (Value::Text(_), SqlType::Scalar(DataType::Text)) => true,
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
            (PUBLIC, "public"),
            (INFORMATION_SCHEMA, "information_schema"),
        ]
        .map(|(oid, name)| {
            let (oid, owner) = (Value::BigInt(oid), Value::BigInt(OWNER));
            vec![("oid", oid), ("nspname", text(name)), ("nspowner", owner)]
        })
        .to_vec(),
        "pg_catalog.pg_class" => classes(context),
        "pg_catalog.pg_attribute" => attributes(context),
        "pg_catalog.pg_attrdef" => defaults(context),
        "pg_catalog.pg_type" => types(),
        "pg_catalog.pg_index" => {
            indexes(context).map(|(table, index)| index_row(table, index)).collect()
        }
        "pg_catalog.pg_constraint" => constraints(context),
        "pg_catalog.pg_proc" => procedures(context),
        "pg_catalog.pg_am" => [(BTREE, "btree"), (HASH, "hash")]
            .map(|(oid, name)| {
                vec![("oid", Value::BigInt(oid)), ("amname", text(name)), ("amtype", text("i"))]
            })
            .to_vec(),
        "pg_catalog.pg_database" => vec![vec![
            ("oid", Value::BigInt(DATABASE)),
            ("datname", text(context.database)),
            ("datdba", Value::BigInt(OWNER)),
            ("encoding", Value::Int(6)),
            ("datlocprovider", text("c")),
            ("datallowconn", Value::Bool(true)),
            ("datconnlimit", Value::Int(-1)),
            ("datcollate", text("C")),
            ("datctype", text("C.UTF-8")),
        ]],
        "pg_catalog.pg_roles" | "pg_catalog.pg_authid" => users(context).map(role).collect(),
        "pg_catalog.pg_user" => users(context)
            .map(|(oid, name)| {
                vec![
                    ("usename", text(name)),
                    ("usesysid", Value::BigInt(oid)),
                    ("usecreatedb", Value::Bool(false)),
                    ("usesuper", Value::Bool(true)),
                    ("passwd", text(HIDDEN)),
                ]
            })
            .collect(),
        "pg_catalog.pg_tables" => tables(context)
            .map(|table| {
                vec![
                    ("schemaname", text("public")),
                    ("tablename", text(&table.name)),
                    ("tableowner", text(context.user)),
                    ("hasindexes", Value::Bool(table.indexes().next().is_some())),
                ]
            })
            .collect(),
        "pg_catalog.pg_indexes" => indexes(context)
            .map(|(table, index)| {
                vec![
                    ("schemaname", text("public")),
                    ("tablename", text(&table.name)),
                    ("indexname", text(&index.name)),
                    ("indexdef", text(functions::index_definition(table, index))),
                ]
            })
            .collect(),
        "pg_catalog.pg_settings" => settings(context),
        "pg_catalog.pg_language" => vec![vec![
            ("oid", Value::BigInt(PLPGSQL)),
            ("lanname", text("plpgsql")),
            ("lanowner", Value::BigInt(OWNER)),
            ("lanispl", Value::Bool(true)),
            ("lanpltrusted", Value::Bool(true)),
        ]],
        "pg_catalog.pg_tablespace" => {
            vec![vec![("oid", Value::BigInt(1663)), ("spcname", text("pg_default"))]]
        }
        other => information(context, other),
    }
}

fn tables<'c>(context: &SystemContext<'c>) -> impl Iterator<Item = &'c Table> + use<'c> {
    context.catalog.tables().iter().filter(|table| !table.dropped)
}

fn indexes<'c>(context: &SystemContext<'c>) -> impl Iterator<Item = (&'c Table, &'c Index)> {
    let catalog = context.catalog;
    let all = catalog.indexes().iter().filter(|index| !index.dropped);
    all.map(|index| (catalog.table(index.table), index))
}

fn users<'c>(context: &'c SystemContext<'_>) -> impl Iterator<Item = (i64, &'c str)> {
    let own = context.users.iter().all(|user| user != context.user).then_some(context.user);
    let all = own.into_iter().chain(context.users.iter().map(String::as_str));
    all.enumerate().map(|(at, name)| (OWNER + at as i64, name))
}

/// What is shown of passwords, be there one or none.
const HIDDEN: &str = "********";

fn role((oid, name): (i64, &str)) -> Fields {
    vec![
        ("oid", Value::BigInt(oid)),
        ("rolname", text(name)),
        ("rolsuper", Value::Bool(true)),
        ("rolinherit", Value::Bool(true)),
        ("rolcreaterole", Value::Bool(true)),
        ("rolcanlogin", Value::Bool(true)),
        ("rolconnlimit", Value::Int(-1)),
        ("rolpassword", text(HIDDEN)),
    ]
}

fn class(oid: i64, name: &str, kind: &str, columns: usize) -> Fields {
    vec![
        ("oid", Value::BigInt(oid)),
        ("relname", text(name)),
        ("relnamespace", Value::BigInt(PUBLIC)),
        ("relowner", Value::BigInt(OWNER)),
        ("reltuples", Value::Real(-1.0)),
        ("relpersistence", text("p")),
        ("relkind", text(kind)),
        ("relnatts", small(columns)),
        ("relispopulated", Value::Bool(true)),
        ("relreplident", text("d")),
    ]
}

fn classes(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    for table in tables(context) {
        let mut fields = class(TABLES.of(table.id.index()), &table.name, "r", table.columns.len());
        fields.push(("relhasindex", Value::Bool(table.indexes().next().is_some())));
        fields.push(("relchecks", small(table.checks.len())));
        let refers =
            |(child, key): (&Table, &ForeignKey)| child.id == table.id || key.parent == table.id;
        fields.push(("relhastriggers", Value::Bool(foreign_keys(context).any(refers))));
        fields.push(("relam", Value::BigInt(2)));
        all.push(fields);
    }
    for (_, index) in indexes(context) {
        let oid = INDEXES.of(index.id.index());
        let mut fields = class(oid, &index.name, "i", index.columns.len());
        fields.push(("relam", Value::BigInt(method(index))));
        all.push(fields);
    }
    for (at, known) in KNOWN.iter().enumerate() {
        let oid = SYSTEM_RELATIONS.of(at);
        let mut fields = class(oid, known.name, "v", known.columns.len());
        let schema = match known.schema {
            "information_schema" => INFORMATION_SCHEMA,
            _ => PG_CATALOG,
        };
        fields.retain(|(name, _)| *name != "relnamespace");
        fields.push(("relnamespace", Value::BigInt(schema)));
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

fn attribute(relation: i64, at: usize, name: &str, of: SqlType) -> Fields {
    let data_type = functions::data_type_of(of);
    vec![
        ("attrelid", Value::BigInt(relation)),
        ("attname", text(name)),
        ("atttypid", Value::BigInt(functions::type_number(of))),
        ("attstattarget", Value::Int(-1)),
        ("attlen", Value::SmallInt(functions::type_length(data_type))),
        ("attnum", small(at + 1)),
        ("attcacheoff", Value::Int(-1)),
        ("atttypmod", Value::Int(functions::modifier(data_type))),
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
    for table in tables(context) {
        for (at, column) in table.columns.iter().enumerate() {
            let of = SqlType::Scalar(column.data_type);
            let mut fields = attribute(TABLES.of(table.id.index()), at, &column.name, of);
            fields.push(("attnotnull", Value::Bool(!column.nullable)));
            fields.push(("atthasdef", Value::Bool(column.default.is_some())));
            all.push(fields);
        }
    }
    for (table, index) in indexes(context) {
        for (at, column) in index.columns.iter().enumerate() {
            let column = &table.columns[column.index()];
            let of = SqlType::Scalar(column.data_type);
            all.push(attribute(INDEXES.of(index.id.index()), at, &column.name, of));
        }
    }
    for (relation, known) in KNOWN.iter().enumerate() {
        for (at, (name, of)) in known.columns.iter().enumerate() {
            all.push(attribute(SYSTEM_RELATIONS.of(relation), at, name, *of));
        }
    }
    all
}

fn defaults(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    for table in tables(context) {
        for (at, column) in table.columns.iter().enumerate() {
            let Some(default) = &column.default else { continue };
            all.push(vec![
                ("oid", Value::BigInt(DEFAULTS.of_part(table.id.index(), at))),
                ("adrelid", Value::BigInt(TABLES.of(table.id.index()))),
                ("adnum", small(at + 1)),
                ("adbin", text(deparse::text(default, &|_| String::new()))),
            ]);
        }
    }
    all
}

fn types() -> Vec<Fields> {
    let mut all = Vec::new();
    for known in functions::TYPES {
        let common = |oid: i64, name: String, length: i16, category: &str| {
            vec![
                ("oid", Value::BigInt(oid)),
                ("typname", text(name)),
                ("typnamespace", Value::BigInt(PG_CATALOG)),
                ("typowner", Value::BigInt(OWNER)),
                ("typlen", Value::SmallInt(length)),
                ("typtype", text("b")),
                ("typcategory", text(category)),
                ("typisdefined", Value::Bool(true)),
                ("typdelim", text(",")),
                ("typtypmod", Value::Int(-1)),
            ]
        };
        let mut fields = common(known.oid, known.name.to_owned(), known.length, known.category);
        fields.push(("typarray", Value::BigInt(known.array)));
        fields.push(("typinput", text(format!("{}in", known.name))));
        all.push(fields);
        let mut array = common(known.array, format!("_{}", known.name), -1, "A");
        array.push(("typelem", Value::BigInt(known.oid)));
        array.push(("typinput", text("array_in")));
        all.push(array);
    }
    all
}

fn index_row(table: &Table, index: &Index) -> Fields {
    let count = index.columns.len();
    vec![
        ("indexrelid", Value::BigInt(INDEXES.of(index.id.index()))),
        ("indrelid", Value::BigInt(TABLES.of(table.id.index()))),
        ("indnatts", small(count)),
        ("indnkeyatts", small(count)),
        ("indisunique", Value::Bool(index.unique)),
        ("indisprimary", Value::Bool(table.primary == Some(index.id))),
        ("indimmediate", Value::Bool(true)),
        ("indisvalid", Value::Bool(true)),
        ("indisready", Value::Bool(true)),
        ("indislive", Value::Bool(true)),
        ("indkey", smalls(&index.columns)),
        ("indcollation", Value::Array(vec![Value::BigInt(0); count])),
        ("indclass", Value::Array(vec![Value::BigInt(0); count])),
        ("indoption", Value::Array(vec![Value::SmallInt(0); count])),
    ]
}

/// A constraint: its number, name, kind and table.
fn constraint(oid: i64, name: &str, kind: &str, table: TableId, columns: &[ColumnId]) -> Fields {
    vec![
        ("oid", Value::BigInt(oid)),
        ("conname", text(name)),
        ("connamespace", Value::BigInt(PUBLIC)),
        ("contype", text(kind)),
        ("convalidated", Value::Bool(true)),
        ("conrelid", Value::BigInt(TABLES.of(table.index()))),
        ("conislocal", Value::Bool(true)),
        ("conkey", smalls(columns)),
    ]
}

/// Of a unique index: the primary key's, or one that makes a UNIQUE constraint.
fn key_kind(table: &Table, index: &Index) -> Option<&'static str> {
    match (index.unique, table.primary == Some(index.id)) {
        (_, true) => Some("p"),
        (true, false) if index.name.ends_with("_key") => Some("u"),
        _ => None,
    }
}

fn constraints(context: &SystemContext<'_>) -> Vec<Fields> {
    let mut all = Vec::new();
    for (table, index) in indexes(context) {
        let Some(kind) = key_kind(table, index) else { continue };
        let oid = CONSTRAINTS.of(index.id.index());
        let mut fields = constraint(oid, &index.name, kind, table.id, &index.columns);
        fields.push(("conindid", Value::BigInt(INDEXES.of(index.id.index()))));
        all.push(fields);
    }
    for table in tables(context) {
        for (at, check) in table.checks.iter().enumerate() {
            let oid = functions::CHECKS.of_part(table.id.index(), at);
            let mut fields = constraint(oid, &check.name, "c", table.id, &check.columns);
            fields.push(("conbin", text(functions::check_text(table, check))));
            all.push(fields);
        }
        for (at, key) in table.foreign_keys.iter().enumerate() {
            let oid = functions::FOREIGN_KEYS.of_part(table.id.index(), at);
            let mut fields = constraint(oid, &key.name, "f", table.id, &key.child_columns);
            let parents = &context.catalog.index(key.parent_index).columns;
            fields.push(("conindid", Value::BigInt(INDEXES.of(key.parent_index.index()))));
            fields.push(("confrelid", Value::BigInt(TABLES.of(key.parent.index()))));
            fields.push(("confupdtype", text("a")));
            fields.push(("confdeltype", text("a")));
            fields.push(("confmatchtype", text("s")));
            fields.push(("confkey", smalls(parents)));
            all.push(fields);
        }
    }
    all
}

fn is_function(procedure: &Procedure) -> bool {
    procedure.returns_set || !procedure.result.is_empty()
}

fn procedures(context: &SystemContext<'_>) -> Vec<Fields> {
    let one = |(number, procedure, source): &(u32, &Procedure, &str)| {
        let parameters = procedure.parameters();
        let types = parameters.iter().map(|p| Value::BigInt(functions::type_number(p.sql_type)));
        let result = procedure
            .result
            .first()
            .map_or(2278, |column| functions::type_number(SqlType::Scalar(column.data_type)));
        vec![
            ("oid", Value::BigInt(functions::PROCEDURES.of(*number as usize))),
            ("proname", text(&procedure.name)),
            ("pronamespace", Value::BigInt(PUBLIC)),
            ("proowner", Value::BigInt(OWNER)),
            ("prolang", Value::BigInt(PLPGSQL)),
            ("prokind", text(if is_function(procedure) { "f" } else { "p" })),
            ("proretset", Value::Bool(procedure.returns_set)),
            ("provolatile", text("v")),
            ("proparallel", text("u")),
            ("pronargs", small(parameters.len())),
            ("prorettype", Value::BigInt(result)),
            ("proargtypes", Value::Array(types.collect())),
            ("proargnames", Value::Array(parameters.iter().map(|p| text(&p.name)).collect())),
            ("prosrc", text(*source)),
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

fn information(context: &SystemContext<'_>, relation: &str) -> Vec<Fields> {
    let catalog = || text(context.database);
    let of_table = |table: &Table| {
        vec![
            ("table_catalog", catalog()),
            ("table_schema", text("public")),
            ("table_name", text(&table.name)),
        ]
    };
    let of_constraint = |name: &str| {
        vec![
            ("constraint_catalog", catalog()),
            ("constraint_schema", text("public")),
            ("constraint_name", text(name)),
        ]
    };
    let mut all = Vec::new();
    match relation {
        "information_schema.schemata" => {
            for name in ["pg_catalog", "public", "information_schema"] {
                all.push(vec![
                    ("catalog_name", catalog()),
                    ("schema_name", text(name)),
                    ("schema_owner", text(context.user)),
                ]);
            }
        }
        "information_schema.tables" => {
            for table in tables(context) {
                let mut fields = of_table(table);
                fields.push(("table_type", text("BASE TABLE")));
                fields.push(("is_insertable_into", text("YES")));
                fields.push(("is_typed", text("NO")));
                all.push(fields);
            }
        }
        "information_schema.columns" => {
            for table in tables(context) {
                for (at, column) in table.columns.iter().enumerate() {
                    let mut fields = of_table(table);
                    fields.extend(column_information(at, column));
                    all.push(fields);
                }
            }
        }
        "information_schema.table_constraints" => {
            for (name, kind, table) in named_constraints(context) {
                let mut fields = of_constraint(name);
                fields.extend(of_table(table));
                fields.push(("constraint_type", text(kind)));
                fields.push(("is_deferrable", text("NO")));
                fields.push(("initially_deferred", text("NO")));
                all.push(fields);
            }
        }
        "information_schema.key_column_usage" => {
            for (name, table, columns, references) in key_columns(context) {
                for (at, column) in columns.iter().enumerate() {
                    let mut fields = of_constraint(name);
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
            for (_, key) in foreign_keys(context) {
                let mut fields = of_constraint(&key.name);
                let parent = context.catalog.index(key.parent_index);
                fields.push(("unique_constraint_catalog", catalog()));
                fields.push(("unique_constraint_schema", text("public")));
                fields.push(("unique_constraint_name", text(&parent.name)));
                fields.push(("match_option", text("NONE")));
                fields.push(("update_rule", text("NO ACTION")));
                fields.push(("delete_rule", text("NO ACTION")));
                all.push(fields);
            }
        }
        "information_schema.constraint_column_usage" => {
            for (name, table, columns, references) in key_columns(context) {
                if references {
                    continue;
                }
                for column in columns {
                    let mut fields = of_constraint(name);
                    fields.extend(of_table(table));
                    fields.push(("column_name", text(&table.columns[column.index()].name)));
                    all.push(fields);
                }
            }
            for (_, key) in foreign_keys(context) {
                let parent = context.catalog.table(key.parent);
                for column in &context.catalog.index(key.parent_index).columns {
                    let mut fields = of_constraint(&key.name);
                    fields.extend(of_table(parent));
                    fields.push(("column_name", text(&parent.columns[column.index()].name)));
                    all.push(fields);
                }
            }
        }
        "information_schema.routines" => {
            for (_, procedure, source) in &context.procedures {
                let kind = if is_function(procedure) { "FUNCTION" } else { "PROCEDURE" };
                all.push(vec![
                    ("routine_catalog", catalog()),
                    ("routine_schema", text("public")),
                    ("routine_name", text(&procedure.name)),
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

fn column_information(at: usize, column: &hotrow_transaction::catalog::Column) -> Fields {
    let data_type = column.data_type;
    let (length, digits, seconds) = match data_type {
        DataType::Varchar(n) | DataType::Char(n) => (Value::Int(n as i32), None, Value::Null),
        DataType::Numeric { precision, scale } => {
            (Value::Null, Some((precision, scale)), Value::Null)
        }
        DataType::SmallInt => (Value::Null, Some((16, 0)), Value::Null),
        DataType::Integer => (Value::Null, Some((32, 0)), Value::Null),
        DataType::BigInt => (Value::Null, Some((64, 0)), Value::Null),
        DataType::Timestamp | DataType::TimestampTz => (Value::Null, None, Value::Int(6)),
        _ => (Value::Null, None, Value::Null),
    };
    let of_digits = |pick: fn((u8, u8)) -> u8| {
        digits.map_or(Value::Null, |digits| Value::Int(i32::from(pick(digits))))
    };
    let default = column.default.as_ref();
    let default = default.map(|default| deparse::text(default, &|_| String::new()));
    vec![
        ("column_name", text(&column.name)),
        ("ordinal_position", Value::Int(at as i32 + 1)),
        ("column_default", default.map_or(Value::Null, Value::Text)),
        ("is_nullable", text(if column.nullable { "YES" } else { "NO" })),
        ("data_type", text(functions::standard_name(data_type))),
        ("character_maximum_length", length),
        ("numeric_precision", of_digits(|digits| digits.0)),
        ("numeric_scale", of_digits(|digits| digits.1)),
        ("datetime_precision", seconds),
        ("udt_name", text(functions::short_name(data_type))),
        ("is_identity", text("NO")),
        ("is_generated", text("NEVER")),
        ("is_updatable", text("YES")),
    ]
}

fn foreign_keys<'c>(
    context: &SystemContext<'c>,
) -> impl Iterator<Item = (&'c Table, &'c ForeignKey)> + use<'c> {
    tables(context).flat_map(|table| table.foreign_keys.iter().map(move |key| (table, key)))
}

fn named_constraints<'c>(context: &SystemContext<'c>) -> Vec<(&'c str, &'static str, &'c Table)> {
    let keys = indexes(context).filter_map(|(table, index)| {
        let kind = key_kind(table, index)?;
        let kind = if kind == "p" { "PRIMARY KEY" } else { "UNIQUE" };
        Some((index.name.as_str(), kind, table))
    });
    let mut all: Vec<_> = keys.collect();
    all.extend(foreign_keys(context).map(|(table, key)| (key.name.as_str(), "FOREIGN KEY", table)));
    for table in tables(context) {
        all.extend(table.checks.iter().map(|check| (check.name.as_str(), "CHECK", table)));
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

/// Numbers of objects that are made of ids.
impl Number {
    pub(super) const fn of(self, id: usize) -> i64 {
        self.0 + id as i64
    }

    /// Of the part of a table.
    pub(super) const fn of_part(self, table: usize, part: usize) -> i64 {
        self.0 + (table as i64) * 2048 + part as i64
    }
}
