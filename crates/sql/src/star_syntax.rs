//! `(f(x)).*` in a select list, as it is read.
//!
//! Role         the parser takes `.*` of names only: it is shown a field of a name that nobody else
//!              has

use sqlparser::ast::{self, AccessExpr, SelectItem};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What a star behind brackets is shown as.
const STAR: &str = "\u{6}*";

/// Writes `(...).*` as a field.
pub(crate) fn as_fields(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let is_star = |at: usize| {
        at >= 2
            && tokens[at].token == Token::Mul
            && tokens[at - 1].token == Token::Period
            && tokens[at - 2].token == Token::RParen
    };
    (0..tokens.len()).find(|at| is_star(*at))?;
    let shown = tokens.iter().enumerate().map(|(at, token)| match is_star(at) {
        true => TokenWithSpan { token: Token::make_word(STAR, Some('"')), span: token.span },
        false => token.clone(),
    });
    Some(shown.collect())
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
