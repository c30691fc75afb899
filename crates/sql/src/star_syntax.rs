//! `(f(x)).*` in a select list and `f(row.*)`, as they are read.
//!
//! Role         the parser takes `.*` of names only: it is shown a field of a name that nobody else
//!              has. Of the row of a table, which is one argument, its name alone says the same

use sqlparser::ast::{self, AccessExpr, SelectItem};
use sqlparser::keywords::{Keyword, RESERVED_FOR_IDENTIFIER};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What a star behind brackets is shown as.
const STAR: &str = "\u{6}*";

/// Writes `(...).*` as a field, and `row.*` among the arguments of a call as `row`.
pub(crate) fn as_fields(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let is_star =
        |at: usize| tokens[at].token == Token::Mul && tokens[at - 1].token == Token::Period;
    (1..tokens.len()).find(|at| is_star(*at))?;
    let mut shown: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // Whether what stands in brackets are the arguments of a call, by depth.
    let mut calls = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => calls.push(at > 0 && is_function(&tokens[at - 1].token)),
            Token::RParen => drop(calls.pop()),
            Token::Word(word) if word.keyword == Keyword::SELECT => {
                // What is selected here are no arguments: ARRAY(SELECT a, b.*).
                calls.last_mut().into_iter().for_each(|is_call| *is_call = false);
            }
            Token::Mul if at >= 2 && is_star(at) => {
                let ends =
                    |next: &TokenWithSpan| [Token::Comma, Token::RParen].contains(&next.token);
                if tokens[at - 2].token == Token::RParen {
                    let token = Token::make_word(STAR, Some('"'));
                    shown.push(TokenWithSpan { token, span: tokens[at].span });
                    continue;
                } else if calls.last() == Some(&true) && tokens.get(at + 1).is_some_and(ends) {
                    shown.pop(); // the period
                    continue;
                }
            }
            _ => {}
        }
        shown.push(token.clone());
    }
    Some(shown)
}

/// Whether brackets behind a token are those of a call.
fn is_function(before: &Token) -> bool {
    match before {
        // Its values are as many as the row has fields.
        Token::Word(word) if word.keyword == Keyword::VALUES => false,
        Token::Word(word) => {
            word.keyword == Keyword::NoKeyword || !RESERVED_FOR_IDENTIFIER.contains(&word.keyword)
        }
        _ => false,
    }
}

/// Whether a field is such a star.
pub(crate) fn is_row_star(field: &ast::Ident) -> bool {
    field.value == STAR
}

/// Whether an item of a select list stands for as many columns as there are in something else.
pub(crate) fn stands_for_many(item: &SelectItem) -> bool {
    match item {
        SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => true,
        SelectItem::UnnamedExpr(written) => starred(written).is_some(),
        _ => false,
    }
}

/// What a star stands behind; none: it is another expression.
pub(crate) fn starred(written: &ast::Expr) -> Option<&ast::Expr> {
    let ast::Expr::CompoundFieldAccess { root, access_chain } = written else { return None };
    match access_chain.as_slice() {
        [AccessExpr::Dot(ast::Expr::Identifier(field))] if is_row_star(field) => Some(root),
        _ => None,
    }
}
