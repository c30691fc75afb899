//! What the parser's trees say: names as they are folded, and what stands within brackets.

use hotrow_transaction::program::Place;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments};

use crate::error::{Advice, Result, error, syntax, unsupported};
use crate::token::folded;

/// The parts of `a.b.c`, as they are folded.
pub(crate) fn dotted(idents: &[ast::Ident]) -> Vec<String> {
    idents.iter().map(|i| folded(&i.value, i.quote_style.is_some())).collect()
}

/// A table name: bare, or in schema public.
pub(crate) fn object_name(name: &ast::ObjectName, place: Place) -> Result<String> {
    let idents: Option<Vec<ast::Ident>> =
        name.0.iter().map(|part| part.as_ident().cloned()).collect();
    let parts = dotted(&idents.unwrap_or_default());
    match parts.as_slice() {
        [name] => Ok(name.clone()),
        [schema, name] if schema == "public" => Ok(name.clone()),
        [schema, _] => Err(error(b"3F000", place, format!("schema \"{schema}\" does not exist"))
            .hint("there is one schema, public")),
        _ => Err(syntax(place, format!("improper name: {name}"))),
    }
}

/// Without the brackets around it.
pub(crate) fn bare(written: &ast::Expr) -> &ast::Expr {
    match written {
        ast::Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

/// The values of a row that is written out, `(a, b)` or `ROW (a, b)`; none: it is one value.
pub(crate) fn row_values(written: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    match bare(written) {
        ast::Expr::Tuple(values) => Some(values.iter().collect()),
        ast::Expr::Function(row) if function_name(row) == "row" => {
            arguments(row, Place::default()).ok().map(|(_, values)| values)
        }
        _ => None,
    }
}

/// A function's name, folded, without `pg_catalog.`.
pub(crate) fn function_name(function: &ast::Function) -> String {
    match function.name.0.last() {
        Some(ast::ObjectNamePart::Identifier(ident)) => {
            crate::token::folded(&ident.value, ident.quote_style.is_some())
        }
        _ => String::new(),
    }
}

/// The arguments of a call: whether DISTINCT stands before them, and the expressions.
pub(crate) fn arguments(function: &ast::Function, place: Place) -> Result<(bool, Vec<&ast::Expr>)> {
    let list = match &function.args {
        FunctionArguments::None => return Ok((false, Vec::new())),
        FunctionArguments::List(list) => list,
        FunctionArguments::Subquery(_) => {
            return Err(unsupported(place, "a subquery", "SELECT ... INTO a variable first"));
        }
    };
    if !list.clauses.is_empty() {
        return Err(unsupported(place, "ORDER BY among arguments", "leave it out"));
    }
    let distinct = matches!(list.duplicate_treatment, Some(ast::DuplicateTreatment::Distinct));
    let mut all = Vec::new();
    for argument in &list.args {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => all.push(expr),
            _ => {
                return Err(unsupported(
                    place,
                    "this form of argument",
                    "pass plain expressions in order",
                ));
            }
        }
    }
    Ok((distinct, all))
}

/// A name as it is folded.
pub(crate) fn ident_name(ident: &ast::Ident) -> String {
    folded(&ident.value, ident.quote_style.is_some())
}

/// The statement that a WITH stands before, and its verb, where that is no query.
pub(crate) fn changed_by(query: &ast::Query) -> Option<(&'static str, &ast::Statement)> {
    match &*query.body {
        ast::SetExpr::Insert(change) => Some(("INSERT", change)),
        ast::SetExpr::Update(change) => Some(("UPDATE", change)),
        ast::SetExpr::Delete(change) => Some(("DELETE", change)),
        _ => None,
    }
}

/// Whether a query has a change in its WITH.
pub(crate) fn has_changes(query: &ast::Query) -> bool {
    let mut all = query.with.iter().flat_map(|with| &with.cte_tables);
    all.any(|cte| changed_by(&cte.query).is_some())
}
