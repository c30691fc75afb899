//! SET, SHOW, RESET and DISCARD; PREPARE, EXECUTE and DEALLOCATE; cursors.
//!
//! ```text
//! SET [SESSION | LOCAL] name {TO | =} {value, ... | DEFAULT}
//! SET [SESSION | LOCAL] TIME ZONE {value | INTERVAL 'hh:mm' [HOUR TO MINUTE] | LOCAL | DEFAULT}
//! SET NAMES ['encoding' | DEFAULT]
//! SET [SESSION | LOCAL] ROLE {name | NONE}    SET [SESSION | LOCAL] SESSION AUTHORIZATION name
//! SET TRANSACTION mode, ...     SET SESSION CHARACTERISTICS AS TRANSACTION mode, ...
//! SHOW {name | ALL | TIME ZONE | TRANSACTION ISOLATION LEVEL}   RESET {name | ALL | TIME ZONE}
//! DISCARD {ALL | PLANS | TEMP | SEQUENCES}
//! PREPARE name [(type, ...)] AS statement   EXECUTE name [(value, ...)]
//! DEALLOCATE [PREPARE] {name | ALL}
//! DECLARE name [BINARY] [ASENSITIVE | INSENSITIVE] [[NO] SCROLL] CURSOR
//!     [{WITH | WITHOUT} HOLD] FOR query
//! {FETCH | MOVE} [direction] [FROM | IN] name     CLOSE {name | ALL}
//!   direction   NEXT | PRIOR | FIRST | LAST | ABSOLUTE n | RELATIVE n | n | ALL
//!               | FORWARD [n | ALL] | BACKWARD [n | ALL]
//! ```

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_transaction::catalog::{Catalog, SearchPath};
use hotrow_transaction::program::Place;
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Advice, Result, error, unsupported};
use crate::token::{Cursor, parse_type};
use crate::transaction_control::{TransactionModes, transaction_modes};
use crate::types::{TypeNames, sql_type};

/// What a statement says about the session's settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting {
    /// SET
    Set {
        /// as it was written, in lower case
        name: String,
        /// none: DEFAULT
        value: Option<String>,
        /// until the transaction's end
        local: bool,
    },
    /// SET TRANSACTION
    Transaction(TransactionModes),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION
    Characteristics(TransactionModes),
    /// SET CONSTRAINTS
    Constraints {
        /// which, each perhaps with its schema; none: ALL
        names: Vec<String>,
        /// DEFERRED, not IMMEDIATE
        is_deferred: bool,
    },
    /// RESET
    Reset(String),
    /// RESET ALL
    ResetAll,
    /// SHOW
    Show(String),
    /// SHOW ALL
    ShowAll,
    /// DISCARD PLANS, SEQUENCES, the tag: there is nothing of the kind to discard
    DiscardNothing(&'static str),
    /// DISCARD TEMP
    DiscardTemporary,
}

/// A type as it is written, before it is looked up.
#[derive(Clone, PartialEq, Debug)]
pub struct WrittenType {
    written: ast::DataType,
    place: Place,
}

/// The types that some are, in a catalog.
///
/// # Errors
///
/// 42704 for one that does not exist, 0A000 for one that parameters cannot have.
pub fn look_up_types(catalog: &Catalog, types: &[WrittenType]) -> Result<Vec<Option<SqlType>>> {
    let path = &SearchPath::default();
    let names = TypeNames { catalog, path };
    let look_up = |of: &WrittenType| sql_type(&of.written, names, of.place).map(Some);
    types.iter().map(look_up).collect()
}

/// What a statement says about statements that have names.
#[derive(Clone, PartialEq, Debug)]
pub enum Naming {
    /// PREPARE
    Prepare {
        /// how it is called
        name: String,
        /// of its first parameters
        types: Vec<WrittenType>,
        /// its text
        text: String,
    },
    /// EXECUTE
    Execute {
        /// which
        name: String,
        /// values of its parameters, as they were written
        values: Vec<Value>,
    },
    /// DEALLOCATE; none: ALL
    Deallocate(Option<String>),
    /// DISCARD ALL: settings, too
    DiscardAll,
    /// DECLARE: a cursor, whose parameters are those of its query
    Declare {
        /// how it is called
        name: String,
        /// it outlives its transaction
        holds: bool,
        /// its rows are binary
        is_binary: bool,
        /// its query
        text: String,
    },
    /// FETCH and MOVE
    Fetch {
        /// which cursor
        name: String,
        /// where to
        direction: Direction,
        /// MOVE: no rows are given
        moves: bool,
    },
    /// CLOSE; none: ALL
    Close(Option<String>),
}

