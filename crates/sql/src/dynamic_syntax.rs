//! The syntax of EXECUTE.

use hotrow_transaction::program::Place;
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::block::targets;
use crate::error::{Result, error, place_of};
use crate::syntax::{BlockStatementKind as Kind, ExecuteSyntax, Into};
use crate::token::{Cursor, is_word, parse_expression, parse_statement, tokenize};

/// `EXECUTE text [INTO [STRICT] targets] [USING values];`
pub(crate) fn execute_statement(cursor: &mut Cursor<'_>) -> Result<Kind> {
    let tokens = cursor.take_until(|_, token| *token == Token::SemiColon);
    let (statement, into) = execute(&mut cursor.inside(tokens))?;
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Execute { statement: Box::new(statement), into })
}

/// As [`execute_statement`], without what ends it.
pub(crate) fn execute(cursor: &mut Cursor<'_>) -> Result<(ExecuteSyntax, Option<Into>)> {
    cursor.expect("execute")?;
    let place = cursor.place();
    let is_end = |_: &Cursor<'_>, token: &Token| is_word(token, "into") || is_word(token, "using");
    let tokens = cursor.take_until(is_end);
    let text = parse_expression(tokens, cursor.place())?;
    let (mut into, mut using) = (None, Vec::new());
    while !cursor.at_end() {
        if into.is_none() && cursor.accept("into") {
            let strict = cursor.accept("strict");
            into = Some(Into { strict, targets: targets(cursor)? });
        } else if using.is_empty() && cursor.accept("using") {
            let tokens = cursor.take_until(|_, token| is_word(token, "into"));
            for mut item in cursor.inside(tokens).split_commas() {
                let end = item.place();
                using.push(parse_expression(item.rest(), end)?);
            }
        } else {
            return Err(cursor.unexpected("INTO, USING or a semicolon"));
        }
    }
    Ok((ExecuteSyntax { text, using, place }, into))
}

/// Has `$1`, `$2` ... be names: `name` gives those that there are.
pub(crate) fn name_parameters(
    tokens: &mut [TokenWithSpan],
    name: impl Fn(usize) -> Option<String>,
) {
    for token in tokens {
        let Token::Placeholder(written) = &token.token else { continue };
        let number = written.strip_prefix('$').and_then(|digits| digits.parse().ok());
        if let Some(value) = number.and_then(&name) {
            let keyword = sqlparser::keywords::Keyword::NoKeyword;
            token.token = Token::Word(Word { value, quote_style: Some('"'), keyword });
        }
    }
}

/// The statement that a text is, with names for its parameters, of which there are so many.
pub(crate) fn statement_of(text: &str, count: usize, place: Place) -> Result<ast::Statement> {
    let mut tokens = tokenize(text, Place { line: place.line, column: place.column + 1 })?;
    while tokens.last().is_some_and(|last| last.token == Token::SemiColon) {
        tokens.pop();
    }
    name_parameters(&mut tokens, |at| (1..=count).contains(&at).then(|| parameter_name(at)));
    let is_left = |token: &&TokenWithSpan| matches!(token.token, Token::Placeholder(_));
    if let Some(left) = tokens.iter().find(is_left) {
        let message = format!("there is no parameter {}", left.token);
        return Err(error(b"42P02", place_of(left.span.start), message));
    }
    parse_statement(&tokens, place)
}

/// What a parameter of EXECUTE is called: no name of SQL has a question mark.
pub(crate) fn parameter_name(number: usize) -> String {
    format!("?{number}")
}
