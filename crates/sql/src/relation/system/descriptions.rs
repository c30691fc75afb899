//! Comments as the system catalog lists them.

use hotrow_base::value::Value;
use hotrow_query::DescribedBy;
use hotrow_transaction::catalog::{
    CommentedPart, NamedType, Object, View, ViewKind, kept_name, local, qualified, schema_of,
};

use super::cells::{PUBLIC_SCHEMA, schema_number, text};
use super::constraints::constraints;
use super::numbers::{INDEXES, PROCEDURES, TABLES, VIEWS, number_of_named};
use super::{Fields, SystemContext, domain_numbers, policies, triggers};
use crate::type_table::{composite_type, enum_type};

/// A comment: the relation of the system catalog that has what it is about, the number of that in
/// it, of a column its place, and the text.
struct Description<'c> {
    class: &'static str,
    number: i64,
    column: i32,
    text: &'c str,
}

/// Rows of `pg_description`.
pub(super) fn rows(context: &SystemContext<'_>) -> Vec<Fields> {
    let row = |of: Description<'_>| {
        vec![
            ("objoid", Value::BigInt(of.number)),
            ("classoid", Value::BigInt(number_of_named(of.class))),
            ("objsubid", Value::Int(of.column)),
            ("description", text(of.text)),
        ]
    };
    descriptions(context).into_iter().map(row).collect()
}

/// `obj_description` and its kin.
pub(super) fn described(
    context: &SystemContext<'_>,
    by: DescribedBy,
    arguments: &[Value],
) -> Option<String> {
    let number = match arguments.first()? {
        Value::BigInt(number) => *number,
        _ => return None,
    };
    let (class, column) = match (by, arguments.get(1)) {
        (DescribedBy::Column, Some(Value::Int(column))) => (Some("pg_class"), *column),
        (DescribedBy::Class, Some(Value::Text(class))) => {
            (Some(class.strip_prefix("pg_catalog.").unwrap_or(class)), 0)
        }
        (DescribedBy::Class, None) => (None, 0),
        _ => return None,
    };
    let is_it = |of: &Description<'_>| {
        of.number == number && of.column == column && class.is_none_or(|class| class == of.class)
    };
    descriptions(context).into_iter().find(is_it).map(|of| of.text.to_owned())
}

/// What `public` is said to be, where nobody has said anything else of it.
const OF_PUBLIC: Description<'static> = Description {
    class: "pg_namespace",
    number: PUBLIC_SCHEMA,
    column: 0,
    text: "standard public schema",
};

/// All comments. What they are about is there: it takes them with it.
fn descriptions<'c>(context: &SystemContext<'c>) -> Vec<Description<'c>> {
    let all = context.catalog.comments().iter().filter_map(|(object, part, text)| {
        let (class, number, column) = numbered(context, object, part)?;
        Some(Description { class, number, column, text })
    });
    let mut all: Vec<_> = all.collect();
    if !all.iter().any(|of| (of.class, of.number) == (OF_PUBLIC.class, OF_PUBLIC.number)) {
        all.push(OF_PUBLIC);
    }
    all
}

fn numbered(
    context: &SystemContext<'_>,
    object: &Object,
    part: &CommentedPart,
) -> Option<(&'static str, i64, i32)> {
    let (class, number) = number_of(context, object)?;
    match part {
        CommentedPart::Whole => Some((class, number, 0)),
        CommentedPart::Column(column) => Some((class, number, i32::from(column.0) + 1)),
        CommentedPart::Index(index) => {
            context.catalog.indexes().at(index.index())?;
            Some(("pg_class", INDEXES.of(index.index()), 0))
        }
        CommentedPart::Constraint(name) => {
            let of = if class == "pg_type" { "contypid" } else { "conrelid" };
            let number = named(constraints(context), ("conname", name), (of, number))?;
            Some(("pg_constraint", number, 0))
        }
        CommentedPart::Trigger(name) => {
            let number = named(triggers::rows(context), ("tgname", name), ("tgrelid", number))?;
            Some(("pg_trigger", number, 0))
        }
        CommentedPart::Policy(name) => {
            let number = named(policies::rows(context), ("polname", name), ("polrelid", number))?;
            Some(("pg_policy", number, 0))
        }
    }
}

/// The number of what has a name in a relation.
fn named(
    rows: Vec<Fields>,
    (name_field, name): (&str, &str),
    (relation_field, relation): (&str, i64),
) -> Option<i64> {
    let has = |row: &Fields, field: &str, wanted: &Value| {
        row.iter().any(|(known, value)| *known == field && value == wanted)
    };
    let (name, relation) = (text(name), Value::BigInt(relation));
    let is_it = |row: &Fields| has(row, name_field, &name) && has(row, relation_field, &relation);
    let row = rows.into_iter().find(is_it)?;
    row.into_iter().find_map(|(field, value)| match value {
        Value::BigInt(number) if field == "oid" => Some(number),
        _ => None,
    })
}

/// Of which relation of the system catalog a thing is a row, and its number.
pub(super) fn number_of(
    context: &SystemContext<'_>,
    object: &Object,
) -> Option<(&'static str, i64)> {
    let catalog = context.catalog;
    Some(match object {
        Object::Database => ("pg_database", 1),
        Object::Schema(name) => ("pg_namespace", schema_number(catalog, name)),
        Object::Table(id) => ("pg_class", TABLES.of(id.index())),
        Object::View(id) => {
            let view = catalog.views().find(|view| view.id == *id)?;
            ("pg_class", number_of_view(context, view))
        }
        Object::Function(name) => {
            let mut all = context.procedures.iter();
            let (number, ..) = all.find(|(_, procedure, _)| procedure.name == **name)?;
            ("pg_proc", PROCEDURES.of(*number as usize))
        }
        Object::Type(key) => {
            let (schema, name) = (schema_of(key), local(key));
            let mut all = catalog.types();
            let (.., named) = all.find(|(of, known, _)| *of == schema && *known == name)?;
            match &**named {
                NamedType::Enum(of) => ("pg_type", enum_type(*of).oid),
                NamedType::Composite(of) => ("pg_type", composite_type(*of).oid),
                NamedType::Domain(of) => ("pg_type", domain_numbers::number(of)),
            }
        }
    })
}

/// A materialized view is listed as the table that keeps its rows.
pub(super) fn number_of_view(context: &SystemContext<'_>, view: &View) -> i64 {
    let kept = match view.kind {
        ViewKind::Kept { .. } => {
            context.catalog.table_named(&qualified(&view.schema, &kept_name(&view.name)))
        }
        _ => None,
    };
    kept.map_or(VIEWS.of(view.id as usize), |table| TABLES.of(table.id.index()))
}