/// Where a cursor goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// so many rows on, or back; 0: the row it is at
    By(i64),
    /// to the end
    Rest,
    /// to the beginning
    BackToStart,
    /// to a row by number, from the end where it is negative; 0: before the first
    To(i64),
    /// to the row so many on
    ToNext(i64),
}

impl Direction {
    /// Which rows a cursor goes over that is at one of so many, by number from 0, and where it is
    /// then. Places count from 1: 0 is before the first row.
    pub fn travelled(self, at: usize, count: usize) -> (Box<dyn Iterator<Item = usize>>, usize) {
        let behind = count + 1;
        let place = |row: i64| usize::try_from(row.max(0)).map_or(behind, |row| row.min(behind));
        let one = |to: usize| -> (Box<dyn Iterator<Item = usize>>, usize) {
            let is_row = (1..=count).contains(&to);
            (Box::new(is_row.then(|| to - 1).into_iter()), to)
        };
        match self {
            Self::By(0) => one(at),
            Self::By(rows) if rows > 0 => {
                let to = at.saturating_add(place(rows)).min(behind);
                (Box::new(at..to.min(count)), to)
            }
            Self::By(rows) => {
                let to = at.saturating_sub(usize::try_from(rows.unsigned_abs()).unwrap_or(behind));
                (Box::new((to.max(1)..at).rev().map(|row| row - 1)), to)
            }
            Self::Rest => (Box::new(at..count.max(at)), behind),
            Self::BackToStart => (Box::new((1..at).rev().map(|row| row - 1)), 0),
            Self::To(row) if row < 0 => one(place((behind as i64).saturating_add(row))),
            Self::To(row) => one(place(row)),
            Self::ToNext(rows) => one(place((at as i64).saturating_add(rows))),
        }
    }
}

/// Parses a statement of settings; none when it is another one.
pub(crate) fn setting(cursor: &mut Cursor<'_>) -> Result<Option<Setting>> {
    let setting = if cursor.accept("set") {
        set(cursor)?
    } else if cursor.accept("reset") {
        if cursor.accept("all") {
            Setting::ResetAll
        } else if cursor.accept_all(&["session", "authorization"]) {
            Setting::Reset("session_authorization".to_owned())
        } else {
            Setting::Reset(name(cursor)?)
        }
    } else if cursor.accept("show") {
        if cursor.accept("all") { Setting::ShowAll } else { Setting::Show(name(cursor)?) }
    } else if cursor.is("discard") && !cursor.is_at(1, "all") {
        cursor.bump();
        if cursor.accept("temp") || cursor.accept("temporary") {
            Setting::DiscardTemporary
        } else if cursor.accept("plans") {
            Setting::DiscardNothing("DISCARD PLANS")
        } else if cursor.accept("sequences") {
            Setting::DiscardNothing("DISCARD SEQUENCES")
        } else {
            return Err(cursor.unexpected("ALL, PLANS, TEMP or SEQUENCES"));
        }
    } else {
        return Ok(None);
    };
    if cursor.at_end() { Ok(Some(setting)) } else { Err(cursor.unexpected("the end")) }
}

/// A role's name, as a word or in quotes; none: NONE or DEFAULT.
fn role_value(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    if let Some(Token::SingleQuotedString(text)) = cursor.peek() {
        cursor.bump();
        return Ok(Some(text.clone()));
    }
    if cursor.accept("none") || cursor.accept("default") {
        return Ok(None);
    }
    cursor.identifier().map(Some)
}

/// What follows SET CONSTRAINTS.
fn constraints(cursor: &mut Cursor<'_>) -> Result<Setting> {
    let mut names = Vec::new();
    if !cursor.accept("all") {
        names.push(cursor.object_name()?);
        while cursor.accept_token(&Token::Comma) {
            names.push(cursor.object_name()?);
        }
    }
    let is_deferred = cursor.accept("deferred");
    if !is_deferred && !cursor.accept("immediate") {
        return Err(cursor.unexpected("DEFERRED or IMMEDIATE"));
    }
    Ok(Setting::Constraints { names, is_deferred })
}

