//! `text LIKE ANY (ARRAY['a%', '%b'])` and ALL, with NOT and ILIKE.
//!
//! Role         written out as one LIKE per pattern, joined by OR or AND, which is what PostgreSQL
//!              says that they mean. Patterns that nobody has written down are refused

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use sqlparser::ast::{self, BinaryOperator, FunctionArg, FunctionArgExpr};

use crate::written::{bare, function_name};

/// The same as one LIKE per pattern; none: it is another expression, or its patterns are not
/// written out.
pub(crate) fn one_per_pattern(written: &ast::Expr) -> Option<ast::Expr> {
    let (pattern, any) = match written {
        ast::Expr::Like { pattern, any, .. } | ast::Expr::ILike { pattern, any, .. } => {
            (&**pattern, *any)
        }
        _ => return None,
    };
    let array = match pattern {
        pattern if any => pattern,
        ast::Expr::Function(all) if function_name(all) == "all" => only_argument(all)?,
        _ => return None,
    };
    let operator = if any { BinaryOperator::Or } else { BinaryOperator::And };
    let with = |pattern: ast::Expr| {
        let mut one = written.clone();
        if let ast::Expr::Like { pattern: old, any, .. }
        | ast::Expr::ILike { pattern: old, any, .. } = &mut one
        {
            (**old, *any) = (pattern, false);
        }
        one
    };
    let joined = |left: ast::Expr, right: ast::Expr| ast::Expr::BinaryOp {
        left: Box::new(left),
        op: operator.clone(),
        right: Box::new(right),
    };
    let all = patterns(array)?.into_iter().map(with).reduce(joined)?;
    Some(ast::Expr::Nested(Box::new(all)))
}

fn only_argument(function: &ast::Function) -> Option<&ast::Expr> {
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(only))] => Some(only),
        _ => None,
    }
}

/// The patterns of an array that is written out.
fn patterns(array: &ast::Expr) -> Option<Vec<ast::Expr>> {
    match bare(array) {
        ast::Expr::Array(list) => Some(list.elem.clone()),
        ast::Expr::Cast { expr, .. } => patterns(expr),
        ast::Expr::Value(value) => {
            let ast::Value::SingleQuotedString(text) = &value.value else { return None };
            let parsed = Value::parse_array(DataType::Text, text).ok()?;
            let pattern = |value: &Value| match value {
                Value::Text(text) => ast::Value::SingleQuotedString(text.clone()),
                _ => ast::Value::Null,
            };
            let all = parsed.elements()?.iter();
            Some(all.map(|value| ast::Expr::value(pattern(value))).collect())
        }
        _ => None,
    }
}
