//! CALL: the arguments of a call typed on their own, as values.

use std::borrow::Cow;

use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_transaction::constant::evaluate;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::{DefaultArgument, Expr, ExprKind, NOW, Place, Procedure};
use hotrow_transaction::walk::reads_any;
use hotrow_transaction::zoned;
use sqlparser::ast;

use crate::call_syntax::CallArgument;
use crate::error::{Advice, Result, error, place_in, unsupported};
use crate::operand::Operand;
use crate::scope::Compiler;
use crate::token::expression_of_text;
use crate::typing::{Coercion, assign, constant, constant_array, value_error};
use crate::variadic::gathered;

/// An argument of a CALL.
#[derive(Clone, Debug)]
pub enum Argument {
    /// its value
    Known(Value),
    /// a parameter of the statement, by its place among them
    Parameter(u16),
    /// computed from the call's time
    Computed(Box<Expr>),
}

impl Argument {
    /// Its value, where the statement's parameters have these, and the call has this time.
    ///
    /// Errors: what computing it comes to, such as 22008.
    pub fn value<'a>(
        &'a self,
        given: &'a [Value],
        now_us: i64,
    ) -> std::result::Result<Cow<'a, Value>, SqlError> {
        Ok(match self {
            Self::Known(value) => Cow::Borrowed(value),
            Self::Parameter(at) => {
                given.get(usize::from(*at)).map_or(Cow::Owned(Value::Null), Cow::Borrowed)
            }
            Self::Computed(value) => Cow::Owned(evaluate(value, now_us)?),
        })
    }

    /// Whether it depends on the call's time.
    pub fn is_computed(&self) -> bool {
        matches!(self, Self::Computed(_))
    }
}

