//! Rows as values: of variables that are records, as what is assigned to them, and as what a
//! function returns.
//!
//! Role         a row is its fields, each with a slot or an expression of its own; where it is one
//!              value, [`crate::composite`] puts it together

use hotrow_base::composite::CompositeType;
use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::catalog::Table;
use hotrow_transaction::program::{Expr, Place, ResultColumn, SlotId, Statement};
use sqlparser::ast;

use crate::consume::types_of;
use crate::error::{Advice, Result, error, place_in};
use crate::row_fields::{fields_of_value, record_of};
use crate::scope::Compiler;
use crate::state::Variable;
use crate::syntax::{Target, TypeName, TypeNameKind};
use crate::typing::{assign_cast, null};
use crate::written::{bare, dotted, object_name, row_values};

impl Compiler<'_> {
    /// The fields of the rows that a type is of: those of a table or a composite type. None: it is
    /// no type of rows.
    pub(crate) fn row_type(&self, written: &TypeName) -> Option<Vec<(String, SqlType)>> {
        self.composite_named(written).map(record_of)
    }

    /// The composite type that a type is; none: it is another one.
    pub(crate) fn composite_named(&self, written: &TypeName) -> Option<CompositeType> {
        let name = match &written.kind {
            TypeNameKind::RowOf(name) => name.clone(),
            TypeNameKind::Plain(plain) => match &**plain {
                ast::DataType::Custom(name, _) => object_name(name, written.place).ok()?,
                _ => return None,
            },
            TypeNameKind::Known(SqlType::Scalar(DataType::Composite(of))) => return Some(*of),
            TypeNameKind::Record | TypeNameKind::SameAs(_) | TypeNameKind::Known(_) => return None,
        };
        let of_table = || self.table_of_rows(&name).map(Table::row_type);
        let of_view = || self.view_named(&name)?.row_type();
        of_table().or_else(|| self.composite(&name)).or_else(of_view)
    }

    /// The columns of a result that is such a row.
    pub(crate) fn columns_of_rows(&self, fields: Vec<(String, SqlType)>) -> Vec<ResultColumn> {
        fields.into_iter().map(|(name, of)| ResultColumn::new(name, of.packed())).collect()
    }

    /// The fields of a row that an expression gives, which is to have these: a record, a row that
    /// is written out, what a function of this database returns, or NULL.
    pub(crate) fn row_value(
        &mut self,
        written: &ast::Expr,
        wanted: &[(String, SqlType)],
        what: impl Fn() -> String,
    ) -> Result<Vec<(String, Expr)>> {
        let place = place_in(written, self.place);
        if let Some(values) = row_values(written) {
            let mut fields = Vec::with_capacity(values.len());
            for (at, value) in values.into_iter().enumerate() {
                let (name, of) = match wanted.get(at) {
                    Some((name, of)) => (name.clone(), Some(*of)),
                    None => (format!("f{}", at + 1), None),
                };
                let value = match of.map(SqlType::spread) {
                    Some(SqlType::Array(element)) => self.array_for(value, element, &what)?,
                    Some(SqlType::Scalar(DataType::Composite(of))) => {
                        self.composite_for(value, of, &what)?
                    }
                    Some(SqlType::Scalar(of)) => {
                        let operand = self.operand(value)?;
                        self.settle(operand, of, place_in(value, place))?
                    }
                    None => self.expr(value)?,
                };
                fields.push((name, value));
            }
            return Ok(fields);
        }
        match bare(written) {
            ast::Expr::Value(literal) if matches!(literal.value, ast::Value::Null) => {
                let none = |(name, of): &(String, SqlType)| {
                    let value = null(of.packed());
                    (name.clone(), value)
                };
                return Ok(wanted.iter().map(none).collect());
            }
            ast::Expr::Identifier(name) => {
                if let Some(fields) = self.fields_of(&dotted(std::slice::from_ref(name))) {
                    return Ok(fields);
                }
            }
            ast::Expr::CompoundIdentifier(names) => {
                if let Some(fields) = self.fields_of(&dotted(names)) {
                    return Ok(fields);
                }
            }
            ast::Expr::Cast { expr, data_type, .. } => {
                let kind = TypeNameKind::Plain(Box::new(data_type.clone()));
                if let Some(fields) = self.row_type(&TypeName { place, kind }) {
                    let to = data_type.to_string();
                    let values = self.cast_row(expr, &fields, &to, place)?;
                    let names = fields.into_iter().map(|(name, _)| name);
                    return Ok(names.zip(values).collect());
                }
            }
            ast::Expr::Function(function) => {
                if let Some(fields) = self.called_row(function, place)? {
                    return Ok(fields);
                }
            }
            _ => {}
        }
        let value = self.expr(written)?;
        if let Some(fields) = fields_of_value(&value) {
            return Ok(fields);
        }
        Err(error(b"42804", place, format!("{} is a row, but the expression is none", what()))
            .hint("write ROW(a, b, ...), a record variable, or SELECT ... INTO"))
    }

    /// The values of a row that is cast to a type of rows.
    pub(crate) fn cast_row(
        &mut self,
        written: &ast::Expr,
        fields: &[(String, SqlType)],
        to: &str,
        place: Place,
    ) -> Result<Vec<Expr>> {
        let given = self.row_value(written, fields, || "the cast".to_owned())?;
        if given.len() != fields.len() {
            let message = format!("cannot cast type record to {to}");
            let few = if given.len() < fields.len() { "few" } else { "many" };
            return Err(
                error(b"42846", place, message).detail(format!("Input has too {few} columns."))
            );
        }
        let values = given.into_iter().zip(fields);
        values.map(|((_, value), (_, of))| assign_cast(value, *of, place)).collect()
    }

    /// The fields of a record variable.
    pub(crate) fn fields_of(&self, name: &[String]) -> Option<Vec<(String, Expr)>> {
        match self.qualified_variable(name) {
            Some(Variable::Record { fields, .. }) => Some(self.values_of(fields)),
            _ => None,
        }
    }

    /// What the fields of a record have.
    pub(crate) fn values_of(&self, fields: &[(String, SlotId)]) -> Vec<(String, Expr)> {
        fields.iter().map(|(name, slot)| (name.clone(), self.slot_expr(*slot))).collect()
    }

    /// `record := row`; false: the target is no record.
    pub(crate) fn assign_row(
        &mut self,
        target: &Target,
        value: &ast::Expr,
        out: &mut Vec<Statement>,
    ) -> Result<bool> {
        let Some(fields) = self.fields_of(&target.parts) else { return Ok(false) };
        let what = || format!("variable \"{}\"", target.parts.join("."));
        let row = self.row_value(value, &types_of(&fields), what)?;
        self.assign_fields(target, &row, out)?;
        Ok(true)
    }

    /// Gives a record the fields of a row.
    pub(crate) fn assign_fields(
        &mut self,
        target: &Target,
        row: &[(String, Expr)],
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        let slots = self.slots_of_targets(std::slice::from_ref(target), &types_of(row))?;
        let pairs = self.fitted(&slots, row)?;
        self.emit_assigns(out, pairs)
    }
}
