//! Texts of what tables have: indexes, conditions, defaults and types, as their reader writes them.

use hotrow_base::ids::ColumnId;
use hotrow_base::quote::identifier as quoted;
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{Catalog, Check, Generated, Index, IndexKind, NamedType, Table};
use hotrow_transaction::program::{Expr, ExprKind, Function, RowFunction};

use crate::path::parts_of_condition;
use crate::type_table::{KnownType, TYPES, composite_with_oid, enum_with_oid, known_type};
use crate::typing::joined;

use super::cells::name_from;
use super::deparse;
use super::deparse::Called;
use super::{SystemContext, domain_numbers};

pub(crate) fn short_name(data_type: DataType) -> &'static str {
    known_type(data_type).name
}

pub(super) fn standard_name(data_type: DataType) -> &'static str {
    known_type(data_type).standard
}

pub(super) fn type_length(data_type: DataType) -> i16 {
    known_type(data_type).length
}

pub(super) fn type_number(sql_type: SqlType) -> i64 {
    known_type(sql_type.packed()).oid
}

/// How much of an expression stands in brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Brackets {
    All,
    /// not around the whole of it
    Inner,
}

pub(super) fn index_definition(
    context: &SystemContext<'_>,
    (table, index): (&Table, &Index),
    brackets: Brackets,
) -> String {
    let is_unique = index.unique || index.deferral.is_deferrable();
    let unique = if is_unique { "UNIQUE " } else { "" };
    let method = match index.kind {
        IndexKind::Hash => "hash",
        IndexKind::BTree => "btree",
    };
    let column = |column: &ColumnId| {
        let name = key_part(context, (table, *column), brackets);
        if index.descending.contains(column) { format!("{name} DESC") } else { name }
    };
    let columns = table.key_of(index).iter().map(column).collect::<Vec<_>>().join(", ");
    let condition =
        condition_text(context, (table, index), brackets).map(|of| format!(" WHERE {of}"));
    let condition = condition.unwrap_or_default();
    let (name, schema) = (quoted(&index.name), quoted(&table.schema));
    let table = quoted(table.user_name());
    let on = format!("{schema}.{table}");
    format!("CREATE {unique}INDEX {name} ON {on} USING {method} ({columns}){condition}")
}

pub(super) fn column_list(table: &Table, columns: &[ColumnId]) -> String {
    let names = columns.iter().map(|column| quoted(&table.columns[column.index()].name));
    names.collect::<Vec<_>>().join(", ")
}

pub(super) fn check_text(context: &SystemContext<'_>, table: &Table, check: &Check) -> String {
    text_for(context, (table, &check.columns), &check.condition)
}

/// The condition of a check as a text that says the same wherever it is read: types have their
/// schemas.
pub(crate) fn check_anywhere(catalog: &Catalog, table: &Table, check: &Check) -> String {
    let type_name = |of: &NamedType| {
        let mut all = catalog.types();
        match all.find(|(.., named)| ***named == *of) {
            Some((schema, name, _)) => format!("{}.{}", quoted(schema), quoted(name)),
            None => quoted(of.name().unwrap_or_default()),
        }
    };
    expression_text((table, &check.columns), &check.condition, &type_name)
}

/// The condition of a check of one column, which is called by a word.
pub(super) fn text_of_check(context: &SystemContext<'_>, column: &str, check: &Check) -> String {
    let (column, type_name) = (|_| column.to_owned(), |of: &NamedType| type_name(context, of));
    deparse::text(&check.condition, &Called { column: &column, type_name: &type_name })
}

/// What the column of this number is computed from; none: it is not.
pub(super) fn generation_text(
    context: &SystemContext<'_>,
    table: &Table,
    at: usize,
) -> Option<String> {
    let generated = table.generated.iter().find(|generated| generated.column.index() == at)?;
    Some(text_for(context, (table, &generated.columns), &generated.value))
}

/// What an index has as a part of its key: a column, or an expression, which stands in brackets
/// unless it is a call.
pub(super) fn key_part(
    context: &SystemContext<'_>,
    (table, column): (&Table, ColumnId),
    brackets: Brackets,
) -> String {
    let Some(of) = table.generated(column).filter(|_| table.hidden(column).is_some()) else {
        return quoted(&table.columns[column.index()].name);
    };
    let text = text_for(context, (table, &of.columns), &of.value);
    let is_whole = is_call(&of.value) || brackets == Brackets::Inner && text.starts_with('(');
    if is_whole { text } else { format!("({text})") }
}

/// Whether an expression is written as a call, and not as `(row).field`.
fn is_call(value: &Expr) -> bool {
    match value.kind {
        ExprKind::Call(function, _) => !matches!(function, Function::Row(RowFunction::Field(_))),
        ExprKind::Coalesce(_) => true,
        _ => false,
    }
}

/// How the key of an index that is no column is called.
pub(crate) fn key_name(table: &Table, of: &Generated) -> String {
    let bare = |of: &NamedType| quoted(of.name().unwrap_or_default());
    let text = expression_text((table, &of.columns), &of.value, &bare);
    if is_call(&of.value) || text.starts_with('(') { text } else { format!("({text})") }
}

/// How a part of an index's key is called as a column of the index.
pub(crate) fn attribute_name(table: &Table, column: ColumnId) -> &str {
    let name = &table.columns[column.index()].name;
    match (table.hidden(column), name.find('(')) {
        (None, _) => name,
        (Some(_), None | Some(0)) => "expr",
        (Some(_), Some(end)) => &name[..end],
    }
}

