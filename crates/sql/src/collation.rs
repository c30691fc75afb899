//! COLLATE: texts are in the order of their bytes, which is PostgreSQL's collation C.

use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Advice, Result, error, place_of};
use crate::token::is_word;

/// Leaves COLLATE of a collation of this order out of a statement: it asks for what is there.
///
/// # Errors
///
/// 42704 for a collation of another order.
pub(crate) fn leave_collations_out(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let mut at = 1;
    while at + 1 < tokens.len() {
        let name = match (&tokens[at].token, &tokens[at + 1].token) {
            (Token::Word(_), Token::Word(name)) if is_word(&tokens[at].token, "collate") => name,
            _ => {
                at += 1;
                continue;
            }
        };
        let place = place_of(tokens[at + 1].span.start);
        let with_schema = tokens.get(at + 2).is_some_and(|t| t.token == Token::Period);
        let (name, end) = match tokens.get(at + 3).map(|t| &t.token) {
            Some(Token::Word(own)) if with_schema => (own, at + 4),
            _ => (name, at + 2),
        };
        check_collation(&name.value, place)?;
        tokens.drain(at..end);
    }
    Ok(())
}

/// Fails with 42704 for a collation of another order.
pub(crate) fn check_collation(name: &str, place: Place) -> Result<()> {
    const OF_BYTES: &[&str] = &["c", "posix", "default", "ucs_basic", "c.utf8", "c.utf-8"];
    if OF_BYTES.contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(());
    }
    let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
    Err(error(b"42704", place, message)
        .hint("texts are in the order of their bytes: write COLLATE \"C\", or leave it out"))
}
