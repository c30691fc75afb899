//! ALTER SEQUENCE, and ALTER COLUMN of an identity column, as they are written.
//!
//! ```text
//! ALTER SEQUENCE name {AS type | INCREMENT BY n | MINVALUE n | NO MINVALUE | MAXVALUE n |
//!     NO MAXVALUE | START WITH n | RESTART [[WITH] n] | CACHE n | CYCLE | NO CYCLE} ...
//! ALTER TABLE name ALTER [COLUMN] column {SET option of the above | RESTART [[WITH] n]} ...
//! ```

use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Result, error, syntax};
use crate::parser_order::in_parsers_order;
use crate::token::{Cursor, is_word, parse_statement, tokenize};

/// How a sequence is to count from now on.
#[derive(Debug)]
pub(crate) struct NumbersSyntax {
    /// none: as it did
    pub(crate) of: Option<ast::DataType>,
    /// those that change
    pub(crate) options: Vec<ast::SequenceOptions>,
    /// RESTART: with this number, or with the one that it starts with
    pub(crate) restart: Option<Option<i64>>,
}

/// What stands behind the name of a sequence.
pub(crate) fn numbers(cursor: &mut Cursor<'_>) -> Result<NumbersSyntax> {
    let place = cursor.place();
    let mut tokens = tokenize("CREATE SEQUENCE numbers", place)?;
    let mut restart = None;
    while let Some(token) = cursor.peek() {
        if is_word(token, "restart") {
            cursor.bump();
            let given = cursor.accept("with") || begins_number(cursor);
            restart = Some(if given { Some(number(cursor)?) } else { None });
        } else {
            tokens.extend_from_slice(cursor.take(1));
        }
    }
    let parsed = parse_statement(&in_parsers_order(&tokens), cursor.place())?;
    let ast::Statement::CreateSequence {
        data_type: of, sequence_options: options, owned_by, ..
    } = parsed
    else {
        return Err(syntax(place, "ALTER SEQUENCE needs an option"));
    };
    if owned_by.is_some() {
        let message = "OWNED BY is to stand alone: write another ALTER SEQUENCE for it";
        return Err(syntax(place, message));
    }
    Ok(NumbersSyntax { of, options, restart })
}

/// What stands behind ALTER TABLE name, if it is about the numbers of an identity column: the
/// column, and how it is to count.
pub(crate) fn numbers_of_column(
    cursor: &mut Cursor<'_>,
) -> Result<Option<(String, NumbersSyntax)>> {
    const OPTIONS: &[&str] =
        &["increment", "minvalue", "maxvalue", "no", "start", "restart", "cache", "cycle"];
    let rest = cursor.rest_ahead();
    let mut ahead = cursor.inside(rest);
    if !ahead.accept("alter") {
        return Ok(None);
    }
    ahead.accept("column");
    let Ok(column) = ahead.identifier() else { return Ok(None) };
    let is_numbers = ahead.is("restart")
        || ahead.is("set") && OPTIONS.iter().any(|option| ahead.is_at(1, option));
    if !is_numbers {
        return Ok(None);
    }
    let is_set = |token: &&TokenWithSpan| is_word(&token.token, "set");
    let options: Vec<_> = ahead.rest().iter().filter(|token| !is_set(token)).cloned().collect();
    let written = numbers(&mut Cursor::new(&options, ahead.place()))?;
    cursor.rest();
    Ok(Some((column, written)))
}

fn begins_number(cursor: &Cursor<'_>) -> bool {
    matches!(cursor.peek(), Some(Token::Number(..) | Token::Minus | Token::Plus))
}

fn number(cursor: &mut Cursor<'_>) -> Result<i64> {
    let place = cursor.place();
    let is_negative = cursor.accept_token(&Token::Minus);
    cursor.accept_token(&Token::Plus);
    let Some(Token::Number(digits, _)) = cursor.peek() else {
        return Err(cursor.unexpected("a number"));
    };
    let text = if is_negative { format!("-{digits}") } else { digits.clone() };
    cursor.bump();
    let out_of_range = |_| error(b"22003", place, format!("\"{text}\" is out of range for bigint"));
    text.parse().map_err(out_of_range)
}
