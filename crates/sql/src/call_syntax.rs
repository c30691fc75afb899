//! CALL as it is written.

use hotrow_transaction::program::Place;
use sqlparser::ast;

use crate::error::place_in;
use crate::token::folded;

/// CALL in a procedure.
#[derive(Debug)]
pub(crate) struct CallSyntax {
    pub(crate) name: String,
    pub(crate) arguments: Vec<CallArgument>,
    pub(crate) place: Place,
}

/// One argument of a CALL.
#[derive(Clone, Debug)]
pub(crate) struct CallArgument {
    /// `name => value`
    pub(crate) name: Option<String>,
    pub(crate) value: ast::Expr,
    pub(crate) place: Place,
}

/// Arguments as CALL takes them; none where one is no expression.
pub(crate) fn written_arguments(
    list: &[ast::FunctionArg],
    place: Place,
) -> Option<Vec<CallArgument>> {
    let arguments = list.iter().map(|argument| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value)) => {
            Some(CallArgument { name: None, place: place_in(value, place), value: value.clone() })
        }
        ast::FunctionArg::Named { name, arg: ast::FunctionArgExpr::Expr(value), .. } => {
            Some(CallArgument {
                name: Some(folded(&name.value, name.quote_style.is_some())),
                place: place_in(value, place),
                value: value.clone(),
            })
        }
        ast::FunctionArg::ExprNamed {
            name: ast::Expr::Identifier(name),
            arg: ast::FunctionArgExpr::Expr(value),
            ..
        } => Some(CallArgument {
            name: Some(folded(&name.value, name.quote_style.is_some())),
            place: place_in(value, place),
            value: value.clone(),
        }),
        _ => None,
    });
    arguments.collect()
}
