//! Rows of composite types as values: what they are made of, and their fields.
//!
//! Role         a value of a composite type is in one piece, in a column, an array or a parameter.
//!              A variable of such a type is a record, each of whose fields has a slot of its own
//!              ([`crate::row_value`]): it is put together where its value is asked for, and taken
//!              apart where it gets one

use hotrow_base::composite::{CompositeField, CompositeType};
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::{Catalog, NamedType, Table};
use hotrow_transaction::program::{Expr, Function, Place, ResultColumn, RowFunction, Statement};
use sqlparser::ast::{self, AccessExpr};

use crate::comparison::narrowed;
use crate::error::{Advice, Result, error, place_in};
use crate::relation::array::array_of;
use crate::row_fields::{
    composite_type_of, field_at, field_named, fields_of_value, made, nameless_row, nameless_type,
    no_field, record_of, row_or_null,
};
use crate::scope::Compiler;
use crate::state::Variable;
use crate::syntax::Target;
use crate::type_table::RECORD;
use crate::typing::{Coercion, assign, call, cast, compared_type, explicit_cast, packed};
use crate::written::{bare, ident_name, row_values};

impl Compiler<'_> {
    /// `ROW(...)::type`, a record, a literal or a value as one of a composite type.
    pub(crate) fn cast_to_composite(
        &mut self,
        written: &ast::Expr,
        of: CompositeType,
        place: Place,
    ) -> Result<Expr> {
        let to = DataType::Composite(of);
        if row_values(written).is_some() {
            let fields = self.cast_row(written, &record_of(of), of.name(), place)?;
            return Ok(made(of, fields));
        }
        let operand = self.operand(written)?;
        let value = self.settle(operand, to, place)?;
        explicit_cast(value, to, place)
    }

    /// A value for a column or a variable of a composite type.
    pub(crate) fn composite_for(
        &mut self,
        written: &ast::Expr,
        of: CompositeType,
        what: impl FnOnce() -> String,
    ) -> Result<Expr> {
        let place = place_in(written, self.place);
        if row_values(written).is_some() {
            return self.cast_to_composite(written, of, place);
        }
        let operand = self.operand(written)?;
        let value = self.settle(operand, DataType::Composite(of), place)?;
        assign(value, DataType::Composite(of), Coercion::Assignment, place, what)
    }

    /// A row that is written out beside a value of a composite type, in a comparison: as a row of
    /// that type. None: neither side is written out, or both are.
    pub(crate) fn row_sides(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        sign: &str,
    ) -> Result<Option<(Expr, Expr)>> {
        let is_left = row_values(left).is_some();
        if is_left == row_values(right).is_some() {
            return Ok(None);
        }
        let (written, other) = if is_left { (left, right) } else { (right, left) };
        let value = self.expr(other)?;
        let Some(of) = composite_type_of(&value) else {
            let other_type = value.sql_type;
            let message = match is_left {
                true => format!("operator does not exist: record {sign} {other_type}"),
                false => format!("operator does not exist: {other_type} {sign} record"),
            };
            return Err(error(b"42883", place_in(other, self.place), message));
        };
        let row = self.row_to_compare(written, of)?;
        Ok(Some(if is_left { (row, value) } else { (value, row) }))
    }

    /// A row that is compared with those of a type. A value is never rounded or cut to the type of
    /// its field, which would find rows that are not equal to it.
    fn row_to_compare(&mut self, written: &ast::Expr, of: CompositeType) -> Result<Expr> {
        let place = place_in(written, self.place);
        let wanted: Vec<_> = record_of(of).into_iter().map(text_as_it_is).collect();
        let given = self.row_value(written, &wanted, || "the other side".to_owned())?;
        if given.len() != wanted.len() {
            let message = "cannot compare record types with different numbers of columns";
            return Err(error(b"42804", place, message));
        }
        let mut fields = Vec::with_capacity(given.len());
        for (at, ((_, value), (_, wanted))) in given.into_iter().zip(&wanted).enumerate() {
            let (from, field, to) = (value.sql_type, of.fields()[at].1, wanted.packed());
            let same = if from.packed() == field {
                Some(value)
            } else if matches!(field, DataType::Char(_)) {
                None // its blanks are part of the row, and not of a text
            } else if let Some(narrow) = narrowed(&value, to) {
                Some(narrow)
            } else {
                let is_wider = compared_type(from.packed(), to) == Some(to);
                is_wider.then(|| cast(value, to))
            };
            let dissimilar = || {
                let types = format!("{field} and {from}");
                let message = "cannot compare dissimilar column types";
                error(b"42804", place, format!("{message} {types} at record column {}", at + 1))
                    .hint(format!("write ROW(...)::{}", of.name()))
            };
            fields.push(same.ok_or_else(dissimilar)?);
        }
        Ok(made(of, fields))
    }

    /// `ARRAY[ROW(...), ...]` as an array of rows; none: it is written otherwise.
    pub(crate) fn cast_to_composites(
        &mut self,
        written: &ast::Expr,
        of: CompositeType,
        place: Place,
    ) -> Result<Option<Expr>> {
        let ast::Expr::Array(array) = bare(written) else { return Ok(None) };
        let mut rows = Vec::with_capacity(array.elem.len());
        for row in &array.elem {
            rows.push(self.cast_to_composite(row, of, place_in(row, place))?);
        }
        Ok(Some(array_of(rows, DataType::Composite(of))))
    }

    /// `ROW(a, b)` where no type of rows is asked for.
    pub(crate) fn row_without_name(&mut self, written: &[&ast::Expr]) -> Result<Expr> {
        let mut fields = Vec::new();
        for (value, number) in written.iter().zip(1..) {
            fields.push((format!("f{number}"), self.expr(value)?));
        }
        nameless_row(fields, self.place)
    }

    /// A row of such columns, of the composite type that has them, if there is one.
    pub(crate) fn record_with(&self, columns: &[ResultColumn], fields: Vec<Expr>) -> Expr {
        made(record_type(self.catalog, columns), fields)
    }

    /// The value before a field: `(value).field`, `values[1].field`; none: what stands there is no
    /// row in one piece.
    pub(crate) fn field_of_written(
        &mut self,
        root: &ast::Expr,
        chain: &[AccessExpr],
        place: Place,
    ) -> Result<Option<Expr>> {
        let [before @ .., AccessExpr::Dot(ast::Expr::Identifier(field))] = chain else {
            return Ok(None);
        };
        let is_name = |of: &ast::Expr| {
            matches!(of, ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_))
        };
        let value = match (bare(root), before) {
            (ast::Expr::Identifier(name), []) => {
                let name = ident_name(name);
                let is_known = match self.variable(&name) {
                    Some(Variable::Scalar { .. }) => true,
                    Some(Variable::Record { .. } | Variable::Cursor(_)) => false,
                    None => self.relation_column(&name, place)?.is_some(),
                };
                if !is_known {
                    return Ok(None);
                }
                self.name(&name, place)?
            }
            (root, []) => self.expr(root)?,
            // relation.column[i].field
            (root, [AccessExpr::Dot(_)]) if is_name(root) => return Ok(None),
            (_, before) => {
                let (root, access_chain) = (Box::new(root.clone()), before.to_vec());
                self.expr(&ast::Expr::CompoundFieldAccess { root, access_chain })?
            }
        };
        match composite_type_of(&value) {
            Some(of) => field_named(value, of, &ident_name(field), place).map(Some),
            None => Ok(None),
        }
    }

    /// The value of a record whose fields are known; NULL where all of them are.
    pub(crate) fn value_of_record(&self, name: &str) -> Option<Expr> {
        let Some(Variable::Record { fields, open: false, of }) = self.variable(name) else {
            return None;
        };
        let mut values: Vec<_> = fields.iter().map(|(_, slot)| self.slot_expr(*slot)).collect();
        let of_fields = || {
            let named = fields.iter().zip(&values);
            nameless_type(named.map(|((name, _), value)| (name.as_str(), value)))
        };
        let of = of.or_else(of_fields)?;
        values.truncate(of.fields().len()); // columns that users do not see stand behind
        Some(row_or_null(of, values))
    }

    /// `variable.field := value` of a variable that is a row in one piece, or has such a field
    /// (`variable.field.field`); false: it is none.
    pub(crate) fn assign_field(
        &mut self,
        target: &Target,
        value: &ast::Expr,
        out: &mut Vec<Statement>,
    ) -> Result<bool> {
        let [name, path @ ..] = target.parts.as_slice() else { return Ok(false) };
        let (slot, path) = match (self.variable(name), path) {
            (Some(Variable::Scalar { slot, .. }), path) => (*slot, path),
            (Some(Variable::Record { fields, .. }), [first, rest @ ..]) => {
                match fields.iter().find(|(field, _)| field == first) {
                    Some((_, slot)) => (*slot, rest),
                    None => return Ok(false),
                }
            }
            _ => return Ok(false),
        };
        let [outer @ .., field] = path else { return Ok(false) };
        let mut row = self.slot_expr(slot);
        let Some(mut of) = composite_type_of(&row) else { return Ok(false) };
        let mut around = Vec::new();
        for name in outer {
            let (at, inner) = of.field(name).ok_or_else(|| no_field(name, of, target.place))?;
            let DataType::Composite(inner) = inner else {
                return Err(no_field(field, of, target.place));
            };
            let next = field_at(row.clone(), of, at);
            around.push((std::mem::replace(&mut row, next), of, at));
            of = inner;
        }
        let (at, to) = of.field(field).ok_or_else(|| no_field(field, of, target.place))?;
        let what = || format!("variable \"{}\"", target.parts.join("."));
        let value = self.alone(|this| this.value_for(value, to, Coercion::Explicit, what))?;
        let mut changed = with_field(row, of, at, packed(value));
        for (row, of, at) in around.into_iter().rev() {
            changed = with_field(row, of, at, changed);
        }
        self.emit_assign(out, slot, changed);
        Ok(true)
    }

    /// Gives a record the fields of a value; an error: the value has no such fields.
    pub(crate) fn take_apart(
        &mut self,
        target: &Target,
        value: &Expr,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        match fields_of_value(value) {
            Some(row) => self.assign_fields(target, &row, out),
            None => {
                let name = target.parts.join(".");
                let message = "cannot assign non-composite value to a record variable";
                Err(error(b"42804", target.place, format!("{message}: \"{name}\"")))
            }
        }
    }
}

