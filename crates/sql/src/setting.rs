//! SET, SHOW, RESET and DISCARD; PREPARE, EXECUTE and DEALLOCATE.
//!
//! ```text
//! SET [SESSION | LOCAL] name {TO | =} {value, ... | DEFAULT}
//! SET [SESSION | LOCAL] TIME ZONE {value | LOCAL | DEFAULT}     SET NAMES ['encoding' | DEFAULT]
//! SET TRANSACTION mode, ...     SET SESSION CHARACTERISTICS AS TRANSACTION mode, ...
//! SHOW {name | ALL | TIME ZONE | TRANSACTION ISOLATION LEVEL}   RESET {name | ALL | TIME ZONE}
//! DISCARD {ALL | PLANS | TEMP | SEQUENCES}
//! PREPARE name [(type, ...)] AS statement   EXECUTE name [(value, ...)]
//! DEALLOCATE [PREPARE] {name | ALL}
//! ```

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Advice, Result, error, unsupported};
use crate::token::{Cursor, parse_type};
use crate::transaction_control::{TransactionModes, transaction_modes};
use crate::types::sql_type;

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
    /// SET CONSTRAINTS: none is ever deferred
    Constraints,
    /// RESET
    Reset(String),
    /// RESET ALL
    ResetAll,
    /// SHOW
    Show(String),
    /// SHOW ALL
    ShowAll,
    /// DISCARD PLANS, TEMP, SEQUENCES: there is nothing of the kind to discard
    DiscardNothing,
}

/// What a statement says about statements that have names.
#[derive(Clone, PartialEq, Debug)]
pub enum Naming {
    /// PREPARE
    Prepare {
        /// how it is called
        name: String,
        /// of its first parameters
        types: Vec<Option<SqlType>>,
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
}

/// Parses a statement of settings; none when it is another one.
pub(crate) fn setting(cursor: &mut Cursor<'_>) -> Result<Option<Setting>> {
    let setting = if cursor.accept("set") {
        set(cursor)?
    } else if cursor.accept("reset") {
        if cursor.accept("all") { Setting::ResetAll } else { Setting::Reset(name(cursor)?) }
    } else if cursor.accept("show") {
        if cursor.accept("all") { Setting::ShowAll } else { Setting::Show(name(cursor)?) }
    } else if cursor.is("discard") && !cursor.is_at(1, "all") {
        cursor.bump();
        let known = ["plans", "temp", "temporary", "sequences"];
        if !known.iter().any(|word| cursor.accept(word)) {
            return Err(cursor.unexpected("ALL, PLANS, TEMP or SEQUENCES"));
        }
        Setting::DiscardNothing
    } else {
        return Ok(None);
    };
    if cursor.at_end() { Ok(Some(setting)) } else { Err(cursor.unexpected("the end")) }
}

fn set(cursor: &mut Cursor<'_>) -> Result<Setting> {
    let place = cursor.place();
    if cursor.accept("transaction") {
        return transaction_modes(cursor).map(Setting::Transaction);
    }
    if cursor.accept("constraints") {
        cursor.rest();
        return Ok(Setting::Constraints);
    }
    let local = cursor.accept("local");
    if !local && cursor.accept("session") {
        if cursor.accept_all(&["characteristics", "as", "transaction"]) {
            return transaction_modes(cursor).map(Setting::Characteristics);
        }
        if cursor.is("authorization") {
            let hint = "connect as the other user";
            return Err(unsupported(place, "SET SESSION AUTHORIZATION", hint));
        }
    }
    if cursor.is("role") {
        return Err(unsupported(place, "SET ROLE", "connect as the other user"));
    }
    if cursor.accept("names") {
        let name = "client_encoding".to_owned();
        let value = if cursor.at_end() { None } else { values(cursor)? };
        return Ok(Setting::Set { name, value, local });
    }
    if cursor.accept_all(&["time", "zone"]) {
        let name = "timezone".to_owned();
        let value = if cursor.accept("local") { None } else { values(cursor)? };
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
                let written = parse_type(tokens, item.place())?;
                types.push(Some(sql_type(&written, place)?));
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
    } else {
        return Ok(None);
    };
    if cursor.at_end() { Ok(Some(naming)) } else { Err(cursor.unexpected("the end")) }
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
