//! Scripts: text split into statements, each parsed.

use std::borrow::Cow;

use hotrow_base::stack::with_room;
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use crate::copy::copy;
use crate::error::{Advice, Result, place_of, unsupported};
use crate::maintenance::maintenance;
use crate::routine::{anonymous, routine};
use crate::sequence::in_parsers_order;
use crate::setting::{naming, setting};
use crate::syntax::{CallArgument, ScriptStatement, Syntax};
use crate::token::{Cursor, folded, is_word, parse_expression, parse_statement, tokenize};
use crate::transaction_control::transaction_control;
use crate::user::user;

/// Parses a script: statements separated by semicolons.
///
/// Errors: 42601 with the place of what could not be read, 0A000 for statements of SQL that
/// Hotrow does not have, 54001 for a text that is too long or nests too deeply.
pub fn parse_script(text: &str) -> Result<Vec<ScriptStatement>> {
    with_room(|| parse_statements(text))
}

fn parse_statements(text: &str) -> Result<Vec<ScriptStatement>> {
    let tokens = tokenize(text, Place { line: 1, column: 1 })?;
    let lines = line_starts(text);
    let text_of = |tokens: &[TokenWithSpan]| {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
            return String::new();
        };
        let from = offset(text, &lines, first.span.start);
        let to = offset(text, &lines, last.span.end).max(from);
        text.get(from..to).unwrap_or_default().to_owned()
    };
    let mut statements = Vec::new();
    for range in tokens.split(|t| t.token == Token::SemiColon) {
        let (Some(first), Some(last)) = (range.first(), range.last()) else {
            continue;
        };
        let text = text_of(range);
        let (overrides, range) = overriding(range);
        statements.push(ScriptStatement {
            place: place_of(first.span.start),
            text,
            is_own: false,
            may_have_parts: false,
            overrides,
            syntax: statement(&range, place_of(last.span.end), &text_of)?,
        });
    }
    Ok(statements)
}

/// Takes OVERRIDING SYSTEM VALUE out of an INSERT, which the parser does not know.
fn overriding(tokens: &[TokenWithSpan]) -> (bool, Cow<'_, [TokenWithSpan]>) {
    const WORDS: [&str; 3] = ["overriding", "system", "value"];
    let is_insert = tokens.first().is_some_and(|first| is_word(&first.token, "insert"));
    let is_it = |three: &[TokenWithSpan]| {
        three.iter().zip(WORDS).all(|(token, word)| is_word(&token.token, word))
    };
    match tokens.windows(3).position(is_it).filter(|_| is_insert) {
        None => (false, Cow::Borrowed(tokens)),
        Some(at) => (true, Cow::Owned([&tokens[..at], &tokens[at + 3..]].concat())),
    }
}

pub(crate) fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// The byte offset of a location, whose column counts characters.
pub(crate) fn offset(text: &str, lines: &[usize], location: Location) -> usize {
    let line = usize::try_from(location.line).unwrap_or(usize::MAX).saturating_sub(1);
    let Some(&start) = lines.get(line) else {
        return text.len();
    };
    let column = usize::try_from(location.column).unwrap_or(usize::MAX).saturating_sub(1);
    text[start..].char_indices().nth(column).map_or(text.len(), |(at, _)| start + at)
}