fn set(cursor: &mut Cursor<'_>) -> Result<Setting> {
    if cursor.accept("transaction") {
        return transaction_modes(cursor).map(Setting::Transaction);
    }
    if cursor.accept("constraints") {
        return constraints(cursor);
    }
    let local = cursor.accept("local");
    let is_session = !local && cursor.accept("session");
    if is_session && cursor.accept_all(&["characteristics", "as", "transaction"]) {
        return transaction_modes(cursor).map(Setting::Characteristics);
    }
    if is_session && cursor.accept("authorization")
        || cursor.accept_all(&["session", "authorization"])
    {
        let name = "session_authorization".to_owned();
        return Ok(Setting::Set { name, value: role_value(cursor)?, local });
    }
    if cursor.is("role") && !matches!(cursor.peek_at(1), Some(Token::Eq)) && !cursor.is_at(1, "to")
    {
        cursor.bump();
        let name = "role".to_owned();
        return Ok(Setting::Set { name, value: role_value(cursor)?, local });
    }
    if cursor.accept("names") {
        let name = "client_encoding".to_owned();
        let value = if cursor.at_end() { None } else { values(cursor)? };
        return Ok(Setting::Set { name, value, local });
    }
    if cursor.accept_all(&["time", "zone"]) {
        let name = "timezone".to_owned();
        let value = match () {
            () if cursor.accept("local") => None,
            () if cursor.accept("interval") => Some(zone_of_interval(cursor)?),
            () => values(cursor)?,
        };
        return Ok(Setting::Set { name, value, local });
    }
    let name = name(cursor)?;
    if !cursor.accept("to") && !cursor.accept_token(&Token::Eq) {
        return Err(cursor.unexpected("TO or ="));
    }
    Ok(Setting::Set { name, value: values(cursor)?, local })
}

fn name(cursor: &mut Cursor<'_>) -> Result<String> {
    if cursor.accept_all(&["time", "zone"]) {
        return Ok("timezone".to_owned());
    }
    if cursor.accept_all(&["transaction", "isolation", "level"]) {
        return Ok("transaction_isolation".to_owned());
    }
    if cursor.accept_all(&["session", "authorization"]) {
        return Ok("session_authorization".to_owned());
    }
    let mut name = cursor.identifier()?.to_lowercase();
    while cursor.accept_token(&Token::Period) {
        name.push('.');
        name.push_str(&cursor.identifier()?.to_lowercase());
    }
    Ok(name)
}

/// The value of `INTERVAL '+05:30' HOUR TO MINUTE`, as the setting takes it.
fn zone_of_interval(cursor: &mut Cursor<'_>) -> Result<String> {
    let text = value(cursor)?;
    if cursor.accept("hour") {
        cursor.accept_all(&["to", "minute"]);
    }
    Ok(format!("INTERVAL '{text}'"))
}

/// Values between commas, as one text; none for DEFAULT.
fn values(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    if cursor.accept("default") {
        return Ok(None);
    }
    let mut all = vec![value(cursor)?];
    while cursor.accept_token(&Token::Comma) {
        all.push(value(cursor)?);
    }
    Ok(Some(all.join(", ")))
}

fn value(cursor: &mut Cursor<'_>) -> Result<String> {
    let sign = match cursor.peek() {
        Some(Token::Minus | Token::Plus) => cursor.peek().map(Token::to_string).unwrap_or_default(),
        _ => String::new(),
    };
    if !sign.is_empty() {
        cursor.bump();
    }
    let text = match cursor.peek() {
        Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => text.clone(),
        Some(Token::Number(number, _)) => number.clone(),
        Some(Token::Word(word)) if sign.is_empty() => word.value.clone(),
        _ => return Err(cursor.unexpected("a value")),
    };
    cursor.bump();
    Ok(sign + &text)
}

/// Parses a statement of names; none when it is another one. `text_of` gives the text that tokens
/// were.
pub(crate) fn naming(
    cursor: &mut Cursor<'_>,
    text_of: impl Fn(&[TokenWithSpan]) -> String,
) -> Result<Option<Naming>> {
    let naming = if cursor.accept("prepare") {
        if cursor.is("transaction") {
            let hint = "write COMMIT: there is no two-phase commit";
            return Err(unsupported(cursor.place(), "PREPARE TRANSACTION", hint));
        }
        let name = cursor.identifier()?;
        let mut types = Vec::new();
        if cursor.peek() == Some(&Token::LParen) {
            let list = cursor.take_brackets()?;
            for mut item in cursor.inside(list).split_commas() {
                let (place, tokens) = (item.place(), item.rest());
                types.push(WrittenType { written: parse_type(tokens, item.place())?, place });
            }
        }
        cursor.expect("as")?;
        Naming::Prepare { name, types, text: text_of(cursor.rest()) }
    } else if cursor.accept("execute") {
        let name = cursor.identifier()?;
        let mut values = Vec::new();
        if cursor.peek() == Some(&Token::LParen) {
            let list = cursor.take_brackets()?;
            for mut item in cursor.inside(list).split_commas() {
                values.push(literal(&mut item)?);
            }
        }
        Naming::Execute { name, values }
    } else if cursor.accept("deallocate") {
        let _ = cursor.peek_at(1).is_some() && cursor.accept("prepare");
        let all = cursor.accept("all");
        Naming::Deallocate(if all { None } else { Some(cursor.identifier()?) })
    } else if cursor.accept_all(&["discard", "all"]) {
        Naming::DiscardAll
    } else if cursor.accept("declare") {
        declare(cursor, text_of)?
    } else if cursor.is("fetch") || cursor.is("move") {
        let moves = cursor.is("move");
        cursor.bump();
        let direction = direction(cursor)?;
        let _ = cursor.accept("from") || cursor.accept("in");
        Naming::Fetch { name: cursor.identifier()?, direction, moves }
    } else if cursor.accept("close") {
        Naming::Close(if cursor.accept("all") { None } else { Some(cursor.identifier()?) })
    } else {
        return Ok(None);
    };
    if cursor.at_end() { Ok(Some(naming)) } else { Err(cursor.unexpected("the end")) }
}

