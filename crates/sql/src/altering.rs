//! ALTER of what has a name, and REFRESH MATERIALIZED VIEW, as they are read.

use sqlparser::ast;
use sqlparser::tokenizer::Token;

use crate::alter_syntax::{AlterSyntax, Altering, RefreshSyntax, RelationKind};
use crate::attribute_syntax::attribute_changes;
use crate::column_syntax::{column_change, deferrability, using_index};
use crate::domain_syntax::domain_change;
use crate::error::{Result, syntax};
use crate::numbers_syntax::{numbers, numbers_of_column};
use crate::syntax::Syntax;
use crate::token::{Cursor, parse_statement, tokenize};

/// ALTER of something that has a name; none: it is another ALTER, or no ALTER.
pub(crate) fn altering(cursor: &mut Cursor<'_>) -> Result<Option<Syntax>> {
    if !cursor.accept("alter") {
        return Ok(None);
    }
    if cursor.accept("trigger") {
        return renamed_trigger(cursor).map(Some);
    }
    let kind = match () {
        () if cursor.accept("table") => RelationKind::Any,
        () if cursor.accept("index") => RelationKind::Index,
        () if cursor.accept("sequence") => RelationKind::Sequence,
        () if cursor.accept_all(&["materialized", "view"]) => RelationKind::Materialized,
        () if cursor.accept("view") => RelationKind::View,
        () if cursor.accept("type") => RelationKind::Type,
        () if cursor.accept("domain") => RelationKind::Domain,
        () => return Ok(None),
    };
    let is_type = matches!(kind, RelationKind::Type | RelationKind::Domain);
    let if_exists = !is_type && cursor.accept_all(&["if", "exists"]);
    if kind == RelationKind::Any {
        cursor.accept("only");
    }
    let place = cursor.place();
    let Ok(name) = cursor.object_name() else { return Ok(None) };
    let what = match () {
        () if cursor.accept_all(&["rename", "to"]) => Altering::Name(cursor.identifier()?),
        () if is_type && cursor.accept_all(&["set", "schema"]) => {
            Altering::Schema(cursor.identifier()?)
        }
        () if kind == RelationKind::Type => match attribute_changes(cursor)? {
            Some(changes) => Altering::Attributes(changes),
            None => return Ok(None),
        },
        () if kind == RelationKind::Domain => match domain_change(cursor)? {
            Some(change) => Altering::Domain(Box::new(change)),
            None => return Ok(None),
        },
        () if kind == RelationKind::Any && cursor.accept_all(&["rename", "constraint"]) => {
            let from = cursor.identifier()?;
            cursor.expect("to")?;
            Altering::Constraint(from, cursor.identifier()?)
        }
        () if kind == RelationKind::Any && cursor.accept_all(&["attach", "partition"]) => {
            let place = cursor.place();
            let name = cursor.object_name()?;
            Altering::Attach(name, place, Box::new(bound(cursor)?))
        }
        () if kind == RelationKind::Any && cursor.accept_all(&["detach", "partition"]) => {
            let place = cursor.place();
            let name = cursor.object_name()?;
            // Nobody waits for it beyond a quiet point, however it is said.
            let _ = cursor.accept("concurrently") || cursor.accept("finalize");
            Altering::Detach(name, place)
        }
        () if kind == RelationKind::Sequence && cursor.accept_all(&["owned", "by"]) => {
            let place = cursor.place();
            let mut names = vec![cursor.identifier()?];
            while cursor.accept_token(&Token::Period) {
                names.push(cursor.identifier()?);
            }
            Altering::OwnedBy(place, names)
        }
        () if kind == RelationKind::Any
            && cursor.accept_all(&["add", "identity", "of", "rows"]) =>
        {
            Altering::RowIdentity
        }
        () if kind == RelationKind::Index && cursor.accept_all(&["attach", "partition"]) => {
            // An index of a partitioned table has the rows of all partitions.
            cursor.object_name()?;
            Altering::Storage(None)
        }
        () if kind == RelationKind::Sequence && !cursor.is("set") && !cursor.is("owner") => {
            Altering::Numbers(None, numbers(cursor)?)
        }
        () => match of_column(cursor)? {
            Some(what) => what,
            None => return Ok(None),
        },
    };
    match cursor.at_end() {
        true => {
            let altered = AlterSyntax { kind, name, place, if_exists, what };
            Ok(Some(Syntax::Alter(Box::new(altered))))
        }
        false => Err(cursor.unexpected("the end")),
    }
}

/// ALTER TRIGGER name ON table RENAME TO, behind its first words.
fn renamed_trigger(cursor: &mut Cursor<'_>) -> Result<Syntax> {
    let from = cursor.identifier()?;
    cursor.expect("on")?;
    let place = cursor.place();
    let name = cursor.object_name()?;
    cursor.expect("rename")?;
    cursor.expect("to")?;
    let what = Altering::Trigger(from, cursor.identifier()?);
    if !cursor.at_end() {
        return Err(cursor.unexpected("the end"));
    }
    let (kind, if_exists) = (RelationKind::Any, false);
    Ok(Syntax::Alter(Box::new(AlterSyntax { kind, name, place, if_exists, what })))
}

