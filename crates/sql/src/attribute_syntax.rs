//! ALTER TYPE of a composite type, as it is written.
//!
//! ```text
//! ALTER TYPE name action, ...      each [RESTRICT | CASCADE]
//!   action   ADD ATTRIBUTE name type | DROP ATTRIBUTE [IF EXISTS] name
//!            | ALTER ATTRIBUTE name [SET DATA] TYPE type
//! ALTER TYPE name RENAME ATTRIBUTE name TO name [RESTRICT | CASCADE]
//! ```

use sqlparser::ast;
use sqlparser::tokenizer::Token;

use crate::error::Result;
use crate::token::{Cursor, is_word, parse_type};

/// What becomes of an attribute.
#[derive(Debug)]
pub(crate) enum AttributeChange {
    Add(String, ast::DataType),
    /// perhaps IF EXISTS
    Drop(String, bool),
    Type(String, ast::DataType),
    Rename(String, String),
}

/// What stands behind ALTER TYPE name; none: another action.
pub(crate) fn attribute_changes(cursor: &mut Cursor<'_>) -> Result<Option<Vec<AttributeChange>>> {
    let verbs = ["add", "drop", "alter", "rename"];
    if !verbs.iter().any(|verb| cursor.is(verb)) || !cursor.is_at(1, "attribute") {
        return Ok(None);
    }
    let mut all = Vec::new();
    loop {
        let verb = verbs.into_iter().find(|verb| cursor.accept(verb));
        cursor.expect("attribute")?;
        let if_exists = verb == Some("drop") && cursor.accept_all(&["if", "exists"]);
        let name = cursor.identifier()?;
        all.push(match verb {
            Some("add") => AttributeChange::Add(name, attribute_type(cursor)?),
            Some("drop") => AttributeChange::Drop(name, if_exists),
            Some("alter") => {
                if cursor.accept("set") {
                    cursor.expect("data")?;
                }
                cursor.expect("type")?;
                AttributeChange::Type(name, attribute_type(cursor)?)
            }
            Some("rename") => {
                cursor.expect("to")?;
                AttributeChange::Rename(name, cursor.identifier()?)
            }
            _ => return Err(cursor.unexpected("ADD, DROP or ALTER ATTRIBUTE")),
        });
        // There are no tables of a type, which CASCADE would change.
        let _ = cursor.accept("restrict") || cursor.accept("cascade");
        if !cursor.accept_token(&Token::Comma) {
            return Ok(Some(all));
        }
    }
}

fn attribute_type(cursor: &mut Cursor<'_>) -> Result<ast::DataType> {
    let place = cursor.place();
    let ends = |_: &_, token: &Token| {
        *token == Token::Comma || is_word(token, "cascade") || is_word(token, "restrict")
    };
    parse_type(cursor.take_until(ends), place)
}
