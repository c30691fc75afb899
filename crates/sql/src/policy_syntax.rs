//! Policies and ROW LEVEL SECURITY as they are written.
//!
//! ```text
//! CREATE POLICY name ON table [AS {PERMISSIVE | RESTRICTIVE}]
//!     [FOR {ALL | SELECT | INSERT | UPDATE | DELETE}] [TO role, ...]
//!     [USING (condition)] [WITH CHECK (condition)]
//! ALTER POLICY name ON table {RENAME TO name | [TO role, ...] [USING ...] [WITH CHECK ...]}
//! DROP POLICY [IF EXISTS] name ON table [CASCADE | RESTRICT]
//! ```

use hotrow_transaction::catalog::PolicyCommand;
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Advice, Result, error};
use crate::role::{RoleName, role_name};
use crate::token::Cursor;

/// A statement about a policy.
#[derive(Debug)]
pub(crate) struct PolicySyntax {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) table: (String, Place),
    pub(crate) what: PolicyAction,
}

/// What it does.
#[derive(Debug)]
pub(crate) enum PolicyAction {
    Create { is_permissive: bool, command: Option<PolicyCommand>, parts: PolicyParts },
    Alter(PolicyParts),
    Rename(String),
    Drop { if_exists: bool },
}

/// A condition, as it is written, and where.
pub(crate) type WrittenCondition = (String, Place);

/// What CREATE and ALTER say alike; none: nothing of it.
#[derive(Default, Debug)]
pub(crate) struct PolicyParts {
    /// none of them: PUBLIC
    pub(crate) roles: Option<Vec<(RoleName, Place)>>,
    pub(crate) using: Option<WrittenCondition>,
    pub(crate) check: Option<WrittenCondition>,
}

/// A statement about a policy; none: another statement. `text_of` gives the text that tokens were.
pub(crate) fn policy(
    cursor: &mut Cursor<'_>,
    text_of: &impl Fn(&[TokenWithSpan]) -> String,
) -> Result<Option<PolicySyntax>> {
    let (creates, alters) =
        (cursor.accept_all(&["create", "policy"]), cursor.accept_all(&["alter", "policy"]));
    if !creates && !alters && !cursor.accept_all(&["drop", "policy"]) {
        return Ok(None);
    }
    let if_exists = !creates && !alters && cursor.accept_all(&["if", "exists"]);
    let place = cursor.place();
    let name = cursor.identifier()?;
    cursor.expect("on")?;
    let at = cursor.place();
    let table = (cursor.object_name()?, at);
    let what = if creates {
        let is_permissive = permissive(cursor)?;
        let command = command(cursor)?;
        PolicyAction::Create { is_permissive, command, parts: parts(cursor, text_of)? }
    } else if alters {
        match cursor.accept_all(&["rename", "to"]) {
            true => PolicyAction::Rename(cursor.identifier()?),
            false => PolicyAction::Alter(parts(cursor, text_of)?),
        }
    } else {
        let _ = cursor.accept("cascade") || cursor.accept("restrict"); // nothing depends on it
        PolicyAction::Drop { if_exists }
    };
    match cursor.at_end() {
        true => Ok(Some(PolicySyntax { name, place, table, what })),
        false => Err(cursor.unexpected("the end")),
    }
}

fn permissive(cursor: &mut Cursor<'_>) -> Result<bool> {
    if !cursor.accept("as") || cursor.accept("permissive") {
        return Ok(true);
    }
    if cursor.accept("restrictive") {
        return Ok(false);
    }
    let place = cursor.place();
    let message = "unrecognized row security option";
    Err(error(b"42601", place, message)
        .hint("Only PERMISSIVE or RESTRICTIVE policies are supported currently."))
}

fn command(cursor: &mut Cursor<'_>) -> Result<Option<PolicyCommand>> {
    use PolicyCommand as C;
    if !cursor.accept("for") || cursor.accept("all") {
        return Ok(None);
    }
    let all = [C::Select, C::Insert, C::Update, C::Delete];
    let found = all.into_iter().find(|one| cursor.accept(&one.name().to_ascii_lowercase()));
    found.map(Some).ok_or_else(|| cursor.unexpected("ALL, SELECT, INSERT, UPDATE or DELETE"))
}

fn parts(
    cursor: &mut Cursor<'_>,
    text_of: &impl Fn(&[TokenWithSpan]) -> String,
) -> Result<PolicyParts> {
    let mut parts = PolicyParts::default();
    if cursor.accept("to") {
        let mut roles = Vec::new();
        let mut is_public = false;
        loop {
            if cursor.accept("public") {
                is_public = true;
            } else {
                roles.push(role_name(cursor)?);
            }
            if !cursor.accept_token(&Token::Comma) {
                break;
            }
        }
        parts.roles = Some(if is_public { Vec::new() } else { roles });
    }
    let condition = |cursor: &mut Cursor<'_>| -> Result<WrittenCondition> {
        let written = cursor.take_brackets()?;
        Ok((text_of(written), cursor.inside(written).place()))
    };
    if cursor.accept("using") {
        parts.using = Some(condition(cursor)?);
    }
    if cursor.accept_all(&["with", "check"]) {
        parts.check = Some(condition(cursor)?);
    }
    Ok(parts)
}