/// The condition of an index of some of the rows.
pub(super) fn condition_text(
    context: &SystemContext<'_>,
    (table, index): (&Table, &Index),
    brackets: Brackets,
) -> Option<String> {
    let of = table.generated(table.condition_of(index)?)?;
    let condition = joined(parts_of_condition(&of.value), ExprKind::And)?;
    let text = text_for(context, (table, &of.columns), &condition);
    let inner = match (brackets, &condition.kind) {
        (Brackets::All, _) | (_, ExprKind::Cast(_)) => None, // whose brackets are another's
        (Brackets::Inner, _) => text.strip_prefix('(').and_then(|text| text.strip_suffix(')')),
    };
    Some(inner.map_or_else(|| text.clone(), str::to_owned))
}

/// The expressions in the key of an index; none: it has columns only.
pub(super) fn expressions_text(
    context: &SystemContext<'_>,
    (table, index): (&Table, &Index),
) -> Option<String> {
    let of = |column: &ColumnId| table.hidden(*column).and_then(|_| table.generated(*column));
    let all = table.key_of(index).iter().filter_map(of);
    let all: Vec<_> = all.map(|of| text_for(context, (table, &of.columns), &of.value)).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// An expression whose slots are columns, for whoever asks.
fn text_for(context: &SystemContext<'_>, of: (&Table, &[ColumnId]), expr: &Expr) -> String {
    expression_text(of, expr, &|of| type_name(context, of))
}

fn expression_text(
    (table, columns): (&Table, &[ColumnId]),
    expr: &Expr,
    type_name: &dyn Fn(&NamedType) -> String,
) -> String {
    let column = |slot: usize| {
        columns.get(slot).map_or(String::new(), |c| quoted(&table.columns[c.index()].name))
    };
    deparse::text(expr, &Called { column: &column, type_name })
}

/// The value of a column's DEFAULT.
pub(super) fn default_value(context: &SystemContext<'_>, default: &Expr) -> String {
    let (column, type_name) = (|_| String::new(), |of: &NamedType| type_name(context, of));
    deparse::text(default, &Called { column: &column, type_name: &type_name })
}

/// A type's name, with its schema where its bare name stands for something else.
fn type_name(context: &SystemContext<'_>, of: &NamedType) -> String {
    let name = of.name().unwrap_or_default();
    let is_it = |named: &NamedType| named == of;
    let seen = context.catalog.type_seen(context.path, name);
    let mut all = context.catalog.types();
    match all.find(|(.., named)| is_it(named)) {
        Some((schema, name, _)) if !seen.is_some_and(|seen| is_it(seen)) => {
            format!("{}.{}", quoted(schema), quoted(name))
        }
        Some(_) => quoted(name),
        None => match schema_of_rows(context, of) {
            Some(schema) => name_from(context.path, schema, name),
            None => quoted(name),
        },
    }
}

/// The schema of the table, or the view, whose rows a type is of.
fn schema_of_rows<'c>(context: &SystemContext<'c>, of: &NamedType) -> Option<&'c str> {
    let NamedType::Composite(row) = of else { return None };
    let table = context.catalog.tables().iter().find(|table| table.row_type() == *row);
    let of_view = || {
        let mut views = context.catalog.views();
        views.find(|view| view.row_type() == Some(*row)).map(|view| &*view.schema)
    };
    table.map(|table| &*table.schema).or_else(of_view)
}

pub(super) fn format_type(
    context: &SystemContext<'_>,
    number: i64,
    modifier: i32,
) -> Option<String> {
    if number == 0 {
        return None; // of some types there are no arrays
    }
    let oid = u32::try_from(number).ok()?;
    // An enum has an even number, and arrays of it the next one.
    let of_enum = || match (enum_with_oid(oid), oid.checked_sub(1).and_then(enum_with_oid)) {
        (Some(of), _) => Some(type_name(context, &NamedType::Enum(of))),
        (None, Some(of)) => Some(type_name(context, &NamedType::Enum(of)) + "[]"),
        (None, None) => {
            let of = |of| type_name(context, &NamedType::Composite(of));
            let element = || oid.checked_sub(1).and_then(composite_with_oid);
            let known = composite_with_oid(oid).map(of).or_else(|| Some(of(element()?) + "[]"));
            known.or_else(|| domain_numbers::type_text(context, number))
        }
    };
    let of_known = |known: &KnownType| match number {
        number if number == known.oid => Some((*known, "")),
        number if number == known.array => Some((*known, "[]")),
        _ => None,
    };
    let Some((known, suffix)) = TYPES.iter().find_map(of_known) else { return of_enum() };
    let digits = match known.name {
        name @ ("time" | "timestamp") if modifier >= 0 => {
            return Some(format!("{name}({modifier}) without time zone{suffix}"));
        }
        "timetz" if modifier >= 0 => {
            return Some(format!("time({modifier}) with time zone{suffix}"));
        }
        "bit" | "varbit" if modifier > 0 => format!("({modifier})"),
        "timestamptz" if modifier >= 0 => {
            return Some(format!("timestamp({modifier}) with time zone{suffix}"));
        }
        "varchar" | "bpchar" if modifier >= 4 => format!("({})", modifier - 4),
        "numeric" if modifier >= 4 => {
            let digits = modifier - 4;
            format!("({},{})", digits >> 16, digits & 0xffff)
        }
        _ => String::new(),
    };
    Some(format!("{}{digits}{suffix}", known.standard))
}
