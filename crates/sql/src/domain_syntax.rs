//! CREATE DOMAIN as it is written; the parser takes its parts in one order only, PostgreSQL in any.
//!
//! ```text
//! CREATE DOMAIN name [AS] type [COLLATE collation]
//!     {DEFAULT value | [CONSTRAINT name] {NOT NULL | NULL | CHECK (condition)}} ...
//! ```

use hotrow_transaction::catalog::local;
use hotrow_transaction::program::Place;
use sqlparser::ast;
use sqlparser::tokenizer::Token;

use crate::collation::check_collation;
use crate::error::{Result, error};
use crate::token::{Cursor, is_word, parse_expression, parse_type};

/// CREATE DOMAIN.
#[derive(Debug)]
pub(crate) struct DomainSyntax {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) of: ast::DataType,
    pub(crate) default: Option<ast::Expr>,
    pub(crate) nullable: bool,
    /// with the names that they were given
    pub(crate) checks: Vec<(Option<String>, ast::Expr)>,
}

/// CREATE DOMAIN; none: another statement.
pub(crate) fn domain(cursor: &mut Cursor<'_>) -> Result<Option<DomainSyntax>> {
    if !cursor.accept_all(&["create", "domain"]) {
        return Ok(None);
    }
    let place = cursor.place();
    let name = cursor.object_name()?;
    cursor.accept("as");
    let of = cursor.take_until(|_, token| begins_part(token));
    let of = parse_type(of, cursor.place())?;
    let (mut default, mut nullable, mut checks) = (None, None, Vec::new());
    while !cursor.at_end() {
        let at = cursor.place();
        if cursor.accept("collate") {
            let name = cursor.object_name()?;
            check_collation(local(&name), at)?;
            continue;
        }
        if cursor.accept("default") {
            if default.is_some() {
                return Err(error(b"42601", at, "multiple default expressions"));
            }
            let mut ahead = Cursor::new(cursor.rest_ahead(), cursor.place());
            ahead.bump(); // NULL is a value as well as a part
            ahead.take_until(|_, token| begins_part(token));
            let value = cursor.take(cursor.rest_ahead().len() - ahead.rest().len());
            default = Some(parse_expression(value, cursor.place())?);
            continue;
        }
        let own = match cursor.accept("constraint") {
            true => Some(cursor.identifier()?),
            false => None,
        };
        let says = match () {
            () if cursor.accept_all(&["not", "null"]) => Some(false),
            () if cursor.accept("null") => Some(true),
            () => {
                cursor.expect("check")?;
                let condition = cursor.take_brackets()?;
                checks.push((own, parse_expression(condition, cursor.place())?));
                None
            }
        };
        if says.is_some_and(|says| nullable.is_some_and(|before| before != says)) {
            return Err(error(b"42601", at, "conflicting NULL/NOT NULL constraints"));
        }
        nullable = says.or(nullable);
    }
    let nullable = nullable.unwrap_or(true);
    Ok(Some(DomainSyntax { name, place, of, default, nullable, checks }))
}

/// Whether something else than a type or a value begins.
fn begins_part(token: &Token) -> bool {
    ["collate", "default", "constraint", "not", "null", "check"]
        .iter()
        .any(|word| is_word(token, word))
}
