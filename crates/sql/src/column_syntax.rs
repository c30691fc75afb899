//! What ALTER TABLE says that the parser does not know, as it is read.

use hotrow_transaction::catalog::{Deferral, Numbering};
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;

use crate::error::{Result, error};
use crate::token::Cursor;

/// What ALTER COLUMN does.
#[derive(Debug)]
pub(crate) enum ColumnChange {
    /// SET GENERATED ALWAYS, or BY DEFAULT
    SetGenerated(Numbering),
    DropIdentity {
        if_exists: bool,
    },
    DropExpression {
        if_exists: bool,
    },
}

/// ADD CONSTRAINT name UNIQUE, or PRIMARY KEY, USING INDEX.
#[derive(Debug)]
pub(crate) struct UsingIndex {
    /// none: the constraint is called as the index is
    pub(crate) name: Option<String>,
    pub(crate) is_primary: bool,
    pub(crate) index: String,
    pub(crate) deferral: Deferral,
}

/// `ALTER [COLUMN] column` and one of these; none: another action, of which nothing was read.
pub(crate) fn column_change(cursor: &mut Cursor<'_>) -> Result<Option<(String, ColumnChange)>> {
    let mut ahead = cursor.clone();
    if !ahead.accept("alter") || ahead.is("constraint") {
        return Ok(None);
    }
    ahead.accept("column");
    let Ok(column) = ahead.identifier() else { return Ok(None) };
    let change = match () {
        () if ahead.accept_all(&["set", "generated", "always"]) => {
            ColumnChange::SetGenerated(Numbering::Always)
        }
        () if ahead.accept_all(&["set", "generated", "by", "default"]) => {
            ColumnChange::SetGenerated(Numbering::ByDefault)
        }
        () if ahead.accept_all(&["drop", "identity"]) => {
            ColumnChange::DropIdentity { if_exists: ahead.accept_all(&["if", "exists"]) }
        }
        () if ahead.accept_all(&["drop", "expression"]) => {
            ColumnChange::DropExpression { if_exists: ahead.accept_all(&["if", "exists"]) }
        }
        () => return Ok(None),
    };
    // With others behind a comma it is the parser's to refuse.
    if !ahead.at_end() {
        return Ok(None);
    }
    *cursor = ahead;
    Ok(Some((column, change)))
}

/// `ADD [CONSTRAINT name] {UNIQUE | PRIMARY KEY} USING INDEX index`; none: another action, of which
/// nothing was read.
pub(crate) fn using_index(cursor: &mut Cursor<'_>) -> Result<Option<UsingIndex>> {
    let mut ahead = cursor.clone();
    if !ahead.accept("add") {
        return Ok(None);
    }
    let name = match ahead.accept("constraint") {
        true => Some(ahead.identifier()?),
        false => None,
    };
    let is_primary = ahead.accept_all(&["primary", "key"]);
    if !is_primary && !ahead.accept("unique") || !ahead.accept_all(&["using", "index"]) {
        return Ok(None);
    }
    let index = ahead.identifier()?;
    let deferral = deferrability(&mut ahead)?.unwrap_or_default();
    *cursor = ahead;
    Ok(Some(UsingIndex { name, is_primary, index, deferral }))
}

/// `[NOT] DEFERRABLE [INITIALLY {DEFERRED | IMMEDIATE}]`; none: it does not stand here.
pub(crate) fn deferrability(cursor: &mut Cursor<'_>) -> Result<Option<Deferral>> {
    let place = cursor.place();
    let is_not = cursor.accept_all(&["not", "deferrable"]);
    let is_deferrable = !is_not && cursor.accept("deferrable");
    let is_late = cursor.accept_all(&["initially", "deferred"]);
    let is_said = !is_late && cursor.accept_all(&["initially", "immediate"]);
    match (is_late, is_deferrable) {
        (true, _) if is_not => Err(never_deferred(place)),
        (true, _) => Ok(Some(Deferral::Deferred)),
        (false, true) => Ok(Some(Deferral::Immediate)),
        (false, false) => Ok((is_not || is_said).then_some(Deferral::Never)),
    }
}

/// The error of INITIALLY DEFERRED behind NOT DEFERRABLE.
pub(crate) fn never_deferred(place: Place) -> SqlError {
    error(b"42601", place, "constraint declared INITIALLY DEFERRED must be DEFERRABLE")
}
