//! Elements and fields: `array[i]`, `indkey[0]`, `(f(x)).column`.

use hotrow_base::types::{DataType, SqlType};
use hotrow_transaction::program::{ArithmeticOp, ArrayFunction, Expr, ExprKind, Function, Place};
use sqlparser::ast;

use crate::error::{Result, error};
use crate::scope::Compiler;
use crate::star_syntax::is_row_star;
use crate::typing::{array_call, call, scalar};
use crate::written::ident_name;

impl Compiler<'_> {
    /// `(f(x)).column` and `(array)[i]`.
    pub(crate) fn relational_element(
        &mut self,
        root: &ast::Expr,
        chain: &[ast::AccessExpr],
        place: Place,
    ) -> Result<Option<Expr>> {
        let root = crate::written::bare(root);
        if let Some(element) = self.vector_element(root, chain, place)? {
            return Ok(Some(element));
        }
        match (root, chain) {
            (root, [ast::AccessExpr::Dot(ast::Expr::Identifier(field))]) => {
                if let ast::Expr::Function(function) = root
                    && let Some(field) = self.called_field(function, field, place)?
                {
                    return Ok(Some(field));
                }
                if is_row_star(field) {
                    let message = "row expansion via \"*\" is not supported here";
                    return Err(error(b"0A000", place, message));
                }
                let at = match field.value.as_str() {
                    "x" => 0,
                    "n" => 1,
                    _ => return Ok(None),
                };
                if let ast::Expr::Function(function) = root {
                    self.expr(root)?;
                    let text = function.to_string();
                    let known = self.level().expansions.iter().find(|(known, _)| *known == text);
                    let slot = known.and_then(|(_, slots)| slots.get(at).copied());
                    return Ok(slot.map(|slot| self.slot_expr(slot)));
                }
                // What `_pg_expandarray` gives as a whole is an array of both.
                let whole = self.expr(root)?;
                let SqlType::Array(element) = whole.sql_type else { return Ok(None) };
                let index = crate::typing::integer(at as i32 + 1);
                let of = vec![whole, index];
                Ok(Some(array_call(ArrayFunction::Element, of, SqlType::Scalar(element))))
            }
            _ => Ok(None),
        }
    }

    /// `indkey[0]` and the like, with or without relation and schema before it.
    fn vector_element(
        &mut self,
        root: &ast::Expr,
        chain: &[ast::AccessExpr],
        place: Place,
    ) -> Result<Option<Expr>> {
        let [fields @ .., ast::AccessExpr::Subscript(ast::Subscript::Index { index })] = chain
        else {
            return Ok(None);
        };
        let mut path = match root {
            ast::Expr::Identifier(name) => vec![name.clone()],
            ast::Expr::CompoundIdentifier(names) => names.clone(),
            _ => return Ok(None),
        };
        for field in fields {
            let ast::AccessExpr::Dot(ast::Expr::Identifier(name)) = field else { return Ok(None) };
            path.push(name.clone());
        }
        let last = path.last().map(ident_name).unwrap_or_default();
        let written = match path.as_slice() {
            [name] => ast::Expr::Identifier(name.clone()),
            _ => ast::Expr::CompoundIdentifier(path),
        };
        if last == "typname" {
            // A name has letters, from 0 on.
            let name = self.expr(&written)?;
            if !matches!(name.kind, ExprKind::Slot(_)) || !name.data_type().is_text() {
                return Ok(None);
            }
            let index = self.fixed_argument(index, SqlType::Scalar(DataType::Integer), place)?;
            let one = || crate::typing::integer(1);
            let kind = ExprKind::Arithmetic(ArithmeticOp::Add, Box::new(index), Box::new(one()));
            let from = scalar(kind, DataType::Integer);
            let of = vec![name, from, one()];
            return Ok(Some(call(Function::Substring, of, DataType::Text)));
        }
        if !super::system::is_vector(&last) {
            return Ok(None);
        }
        let Some(array) = self.array_column(&written)? else { return Ok(None) };
        let ExprKind::Slot(_) = array.kind else { return Ok(None) }; // a table's
        let index = self.fixed_argument(index, SqlType::Scalar(DataType::Integer), place)?;
        let one = Box::new(crate::typing::integer(1));
        let kind = ExprKind::Arithmetic(ArithmeticOp::Add, Box::new(index), one);
        let index = scalar(kind, DataType::Integer);
        let element = SqlType::Scalar(array.data_type());
        Ok(Some(array_call(ArrayFunction::Element, vec![array, index], element)))
    }
}
