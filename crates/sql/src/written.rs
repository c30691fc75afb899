//! What the parser's trees say: names as they are folded, and what stands within brackets.

use std::ops::ControlFlow;

use hotrow_transaction::catalog::{in_quotes, qualified};
use hotrow_transaction::program::Place;
use sqlparser::ast::{self, FunctionArg, FunctionArgExpr, FunctionArguments};

use crate::error::{Result, syntax, unsupported};
use crate::token::folded;

/// The parts of `a.b.c`, as they are folded.
pub(crate) fn dotted(idents: &[ast::Ident]) -> Vec<String> {
    idents.iter().map(|i| folded(&i.value, i.quote_style.is_some())).collect()
}

/// The parts of a name, as they are folded; of what is none, none.
pub(crate) fn dotted_of(name: &ast::ObjectName) -> Vec<String> {
    let idents: Option<Vec<ast::Ident>> =
        name.0.iter().map(|part| part.as_ident().cloned()).collect();
    dotted(&idents.unwrap_or_default())
}

/// A table name: bare, or with its schema before it ([`hotrow_transaction::catalog::split`]).
pub(crate) fn object_name(name: &ast::ObjectName, place: Place) -> Result<String> {
    let parts = dotted_of(name);
    match parts.as_slice() {
        [name] => Ok(name.clone()),
        [schema, name] => Ok(qualified(schema, name)),
        _ => Err(syntax(place, format!("improper name: {name}"))),
    }
}

/// The name that a text is, as in `'a."B"'::regclass`, written as [`object_name`] has it; none: it
/// is no name.
pub(crate) fn name_in_text(text: &str) -> Option<String> {
    let mut parts = Vec::new();
    let mut left = text.trim();
    loop {
        let part = match left.strip_prefix('"') {
            None => {
                let end = left.find('.').unwrap_or(left.len());
                let (part, rest) = left.split_at(end);
                left = rest;
                part.trim().to_lowercase()
            }
            Some(rest) => {
                let (part, rest) = in_quotes(rest)?;
                left = rest.trim_start();
                part
            }
        };
        if part.is_empty() || part.contains('\0') {
            return None;
        }
        parts.push(part);
        match left.strip_prefix('.') {
            Some(rest) => left = rest.trim_start(),
            None if left.is_empty() => break,
            None => return None,
        }
    }
    match parts.as_slice() {
        [name] => Some(name.clone()),
        [schema, name] => Some(qualified(schema, name)),
        _ => None,
    }
}

