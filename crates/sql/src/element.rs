//! Elements of arrays, and what arrays they are of.

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{ArithmeticOp, ArrayFunction, Expr, ExprKind, Place, SlotId};
use sqlparser::ast::{self, AccessExpr};

use crate::assignment::is_default;
use crate::error::{Result, error, place_in, syntax, unsupported};
use crate::json_subscripts::{JsonTarget, no_slices};
use crate::scope::Compiler;
use crate::subscripts::{is_nothing, is_slice_assignment};
use crate::typing::{Coercion, array_call, constant, integer, null, scalar, spread};
use crate::written::{arguments, bare, ident_name};
use crate::written_subscripts::{Subscripts, is_no_bound};

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
        let Some(subscripts) = Subscripts::of_chain(subscripts, place)? else {
            return Err(unsupported(
                place,
                "this chain of subscripts and fields",
                "take the element apart from its field: (a[i]).field",
            ));
        };
        let bounds = self.bounds(&subscripts.bounds)?;
        let (element, sql_type) = (array.data_type(), array.sql_type);
        if subscripts.is_slice {
            let of = [array].into_iter().chain(bounds).collect();
            return Ok(array_call(ArrayFunction::Slice, of, sql_type));
        }
        let (slot, index) = match (&array.kind, bounds) {
            (ExprKind::Slot(slot), mut bounds) if bounds.len() == 1 => (*slot, bounds.remove(0)),
            (_, bounds) => {
                let of = [array].into_iter().chain(bounds).collect();
                return Ok(array_call(ArrayFunction::Element, of, SqlType::Scalar(element)));
            }
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

    /// The values of what stands between brackets.
    fn bounds(&mut self, written: &[ast::Expr]) -> Result<Vec<Expr>> {
        let mut bounds = Vec::with_capacity(written.len());
        for (at, bound) in written.iter().enumerate() {
            bounds.push(match is_no_bound(bound) {
                true => integer(if at % 2 == 0 { i32::MIN } else { i32::MAX }),
                false => self.value_for(bound, DataType::Integer, Coercion::Assignment, || {
                    "array subscript".to_owned()
                })?,
            });
        }
        Ok(bounds)
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
    ///
    /// `of`: the type of a column that is inserted into, and has no value yet.
    pub(crate) fn assigned_elements(
        &mut self,
        function: &ast::Function,
        of: Option<DataType>,
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
            array if let Some(of) = of.filter(|_| is_nothing(array)) => {
                with_subscripts(spread(null(of)), place)?
            }
            ast::Expr::Function(before) if of.is_some() => {
                self.assigned_elements(before, of, place)?
            }
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
        let bounds: Vec<_> = bounds.iter().map(|bound| (*bound).clone()).collect();
        let what = || "an element".to_owned();
        self.array_with(array, (&bounds, is_slice), value, (Coercion::Assignment, &what))
    }

    /// `array[index] := value` and `array[from:to] := array`: the array as it is then.
    pub(crate) fn array_with(
        &mut self,
        array: Expr,
        (bounds, is_slice): (&[ast::Expr], bool),
        value: &ast::Expr,
        (coercion, what): (Coercion, &dyn Fn() -> String),
    ) -> Result<Expr> {
        let (element, sql_type) = (array.data_type(), array.sql_type);
        let mut given = vec![array];
        given.extend(self.bounds(bounds)?);
        let function = match is_slice {
            false => {
                given.push(self.value_for(value, element, coercion, what)?);
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
