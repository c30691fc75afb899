//! `(f(x)).*` in a select list, and what a call that gives a row is of.

use hotrow_transaction::program::{Expr, Place};
use sqlparser::ast;

use crate::error::{Result, error, unsupported};
use crate::row_fields::fields_of_value;
use crate::scope::Compiler;
use crate::star_syntax::is_row_star;
use crate::typing::{for_rows, spread};
use crate::written::{bare, function_name, ident_name, row_values};

impl Compiler<'_> {
    /// The columns that `(row).*` stands for.
    pub(crate) fn columns_of_star(
        &mut self,
        root: &ast::Expr,
        place: Place,
    ) -> Result<Vec<(String, Expr)>> {
        let fields = match bare(root) {
            ast::Expr::Function(function) => self.called_row(function, place)?,
            name @ ast::Expr::Identifier(_) => self.whole_row(name)?,
            _ => None,
        };
        let fields = match (fields, row_values(root)) {
            (Some(fields), _) => fields,
            (None, Some(values)) => {
                let named = |(value, at)| Ok((format!("f{at}"), self.expr(value)?));
                values.into_iter().zip(1..).map(named).collect::<Result<_>>()?
            }
            (None, None) if let Some(fields) = fields_of_value(&self.expr(root)?) => fields,
            (None, None) => {
                let advice = "write SELECT ... FROM f(...), or (f(...)).* of a function that \
                              gives one row";
                return Err(unsupported(place, "row expansion via \"*\" of this value", advice));
            }
        };
        Ok(fields.into_iter().map(|(name, value)| (name, for_rows(value))).collect())
    }

    /// The fields of the one row that a call gives; none: it gives a value, or many rows.
    pub(crate) fn called_row(
        &mut self,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Vec<(String, Expr)>>> {
        if let Some(fields) = self.populated_row(function, place)? {
            return Ok(Some(fields));
        }
        if self.is_procedure && self.stands_alone() {
            return self.inlined_row(function, place);
        }
        self.called_fields(&function_name(function), function, place)
    }

    /// One field of such a row.
    pub(crate) fn called_field(
        &mut self,
        function: &ast::Function,
        field: &ast::Ident,
        place: Place,
    ) -> Result<Option<Expr>> {
        if is_row_star(field) {
            return Ok(None);
        }
        let Some(fields) = self.called_row(function, place)? else { return Ok(None) };
        let name = ident_name(field);
        let found = fields.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| Some(spread(value))).ok_or_else(|| {
            let message = format!("column \"{name}\" not found in data type record");
            error(b"42703", place, message)
        })
    }
}
