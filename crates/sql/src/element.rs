//! Elements of arrays, and what arrays they are of.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{ArithmeticOp, ArrayFunction, Expr, ExprKind, Place, SlotId};
use sqlparser::ast::{self, AccessExpr, Subscript};

use crate::assignment::is_default;
use crate::error::{Result, error, place_in, syntax, unsupported};
use crate::json_subscripts::{JsonTarget, no_slices};
use crate::scope::Compiler;
use crate::subscripts::is_slice_assignment;
use crate::typing::{Coercion, array_call, constant, integer, scalar};
use crate::written::{arguments, bare, ident_name};

impl Compiler<'_> {
    pub(crate) fn element(
        &mut self,
        root: &ast::Expr,
        chain: &[AccessExpr],
        place: Place,
    ) -> Result<Expr> {
        let of_trigger = |name: &ast::Ident| ident_name(name) == "tg_argv";
        let is_argument = self.firing.arguments.is_some()
            && matches!(root, ast::Expr::Identifier(name) if of_trigger(name));
        if !is_argument && let Some(element) = self.relational_element(root, chain, place)? {
            return Ok(element);
        }
        let is_dot = |access: &AccessExpr| matches!(access, AccessExpr::Dot(_));
        let behind = chain.iter().rposition(is_dot).map_or(0, |at| at + 1);
        let field = self.field_of_written(root, &chain[..behind], place)?;
        let (array, subscripts) = match chain {
            _ if let Some(field) = field => match &chain[behind..] {
                [] => return Ok(field),
                subscripts => (with_subscripts(field, place)?, subscripts),
            },
            // procedure.parameter[i], table.column['a']
            [AccessExpr::Dot(ast::Expr::Identifier(name)), subscripts @ ..] => {
                let ast::Expr::Identifier(first) = bare(root) else {
                    return Err(syntax(place, "this subscript has no array before it"));
                };
                let path = ast::Expr::CompoundIdentifier(vec![first.clone(), name.clone()]);
                if subscripts.is_empty() {
                    return self.expr(&path); // (relation).column
                }
                (self.subscripted(&path)?, subscripts)
            }
            subscripts => (self.subscripted(root)?, subscripts),
        };
        if array.sql_type == SqlType::Scalar(DataType::Jsonb) {
            return self.json_element(array, subscripts, place);
        }
        let [AccessExpr::Subscript(subscript)] = subscripts else {
            return Err(unsupported(
                place,
                "this chain of subscripts and fields",
                "arrays have one dimension: a[i]",
            ));
        };
        let index = match subscript {
            Subscript::Index { index } => index,
            Subscript::Slice { lower_bound, upper_bound, stride: None } => {
                return self.slice(array, [lower_bound.as_ref(), upper_bound.as_ref()]);
            }
            Subscript::Slice { .. } => return Err(syntax(place, "a slice has two bounds")),
        };
        let index = self.value_for(index, DataType::Integer, Coercion::Assignment, || {
            "array subscript".to_owned()
        })?;
        let element = array.data_type();
        let ExprKind::Slot(slot) = array.kind else {
            let of = vec![array, index];
            return Ok(array_call(ArrayFunction::Element, of, SqlType::Scalar(element)));
        };
        let index = match &self.firing.arguments {
            // TG_ARGV begins with 0.
            Some((of, arguments)) if *of == slot => match index.kind {
                ExprKind::Constant(Value::Int(at)) => {
                    let argument = usize::try_from(at).ok().and_then(|at| arguments.get(at));
                    let value = argument.map_or(Value::Null, |text| Value::Text(text.clone()));
                    return Ok(constant(value, element));
                }
                _ => {
                    let sides = (Box::new(index), Box::new(integer(1)));
                    let next = ExprKind::Arithmetic(ArithmeticOp::Add, sides.0, sides.1);
                    scalar(next, DataType::Integer)
                }
            },
            _ => index,
        };
        Ok(scalar(ExprKind::Element(slot, Box::new(index)), element))
    }

    /// `array[from:to]`
    fn slice(&mut self, array: Expr, bounds: [Option<&ast::Expr>; 2]) -> Result<Expr> {
        let sql_type = array.sql_type;
        let mut arguments = vec![array];
        for (bound, end) in bounds.into_iter().zip([1, i32::MAX]) {
            arguments.push(match bound {
                None => integer(end),
                Some(written) => {
                    self.value_for(written, DataType::Integer, Coercion::Assignment, || {
                        "array subscript".to_owned()
                    })?
                }
            });
        }
        Ok(array_call(ArrayFunction::Slice, arguments, sql_type))
    }

    /// An expression that has subscripts: an array or a jsonb.
    fn subscripted(&mut self, written: &ast::Expr) -> Result<Expr> {
        let expr = self.expr(written)?;
        with_subscripts(expr, place_in(written, self.place))
    }

    /// An expression that must name an array; its slot and the type of its elements.
    pub(crate) fn array(&mut self, written: &ast::Expr) -> Result<(SlotId, DataType)> {
        let place = place_in(written, self.place);
        let expr = match written {
            ast::Expr::Value(value) if matches!(value.value, ast::Value::SingleQuotedString(_)) => {
                return Err(unsupported(
                    place,
                    "a literal as an array here",
                    "pass the array as a parameter, or write ARRAY[...]",
                ));
            }
            other => self.expr(other)?,
        };
        match (expr.kind, expr.sql_type) {
            (ExprKind::Slot(slot), SqlType::Array(element)) => Ok((slot, element)),
            (_, other) => Err(error(
                b"42804",
                place,
                format!("an array parameter is needed here, but expression is of type {other}"),
            )),
        }
    }

    /// `set(array, index, value)` and `set(array, from, to, array)`.
    pub(crate) fn assigned_elements(
        &mut self,
        function: &ast::Function,
        place: Place,
    ) -> Result<Expr> {
        let (_, written) = arguments(function, place)?;
        let [array, bounds @ .., value] = written.as_slice() else {
            return Err(error(b"42601", place, "an assignment needs a subscript"));
        };
        if is_default(value) {
            return Err(error(b"0A000", place, "cannot set an array element to DEFAULT"));
        }
        let name = assigned_name(array);
        let array = match bare(array) {
            ast::Expr::Function(_) => self.subscripted(array)?,
            // The column itself: who may change it may change some of it.
            _ => self.without_needs(|this| this.subscripted(array))?,
        };
        let is_slice = is_slice_assignment(function);
        if array.sql_type == SqlType::Scalar(DataType::Jsonb) {
            return match is_slice {
                true => Err(no_slices(place)),
                false => {
                    let (steps, of) = (bounds.iter().copied(), JsonTarget::Column(&name));
                    self.assigned_json(array, steps, value, of, place)
                }
            };
        }
        if !is_slice && bounds.len() > 1 {
            let advice = "arrays have one dimension: a[i]";
            return Err(unsupported(place, "an assignment to an array of arrays", advice));
        }
        let (element, sql_type) = (array.data_type(), array.sql_type);
        let mut given = vec![array];
        for bound in bounds {
            let subscript = || "array subscript".to_owned();
            given.push(self.value_for(
                bound,
                DataType::Integer,
                Coercion::Assignment,
                subscript,
            )?);
        }
        let what = || "an element".to_owned();
        let function = match is_slice {
            false => {
                given.push(self.value_for(value, element, Coercion::Assignment, what)?);
                ArrayFunction::Set
            }
            true => {
                given.push(self.array_for(value, element, what)?);
                ArrayFunction::SetSlice
            }
        };
        Ok(array_call(function, given, sql_type))
    }
}

/// An array or a jsonb; another value has no subscripts.
fn with_subscripts(expr: Expr, place: Place) -> Result<Expr> {
    match expr.sql_type {
        SqlType::Array(_) | SqlType::Scalar(DataType::Jsonb) => Ok(expr),
        SqlType::Scalar(of) => Err(no_subscripts(of, place)),
    }
}

/// The column of `set(set(column, 1, x), 2, y)`.
fn assigned_name(written: &ast::Expr) -> String {
    match bare(written) {
        ast::Expr::Identifier(name) => ident_name(name),
        ast::Expr::CompoundIdentifier(names) => names.last().map(ident_name).unwrap_or_default(),
        ast::Expr::Function(function) => {
            let first = arguments(function, Place::default()).ok();
            let first = first.and_then(|(_, all)| all.first().copied());
            first.map(assigned_name).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The error of subscripts behind a value that has none.
pub(crate) fn no_subscripts(of: DataType, place: Place) -> SqlError {
    let message = format!("cannot subscript type {of} because it does not support subscripting");
    error(b"42804", place, message)
}
