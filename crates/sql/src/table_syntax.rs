//! Other ways to write CREATE TABLE ... AS, CREATE VIEW and queries, said as the parser knows them.

use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Result, error};
use crate::token::{is_word, parse_statement, tokenize};
use hotrow_transaction::program::Place;

fn is(tokens: &[TokenWithSpan], at: usize, word: &str) -> bool {
    tokens.get(at).is_some_and(|token| is_word(&token.token, word))
}

fn keywords(words: &[&str], like: &TokenWithSpan) -> Vec<TokenWithSpan> {
    let token = |word: &&str| match *word {
        "*" => Token::Mul,
        "(" => Token::LParen,
        ")" => Token::RParen,
        word => Token::make_keyword(word),
    };
    words.iter().map(|word| TokenWithSpan { token: token(word), span: like.span }).collect()
}

/// `TABLE name` behind AS in CREATE TABLE, as the query that it stands for.
pub(crate) fn table_of_table(tokens: &mut Vec<TokenWithSpan>) {
    if !is(tokens, 0, "create") {
        return;
    }
    let Some(at) =
        (2..tokens.len()).find(|at| is(tokens, at - 1, "as") && is(tokens, *at, "table"))
    else {
        return;
    };
    let query = keywords(&["SELECT", "*", "FROM"], &tokens[at]);
    tokens.splice(at..=at, query);
}

/// CREATE RECURSIVE VIEW name (columns) AS query, as a view of WITH RECURSIVE.
pub(crate) fn recursive_view(tokens: &mut Vec<TokenWithSpan>) {
    let is_replaced = is(tokens, 1, "or") && is(tokens, 2, "replace");
    let at = if is_replaced { 3 } else { 1 };
    if !is(tokens, 0, "create") || !is(tokens, at, "recursive") || !is(tokens, at + 1, "view") {
        return;
    }
    let name = at + 2;
    let Some(begin) = (name..tokens.len()).find(|at| is(tokens, *at, "as")) else { return };
    let (named, query) = (tokens[name..begin].to_vec(), tokens[begin + 1..].to_vec());
    let Some(brackets) = named.iter().position(|of| of.token == Token::LParen) else { return };
    let (own, columns) = named.split_at(brackets);
    let like = tokens[at].clone();
    let inner = columns.get(1..columns.len().saturating_sub(1)).unwrap_or_default();
    // Within the query it has no schema.
    let bare = own.last().cloned().into_iter().collect::<Vec<_>>();
    let view = [
        keywords(&["VIEW"], &like),
        named.clone(),
        keywords(&["AS", "WITH", "RECURSIVE"], &like),
        bare.clone(),
        columns.to_vec(),
        keywords(&["AS", "("], &like),
        query,
        keywords(&[")", "SELECT"], &like),
        inner.to_vec(),
        keywords(&["FROM"], &like),
        bare,
    ];
    tokens.truncate(at);
    tokens.extend(view.concat());
}

/// SELECT ... INTO table, as CREATE TABLE ... AS.
pub(crate) fn table_of_select(parsed: ast::Statement, place: Place) -> Result<ast::Statement> {
    let ast::Statement::Query(mut query) = parsed else { return Ok(parsed) };
    let into = match &mut *query.body {
        ast::SetExpr::Select(select) => select.into.take(),
        _ => None,
    };
    let Some(into) = into else { return Ok(ast::Statement::Query(query)) };
    let temporary = if into.temporary { "TEMPORARY " } else { "" };
    let [name] = into.targets.as_slice() else {
        return Err(error(b"42601", place, "SELECT INTO makes one table"));
    };
    let text = format!("CREATE {temporary}TABLE {name} AS {query}");
    parse_statement(&tokenize(&text, place)?, place)
}
