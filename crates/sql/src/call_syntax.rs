//! CALL as it is written.

use hotrow_transaction::program::Place;
use sqlparser::ast;

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
