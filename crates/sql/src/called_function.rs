//! Queries that are nothing but a call of a procedure.

use hotrow_transaction::catalog::{SearchPath, local, split};
use hotrow_transaction::program::{Place, Procedure};
use sqlparser::ast;

use crate::call_syntax::{CallArgument, written_arguments};
use crate::overload::{means, routines_seen};
use crate::state::ProcedureNames;
use crate::written::{function_name, object_name};

/// `SELECT f(...)` and `SELECT * FROM f(...)` of a procedure that exists.
pub(crate) fn called_function(
    query: &ast::Query,
    (procedures, own): (&impl ProcedureNames, Option<&Procedure>),
    path: &SearchPath,
    place: Place,
) -> Option<(String, Vec<CallArgument>, Option<String>)> {
    let ast::SetExpr::Select(select) = &*query.body else {
        return None;
    };
    let ident =
        |ident: &ast::Ident| crate::token::folded(&ident.value, ident.quote_style.is_some());
    let mut label = None;
    let mut is_in_from = false;
    let (name, list): (String, &[ast::FunctionArg]) =
        match (select.projection.as_slice(), select.from.as_slice()) {
            (
                [
                    item @ (ast::SelectItem::UnnamedExpr(ast::Expr::Function(function))
                    | ast::SelectItem::ExprWithAlias {
                        expr: ast::Expr::Function(function),
                        ..
                    }),
                ],
                [],
            ) => {
                if let ast::SelectItem::ExprWithAlias { alias, .. } = item {
                    label = Some(ident(alias));
                }
                let ast::FunctionArguments::List(list) = &function.args else {
                    return None;
                };
                let name = function_name(function);
                label.get_or_insert_with(|| local(&name).to_owned());
                (name, &list.args)
            }
            ([ast::SelectItem::Wildcard(_)], [table]) if table.joins.is_empty() => {
                let (name, args, alias) = match &table.relation {
                    ast::TableFactor::Table {
                        name,
                        args: Some(args),
                        alias,
                        with_ordinality: false,
                        ..
                    } => (name, &args.args, alias),
                    ast::TableFactor::Function {
                        name,
                        args,
                        alias,
                        with_ordinality: false,
                        ..
                    } => (name, args, alias),
                    _ => return None,
                };
                if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
                    return None;
                }
                label = alias.as_ref().map(|alias| ident(&alias.name));
                is_in_from = true;
                let name = object_name(name, place).ok()?;
                match split(&name) {
                    (Some("pg_catalog"), name) => (name.to_owned(), args),
                    _ => (name, args),
                }
            }
            _ => return None,
        };
    let mut known = routines_seen(procedures, path, &name);
    known.extend(own.filter(|own| means(path, &name, own)));
    known.first()?;
    if known.iter().any(|procedure| procedure.is_polymorphic()) {
        return None; // what is called depends on the types of the arguments
    }
    if is_in_from && known.iter().any(|procedure| procedure.result.len() > 1) {
        label = None;
    } else if known.iter().all(|procedure| procedure.result.is_empty()) {
        // One of RETURNS void gives a row with a column of its name.
        label.get_or_insert_with(|| local(&name).to_owned());
    }
    let plain = select.selection.is_none()
        && select.distinct.is_none()
        && select.having.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.with.is_none();
    if !plain {
        return None;
    }
    Some((name, written_arguments(list, place)?, label))
}
