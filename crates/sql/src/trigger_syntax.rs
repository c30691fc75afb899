//! CREATE TRIGGER and DROP TRIGGER as they are written.
//!
//! ```text
//! CREATE [OR REPLACE] TRIGGER name {BEFORE | AFTER | INSTEAD OF} event [OR event ...] ON table
//!     [REFERENCING {OLD | NEW} TABLE [AS] name ...]
//!     [FOR [EACH] {ROW | STATEMENT}] [WHEN (condition)]
//!     EXECUTE {FUNCTION | PROCEDURE} function (text, ...)
//!   event    INSERT | UPDATE [OF column, ...] | DELETE | TRUNCATE
//! ```

use hotrow_transaction::catalog::{TriggerEvent, TriggerLevel, TriggerTiming};
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Result, error, unsupported};
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
    if cursor.is("constraint") {
        let advice = "write CREATE TRIGGER ... AFTER: it fires at the end of its statement";
        return Err(unsupported(cursor.place(), "a constraint trigger", advice));
    }
    if cursor.is("event") {
        let advice = "definitions fire nothing: leave it out";
        return Err(unsupported(cursor.place(), "an event trigger", advice));
    }
    cursor.expect("trigger")?;
    let place = cursor.place();
    let name = cursor.identifier()?;
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
    if cursor.is("from") || cursor.is("deferrable") || cursor.is("initially") {
        let advice = "leave it out: a trigger fires in its statement";
        return Err(unsupported(cursor.place(), "a deferred trigger", advice));
    }
    let _ = cursor.accept_all(&["not", "deferrable"]);
    let transition = transition(cursor)?;
    let level = level(cursor)?;
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