fn declare(
    cursor: &mut Cursor<'_>,
    text_of: impl Fn(&[TokenWithSpan]) -> String,
) -> Result<Naming> {
    let name = cursor.identifier()?;
    let mut is_binary = false;
    // All rows are found when it is declared: so it is insensitive, and can go back.
    while !cursor.accept("cursor") {
        if cursor.accept("binary") {
            is_binary = true;
        } else if !["asensitive", "insensitive", "no", "scroll"].iter().any(|w| cursor.accept(w)) {
            return Err(cursor.unexpected("CURSOR"));
        }
    }
    let holds = cursor.accept_all(&["with", "hold"]);
    if !holds {
        cursor.accept_all(&["without", "hold"]);
    }
    cursor.expect("for")?;
    Ok(Naming::Declare { name, holds, is_binary, text: text_of(cursor.rest()) })
}

fn direction(cursor: &mut Cursor<'_>) -> Result<Direction> {
    let has_count = |cursor: &Cursor<'_>| {
        matches!(cursor.peek(), Some(Token::Number(..) | Token::Minus | Token::Plus))
    };
    let count = |cursor: &mut Cursor<'_>| -> Result<i64> {
        let written = value(cursor)?;
        written.parse().map_err(|_| cursor.unexpected("a number of rows"))
    };
    // A cursor may be called like a direction.
    let is_name = cursor.peek_at(1).is_none();
    Ok(if has_count(cursor) {
        Direction::By(count(cursor)?)
    } else if is_name || cursor.accept("next") {
        Direction::By(1)
    } else if cursor.accept("prior") {
        Direction::By(-1)
    } else if cursor.accept("first") {
        Direction::To(1)
    } else if cursor.accept("last") {
        Direction::To(-1)
    } else if cursor.accept("absolute") {
        Direction::To(count(cursor)?)
    } else if cursor.accept("relative") {
        Direction::ToNext(count(cursor)?)
    } else if cursor.accept("all") || cursor.accept_all(&["forward", "all"]) {
        Direction::Rest
    } else if cursor.accept_all(&["backward", "all"]) {
        Direction::BackToStart
    } else if cursor.accept("forward") {
        Direction::By(if has_count(cursor) { count(cursor)? } else { 1 })
    } else if cursor.accept("backward") {
        Direction::By(if has_count(cursor) { count(cursor)?.saturating_neg() } else { -1 })
    } else {
        Direction::By(1)
    })
}

/// A value of EXECUTE: a literal, maybe with a type behind it, which the parameter's own overrules.
fn literal(item: &mut Cursor<'_>) -> Result<Value> {
    let place = item.place();
    let value = if item.accept("null") {
        Value::Null
    } else if item.accept("true") {
        Value::Bool(true)
    } else if item.accept("false") {
        Value::Bool(false)
    } else {
        match item.peek() {
            Some(Token::Word(_)) | None => return Err(no_literal(place)),
            Some(_) => Value::Text(value(item).map_err(|_| no_literal(place))?),
        }
    };
    if item.accept_token(&Token::DoubleColon) {
        let tokens = item.rest();
        parse_type(tokens, item.place())?;
    }
    if item.at_end() { Ok(value) } else { Err(no_literal(place)) }
}

fn no_literal(place: Place) -> hotrow_transaction::outcome::SqlError {
    error(b"0A000", place, "values of EXECUTE are literals").hint("write the value itself")
}
