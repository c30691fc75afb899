//! CREATE TRIGGER and DROP TRIGGER as they are written.
//!
//! ```text
//! CREATE [OR REPLACE] TRIGGER name {BEFORE | AFTER | INSTEAD OF} event [OR event ...] ON table
//!     [REFERENCING {OLD | NEW} TABLE [AS] name ...]
//!     [FOR [EACH] {ROW | STATEMENT}] [WHEN (condition)]
//!     EXECUTE {FUNCTION | PROCEDURE} function (text, ...)
//! CREATE CONSTRAINT TRIGGER name AFTER event [OR event ...] ON table
//!     [[NOT] DEFERRABLE [INITIALLY {DEFERRED | IMMEDIATE}]]
//!     FOR [EACH] ROW [WHEN (condition)] EXECUTE {FUNCTION | PROCEDURE} function (text, ...)
//!   event    INSERT | UPDATE [OF column, ...] | DELETE | TRUNCATE
//! ```

use hotrow_base::ids::TableId;
use hotrow_transaction::catalog::{Deferral, TriggerEvent, TriggerLevel, TriggerTiming};
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::column_syntax::deferrability;
use crate::error::{Advice, Result, error, unsupported};
use crate::token::Cursor;

/// CREATE TRIGGER.
#[derive(Debug)]
pub(crate) struct TriggerSyntax {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) or_replace: bool,
    pub(crate) timing: TriggerTiming,
    pub(crate) level: TriggerLevel,
    pub(crate) events: Vec<TriggerEvent>,
    /// UPDATE OF
    pub(crate) columns: Vec<(String, Place)>,
    pub(crate) table: (String, Place),
    /// REFERENCING: OLD TABLE and NEW TABLE
    pub(crate) transition: [Option<String>; 2],
    /// WHEN: its text
    pub(crate) when: Option<(String, Place)>,
    pub(crate) function: (String, Place),
    pub(crate) arguments: Vec<String>,
    /// of CREATE CONSTRAINT TRIGGER: when it fires
    pub(crate) constraint: Option<Deferral>,
}

/// What a trigger does for a row that was changed before; no text says it.
#[derive(Debug)]
pub(crate) struct FiringSyntax {
    pub(crate) table: TableId,
    pub(crate) trigger: String,
    pub(crate) event: TriggerEvent,
}

/// DROP TRIGGER.
#[derive(Debug)]
pub(crate) struct DropTriggerSyntax {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) if_exists: bool,
    pub(crate) table: String,
}

/// Whether what stands behind CREATE is a trigger.
pub(crate) fn is_trigger(cursor: &Cursor<'_>) -> bool {
    cursor.is("trigger") || cursor.is("constraint") || cursor.is("event")
}

/// Parses what follows CREATE [OR REPLACE]; `text_of` gives the text that tokens were.
pub(crate) fn trigger(
    cursor: &mut Cursor<'_>,
    or_replace: bool,
    text_of: &impl Fn(&[TokenWithSpan]) -> String,
) -> Result<TriggerSyntax> {
    let at = cursor.place();
    let is_constraint = cursor.accept("constraint");
    if is_constraint && or_replace {
        let message = "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported";
        return Err(error(b"0A000", at, message).hint("DROP TRIGGER IF EXISTS before it"));
    }
    if cursor.is("event") {
        let advice = "definitions fire nothing: leave it out";
        return Err(unsupported(cursor.place(), "an event trigger", advice));
    }
    cursor.expect("trigger")?;
    let place = cursor.place();
    let name = cursor.identifier()?;
    if is_constraint && !cursor.is("after") {
        return Err(cursor.unexpected("AFTER, as a constraint trigger fires"));
    }
    let timing = timing(cursor)?;
    let (mut events, mut columns) = (Vec::new(), Vec::new());
    loop {
        let at = cursor.place();
        let event = event(cursor)?;
        if events.contains(&event) {
            let message = format!("duplicate trigger events specified at or near {}", event.name());
            return Err(error(b"42601", at, message));
        }
        if event == TriggerEvent::Update && cursor.accept("of") {
            columns = names(cursor)?;
        }
        events.push(event);
        if !cursor.accept("or") {
            break;
        }
    }
    cursor.expect("on")?;
    let at = cursor.place();
    let table = (cursor.object_name()?, at);
    if is_constraint && cursor.is("from") {
        let advice = "leave it out: it only notes a table that the function may look at";
        return Err(unsupported(cursor.place(), "FROM of a constraint trigger", advice));
    }
    let at = cursor.place();
    let deferral = deferrability(cursor)?.unwrap_or_default();
    if deferral.is_deferrable() && !is_constraint {
        let message = "only a constraint trigger can be deferred";
        return Err(error(b"42601", at, message).hint("write CREATE CONSTRAINT TRIGGER"));
    }
    let transition = transition(cursor)?;
    let level = level(cursor)?;
    if is_constraint && level == TriggerLevel::Statement {
        return Err(cursor.unexpected("FOR EACH ROW, as a constraint trigger fires"));
    }
    let when = match cursor.accept("when") {
        false => None,
        true => {
            let condition = cursor.take_brackets()?;
            let place = cursor.inside(condition).place();
            Some((text_of(condition), place))
        }
    };
    cursor.expect("execute")?;
    if !cursor.accept("function") {
        cursor.expect("procedure")?;
    }
    let at = cursor.place();
    let function = (cursor.routine_name()?, at);
    let list = cursor.take_brackets()?;
    let items = cursor.inside(list).split_commas();
    let arguments = items.into_iter().map(argument).collect::<Result<_>>()?;
    if !cursor.at_end() {
        return Err(cursor.unexpected("the end"));
    }
    Ok(TriggerSyntax {
        name,
        place,
        or_replace,
        timing,
        level,
        events,
        columns,
        table,
        transition,
        when,
        function,
        arguments,
        constraint: is_constraint.then_some(deferral),
    })
}

