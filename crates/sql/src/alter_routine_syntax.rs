//! ALTER FUNCTION, PROCEDURE and ROUTINE, as they are read.

use hotrow_base::quote::identifier as quoted;
use hotrow_transaction::catalog::SearchPath;
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::altered_routine::{
    AlterRoutineSyntax, OptionKind, RoutineChange, RoutineKind, RoutineOption,
};
use crate::error::{Result, error, syntax, unsupported};
use crate::routine_options::{is_strict_here, path_of_body, security};
use crate::syntax::Syntax;
use crate::token::Cursor;

/// ALTER of a routine, but for OWNER TO; none: it is another statement.
pub(crate) fn alter_routine(cursor: &mut Cursor<'_>) -> Result<Option<Syntax>> {
    let kinds = [
        ("function", RoutineKind::Function),
        ("procedure", RoutineKind::Procedure),
        ("routine", RoutineKind::Either),
    ];
    let found = kinds.into_iter().find(|(word, _)| cursor.accept_all(&["alter", word]));
    let Some((_, kind)) = found else { return Ok(None) };
    let place = cursor.place();
    let name = cursor.routine_name()?;
    let taken = match cursor.peek() {
        Some(Token::LParen) => Some(cursor.take_brackets()?.to_vec()),
        _ => None,
    };
    if cursor.is("owner") {
        return Ok(None);
    }
    let what = match () {
        () if cursor.accept_all(&["rename", "to"]) => RoutineChange::Name(cursor.identifier()?),
        () if cursor.accept_all(&["set", "schema"]) => RoutineChange::Schema(cursor.identifier()?),
        () if cursor.is("depends") || cursor.is("no") => {
            let hint = "an extension has nothing here that depends on it: leave it out";
            return Err(unsupported(cursor.place(), "DEPENDS ON EXTENSION", hint));
        }
        () => RoutineChange::Options(options(cursor)?),
    };
    match cursor.at_end() {
        true => {
            let written = AlterRoutineSyntax { kind, name, place, taken, what };
            Ok(Some(Syntax::AlterRoutine(Box::new(written))))
        }
        false => Err(cursor.unexpected("the end")),
    }
}

fn options(cursor: &mut Cursor<'_>) -> Result<Vec<RoutineOption>> {
    let mut all: Vec<RoutineOption> = Vec::new();
    loop {
        let place = cursor.place();
        let before = cursor.rest_ahead();
        let option = option(cursor)?;
        let words = &before[..before.len() - cursor.rest_ahead().len()];
        let Some((kind, text)) = option else { break };
        match kind {
            // The last one says how it is.
            OptionKind::Path | OptionKind::Unset => all.retain(|known| known.kind != kind),
            _ if all.iter().any(|known| known.kind == kind) => {
                return Err(syntax(place, "conflicting or redundant options"));
            }
            _ => {}
        }
        let text = text.unwrap_or_else(|| {
            let words = words.iter().map(|word| word.token.to_string());
            words.collect::<Vec<_>>().join(" ")
        });
        all.push(RoutineOption { kind, place, text });
    }
    if all.is_empty() {
        return Err(cursor.unexpected("RENAME TO, SET SCHEMA, OWNER TO or an option"));
    }
    cursor.accept("restrict");
    Ok(all)
}

/// The option that stands here, and its text where that is not what is written; none: no option.
fn option(cursor: &mut Cursor<'_>) -> Result<Option<(OptionKind, Option<String>)>> {
    let place = cursor.place();
    if cursor.accept("reset") {
        let kind = match cursor.identifier()?.as_str() {
            "all" | "search_path" => OptionKind::Path,
            _ => OptionKind::Unset,
        };
        return Ok(Some((kind, Some(String::new()))));
    }
    if cursor.accept("set") {
        let is_default = cursor.is("search_path")
            && (cursor.is_at(1, "to") || cursor.peek_at(1) == Some(&Token::Eq))
            && cursor.is_at(2, "default");
        if is_default {
            cursor.take(3);
            return Ok(Some((OptionKind::Path, Some(String::new()))));
        }
        let text = match path_of_body(cursor)? {
            None => "SET search_path FROM CURRENT".to_owned(),
            Some(path) => path_text(&path),
        };
        return Ok(Some((OptionKind::Path, Some(text))));
    }
    let Some((kind, count)) = option_at(cursor.rest_ahead()) else { return Ok(None) };
    let words = cursor.take(count);
    if matches!(kind, OptionKind::Cost | OptionKind::Rows)
        && !is_positive(words.last().map(|word| &word.token))
    {
        let name = if kind == OptionKind::Cost { "COST" } else { "ROWS" };
        return Err(error(b"22023", place, format!("{name} must be positive")));
    }
    Ok(Some((kind, None)))
}

fn is_positive(token: Option<&Token>) -> bool {
    let Some(Token::Number(digits, _)) = token else { return false };
    digits.parse::<f64>().is_ok_and(|number| number > 0.0)
}

/// A path as CREATE FUNCTION sets it.
pub(crate) fn path_text(path: &SearchPath) -> String {
    let schemas: Vec<String> = path.schemas().map(quoted).collect();
    match schemas.is_empty() {
        true => "SET search_path TO ''".to_owned(),
        false => format!("SET search_path TO {}", schemas.join(", ")),
    }
}

/// The option that tokens begin with, and of how many of them it is made.
pub(crate) fn option_at(tokens: &[TokenWithSpan]) -> Option<(OptionKind, usize)> {
    let end = Place::default();
    let count = |read: &dyn Fn(&mut Cursor<'_>) -> bool| {
        let mut cursor = Cursor::new(tokens, end);
        read(&mut cursor).then(|| tokens.len() - cursor.rest_ahead().len())
    };
    let one_of = |words: &[&str]| count(&|cursor| words.iter().any(|word| cursor.accept(word)));
    let valued = |word: &str| {
        count(&|cursor| {
            let found = cursor.accept(word);
            // A negative number is read, to be refused.
            cursor.accept_token(&Token::Minus);
            found && cursor.take(1).len() == 1
        })
    };
    let strict = count(&|cursor| {
        is_strict_here(cursor) || cursor.accept_all(&["called", "on", "null", "input"])
    });
    let path = count(&|cursor| cursor.accept("set") && path_of_body(cursor).is_ok());
    let found = [
        (OptionKind::Volatility, one_of(&["immutable", "stable", "volatile"])),
        (OptionKind::Strict, strict),
        (OptionKind::Security, count(&|cursor| security(cursor).is_some())),
        (OptionKind::Leakproof, one_of(&["leakproof"])),
        (OptionKind::Leakproof, count(&|cursor| cursor.accept_all(&["not", "leakproof"]))),
        (OptionKind::Parallel, valued("parallel")),
        (OptionKind::Cost, valued("cost")),
        (OptionKind::Rows, valued("rows")),
        (OptionKind::Path, path),
    ];
    found.into_iter().find_map(|(kind, count)| Some((kind, count?)))
}
