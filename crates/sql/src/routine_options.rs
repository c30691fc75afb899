//! Options of functions and procedures, as CREATE and ALTER say them alike.

use hotrow_transaction::catalog::SearchPath;
use sqlparser::tokenizer::Token;

use crate::error::{Result, unsupported};
use crate::token::Cursor;

/// What stands behind SET in CREATE FUNCTION: the path of the body's bare names; none: FROM
/// CURRENT, which they have anyway.
pub(crate) fn path_of_body(cursor: &mut Cursor<'_>) -> Result<Option<SearchPath>> {
    let place = cursor.place();
    if !cursor.accept("search_path") {
        let what = format!("SET {} in CREATE FUNCTION", cursor.identifier()?);
        return Err(unsupported(place, what, "leave it out, or set it in the session"));
    }
    if cursor.accept_all(&["from", "current"]) {
        return Ok(None);
    }
    if !cursor.accept_token(&Token::Eq) {
        cursor.expect("to")?;
    }
    let mut schemas = Vec::new();
    loop {
        schemas.push(cursor.identifier_or_string()?);
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    // An empty text stands for no schema.
    schemas.retain(|schema| !schema.is_empty() && schema != "$user" && schema != "pg_catalog");
    Ok(Some(SearchPath::new(schemas)))
}

/// SECURITY DEFINER or INVOKER; none: it is something else.
pub(crate) fn security(cursor: &mut Cursor<'_>) -> Option<bool> {
    cursor.accept("external");
    [("definer", true), ("invoker", false)]
        .into_iter()
        .find(|(word, _)| cursor.accept_all(&["security", word]))
        .map(|(_, is_definer)| is_definer)
}

/// STRICT, or RETURNS NULL ON NULL INPUT.
pub(crate) fn is_strict_here(cursor: &mut Cursor<'_>) -> bool {
    cursor.accept("strict") || cursor.accept_all(&["returns", "null", "on", "null", "input"])
}

impl Cursor<'_> {
    /// A name, or a text in its place.
    pub(crate) fn identifier_or_string(&mut self) -> Result<String> {
        if let Some(Token::SingleQuotedString(text)) = self.peek() {
            self.bump();
            return Ok(text.clone());
        }
        self.identifier()
    }
}