/// A row with another value of a field.
fn with_field(row: Expr, of: CompositeType, at: u16, value: Expr) -> Expr {
    let with = Function::Row(RowFunction::With(at));
    call(with, vec![row, value], DataType::Composite(of))
}

/// The composite type that has such columns; rows of it have no type of their own where there is
/// none.
pub fn record_type(catalog: &Catalog, columns: &[ResultColumn]) -> CompositeType {
    let named = |column: &ResultColumn| (column.name.as_str().into(), column.data_type);
    let wanted: Vec<CompositeField> = columns.iter().map(named).collect();
    let mut all = catalog.types();
    let of = all.find_map(|(.., named)| match **named {
        NamedType::Composite(of) if of.fields() == wanted => Some(of),
        _ => None,
    });
    let of_table = || {
        let is_it = |table: &&Table| {
            let columns = table.shown().iter();
            let fields = columns.map(|column| (column.name.as_str(), column.data_type));
            fields.eq(wanted.iter().map(|(name, of)| (&**name, *of)))
        };
        catalog.tables().iter().find(is_it).map(Table::row_type)
    };
    of.or_else(of_table).unwrap_or_else(|| CompositeType::of(RECORD, &wanted))
}

/// A field of text without a length: what is compared with it is not cut.
fn text_as_it_is((name, of): (String, SqlType)) -> (String, SqlType) {
    match of {
        SqlType::Scalar(DataType::Varchar(_) | DataType::Char(_)) => {
            (name, SqlType::Scalar(DataType::Text))
        }
        of => (name, of),
    }
}
