//! Arguments of built-in functions that are given by name.

use hotrow_transaction::program::Place;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments};

use crate::error::{Result, error, syntax};
use crate::functions::no_function;
use crate::token::folded;
use crate::written::function_name;

/// What arguments are called, and what the last ones are where they are not given.
type Names = (&'static [&'static str], &'static [Default]);

#[derive(Clone, Copy)]
enum Default {
    True,
    False,
    /// `'{}'`
    Nothing,
}

fn names_of(function: &str) -> Option<Names> {
    const MOMENT: &[&str] = &["year", "month", "mday", "hour", "min", "sec", "timezone"];
    const SET: &[&str] = &["jsonb_in", "path", "replacement", "create_if_missing"];
    const INSERTED: &[&str] = &["jsonb_in", "path", "replacement", "insert_after"];
    const PATH: Names =
        (&["target", "path", "vars", "silent"], &[Default::Nothing, Default::False]);
    Some(match function {
        "make_date" => (&["year", "month", "day"], &[]),
        "make_time" => (&["hour", "min", "sec"], &[]),
        "make_timestamp" => (&MOMENT[..6], &[]),
        "make_timestamptz" => (MOMENT, &[]),
        "jsonb_set" => (SET, &[Default::True]),
        "jsonb_insert" => (INSERTED, &[Default::False]),
        "parse_ident" => (&["str", "strict"], &[Default::True]),
        "jsonb_path_exists" | "jsonb_path_match" | "jsonb_path_query" => PATH,
        "jsonb_path_query_array" | "jsonb_path_query_first" => PATH,
        "jsonb_path_exists_tz" | "jsonb_path_match_tz" | "jsonb_path_query_tz" => PATH,
        "jsonb_path_query_array_tz" | "jsonb_path_query_first_tz" => PATH,
        _ => return None,
    })
}

/// The arguments of a call in the order of what a built-in function takes; none: they are given
/// without names, or it is another function.
pub(crate) fn in_order(
    function: &str,
    given: &[FunctionArg],
    place: Place,
) -> Result<Option<Vec<FunctionArg>>> {
    let is_named = |argument: &FunctionArg| !matches!(argument, FunctionArg::Unnamed(_));
    let Some(first) = given.iter().position(is_named) else { return Ok(None) };
    if !given[first..].iter().all(is_named) {
        return Err(syntax(place, "positional argument cannot follow named argument"));
    }
    let Some((names, defaults)) = names_of(function) else { return Ok(None) };
    let refused = || no_function(function, &vec![None; given.len()], place);
    let mut values: Vec<Option<FunctionArgExpr>> = vec![None; names.len()];
    for (at, argument) in given.iter().enumerate() {
        let (at, value) = match argument {
            FunctionArg::Unnamed(value) => (Some(at), value),
            FunctionArg::Named { name, arg, .. }
            | FunctionArg::ExprNamed { name: ast::Expr::Identifier(name), arg, .. } => {
                let name = folded(&name.value, name.quote_style.is_some());
                (names.iter().position(|known| *known == name), arg)
            }
            FunctionArg::ExprNamed { .. } => (None, &FunctionArgExpr::Wildcard),
        };
        let value_at = at.and_then(|at| values.get_mut(at)).ok_or_else(refused)?;
        if value_at.is_some() {
            let name = at.map_or("", |at| names[at]);
            let message = format!("argument name \"{name}\" used more than once");
            return Err(error(b"42601", place, message));
        }
        *value_at = Some(value.clone());
    }
    let needed = values.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    let required = names.len() - defaults.len();
    let mut ordered = Vec::new();
    for (at, value) in values.into_iter().take(needed).enumerate() {
        let default = at.checked_sub(required).and_then(|at| defaults.get(at));
        let value = value.or_else(|| default.map(|default| FunctionArgExpr::Expr(default.expr())));
        ordered.push(FunctionArg::Unnamed(value.ok_or_else(refused)?));
    }
    Ok(Some(ordered))
}

/// A call with its arguments in that order.
pub(crate) fn call_in_order(
    function: &ast::Function,
    place: Place,
) -> Result<Option<ast::Function>> {
    let FunctionArguments::List(list) = &function.args else { return Ok(None) };
    let ordered = in_order(&function_name(function), &list.args, place)?;
    Ok(ordered.map(|args| ast::Function {
        args: FunctionArguments::List(FunctionArgumentList { args, ..list.clone() }),
        ..function.clone()
    }))
}

impl Default {
    fn expr(self) -> ast::Expr {
        ast::Expr::value(match self {
            Self::True => ast::Value::Boolean(true),
            Self::False => ast::Value::Boolean(false),
            Self::Nothing => ast::Value::SingleQuotedString("{}".to_owned()),
        })
    }
}
