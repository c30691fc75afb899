//! Cursors of PL/pgSQL as they are written: DECLARE ... CURSOR, OPEN, FETCH, MOVE and CLOSE.

use std::sync::Arc;

use hotrow_transaction::program::Place;
use sqlparser::ast;
use sqlparser::tokenizer::Token;

use crate::error::{Result, syntax, unsupported};
use crate::routine::parameter;
use crate::script::invocation;
use crate::syntax::{
    BlockStatementKind as Kind, CursorStep, CursorSyntax, Declaration, FetchSyntax, Mode, OpenOf,
    OpenSyntax, StatementSource, Target,
};
use crate::token::{Cursor, is_word, parse_expression, parse_statement};

/// Whether a declaration goes on as that of a cursor, behind its name.
pub(crate) fn is_cursor(cursor: &Cursor<'_>) -> bool {
    cursor.is("cursor")
        || cursor.is("scroll") && cursor.is_at(1, "cursor")
        || cursor.is("no") && cursor.is_at(1, "scroll")
}

/// `[[NO] SCROLL] CURSOR [(parameters)] FOR query;`
pub(crate) fn cursor_declaration(
    cursor: &mut Cursor<'_>,
    name: String,
    place: Place,
) -> Result<Declaration> {
    let scrolls = scrolls(cursor);
    cursor.expect("cursor")?;
    let mut parameters = Vec::new();
    if cursor.peek() == Some(&Token::LParen) {
        let list = cursor.take_brackets()?;
        let items = cursor.inside(list).split_commas().into_iter();
        parameters = items.map(parameter).collect::<Result<Vec<_>>>()?;
        if let Some(odd) = parameters.iter().find(|one| one.mode != Mode::In || one.is_unnamed()) {
            return Err(syntax(odd.place, "a parameter of a cursor is a name and a type"));
        }
    }
    if !cursor.accept("for") {
        cursor.expect("is")?;
    }
    let tokens = cursor.take_until(|_, token| *token == Token::SemiColon);
    let query = Arc::new(parse_statement(tokens, cursor.place())?);
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Declaration::Cursor(Box::new(CursorSyntax { name, place, scrolls, parameters, query })))
}

/// `[NO] SCROLL`; false: NO.
fn scrolls(cursor: &mut Cursor<'_>) -> bool {
    let is_refused = cursor.accept_all(&["no", "scroll"]);
    cursor.accept("scroll");
    !is_refused
}

/// OPEN
pub(crate) fn open_statement(cursor: &mut Cursor<'_>) -> Result<Kind> {
    cursor.expect("open")?;
    let place = cursor.place();
    let tokens = cursor.take_until(|_, token| *token == Token::SemiColon);
    let mut inside = cursor.inside(tokens);
    let mut ahead = inside.clone();
    let name = ahead.identifier()?;
    let scrolls = scrolls(&mut ahead);
    let (name, of) = match ahead.accept("for") {
        true => (name, OpenOf::Query(statement_source(&mut ahead)?)),
        false => {
            let (name, _, arguments) = invocation(&mut inside)?;
            (name, OpenOf::Arguments(arguments.unwrap_or_default()))
        }
    };
    cursor.expect_token(&Token::SemiColon)?;
    let target = Target { parts: vec![name], place };
    Ok(Kind::Open(Box::new(OpenSyntax { cursor: target, scrolls, of })))
}

/// A statement, or EXECUTE and what gives it: all that is left of the tokens.
pub(crate) fn statement_source(cursor: &mut Cursor<'_>) -> Result<StatementSource> {
    if cursor.is("execute") {
        let (statement, _) = crate::dynamic_syntax::execute(cursor)?;
        return Ok(StatementSource::Execute(Box::new(statement)));
    }
    let tokens = cursor.rest();
    Ok(StatementSource::Written(Box::new(parse_statement(tokens, cursor.place())?)))
}

/// FETCH and MOVE
pub(crate) fn fetch_statement(cursor: &mut Cursor<'_>) -> Result<Kind> {
    let moves = cursor.accept("move");
    if !moves {
        cursor.expect("fetch")?;
    }
    let step = step(cursor, moves)?;
    if !cursor.accept("from") {
        cursor.accept("in");
    }
    let place = cursor.place();
    let name = Target { parts: vec![cursor.identifier()?], place };
    let targets = match moves {
        true => None,
        false => {
            cursor.expect("into")?;
            Some(crate::block::targets(cursor)?)
        }
    };
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Fetch(Box::new(FetchSyntax { cursor: name, step, targets })))
}

/// Where FETCH goes, or MOVE (`moves`), which may pass several rows; the next row, where nothing is
/// written.
fn step(cursor: &mut Cursor<'_>, moves: bool) -> Result<CursorStep> {
    // One that is called like a direction is followed by INTO, or by the end.
    let is_name = cursor.is_at(1, "into") || cursor.peek_at(1) == Some(&Token::SemiColon);
    if is_name {
        return Ok(CursorStep::Next);
    }
    let number = |cursor: &mut Cursor<'_>| {
        let tokens = cursor.take_until(|_, token| is_word(token, "from") || is_word(token, "in"));
        parse_expression(tokens, cursor.place())
    };
    if cursor.accept("absolute") {
        return Ok(CursorStep::Absolute(number(cursor)?));
    }
    if cursor.accept("relative") {
        return Ok(CursorStep::Relative(number(cursor)?));
    }
    if cursor.accept("prior") {
        return Ok(CursorStep::Prior);
    }
    if cursor.accept("first") {
        return Ok(CursorStep::First);
    }
    if cursor.accept("last") {
        return Ok(CursorStep::Last);
    }
    let is_back = cursor.is("backward");
    if cursor.accept("next") || cursor.accept("forward") || cursor.accept("backward") {
        let is_count = matches!(cursor.peek(), Some(Token::Number(..)));
        if is_count && moves {
            let count = number(cursor)?;
            return Ok(CursorStep::Relative(match is_back {
                false => count,
                true => ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr: Box::new(count) },
            }));
        }
        if is_count || cursor.is("all") {
            let advice = "go row by row in a loop, or write MOVE RELATIVE n FROM cursor";
            return Err(unsupported(cursor.place(), "a number of rows here", advice));
        }
        return Ok(if is_back { CursorStep::Prior } else { CursorStep::Next });
    }
    Ok(CursorStep::Next)
}

/// CLOSE
pub(crate) fn close_statement(cursor: &mut Cursor<'_>) -> Result<Kind> {
    cursor.expect("close")?;
    let place = cursor.place();
    let name = Target { parts: vec![cursor.identifier()?], place };
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Close(name))
}