impl Compiler<'_> {
    /// The arguments of a call as values of the procedure's parameter types; as they are written
    /// when the procedure is not known.
    pub(crate) fn call_arguments(
        &mut self,
        name: &str,
        procedure: Option<&Procedure>,
        written: &[CallArgument],
        place: Place,
    ) -> Result<Vec<Argument>> {
        let Some(procedure) = procedure else {
            let argument = |a: &CallArgument| self.argument_or_parameter(&a.value, None, a.place);
            return written.iter().map(argument).collect();
        };
        let written = &*gathered(procedure, written);
        let parameters = procedure.given();
        let refused = || other_count(procedure, name, written.len(), place);
        let places = places_given(procedure, name, written, place)?;
        let mut values: Vec<Option<Argument>> = vec![None; parameters.len()];
        for (i, argument) in written.iter().enumerate() {
            let Some(at) = places.iter().position(|given| *given == Some(i)) else { continue };
            let sql_type = Some(parameters[at].sql_type);
            values[at] =
                Some(self.argument_or_parameter(&argument.value, sql_type, argument.place)?);
        }
        let given = values.into_iter().enumerate().map(|(at, value)| {
            if let Some(value) = value {
                return Ok(value);
            }
            match procedure.default_of(at).ok_or_else(refused)? {
                DefaultArgument::Known(value) => Ok(Argument::Known(value.clone())),
                DefaultArgument::Computed(value) => Ok(Argument::Computed(Box::new(value.clone()))),
                DefaultArgument::Written(_) => Err(no_constant(place)),
            }
        });
        given.collect()
    }

    /// What a parameter is where it is not given.
    pub(crate) fn default_argument(
        &mut self,
        written: &ast::Expr,
        sql_type: SqlType,
        place: Place,
    ) -> Result<DefaultArgument> {
        let mark = self.mark();
        match self.argument_or_parameter(written, Some(sql_type), place) {
            Ok(Argument::Known(value)) => Ok(DefaultArgument::Known(value)),
            Ok(Argument::Computed(value)) => Ok(DefaultArgument::Computed(*value)),
            Ok(Argument::Parameter(_)) => Err(no_constant(place)),
            Err(refused) if may_be_computed(&refused) => {
                self.back_to(&mark);
                self.check_default(written, sql_type, place)?;
                Ok(DefaultArgument::Written(written.to_string().into()))
            }
            Err(refused) => Err(refused),
        }
    }

    fn argument_or_parameter(
        &mut self,
        written: &ast::Expr,
        sql_type: Option<SqlType>,
        place: Place,
    ) -> Result<Argument> {
        match self.parameter_alone(written, sql_type)? {
            Some(at) => Ok(Argument::Parameter(at as u16)),
            None => match (self.literal_alone(written), sql_type) {
                (Some(at), Some(sql_type @ SqlType::Scalar(_))) => {
                    self.literal_parameter(at, sql_type);
                    Ok(Argument::Parameter(at as u16))
                }
                (_, Some(SqlType::Scalar(_)) | None) if !is_array(written) => {
                    let operand = self.argument_operand(written, sql_type)?;
                    self.scalar_argument(operand, sql_type, place)
                }
                _ => self.argument(written, sql_type, place).map(Argument::Known),
            },
        }
    }

    fn argument(
        &mut self,
        written: &ast::Expr,
        sql_type: Option<SqlType>,
        place: Place,
    ) -> Result<Value> {
        let element = match sql_type {
            Some(SqlType::Array(element)) => Some(element),
            _ => None,
        };
        match written {
            ast::Expr::Array(array) => {
                if let Some(SqlType::Scalar(data_type)) = sql_type {
                    return Err(error(
                        b"42804",
                        place,
                        format!("the parameter is of type {data_type}, not an array"),
                    ));
                }
                if array.elem.iter().any(|e| matches!(e, ast::Expr::Array(_))) {
                    let parts = array.elem.iter();
                    let parts = parts.map(|e| self.argument(e, sql_type, place_in(e, place)));
                    let parts = parts.collect::<Result<Vec<_>>>()?;
                    return Value::nested(&parts).map_err(|e| value_error(&e, place));
                }
                // A parameter in it is refused below, as all that is no constant.
                let elements = array
                    .elem
                    .iter()
                    .map(|e| self.argument(e, element.map(SqlType::Scalar), place_in(e, place)));
                elements.collect::<Result<_>>().map(Value::Array)
            }
            ast::Expr::Cast { expr, data_type, .. }
                if matches!(data_type, ast::DataType::Array(_)) =>
            {
                let written = crate::types::sql_type(data_type, self.type_names(), place)?;
                self.argument(expr, Some(sql_type.unwrap_or(written)), place)
            }
            other => match (element, self.argument_operand(other, sql_type)?) {
                (Some(_), Operand::Unknown(None)) => Ok(Value::Null),
                (Some(element), Operand::Unknown(Some(open))) => {
                    array_literal(&open.text, element, place)
                }
                (Some(element), _) => {
                    Err(error(b"42804", place, format!("the parameter is of type {element}[]"))
                        .hint("write ARRAY[1, 2, 3] or '{1,2,3}'"))
                }
                (None, operand) => match self.scalar_argument(operand, sql_type, place)? {
                    Argument::Known(value) => Ok(value),
                    Argument::Parameter(_) | Argument::Computed(_) => Err(no_constant(place)),
                },
            },
        }
    }

    /// An argument that is no array: a row that is written out is one of the parameter's type.
    fn argument_operand(
        &mut self,
        written: &ast::Expr,
        sql_type: Option<SqlType>,
    ) -> Result<Operand> {
        match sql_type {
            Some(SqlType::Scalar(DataType::Composite(of))) => {
                self.composite_for(written, of, || "the parameter".to_owned()).map(Operand::Typed)
            }
            _ => self.operand(written),
        }
    }

    fn scalar_argument(
        &mut self,
        operand: Operand,
        sql_type: Option<SqlType>,
        place: Place,
    ) -> Result<Argument> {
        let expr = match sql_type {
            Some(SqlType::Scalar(to)) => {
                let expr = self.settle(operand, to, place)?;
                assign(expr, to, Coercion::Assignment, place, || "the parameter".to_owned())?
            }
            _ => self.settle(operand, DataType::Text, place)?,
        };
        if let ExprKind::Constant(value) = expr.kind {
            return Ok(Argument::Known(value));
        }
        if reads_any(&expr, |slot| slot != NOW) {
            return Err(no_constant(place));
        }
        if reads_any(&expr, |_| true) || zoned::depends_on_session(&expr) {
            return Ok(Argument::Computed(Box::new(expr)));
        }
        let value = evaluate(&expr, 0).map_err(|error| SqlError { place, ..error })?;
        Ok(Argument::Known(value))
    }
}

