//! COMMIT and ROLLBACK in routines.
//!
//! Role         a call is one transaction. So COMMIT may be the last thing that a procedure does,
//!              which changes nothing; and so may ROLLBACK, which takes back what the call has
//!              changed, while its variables, and what INOUT parameters return, stay as they are.
//!              Where PostgreSQL would refuse them when they run, they fail then: in functions,
//!              inside blocks with handlers, and in transactions
//! Source       PostgreSQL 15, 43.8. We differ: there, a procedure goes on in a new transaction

use hotrow_transaction::program::{Catch, Handler, Protected, Statement, StatementKind};
use sqlparser::ast;
use sqlparser::tokenizer::Token;

use crate::error::{Advice, Result, syntax, unsupported};
use crate::scope::Compiler;
use crate::state::MayEnd;
use crate::syntax::{Block, BlockStatement, BlockStatementKind as Kind, Body, Ending, Routine};
use crate::token::Cursor;

/// What ROLLBACK raises, to be caught around the whole procedure: no error of a user's is called
/// so, since codes have no small letters.
const ROLLED_BACK: [u8; 5] = *b"rolls";

/// COMMIT and ROLLBACK
pub(crate) fn ending(cursor: &mut Cursor<'_>) -> Result<Kind> {
    let ending = match cursor.accept("commit") {
        true => Ending::Commit,
        false => {
            cursor.expect("rollback")?;
            Ending::RollBack
        }
    };
    if !cursor.accept("work") {
        cursor.accept("transaction");
    }
    // The next transaction has what this one has, whatever is said.
    cursor.accept_all(&["and", "chain"]);
    cursor.accept_all(&["and", "no", "chain"]);
    if cursor.peek() != Some(&Token::SemiColon) {
        return Err(syntax(cursor.place(), "savepoints are no part of procedures")
            .hint("BEGIN ... EXCEPTION WHEN ... THEN ... END takes back what a block has done"));
    }
    cursor.bump();
    Ok(Kind::End { ending, is_last: false })
}

/// Finds out which COMMIT and ROLLBACK are the last thing that is done.
pub(crate) fn find_last(body: &mut Block) {
    last_of_block(body, true);
}

fn last_of_block(block: &mut Block, is_end: bool) {
    last_of(&mut block.statements, is_end);
    for handler in &mut block.handlers {
        last_of(&mut handler.statements, is_end);
    }
}

/// `is_end`: nothing comes behind these statements.
fn last_of(body: &mut Body, is_end: bool) {
    // ROLLBACK does nothing to variables: what only assigns them may as well come before it.
    for at in (0..body.len()).rev() {
        let mut behind = at;
        while let Kind::End { ending: Ending::RollBack, .. } = body[behind].kind {
            match body.get(behind + 1) {
                Some(next) if looks_at_variables(&next.kind) => body.swap(behind, behind + 1),
                _ => break,
            }
            behind += 1;
        }
    }
    for at in 0..body.len() {
        let goes_on = |next: &BlockStatement| !matches!(next.kind, Kind::Null);
        let next = body[at + 1..].iter().find(|next| goes_on(next)).map(|next| &next.kind);
        let is_end = match next {
            None => is_end,
            Some(kind) => matches!(kind, Kind::Return(None)),
        };
        match &mut body[at].kind {
            Kind::End { is_last, .. } => *is_last = is_end,
            Kind::Block(block) => last_of_block(block, is_end),
            Kind::If { arms, otherwise } => {
                arms.iter_mut().for_each(|(_, body)| last_of(body, is_end));
                last_of(otherwise, is_end);
            }
            Kind::Case { arms, otherwise, .. } => {
                arms.iter_mut().for_each(|(_, body)| last_of(body, is_end));
                otherwise.iter_mut().for_each(|body| last_of(body, is_end));
            }
            Kind::ForRange(written) => last_of(&mut written.body.statements, false),
            Kind::ForEach { body, .. }
            | Kind::ForQuery { body, .. }
            | Kind::ForCursor { body, .. }
            | Kind::Loop { body, .. } => last_of(&mut body.statements, false),
            _ => {}
        }
    }
}

/// Whether a statement does the same before ROLLBACK as behind it.
fn looks_at_variables(kind: &Kind) -> bool {
    match kind {
        Kind::Null => true,
        Kind::Assign { value, .. } => is_of_variables(value),
        Kind::Raise(raise) => {
            let options = raise.options.iter().map(|(_, value, _)| value);
            raise.level.is_some() && raise.arguments.iter().chain(options).all(is_of_variables)
        }
        _ => false,
    }
}

fn is_of_variables(value: &ast::Expr) -> bool {
    use ast::Expr as E;
    match value {
        E::Value(_) | E::Identifier(_) | E::CompoundIdentifier(_) => true,
        E::Nested(inner) | E::UnaryOp { expr: inner, .. } | E::Cast { expr: inner, .. } => {
            is_of_variables(inner)
        }
        E::BinaryOp { left, right, .. } => is_of_variables(left) && is_of_variables(right),
        _ => false,
    }
}

impl Compiler<'_> {
    /// COMMIT and ROLLBACK
    pub(crate) fn ending(
        &mut self,
        (ending, is_last): (Ending, bool),
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        if self.endings.may == MayEnd::Never {
            self.emit_raise(out, b"2D000", "invalid transaction termination".to_owned(), None);
            return Ok(());
        }
        if self.endings.protected > 0 {
            let what = if ending == Ending::Commit { "commit" } else { "roll back" };
            let message = format!("cannot {what} while a subtransaction is active");
            self.emit_raise(out, b"2D000", message, None);
            return Ok(());
        }
        let verb = if ending == Ending::Commit { "COMMIT" } else { "ROLLBACK" };
        if self.endings.may == MayEnd::Not {
            let hint = "a block is one transaction, which ends with it: leave it out, or RAISE \
                        EXCEPTION to take back what it has done";
            return Err(unsupported(self.place, format!("{verb} in DO"), hint));
        }
        if !is_last {
            let hint = "a call is one transaction: it may be the last thing that a procedure \
                        does. Call the procedure once for each transaction";
            return Err(unsupported(self.place, format!("{verb} before the end"), hint));
        }
        self.endings.are_any = true;
        match ending {
            Ending::Commit => self.return_statement(None, out),
            Ending::RollBack => {
                self.endings.roll_back = true;
                self.emit_raise(out, &ROLLED_BACK, "ROLLBACK".to_owned(), None);
                Ok(())
            }
        }
    }

    /// The body of a routine, which ROLLBACK may take back as a whole.
    pub(crate) fn routine_body(
        &mut self,
        routine: &Routine,
        out: &mut Vec<Statement>,
    ) -> Result<()> {
        self.endings.may = if routine.is_function { MayEnd::Never } else { MayEnd::AtLast };
        let mut body = Vec::new();
        for slot in self.parameters.clone() {
            self.emit_domain_check(&mut body, slot)?;
        }
        self.block(&routine.body, &mut body)?;
        self.emit_end(&mut body, routine.end);
        if !self.endings.roll_back {
            out.append(&mut body);
            return Ok(());
        }
        let mut rest = Vec::new();
        self.emit_end(&mut rest, routine.end);
        let handlers = vec![Handler { catches: vec![Catch::State(ROLLED_BACK)], body: rest }];
        let protected = Protected { body, handlers, told: Vec::new() };
        self.emit(out, StatementKind::Protected(Box::new(protected)));
        Ok(())
    }
}
