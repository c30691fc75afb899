//! `SET column.field = value`: a field of a column of a composite type, in UPDATE, ON CONFLICT and
//! MERGE.
//!
//! Source       PostgreSQL 15, "UPDATE". We differ: an INSERT names no fields

use hotrow_base::composite::CompositeType;
use hotrow_base::ids::ColumnId;
use hotrow_base::types::DataType;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{Expr, Function, Place, RowFunction};
use sqlparser::ast;

use crate::assignment::ColumnValue;
use crate::error::{Result, error};
use crate::row_fields::field_at;
use crate::scope::Compiler;
use crate::through::Target;
use crate::typing::{Coercion, assign, call, packed};
use crate::written::ident_name;

impl Compiler<'_> {
    /// A column of a composite type, and the fields below it, that an assignment names; none: it
    /// names a column.
    pub(crate) fn assigned_field(
        &self,
        target: &Target<'_>,
        name: &ast::ObjectName,
        place: Place,
    ) -> Result<Option<(ColumnId, CompositeType, Vec<String>)>> {
        let mut parts = name.0.iter().filter_map(|part| part.as_ident()).map(ident_name);
        let Some(own) = parts.next() else { return Ok(None) };
        let Some(column) = target.column(&own) else { return Ok(None) };
        let fields: Vec<String> = parts.collect();
        match (target.table.columns[column.index()].data_type, fields.first()) {
            (_, None) => Ok(None),
            (DataType::Composite(of), Some(_)) => Ok(Some((column, of, fields))),
            (other, Some(field)) => Err(no_row(field, &own, other, place)),
        }
    }

    /// A row with another value of a field, or of a field of a field.
    pub(crate) fn with_field(
        &mut self,
        (row, of): (Expr, CompositeType),
        (column, fields): (&str, &[String]),
        value: &ColumnValue<'_>,
        place: Place,
    ) -> Result<Expr> {
        let [field, rest @ ..] = fields else { return Ok(row) };
        let (at, to) = of.field(field).ok_or_else(|| no_such_field(field, column, of, place))?;
        let next = match (rest, to) {
            ([], _) => {
                let what = || format!("subfield \"{field}\"");
                match value {
                    ColumnValue::Written(written) => {
                        self.value_for(written, to, Coercion::Assignment, what)?
                    }
                    given => {
                        assign(self.value_given(given)?, to, Coercion::Assignment, place, what)?
                    }
                }
            }
            (rest, DataType::Composite(inner)) => {
                let own = field_at(row.clone(), of, at);
                self.with_field((own, inner), (column, rest), value, place)?
            }
            ([next, ..], other) => {
                return Err(no_row(next, field, other, place));
            }
        };
        let with = Function::Row(RowFunction::With(at));
        Ok(call(with, vec![row, packed(next)], DataType::Composite(of)))
    }
}

fn no_such_field(field: &str, column: &str, of: CompositeType, place: Place) -> SqlError {
    let message = format!(
        "cannot assign to field \"{field}\" of column \"{column}\" because there is no such \
         column in data type {}",
        of.name()
    );
    error(b"42703", place, message)
}

fn no_row(field: &str, column: &str, of: DataType, place: Place) -> SqlError {
    let message = format!(
        "cannot assign to field \"{field}\" of column \"{column}\" because its type {of} is not a \
         composite type"
    );
    error(b"42804", place, message)
}