fn timing(cursor: &mut Cursor<'_>) -> Result<TriggerTiming> {
    if cursor.accept("before") {
        return Ok(TriggerTiming::Before);
    }
    if cursor.accept_all(&["instead", "of"]) {
        return Ok(TriggerTiming::Instead);
    }
    cursor.expect("after")?;
    Ok(TriggerTiming::After)
}

fn event(cursor: &mut Cursor<'_>) -> Result<TriggerEvent> {
    if cursor.accept("insert") {
        return Ok(TriggerEvent::Insert);
    }
    if cursor.accept("update") {
        return Ok(TriggerEvent::Update);
    }
    if cursor.accept("truncate") {
        return Ok(TriggerEvent::Truncate);
    }
    cursor.expect("delete")?;
    Ok(TriggerEvent::Delete)
}

/// `a, b`
fn names(cursor: &mut Cursor<'_>) -> Result<Vec<(String, Place)>> {
    let mut all = Vec::new();
    loop {
        let place = cursor.place();
        all.push((cursor.identifier()?, place));
        if !cursor.accept_token(&Token::Comma) {
            return Ok(all);
        }
    }
}

fn transition(cursor: &mut Cursor<'_>) -> Result<[Option<String>; 2]> {
    let mut tables = [None, None];
    if !cursor.accept("referencing") {
        return Ok(tables);
    }
    while cursor.is("old") || cursor.is("new") {
        let place = cursor.place();
        let at = usize::from(cursor.is("new"));
        cursor.bump();
        if cursor.is("row") {
            let message = "ROW variable naming in the REFERENCING clause is not supported";
            return Err(error(b"0A000", place, message));
        }
        cursor.expect("table")?;
        let _ = cursor.accept("as");
        let name = cursor.identifier()?;
        if tables[at].replace(name).is_some() {
            let which = ["OLD", "NEW"][at];
            let message = format!("{which} TABLE cannot be specified multiple times");
            return Err(error(b"42P17", place, message));
        }
    }
    Ok(tables)
}

fn level(cursor: &mut Cursor<'_>) -> Result<TriggerLevel> {
    if !cursor.accept("for") {
        return Ok(TriggerLevel::Statement);
    }
    let _ = cursor.accept("each");
    if cursor.accept("row") {
        return Ok(TriggerLevel::Row);
    }
    cursor.expect("statement")?;
    Ok(TriggerLevel::Statement)
}

/// An argument, which is a text however it is written.
fn argument(mut item: Cursor<'_>) -> Result<String> {
    let text = match item.peek() {
        Some(Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text)) => text.clone(),
        Some(Token::Number(number, _)) => number.clone(),
        _ => return item.identifier(),
    };
    item.bump();
    if item.at_end() { Ok(text) } else { Err(item.unexpected("a comma")) }
}

/// Parses what follows DROP TRIGGER.
pub(crate) fn drop_trigger(cursor: &mut Cursor<'_>) -> Result<DropTriggerSyntax> {
    let if_exists = cursor.accept_all(&["if", "exists"]);
    let place = cursor.place();
    let name = cursor.identifier()?;
    cursor.expect("on")?;
    let table = cursor.object_name()?;
    // Nothing depends on a trigger.
    let _ = cursor.accept("cascade") || cursor.accept("restrict");
    match cursor.at_end() {
        true => Ok(DropTriggerSyntax { name, place, if_exists, table }),
        false => Err(cursor.unexpected("the end")),
    }
}
