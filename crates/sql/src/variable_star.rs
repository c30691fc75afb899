//! `r.*` of a variable: the fields of its row.
//!
//! Role         `SELECT r.*, now()` lists them where no relation has the name; in `VALUES (r.*, 1)`
//!              they are written out before anybody counts the values

use hotrow_transaction::program::Expr;
use sqlparser::ast;

use crate::error::{Result, error, place_in};
use crate::row_fields::fields_of_value;
use crate::scope::Compiler;
use crate::state::Variable;
use crate::written::ident_name;

impl Compiler<'_> {
    /// The fields of a variable that has a row; none: it is another one, or there is none.
    pub(crate) fn star_of_variable(&self, name: &[String]) -> Option<Vec<(String, Expr)>> {
        match self.qualified_variable(name)? {
            Variable::Scalar { slot, .. } => fields_of_value(&self.slot_expr(*slot)),
            _ => self.fields_of(name),
        }
    }

    /// INSERT with the fields of variables in place of their stars; none: it has none.
    pub(crate) fn insert_of_fields(&self, insert: &ast::Insert) -> Result<Option<ast::Insert>> {
        let Some(source) = &insert.source else { return Ok(None) };
        let ast::SetExpr::Values(values) = &*source.body else { return Ok(None) };
        let Some(values) = self.values_of_fields(values)? else { return Ok(None) };
        let mut insert = insert.clone();
        if let Some(source) = &mut insert.source {
            *source.body = ast::SetExpr::Values(values);
        }
        Ok(Some(insert))
    }

    /// VALUES with the fields of variables in place of their stars; none: it has none.
    pub(crate) fn values_of_fields(&self, values: &ast::Values) -> Result<Option<ast::Values>> {
        let is_star = |value: &ast::Expr| matches!(value, ast::Expr::QualifiedWildcard(..));
        if !values.rows.iter().flat_map(|row| &row.content).any(is_star) {
            return Ok(None);
        }
        let mut values = values.clone();
        for row in &mut values.rows {
            let mut content = Vec::new();
            for value in std::mem::take(&mut row.content) {
                match &value {
                    ast::Expr::QualifiedWildcard(name, _) => {
                        content.append(&mut self.written_fields(&value, name)?);
                    }
                    _ => content.push(value),
                }
            }
            row.content = content;
        }
        Ok(Some(values))
    }

    fn written_fields(&self, star: &ast::Expr, name: &ast::ObjectName) -> Result<Vec<ast::Expr>> {
        let parts: Vec<ast::Ident> =
            name.0.iter().filter_map(|part| part.as_ident()).cloned().collect();
        let names: Vec<String> = parts.iter().map(ident_name).collect();
        let Some(fields) = self.star_of_variable(&names) else {
            let name = names.join(".");
            let message = format!("missing FROM-clause entry for table \"{name}\"");
            return Err(error(b"42P01", place_in(star, self.place), message));
        };
        let field = |(name, _): (String, Expr)| {
            let field = ast::Ident::with_quote('"', name);
            ast::Expr::CompoundIdentifier(parts.iter().cloned().chain([field]).collect())
        };
        Ok(fields.into_iter().map(field).collect())
    }
}