/// One statement; `text_of` gives the text that tokens were.
fn statement(
    tokens: &[TokenWithSpan],
    end: Place,
    text_of: &impl Fn(&[TokenWithSpan]) -> String,
) -> Result<Syntax> {
    let mut cursor = Cursor::new(tokens, end);
    let place = cursor.place();
    if cursor.accept("create") {
        let or_replace = cursor.accept_all(&["or", "replace"]);
        if cursor.is("function") || cursor.is("procedure") {
            return Ok(Syntax::Routine(Box::new(routine(&mut cursor, or_replace)?)));
        }
    } else if cursor.accept("copy") {
        return Ok(Syntax::Copy(copy(&mut cursor, place, text_of)?));
    } else if cursor.accept("do") {
        return Ok(Syntax::Anonymous(Box::new(anonymous(&mut cursor)?)));
    } else if cursor.accept("call") {
        let (name, place, arguments) = invocation(&mut cursor)?;
        return Ok(Syntax::Call { name, arguments: arguments.unwrap_or_default(), place });
    } else if cursor.accept_all(&["explain", "procedure"])
        || cursor.accept_all(&["explain", "function"])
        || cursor.accept_all(&["explain", "call"])
    {
        let (name, place, arguments) = invocation(&mut cursor)?;
        return Ok(Syntax::Explain { name, arguments, place });
    } else if cursor.accept_all(&["drop", "function"]) || cursor.accept_all(&["drop", "procedure"])
    {
        return drop_routine(&mut cursor);
    }
    if let Some(control) = transaction_control(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::Transaction(control));
    }
    if let Some(setting) = setting(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::Setting(setting));
    }
    if let Some(naming) = naming(&mut Cursor::new(tokens, end), text_of)? {
        return Ok(Syntax::Naming(naming));
    }
    if let Some(user) = user(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::User(user));
    }
    if let Some(maintenance) = maintenance(&mut Cursor::new(tokens, end))? {
        return Ok(Syntax::Maintenance(maintenance));
    }
    let mut unlogged = Cursor::new(tokens, end);
    if unlogged.accept_all(&["create", "unlogged", "table"]) {
        // Logged all the same: more than was asked for.
        let rest = tokens.iter().enumerate().filter(|(at, _)| *at != 1);
        let rest: Vec<_> = rest.map(|(_, token)| token.clone()).collect();
        return Ok(Syntax::Sql(Box::new(parse_statement(&rest, end)?)));
    }
    refuse(&Cursor::new(tokens, end), place)?;
    let tokens = in_parsers_order(tokens);
    Ok(Syntax::Sql(Box::new(parse_statement(&tokens, end)?)))
}

/// Statements refused by their first word, before the parser sees them.
fn refuse(cursor: &Cursor<'_>, place: Place) -> Result<()> {
    const ADVICE: &[(&str, &str)] = &[
        ("listen", "keep what is new in a table, and ask for it"),
        ("unlisten", "there is nothing that could be listened to: leave it out"),
        ("notify", "keep what is new in a table, which others ask for"),
        ("revoke", "all users may do everything: keep a user out by DROP USER"),
        ("merge", "write INSERT ... ON CONFLICT DO NOTHING, then UPDATE"),
        ("lock", "the engine locks by itself: leave it out"),
        ("comment", "write -- comments in the script"),
        ("cluster", "rows have no order on pages: leave it out"),
        ("reindex", "indexes are made anew when the database is opened: leave it out"),
    ];
    for (word, hint) in ADVICE {
        if cursor.is(word) {
            return Err(unsupported(place, word.to_ascii_uppercase(), *hint));
        }
    }
    Ok(())
}

/// `name` or `name(arguments)`.
fn invocation(cursor: &mut Cursor<'_>) -> Result<(String, Place, Option<Vec<CallArgument>>)> {
    let place = cursor.place();
    let name = cursor.object_name()?;
    let mut arguments = None;
    if cursor.peek() == Some(&Token::LParen) {
        let list = cursor.take_brackets()?;
        let items = cursor.inside(list).split_commas();
        arguments = Some(items.into_iter().map(argument).collect::<Result<_>>()?);
    }
    if cursor.at_end() { Ok((name, place, arguments)) } else { Err(cursor.unexpected("the end")) }
}

fn argument(mut cursor: Cursor<'_>) -> Result<CallArgument> {
    let place = cursor.place();
    let name = match (cursor.peek(), cursor.peek_at(1)) {
        (Some(Token::Word(word)), Some(Token::RArrow | Token::Assignment)) => {
            cursor.bump();
            cursor.bump();
            Some(folded(&word.value, word.quote_style.is_some()))
        }
        _ => None,
    };
    let tokens = cursor.rest();
    Ok(CallArgument { name, value: parse_expression(tokens, cursor.place())?, place })
}

fn drop_routine(cursor: &mut Cursor<'_>) -> Result<Syntax> {
    let if_exists = cursor.accept_all(&["if", "exists"]);
    let mut names = Vec::new();
    loop {
        let place = cursor.place();
        names.push((cursor.object_name()?, place));
        if cursor.peek() == Some(&Token::LParen) {
            cursor.take_brackets()?;
        }
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    if !cursor.accept("restrict") && cursor.is("cascade") {
        return Err(unsupported(cursor.place(), "CASCADE", "nothing depends on a procedure")
            .hint("leave CASCADE out"));
    }
    if cursor.at_end() {
        Ok(Syntax::DropRoutine { names, if_exists })
    } else {
        Err(cursor.unexpected("the end"))
    }
}