/// Whether an argument is written as an array.
fn is_array(written: &ast::Expr) -> bool {
    matches!(
        written,
        ast::Expr::Array(_) | ast::Expr::Cast { data_type: ast::DataType::Array(_), .. }
    )
}

fn no_constant(place: Place) -> SqlError {
    unsupported(
        place,
        "an argument that is not a constant",
        "write a literal, an expression of literals and now(), or a parameter by itself, or \
         compute the value in the procedure",
    )
}

/// Whether something is no constant argument, but perhaps one that a program computes.
pub(crate) fn may_be_computed(refused: &SqlError) -> bool {
    &refused.sqlstate == b"0A000"
}

/// By parameter of a procedure, which of the written arguments it is given; none: its default.
pub(crate) fn places_given(
    procedure: &Procedure,
    name: &str,
    written: &[CallArgument],
    place: Place,
) -> Result<Vec<Option<usize>>> {
    let parameters = procedure.given();
    if !procedure.takes(written.len()) {
        return Err(other_count(procedure, name, written.len(), place));
    }
    let mut places = vec![None; parameters.len()];
    for (i, argument) in written.iter().enumerate() {
        let at = match &argument.name {
            None => i,
            Some(wanted) => parameters.iter().position(|p| p.name == *wanted).ok_or_else(|| {
                let message = format!("{name} has no parameter \"{wanted}\"");
                error(b"42883", argument.place, message)
            })?,
        };
        if places[at].is_some() {
            let message = format!("parameter \"{}\" is given twice", parameters[at].name);
            return Err(error(b"42601", argument.place, message));
        }
        places[at] = Some(i);
    }
    Ok(places)
}

/// The error of a call that gives so many arguments, and may not.
pub(crate) fn other_count(
    procedure: &Procedure,
    name: &str,
    given: usize,
    place: Place,
) -> SqlError {
    let types: Vec<_> = procedure.given().iter().map(|p| p.sql_type.to_string()).collect();
    let message = format!("{name} takes {} arguments, not {given}", procedure.counts());
    error(b"42883", place, message).hint(format!("it is {name}({})", types.join(", ")))
}

/// `{1,2,3}`, `{"a b",NULL}`
fn array_literal(text: &str, element: DataType, place: Place) -> Result<Value> {
    Value::parse_array(element, text).map_err(|e| value_error(&e, place))
}

/// What parameter number `at` is where a caller leaves it out, as an argument, where it is not
/// computed already; none: it has to be given.
pub(crate) fn default_value(
    callee: &Procedure,
    at: usize,
    place: Place,
) -> Result<Option<DefaultValue>> {
    Ok(match callee.default_of(at) {
        None => None,
        Some(DefaultArgument::Known(value)) => {
            Some(DefaultValue::Computed(match callee.given()[at].sql_type {
                SqlType::Scalar(of) => constant(value.clone(), of),
                SqlType::Array(of) => constant_array(value.clone(), of),
            }))
        }
        Some(DefaultArgument::Computed(value)) => Some(DefaultValue::Computed(value.clone())),
        Some(DefaultArgument::Written(text)) => {
            let value = expression_of_text(text, place)?;
            Some(DefaultValue::Written(Box::new(CallArgument { name: None, value, place })))
        }
    })
}

/// See [`default_value`].
pub(crate) enum DefaultValue {
    Computed(Expr),
    Written(Box<CallArgument>),
}
