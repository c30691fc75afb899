//! VARIADIC in calls of functions that are there from the start: `concat(VARIADIC a)`,
//! `format('%s', VARIADIC a)`, `json_build_array(VARIADIC a)`, `json_extract_path(j, VARIADIC a)`.
//!
//! Role         the elements of the array are the arguments, of which no plan knows how many there
//!              are: each of the functions has a form that takes the array itself
//! Source       PostgreSQL 15, "VARIADIC" among the calls of functions; of those that are declared
//!              `VARIADIC "any"`, a NULL array gives NULL, but for format

use hotrow_base::json::JsonFunction;
use hotrow_base::types::{DataType, SqlType};
use hotrow_base::value::Value;
use hotrow_query::HostFunction;
use hotrow_transaction::program::{Expr, Function, Place};
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr};

use crate::error::{Result, error, place_in};
use crate::functions::{self, Evaluation, Type, ValueForm};
use crate::marks::MARK;
use crate::operand::{Operand, types_of};
use crate::scope::Compiler;
use crate::typing::{array_cast, call, cast, constant, spread};
use crate::written::function_name;

/// The arguments of a call whose last one is marked, that one apart; none: it is not marked.
fn marked(function: &ast::Function) -> Option<(Vec<&ast::Expr>, &ast::Expr)> {
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let (last, before) = list.args.split_last()?;
    let (name, array) = match last {
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(array), .. }
        | FunctionArg::ExprNamed {
            name: ast::Expr::Identifier(name),
            arg: FunctionArgExpr::Expr(array),
            ..
        } => (name, array),
        _ => return None,
    };
    let before = before.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(written)) => Some(written),
        _ => None,
    });
    let before = before.collect::<Option<_>>().filter(|_| name.value == MARK)?;
    Some((before, array))
}

impl Compiler<'_> {
    /// A call with VARIADIC of a function that is there from the start; none: it is another call.
    pub(crate) fn variadic_call(
        &mut self,
        function: &ast::Function,
        place: Place,
    ) -> Result<Option<Expr>> {
        let Some((before, written)) = marked(function) else { return Ok(None) };
        let name = function_name(function);
        let Some(row) = functions::with_count(&name, before.len() + 1) else { return Ok(None) };
        let at = place_in(written, place);
        let mut given = self.operands(&before)?;
        let operand = self.operand(written)?;
        let mut types = types_of(&given);
        types.push(match &operand {
            Operand::Typed(of) => Some(of.sql_type),
            _ => None,
        });
        let no_function = || functions::no_function(&name, &types, place);
        let form = match row.evaluation {
            // Its path is an array of texts, whatever is written.
            Evaluation::Program(Function::Json(
                of @ (JsonFunction::Path | JsonFunction::PathText),
            )) if given.len() == 1 => {
                let path =
                    array_cast(self.array_value(operand, DataType::Text, at)?, DataType::Text);
                let (json, at) = given.remove(0);
                let wanted = match row.argument(0) {
                    Type::Is(SqlType::Scalar(wanted)) => wanted,
                    _ => DataType::Json,
                };
                let json = self.settle(json, wanted, at)?;
                let gives = match of {
                    JsonFunction::PathText => DataType::Text,
                    _ => wanted,
                };
                return self.json_call(of, vec![json, path], gives).map(Some);
            }
            Evaluation::Values(form) => form,
            _ => return Err(no_function()),
        };
        let array = match operand {
            Operand::Typed(array) if matches!(array.sql_type, SqlType::Array(_)) => array,
            _ => return Err(error(b"42804", at, "VARIADIC argument must be an array")),
        };
        match form {
            ValueForm::Concat(of) => {
                let separator = match (of, given.pop()) {
                    (Function::ConcatWs, Some(separator)) if given.is_empty() => separator,
                    (Function::Concat, None) => {
                        let nothing = constant(Value::Text(String::new()), DataType::Text);
                        (Operand::Typed(nothing), at)
                    }
                    _ => return Err(no_function()),
                };
                let arguments = vec![(Operand::Typed(array), at), separator];
                self.named("array_to_string", arguments, place).map(Some)
            }
            ValueForm::Format if given.len() == 1 => {
                let (format, at) = given.remove(0);
                let format = self.as_shown(format, at)?;
                let texts = vec![format, as_shown(array)];
                Ok(Some(call(Function::Format, texts, DataType::Text)))
            }
            ValueForm::BuildJson(of, gives) if given.is_empty() => {
                let of = match of {
                    JsonFunction::BuildObject => JsonFunction::ObjectOf,
                    _ => JsonFunction::ArrayOf,
                };
                let host = HostFunction::Json(of, gives);
                self.host(host, &[array], SqlType::Scalar(gives)).map(Some)
            }
            _ => Err(no_function()),
        }
    }
}

/// The elements as clients are shown them: a boolean has a letter.
fn as_shown(array: Expr) -> Expr {
    match array.data_type() {
        DataType::Boolean => spread(cast(cast(array, DataType::Text), DataType::Text.array())),
        _ => array_cast(array, DataType::Text),
    }
}
