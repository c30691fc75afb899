//! GROUP BY DISTINCT, and lists of groupings in GROUPING SETS, which the parser does not know: it
//! is shown a first key, and calls, of names that nobody else has.

use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::token::is_word;
use crate::written::function_name;

/// The first key of GROUP BY DISTINCT: no name of SQL is so.
pub(crate) const DISTINCT: &str = "\u{5}distinct";
const SETS: &str = "\u{5}sets";
const NOTHING: &str = "\u{5}nothing";

/// What is in GROUPING SETS beside keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NestedList {
    Sets,
    Rollup,
    Cube,
    /// `()`
    Nothing,
}

/// A list within GROUPING SETS, and its elements; none: it is a key.
pub(crate) fn nested_list(element: &ast::Expr) -> Option<(NestedList, Vec<&ast::Expr>)> {
    let ast::Expr::Function(function) = element else { return None };
    let kind = match function_name(function).as_str() {
        SETS => NestedList::Sets,
        NOTHING => NestedList::Nothing,
        "rollup" => NestedList::Rollup,
        "cube" => NestedList::Cube,
        _ => return None,
    };
    let ast::FunctionArguments::List(list) = &function.args else { return None };
    let elements = list.args.iter().map(|argument| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(element)) => Some(element),
        _ => None,
    });
    Some((kind, elements.collect::<Option<Vec<_>>>()?))
}

/// Writes them so that the parser reads them.
pub(crate) fn write_groupings(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| is_word(&token.token, "group")) {
        return;
    }
    let mut plain = Vec::with_capacity(tokens.len());
    // Of the brackets that are open: whether they are of GROUPING SETS.
    let mut open: Vec<bool> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let word = |at: usize, word| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
        let is = |at: usize, token: &Token| tokens.get(at).is_some_and(|t| t.token == *token);
        let span = tokens[at].span;
        let named = |name: &str| TokenWithSpan { token: Token::make_word(name, Some('"')), span };
        let is_within = open.last() == Some(&true);
        if word(at, "grouping") && word(at + 1, "sets") && is(at + 2, &Token::LParen) {
            match is_within {
                true => plain.push(named(SETS)),
                false => plain.extend_from_slice(&tokens[at..at + 2]),
            }
            plain.push(tokens[at + 2].clone());
            open.push(true);
            at += 3;
            continue;
        }
        if word(at, "group") && word(at + 1, "by") && word(at + 2, "distinct") {
            plain.extend_from_slice(&tokens[at..at + 2]);
            plain.push(named(DISTINCT));
            plain.push(TokenWithSpan { token: Token::Comma, span });
            at += 3;
            continue;
        }
        match &tokens[at].token {
            Token::LParen if is_within && is(at + 1, &Token::RParen) => plain.push(named(NOTHING)),
            _ => {}
        }
        match &tokens[at].token {
            Token::LParen => open.push(false),
            Token::RParen => {
                open.pop();
            }
            _ => {}
        }
        plain.push(tokens[at].clone());
        at += 1;
    }
    *tokens = plain;
}