/// What is said of a column, a constraint, or of what has no effect; none: another action.
fn of_column(cursor: &mut Cursor<'_>) -> Result<Option<Altering>> {
    if let Some((column, change)) = column_change(cursor)? {
        return Ok(Some(Altering::Column(column, change)));
    }
    if let Some(using) = using_index(cursor)? {
        return Ok(Some(Altering::UseIndex(using)));
    }
    if cursor.is_at(1, "constraint") && cursor.accept_all(&["alter", "constraint"]) {
        let name = cursor.identifier()?;
        let deferral = deferrability(cursor)?.unwrap_or_default();
        return Ok(Some(Altering::Checked(name, deferral)));
    }
    Ok(match numbers_of_column(cursor)? {
        Some((column, numbers)) => Some(Altering::Numbers(Some(column), numbers)),
        None => storage(cursor).map(Altering::Storage),
    })
}

/// What is said about pages of a disk, or about statistics, in one action: of which column, if of
/// one. None: another action.
fn storage(cursor: &mut Cursor<'_>) -> Option<Option<String>> {
    if cursor.accept("alter") {
        cursor.accept("column");
        let column = match cursor.peek() {
            // Columns of an index by their numbers.
            Some(Token::Number(..)) => {
                cursor.bump();
                None
            }
            _ => Some(cursor.identifier().ok()?),
        };
        let is_reset = cursor.accept("reset");
        if !is_reset && !cursor.accept("set") {
            return None;
        }
        let is_value = ["statistics", "storage", "compression"].iter().any(|w| cursor.accept(w));
        match is_value {
            true => {
                cursor.accept_token(&Token::Minus);
                cursor.bump();
            }
            false => drop(cursor.take_brackets().ok()?),
        }
        return Some(column);
    }
    let has_name = cursor.accept_all(&["cluster", "on"])
        || cursor.accept_all(&["set", "tablespace"])
        || cursor.accept_all(&["set", "access", "method"]);
    if has_name {
        cursor.identifier().ok()?;
        return Some(None);
    }
    let is_known = cursor.accept_all(&["set", "without", "cluster"])
        || cursor.accept_all(&["set", "without", "oids"])
        || cursor.accept_all(&["set", "logged"])
        || cursor.accept_all(&["set", "unlogged"]);
    if is_known {
        return Some(None);
    }
    if cursor.accept_all(&["replica", "identity"]) {
        let is_word = ["full", "nothing", "default"].iter().any(|word| cursor.accept(word));
        if !is_word && cursor.accept_all(&["using", "index"]) {
            cursor.identifier().ok()?;
        }
        return Some(None);
    }
    cursor.accept("reset").then(|| cursor.take_brackets().ok().map(|_| None)).flatten()
}

/// FOR VALUES ..., or DEFAULT: read as a part of CREATE TABLE, where the parser knows it.
fn bound(cursor: &mut Cursor<'_>) -> Result<ast::ForValues> {
    let place = cursor.place();
    let mut tokens = tokenize("CREATE TABLE partition PARTITION OF parent", place)?;
    tokens.extend_from_slice(cursor.rest());
    match parse_statement(&tokens, place)? {
        ast::Statement::CreateTable(ast::CreateTable { for_values: Some(bound), .. }) => Ok(bound),
        _ => Err(syntax(place, "ATTACH PARTITION needs FOR VALUES ..., or DEFAULT")),
    }
}

/// REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH [NO] DATA]; none: another statement.
pub(crate) fn refresh(cursor: &mut Cursor<'_>) -> Result<Option<Syntax>> {
    if !cursor.accept_all(&["refresh", "materialized", "view"]) {
        return Ok(None);
    }
    let concurrently = cursor.accept("concurrently");
    let place = cursor.place();
    let name = cursor.object_name()?;
    let is_filled = match cursor.accept("with") {
        true => {
            let no = cursor.accept("no");
            cursor.expect("data")?;
            !no
        }
        false => true,
    };
    match cursor.at_end() {
        true => Ok(Some(Syntax::Refresh(RefreshSyntax { name, place, concurrently, is_filled }))),
        false => Err(cursor.unexpected("the end")),
    }
}

/// ALTER SCHEMA ... RENAME TO; none: another statement.
pub(crate) fn rename_schema(cursor: &mut Cursor<'_>) -> Result<Option<Syntax>> {
    if !cursor.accept_all(&["alter", "schema"]) {
        return Ok(None);
    }
    let place = cursor.place();
    let name = cursor.identifier()?;
    if !cursor.accept_all(&["rename", "to"]) {
        return Ok(None);
    }
    let to = cursor.identifier()?;
    match cursor.at_end() {
        true => Ok(Some(Syntax::RenameSchema { name, to, place })),
        false => Err(cursor.unexpected("the end")),
    }
}
