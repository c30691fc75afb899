//! Arrays as values of a procedure's variables.
//!
//! Role         an expression that is an array has its elements in a list, as variables have;
//!              columns and results have it [in one piece](hotrow_base::packed), and what reads
//!              or writes one of these converts it ([`crate::typing::spread`], `packed`)

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::program::{ArrayFunction, Expr, ExprKind, Function, Place};
use sqlparser::ast;

use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::operand::Operand;
use crate::scope::Compiler;
use crate::typing::{
    Coercion, array_call, array_cast, assign, cast, common_type, comparable, constant_array,
    constant_elements, is_assignable, packed, spread,
};
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

    /// Compiles an expression that is assigned to a column of such arrays: where PL/pgSQL reads the
    /// elements of `ARRAY['1']` as whatever the variable has, a column takes texts for texts.
    pub(crate) fn array_of_column(
        &mut self,
        written: &ast::Expr,
        element: DataType,
        what: impl Fn() -> String,
    ) -> Result<Expr> {
        let place = place_in(written, self.place);
        let array = match self.operand(written)? {
            Operand::Typed(typed) => typed,
            open => self.array_value(open, element, place)?,
        };
        array_assigned(array, element, place, what).map(packed)
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
            if self.has_arrays(list)? {
                for part in &list.elem {
                    values.push(self.array_inside(part, element, what)?);
                }
                return Ok(nested_array(values, element));
            }
            for value in &list.elem {
                values.push(self.value_for(value, element, Coercion::Assignment, what)?);
            }
            return Ok(array_of(values, element));
        }
        if let Some(longer) = self.grown(written, element)? {
            return Ok(longer);
        }
        let operand = self.operand(written)?;
        let array = self.array_value(operand, element, place)?;
        array_assigned(array, element, place, what)
    }

    /// The type of an expression that must not be an array.
    pub(crate) fn scalar_type(&self, expr: &Expr, place: Place) -> Result<DataType> {
        match expr.sql_type {
            SqlType::Scalar(data_type) => Ok(data_type),
            SqlType::Array(_) => Err(unsupported(
                place,
                "an array as a value",
                "loop over it with FOREACH x IN ARRAY a, or take an element: a[i]",
            )),
        }
    }

    /// Whether some of the elements that are written in a list are arrays.
    pub(crate) fn has_arrays(&mut self, list: &ast::Array) -> Result<bool> {
        for element in &list.elem {
            if self.is_array(element)? {
                return Ok(true);
            }
        }
        Ok(false)
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

    /// Two operands, one of which is an array, as arrays of one type in one piece, which are
    /// compared as they are.
    pub(crate) fn array_sides(
        &mut self,
        sides: [Operand; 2],
        sign: &str,
        places: [Place; 2],
    ) -> Result<(Expr, Expr)> {
        let types = sides.each_ref().map(|side| match side {
            Operand::Typed(expr) => Some(expr.sql_type),
            _ => None,
        });
        let element = types.iter().find_map(|of| match of {
            Some(SqlType::Array(element)) => Some(*element),
            _ => None,
        });
        let element = element.unwrap_or(DataType::Text);
        if let [Some(a), Some(b)] = types {
            let fits = match (a, b) {
                (SqlType::Array(a), SqlType::Array(b)) => are_alike(a, b),
                _ => false,
            };
            if !fits {
                let message = format!("operator does not exist: {a} {sign} {b}");
                let hint = "No operator matches the given name and argument types. You might need \
                            to add explicit type casts.";
                return Err(error(b"42883", places[0], message).hint(hint));
            }
        }
        let to = element.array();
        comparable(to, sign, places[0])?;
        let [one, other] = sides;
        let one = self.array_value(one, element, places[0])?;
        let other = self.array_value(other, element, places[1])?;
        Ok((cast(one, to), cast(other, to)))
    }
}

/// Whether arrays of these are of one type, but for lengths and digits.
fn are_alike(one: DataType, other: DataType) -> bool {
    one == other
        || one.is_numeric() && other.is_numeric()
        || !one.is_integer() && one.is_kept_like(other)
}

/// Converts a value for a variable of any type. `what` names it in the error.
pub(crate) fn assign_to(
    value: Expr,
    to: SqlType,
    place: Place,
    what: impl FnOnce() -> String,
) -> Result<Expr> {
    match to {
        SqlType::Array(element) => array_assigned(value, element, place, what),
        SqlType::Scalar(to) => assign(value, to, Coercion::Explicit, place, what),
    }
}

/// Converts an array for a variable or a parameter of such elements. `what` names it in the error.
pub(crate) fn array_assigned(
    array: Expr,
    element: DataType,
    place: Place,
    what: impl FnOnce() -> String,
) -> Result<Expr> {
    let array = spread(array);
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
    Ok(array_cast(array, element))
}

/// `ARRAY[...]` of values of one type.
pub(crate) fn array_of(values: Vec<Expr>, element: DataType) -> Expr {
    let known = |value: &Expr| match &value.kind {
        ExprKind::Constant(known) => Some(known.clone()),
        _ => None,
    };
    match values.iter().map(known).collect::<Option<Vec<_>>>() {
        Some(values) => constant_array(Value::Array(values), element),
        None => array_call(ArrayFunction::Of, values, SqlType::Array(element)),
    }
}

/// `ARRAY[...]` of arrays of one type.
pub(crate) fn nested_array(parts: Vec<Expr>, element: DataType) -> Expr {
    let known: Option<Vec<_>> = parts.iter().map(|it| constant_elements(it).cloned()).collect();
    // What is no array with one dimension more says so when it is made.
    match known.filter(|known| !known.is_empty()).map(|known| Value::nested(&known)) {
        Some(Ok(known)) => constant_array(known, element),
        _ => array_call(ArrayFunction::Nest, parts, SqlType::Array(element)),
    }
}

/// Whether a list has no element, whatever lists it has within it.
pub(crate) fn is_empty_list(written: &ast::Expr) -> bool {
    matches!(bare(written), ast::Expr::Array(list) if list.elem.iter().all(is_empty_list))
}
