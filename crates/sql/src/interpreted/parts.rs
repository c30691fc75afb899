//! Which statements of a block are parts that can be compiled as they are.

use sqlparser::ast;

use crate::holds::bodies;
use crate::interpreted::scopes::is_variable;
use crate::syntax::{BlockStatement, BlockStatementKind as Kind, StatementSource};

/// Whether a statement, with those in it, can be compiled as a part of the block (I1).
pub(super) fn is_part(statement: &BlockStatement) -> bool {
    let mut around = Vec::new();
    is_part_in(statement, &mut around)
}

fn is_part_in<'b>(statement: &'b BlockStatement, around: &mut Vec<Around<'b>>) -> bool {
    match &statement.kind {
        Kind::Definition(_)
        | Kind::Execute { .. }
        | Kind::Return(_)
        | Kind::ReturnNext(_)
        | Kind::ReturnQuery(_)
        | Kind::RaiseAgain
        | Kind::Stacked(_)
        | Kind::End { .. }
        | Kind::Open(_)
        | Kind::Fetch(_)
        | Kind::Close(_)
        | Kind::ForCursor { .. }
        | Kind::ForQuery { query: StatementSource::Execute(_), .. } => false,
        Kind::Sql { statement, .. } => {
            !matches!(**statement, ast::Statement::CreateTable(_) | ast::Statement::Drop { .. })
        }
        Kind::Leave(written) => match &written.label {
            None => around.iter().any(|of| of.is_loop),
            Some((label, _)) => around.iter().any(|of| of.label == Some(label)),
        },
        Kind::Block(block) => {
            around.push(Around { label: block.label.as_ref(), is_loop: false });
            // What handlers catch is compiled with them, as far as they do not ask for it.
            let handlers = block.handlers.iter().flat_map(|handler| &handler.statements);
            let is_all = block.declarations.iter().all(is_variable)
                && block.statements.iter().chain(handlers).all(|of| is_part_in(of, around));
            around.pop();
            is_all
        }
        kind => {
            let label = match kind {
                Kind::ForRange(written) => written.body.label.as_ref(),
                Kind::ForEach { body, .. }
                | Kind::ForQuery { body, .. }
                | Kind::Loop { body, .. } => body.label.as_ref(),
                _ => None,
            };
            let is_loop = !matches!(kind, Kind::If { .. } | Kind::Case { .. });
            around.push(Around { label, is_loop });
            let is_all =
                bodies(kind).into_iter().flatten().all(|statement| is_part_in(statement, around));
            around.pop();
            is_all
        }
    }
}

/// What stands around a statement.
struct Around<'b> {
    label: Option<&'b String>,
    is_loop: bool,
}

/// Whether a statement has others in it.
pub(super) fn has_bodies(kind: &Kind) -> bool {
    matches!(kind, Kind::Block(_)) || !bodies(kind).is_empty()
}
