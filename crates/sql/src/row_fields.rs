//! Rows of composite types and their fields, as expressions.

use hotrow_base::composite::{CompositeField, CompositeType};
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Expr, ExprKind, Function, Place, RowFunction, SlotId};

use crate::error::{Advice, Result, error};
use crate::type_table::RECORD;
use crate::typing::{call, joined, null, packed, scalar, spread};

/// The composite type of a value; none: it has another one.
pub(crate) fn composite_type_of(value: &Expr) -> Option<CompositeType> {
    match value.sql_type {
        SqlType::Scalar(DataType::Composite(of)) => Some(of),
        _ => None,
    }
}

/// Names and types of the fields, as records have them.
pub(crate) fn record_of(of: CompositeType) -> Vec<(String, SqlType)> {
    let field =
        |(name, of): &(Box<str>, DataType)| (name.to_string(), SqlType::Scalar(*of).spread());
    of.fields().iter().map(field).collect()
}

/// Names and values of the fields of a value; none: it is no row.
pub(crate) fn fields_of_value(value: &Expr) -> Option<Vec<(String, Expr)>> {
    let of = composite_type_of(value)?;
    let field = |((name, _), at): (&(Box<str>, DataType), u16)| {
        (name.to_string(), field_at(value.clone(), of, at))
    };
    Some(of.fields().iter().zip(0..).map(field).collect())
}

/// A row that is put together is taken apart as it is written.
pub(crate) fn field_at(value: Expr, of: CompositeType, at: u16) -> Expr {
    let place = usize::from(at);
    if let ExprKind::Call(Function::Row(RowFunction::Make), fields) = &value.kind {
        return spread(fields[place].clone());
    }
    spread(call(Function::Row(RowFunction::Field(at)), vec![value], of.fields()[place].1))
}

/// A row of fields that have its types.
pub(crate) fn made(of: CompositeType, fields: Vec<Expr>) -> Expr {
    let fields = fields.into_iter().map(packed).collect();
    call(Function::Row(RowFunction::Make), fields, DataType::Composite(of))
}

/// The type of rows with such fields that no type with a name has; none: there are too many kinds
/// of them ([`too_many_rows`]).
pub(crate) fn nameless_type<'n>(
    fields: impl Iterator<Item = (&'n str, &'n Expr)>,
) -> Option<CompositeType> {
    let fields = fields.map(|(name, value)| (name.into(), value.sql_type.packed()));
    CompositeType::of_rows(RECORD, &fields.collect::<Vec<CompositeField>>())
}

/// A row of such fields, of no type that has a name.
pub(crate) fn nameless_row(fields: Vec<(String, Expr)>, place: Place) -> Result<Expr> {
    let of = nameless_type(fields.iter().map(|(name, value)| (name.as_str(), value)));
    let of = of.ok_or_else(|| too_many_rows(place))?;
    Ok(made(of, fields.into_iter().map(|(_, value)| value).collect()))
}

/// As [`made`]; NULL where all fields are.
pub(crate) fn row_or_null(of: CompositeType, fields: Vec<Expr>) -> Expr {
    let row = made(of, fields);
    match is_null_row(&row, true) {
        Some(is_null) => null_where(is_null, row),
        None => row,
    }
}

/// A value, or NULL where a condition holds.
pub(crate) fn null_where(condition: Expr, value: Expr) -> Expr {
    let of = value.data_type();
    let arms = vec![(condition, null(of))];
    scalar(ExprKind::Case { arms, otherwise: Some(Box::new(value)) }, of)
}

/// A variable whose row comes by field.
pub(crate) struct RowApart {
    pub(crate) slot: SlotId,
    pub(crate) of: CompositeType,
    /// where each field is put
    pub(crate) fields: Vec<SlotId>,
}

/// There are as many kinds of rows without a type as there may be.
pub(crate) fn too_many_rows(place: Place) -> SqlError {
    error(b"54000", place, "there are too many kinds of rows that are written out")
        .hint("make a type of their fields, and write ROW(...)::type")
}

pub(crate) fn no_field(field: &str, of: CompositeType, place: Place) -> SqlError {
    let message = format!("column \"{field}\" not found in data type {}", of.name());
    error(b"42703", place, message)
}

/// A field of a row of such a type.
pub(crate) fn field_named(
    value: Expr,
    of: CompositeType,
    field: &str,
    place: Place,
) -> Result<Expr> {
    let (at, _) = of.field(field).ok_or_else(|| no_field(field, of, place))?;
    Ok(field_at(value, of, at))
}

/// Whether a row is NULL to `IS NULL`: that each of its fields is. A field that is a row itself
/// is NULL only where there is no row, as PostgreSQL has it: a row of NULLs in it is a value.
/// None: the value is no row.
pub(crate) fn is_null_row(value: &Expr, is_wanted: bool) -> Option<Expr> {
    let of_field = |(_, field)| {
        let is_null = scalar(ExprKind::IsNull(Box::new(field)), DataType::Boolean);
        match is_wanted {
            true => is_null,
            false => scalar(ExprKind::Not(Box::new(is_null)), DataType::Boolean),
        }
    };
    let fields = fields_of_value(value)?.into_iter().map(of_field).collect();
    joined(fields, ExprKind::And)
}
