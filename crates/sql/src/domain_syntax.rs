//! CREATE and ALTER DOMAIN as they are written. The parser takes the parts of the first in one
//! order only, PostgreSQL in any.
//!
//! ```text
//! CREATE DOMAIN name [AS] type [COLLATE collation]
//!     {DEFAULT value | [CONSTRAINT name] {NOT NULL | NULL | CHECK (condition)}} ...
//! ALTER DOMAIN name {SET DEFAULT value | DROP DEFAULT | {SET | DROP} NOT NULL
//!     | ADD [CONSTRAINT name] CHECK (condition) [NOT VALID]
//!     | DROP CONSTRAINT [IF EXISTS] name [RESTRICT | CASCADE] | RENAME CONSTRAINT name TO name
//!     | VALIDATE CONSTRAINT name}
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

/// What ALTER DOMAIN changes.
#[derive(Debug)]
pub(crate) enum DomainChange {
    /// SET DEFAULT; none: DROP DEFAULT
    Default(Option<ast::Expr>),
    /// DROP NOT NULL, or SET NOT NULL
    Nullable(bool),
    Add {
        name: Option<String>,
        condition: ast::Expr,
        not_valid: bool,
    },
    Drop {
        name: String,
        if_exists: bool,
    },
    Rename {
        name: String,
        to: String,
    },
    Validate(String),
}

/// What stands behind ALTER DOMAIN name; none: another action.
pub(crate) fn domain_change(cursor: &mut Cursor<'_>) -> Result<Option<DomainChange>> {
    Ok(Some(match () {
        () if cursor.accept_all(&["set", "default"]) => {
            let value = cursor.rest();
            DomainChange::Default(Some(parse_expression(value, cursor.place())?))
        }
        () if cursor.accept_all(&["drop", "default"]) => DomainChange::Default(None),
        () if cursor.accept_all(&["set", "not", "null"]) => DomainChange::Nullable(false),
        () if cursor.accept_all(&["drop", "not", "null"]) => DomainChange::Nullable(true),
        () if cursor.accept_all(&["drop", "constraint"]) => {
            let if_exists = cursor.accept_all(&["if", "exists"]);
            let name = cursor.identifier()?;
            let _ = cursor.accept("restrict") || cursor.accept("cascade"); // nothing depends on it
            DomainChange::Drop { name, if_exists }
        }
        () if cursor.accept_all(&["rename", "constraint"]) => {
            let name = cursor.identifier()?;
            cursor.expect("to")?;
            DomainChange::Rename { name, to: cursor.identifier()? }
        }
        () if cursor.accept_all(&["validate", "constraint"]) => {
            DomainChange::Validate(cursor.identifier()?)
        }
        () if cursor.accept("add") => {
            let name = match cursor.accept("constraint") {
                true => Some(cursor.identifier()?),
                false => None,
            };
            cursor.expect("check")?;
            let condition = cursor.take_brackets()?;
            let condition = parse_expression(condition, cursor.place())?;
            let not_valid = cursor.accept_all(&["not", "valid"]);
            DomainChange::Add { name, condition, not_valid }
        }
        () => return Ok(None),
    }))
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
