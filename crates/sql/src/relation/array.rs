//! Arrays as values of a procedure's variables.
//!
//! Role         programs only hand arrays on and read them; operators compute them, right before
//!              the statement that wants one

use hotrow_base::types::{DataType, SqlType};
use hotrow_query::HostFunction;
use hotrow_transaction::program::{Expr, ExprKind, Function, Place, SlotId};
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in};
use crate::scope::Compiler;
use crate::typing::{Coercion, cast, common_type, is_assignable};
use crate::written::{arguments, bare, function_name};

impl Compiler<'_> {
    /// Compiles an expression that is assigned to an array of such elements.
    pub(crate) fn array_for(
        &mut self,
        written: &ast::Expr,
        element: DataType,
        what: impl Fn() -> String,
    ) -> Result<Expr> {
        self.alone(|this| this.array_inside(written, element, &what))
    }

    fn array_inside(
        &mut self,
        written: &ast::Expr,
        element: DataType,
        what: &dyn Fn() -> String,
    ) -> Result<Expr> {
        let place = place_in(written, self.place);
        if let ast::Expr::Array(list) = bare(written) {
            let mut values = Vec::with_capacity(list.elem.len());
            for value in &list.elem {
                values.push(self.value_for(value, element, Coercion::Assignment, what)?);
            }
            return self.host(HostFunction::ArrayOf, &values, SqlType::Array(element));
        }
        if let Some(longer) = self.grown(written, element)? {
            return Ok(longer);
        }
        let operand = self.operand(written)?;
        let array = self.array_value(operand, element, place)?;
        array_assigned(array, element, place, what)
    }

    /// `array || element` and `array_append(array, element)` of a variable, which programs have:
    /// the array grows where it lies. None: it is something else.
    fn grown(&mut self, written: &ast::Expr, element: DataType) -> Result<Option<Expr>> {
        let (array, value) = match bare(written) {
            ast::Expr::BinaryOp { left, op: ast::BinaryOperator::StringConcat, right } => {
                (&**left, &**right)
            }
            ast::Expr::Function(function) if function_name(function) == "array_append" => {
                let (_, arguments) = arguments(function, self.place)?;
                let [array, value] = arguments[..] else { return Ok(None) };
                (array, value)
            }
            _ => return Ok(None),
        };
        let is_name =
            matches!(bare(array), ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_));
        // A literal beside an array is one, too.
        let is_open = matches!(bare(value), ast::Expr::Value(literal)
            if matches!(literal.value, ast::Value::SingleQuotedString(_) | ast::Value::Null));
        if !is_name || is_open || !self.is_array_of_program(array) || self.is_array(value)? {
            return Ok(None);
        }
        let (array, value) = (self.expr(array)?, self.expr(value)?);
        let SqlType::Scalar(given) = value.sql_type else { return Ok(None) };
        if array.data_type() != element || common_type(given, element) != Some(element) {
            return Ok(None);
        }
        let sql_type = array.sql_type;
        let arguments = vec![array, cast(value, element)];
        Ok(Some(Expr { kind: ExprKind::Call(Function::ArrayAppend, arguments), sql_type }))
    }

    /// `array[index] := value`: the array as it is then.
    pub(crate) fn array_with(
        &mut self,
        array: SlotId,
        index: &ast::Expr,
        value: &ast::Expr,
        what: impl Fn() -> String,
    ) -> Result<Expr> {
        let of = self.slot_expr(array);
        let (element, sql_type) = (of.data_type(), of.sql_type);
        self.alone(|this| {
            let index = this.value_for(index, DataType::Integer, Coercion::Assignment, || {
                "array subscript".to_owned()
            })?;
            let value = this.value_for(value, element, Coercion::Explicit, &what)?;
            this.host(HostFunction::ArraySet, &[of, index, value], sql_type)
        })
    }
}

/// Converts an array for a variable or a parameter of such elements. `what` names it in the error.
pub(crate) fn array_assigned(
    array: Expr,
    element: DataType,
    place: Place,
    what: impl FnOnce() -> String,
) -> Result<Expr> {
    let fits = match array.sql_type {
        SqlType::Array(from) if from == element => return Ok(array),
        SqlType::Array(from) => is_assignable(from, element, Coercion::Assignment),
        SqlType::Scalar(_) => false,
    };
    if !fits {
        let from = array.sql_type;
        let message = format!("{} is of type {element}[] but expression is of type {from}", what());
        let hint = "You will need to rewrite or cast the expression.";
        return Err(error(b"42804", place, message).hint(hint));
    }
    let sql_type = SqlType::Array(element);
    Ok(Expr { kind: ExprKind::Call(Function::ArrayCast, vec![array]), sql_type })
}
