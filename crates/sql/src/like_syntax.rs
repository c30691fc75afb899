//! What the parser does not know among the columns of CREATE TABLE: LIKE, which is brought into the
//! form of a column that no client can write, and names of sequences of identity columns.

use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::token::{folded, is_word};

/// What no identifier of PostgreSQL stands between.
const MARK: char = '`';

/// Brings each LIKE among the columns of CREATE TABLE into the form of a column, whose type is the
/// table's name and whose type's modifiers are the options; and leaves the names of sequences out
/// that these have anyway.
pub(crate) fn in_known_columns(tokens: &mut Vec<TokenWithSpan>) {
    let is = |tokens: &[TokenWithSpan], at: usize, word: &str| {
        tokens.get(at).is_some_and(|t: &TokenWithSpan| is_word(&t.token, word))
    };
    let is_table = is(tokens, 0, "create") && (1..4).any(|at| is(tokens, at, "table"));
    let Some(open) = tokens.iter().position(|t| t.token == Token::LParen).filter(|_| is_table)
    else {
        return;
    };
    let (mut depth, mut at, mut column) = (0, open, open + 1);
    while at < tokens.len() {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        let begins = depth == 1 && matches!(tokens[at].token, Token::LParen | Token::Comma);
        if begins {
            column = at + 1;
        }
        if begins && is(tokens, at + 1, "like") {
            let ends = |t: &TokenWithSpan| matches!(t.token, Token::Comma | Token::RParen);
            let end = tokens[at + 1..].iter().position(ends).map_or(tokens.len(), |n| at + 1 + n);
            let written = column_of_like(&tokens[at + 1..end]);
            tokens.splice(at + 1..end, written);
        }
        if is(tokens, at, "identity") && is(tokens, at + 2, "sequence") {
            leave_usual_name_out(tokens, (open - 1, column), at + 2);
        }
        if depth == 0 {
            return;
        }
        at += 1;
    }
}

/// Leaves `SEQUENCE NAME name`, which is at some place, out of the options of an identity column,
/// where that is the name which the sequence has anyway, with or without a schema before it:
/// `(SEQUENCE NAME table_column_seq INCREMENT BY 1)`. The names of table and column are at these
/// places.
pub(crate) fn leave_usual_name_out(
    tokens: &mut Vec<TokenWithSpan>,
    (table, column): (usize, usize),
    at: usize,
) {
    let word = |at: usize| match tokens.get(at).map(|t| &t.token) {
        Some(Token::Word(word)) => Some(word.value.as_str()),
        _ => None,
    };
    let is = |at: usize, known: &Token| tokens.get(at).is_some_and(|t| t.token == *known);
    let end = if is(at + 3, &Token::Period) { at + 5 } else { at + 3 };
    let (Some(table), Some(column), Some(given)) = (word(table), word(column), word(end - 1))
    else {
        return;
    };
    let is_name = tokens.get(at + 1).is_some_and(|t| is_word(&t.token, "name"));
    if is_name && given == format!("{table}_{column}_seq") {
        let left_out = if is(end, &Token::RParen) { at - 1..end + 1 } else { at..end };
        tokens.drain(left_out);
    }
}

/// `LIKE name options` as a column.
fn column_of_like(like: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let is_option =
        |t: &TokenWithSpan| is_word(&t.token, "including") || is_word(&t.token, "excluding");
    let span = like[0].span;
    let first = like.iter().position(is_option).unwrap_or(like.len());
    let mut column = vec![TokenWithSpan { token: Token::make_word("like", Some(MARK)), span }];
    column.extend(like[1..first].iter().map(|t| {
        let token = match &t.token {
            // No word of SQL: it is the name of a relation, whatever it is.
            Token::Word(word) => {
                let name = folded(&word.value, word.quote_style.is_some());
                Token::make_word(&name, Some('"'))
            }
            other => other.clone(),
        };
        TokenWithSpan { token, span: t.span }
    }));
    let mut put = |token| column.push(TokenWithSpan { token, span });
    put(Token::LParen);
    for (at, option) in like[first..].iter().enumerate() {
        if at > 0 {
            put(Token::Comma);
        }
        put(match &option.token {
            Token::Word(word) => Token::make_word(&word.value, Some('"')),
            other => other.clone(),
        });
    }
    if first == like.len() {
        put(Token::make_word("nothing", None));
    }
    put(Token::RParen);
    column
}

/// Whether a column stands for LIKE.
pub(crate) fn is_like(column: &ast::ColumnDef) -> bool {
    column.name.quote_style == Some(MARK)
}