/// Without the brackets around it.
pub(crate) fn bare(written: &ast::Expr) -> &ast::Expr {
    match written {
        ast::Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

/// A name and the names of columns that an alias gives.
pub(crate) fn alias_of(alias: Option<&ast::TableAlias>, otherwise: &str) -> (String, Vec<String>) {
    let name = |ident: &ast::Ident| folded(&ident.value, ident.quote_style.is_some());
    match alias {
        None => (otherwise.to_owned(), Vec::new()),
        Some(alias) => {
            (name(&alias.name), alias.columns.iter().map(|column| name(&column.name)).collect())
        }
    }
}

/// Whether a table has hints and the like beside its name, which other dialects know.
pub(crate) fn has_hints(table: &ast::TableFactor) -> bool {
    let ast::TableFactor::Table { with_hints, version, partitions, json_path, index_hints, .. } =
        table
    else {
        return false;
    };
    !with_hints.is_empty()
        || !partitions.is_empty()
        || !index_hints.is_empty()
        || version.is_some()
        || json_path.is_some()
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
    called_name(&function.name)
}

/// Functions that PostgreSQL has by CREATE EXTENSION uuid-ossp and pgcrypto.
const OF_EXTENSIONS: [&str; 5] =
    ["uuid_generate_v4", "gen_random_uuid", "gen_random_bytes", "digest", "hmac"];

/// The name of what is called, with its schema if it is written; PostgreSQL's own have none.
pub(crate) fn called_name(name: &ast::ObjectName) -> String {
    let mut parts = name.0.iter().rev();
    let mut part = || {
        let ident = parts.next()?.as_ident()?;
        Some(crate::token::folded(&ident.value, ident.quote_style.is_some()))
    };
    match (part(), part()) {
        (Some(name), None) => name,
        (Some(name), Some(schema)) if ["pg_catalog", "information_schema"].contains(&&*schema) => {
            name
        }
        // Of extensions, which stand in the schema of their creation: here they are built in.
        (Some(name), Some(schema))
            if ["public", "extensions"].contains(&&*schema) && OF_EXTENSIONS.contains(&&*name) =>
        {
            name
        }
        (Some(name), Some(schema)) => qualified(&schema, &name),
        (None, _) => String::new(),
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
        ast::SetExpr::Merge(change) => Some(("MERGE", change)),
        _ => None,
    }
}

/// Whether a query has a change in its WITH.
pub(crate) fn has_changes(query: &ast::Query) -> bool {
    let mut all = query.with.iter().flat_map(|with| &with.cte_tables);
    all.any(|cte| changed_by(&cte.query).is_some())
}

/// `-a ^ b` is `(-a) ^ b` for PostgreSQL, where the parser reads `-(a ^ b)`; none: it is not that.
pub(crate) fn sign_bound_tighter(op: ast::UnaryOperator, operand: &ast::Expr) -> Option<ast::Expr> {
    let ast::Expr::BinaryOp { left, op: power @ ast::BinaryOperator::PGExp, right } = operand
    else {
        return None;
    };
    if !matches!(op, ast::UnaryOperator::Minus | ast::UnaryOperator::Plus) {
        return None;
    }
    let signed = ast::Expr::UnaryOp { op, expr: left.clone() };
    let left = Box::new(sign_bound_tighter(op, left).unwrap_or(signed));
    Some(ast::Expr::BinaryOp { left, op: power.clone(), right: right.clone() })
}

/// `~a + b` is `~(a + b)` for PostgreSQL, where the parser reads `(~a) + b`; none: it is not that.
pub(crate) fn complement_bound_looser(
    left: &ast::Expr,
    op: &ast::BinaryOperator,
    right: &ast::Expr,
) -> Option<ast::Expr> {
    use ast::BinaryOperator as B;
    let is_tighter =
        matches!(op, B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo | B::PGExp);
    let ast::Expr::UnaryOp { op: not @ ast::UnaryOperator::BitwiseNot, expr } = left else {
        return None;
    };
    let (left, right) = (expr.clone(), Box::new(right.clone()));
    let inner = ast::Expr::BinaryOp { left, op: op.clone(), right };
    is_tighter.then(|| ast::Expr::UnaryOp { op: *not, expr: Box::new(inner) })
}

/// Whether RETURNING has a subquery.
pub(crate) fn returns_queries(statement: &ast::Statement) -> bool {
    let items = returned(statement).into_iter().flatten();
    items.into_iter().any(|item| {
        let found = ast::visit_expressions(item, |expr| match is_query(expr) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        found.is_break()
    })
}

/// Whether an expression is a query, or compares with one.
pub(crate) fn is_query(written: &ast::Expr) -> bool {
    match written {
        ast::Expr::Subquery(_) | ast::Expr::Exists { .. } | ast::Expr::InSubquery { .. } => true,
        ast::Expr::Function(function) => {
            matches!(function.args, ast::FunctionArguments::Subquery(_))
        }
        _ => false,
    }
}

/// RETURNING.
pub(crate) fn returned(statement: &ast::Statement) -> Option<&Vec<ast::SelectItem>> {
    match statement {
        ast::Statement::Insert(insert) => insert.returning.as_ref(),
        ast::Statement::Update(update) => update.returning.as_ref(),
        ast::Statement::Delete(delete) => delete.returning.as_ref(),
        _ => None,
    }
}

/// How many arguments a call has, in whatever form.
pub(crate) fn argument_count(function: &ast::Function) -> usize {
    match &function.args {
        FunctionArguments::List(list) => list.args.len(),
        FunctionArguments::None | FunctionArguments::Subquery(_) => 0,
    }
}

/// `OPERATOR(pg_catalog.+)` as the operator that it is called like, whatever schema PostgreSQL has
/// that in; none: the parser has no name of its own for it.
pub(crate) fn plain_operator(parts: &[String]) -> Option<ast::BinaryOperator> {
    use ast::BinaryOperator as B;
    Some(match parts.last()?.as_str() {
        "+" => B::Plus,
        "-" => B::Minus,
        "*" => B::Multiply,
        "/" => B::Divide,
        "%" => B::Modulo,
        "^" => B::PGExp,
        "||" => B::StringConcat,
        "=" => B::Eq,
        "<>" | "!=" => B::NotEq,
        "<" => B::Lt,
        "<=" => B::LtEq,
        ">" => B::Gt,
        ">=" => B::GtEq,
        _ => return None,
    })
}
