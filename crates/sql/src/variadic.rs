//! VARIADIC: a last parameter that takes any number of arguments, as an array.
//!
//! Role         makes of the arguments of a call those that its parameters take
//! Source       PostgreSQL 15, 38.5.6

use std::borrow::Cow;

use hotrow_base::types::SqlType;
use hotrow_transaction::program::Procedure;
use sqlparser::ast;

use crate::call_syntax::CallArgument;
use crate::marks::MARK;

fn is_marked(argument: &CallArgument) -> bool {
    argument.name.as_deref() == Some(MARK)
}

/// Of a call: from which argument on they become elements of the last parameter; none: as they are.
pub(crate) fn first_gathered(procedure: &Procedure, written: &[CallArgument]) -> Option<usize> {
    let last = procedure.given().len().checked_sub(1)?;
    let is_named = written.iter().any(|argument| argument.name.is_some());
    (procedure.is_variadic && !is_named && written.len() > last).then_some(last)
}

/// The arguments of a call, with those in one array that the last parameter takes together.
pub(crate) fn gathered<'w>(
    procedure: &Procedure,
    written: &'w [CallArgument],
) -> Cow<'w, [CallArgument]> {
    if let Some(first) = first_gathered(procedure, written) {
        let (fixed, rest) = written.split_at(first);
        let elem = rest.iter().map(|argument| argument.value.clone()).collect();
        let value = ast::Expr::Array(ast::Array { elem, named: true });
        let place = rest[0].place;
        let array = CallArgument { name: None, value, place };
        return fixed.iter().cloned().chain([array]).collect();
    }
    let count = procedure.given().len();
    if !procedure.is_variadic || written.len() != count || !written.iter().any(is_marked) {
        return Cow::Borrowed(written);
    }
    let mut written = written.to_vec();
    if let Some(last) = written.last_mut().filter(|last| is_marked(last)) {
        last.name = None;
    }
    Cow::Owned(written)
}

/// The type of what a variadic parameter has many of.
pub(crate) fn element_of(procedure: &Procedure) -> Option<SqlType> {
    match procedure.given().last()?.sql_type {
        SqlType::Array(element) => Some(SqlType::Scalar(element)),
        SqlType::Scalar(_) => None,
    }
}
