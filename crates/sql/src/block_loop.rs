//! Loops, what leaves them, and labels.

use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::block::{
    Depth, body, expression_to_semicolon, expression_to_word, parse_value, target, targets,
};
use crate::call_syntax::CallArgument;
use crate::cursor_syntax::statement_source;
use crate::error::{Advice, Result, place_of, syntax};
use crate::script::invocation;
use crate::syntax::{BlockStatementKind as Kind, ForRange, LeaveSyntax, LoopBody, Target, Way};
use crate::token::{Cursor, is_word};

/// `<<name>>`, if it stands here.
pub(crate) fn label(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    if !cursor.accept_token(&Token::ShiftLeft) {
        return Ok(None);
    }
    let name = cursor.identifier()?;
    cursor.expect_token(&Token::ShiftRight)?;
    Ok(Some(name))
}

/// The label that may stand behind END: it is the same as that at the beginning.
pub(crate) fn end_label(cursor: &mut Cursor<'_>, label: Option<&String>) -> Result<()> {
    if cursor.at_end() || cursor.peek() == Some(&Token::SemiColon) {
        return Ok(());
    }
    let place = cursor.place();
    let end = cursor.identifier()?;
    match label {
        Some(label) if *label == end => Ok(()),
        Some(label) => {
            let message = format!("end label \"{end}\" differs from block's label \"{label}\"");
            Err(syntax(place, message))
        }
        None => Err(syntax(place, format!("end label \"{end}\" specified for unlabeled block"))),
    }
}

fn loop_body(cursor: &mut Cursor<'_>, label: Option<String>, depth: Depth) -> Result<LoopBody> {
    let statements = body(cursor, &["end"], depth)?;
    cursor.expect("end")?;
    cursor.expect("loop")?;
    end_label(cursor, label.as_ref())?;
    cursor.expect_token(&Token::SemiColon)?;
    Ok(LoopBody { label, statements })
}

/// LOOP and WHILE.
pub(crate) fn loop_statement(
    cursor: &mut Cursor<'_>,
    label: Option<String>,
    depth: Depth,
) -> Result<Kind> {
    let condition = match cursor.accept("while") {
        true => Some(expression_to_word(cursor, "loop")?),
        false => {
            cursor.expect("loop")?;
            None
        }
    };
    Ok(Kind::Loop { condition, body: loop_body(cursor, label, depth)? })
}

/// EXIT and CONTINUE.
pub(crate) fn leave_statement(cursor: &mut Cursor<'_>) -> Result<Kind> {
    let way = match cursor.accept("exit") {
        true => Way::Exit,
        false => {
            cursor.expect("continue")?;
            Way::Continue
        }
    };
    let place = cursor.place();
    let label = match cursor.peek() {
        Some(Token::SemiColon) => None,
        _ if cursor.is("when") => None,
        _ => Some((cursor.identifier()?, place)),
    };
    let condition =
        if cursor.accept("when") { Some(expression_to_semicolon(cursor)?) } else { None };
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Leave(Box::new(LeaveSyntax { way, label, condition })))
}

pub(crate) fn foreach_statement(
    cursor: &mut Cursor<'_>,
    label: Option<String>,
    depth: Depth,
) -> Result<Kind> {
    cursor.expect("foreach")?;
    let target = target(cursor)?;
    let slice = match cursor.accept("slice") {
        false => 0,
        true => {
            let place = cursor.place();
            let number = cursor.take(1).first().map(|token| token.token.to_string());
            let slice = number.and_then(|number| number.parse().ok());
            slice.ok_or_else(|| syntax(place, "SLICE needs an integer"))?
        }
    };
    cursor.expect("in")?;
    cursor.expect("array")?;
    let array = expression_to_word(cursor, "loop")?;
    Ok(Kind::ForEach { target, slice, array, body: loop_body(cursor, label, depth)? })
}

pub(crate) fn for_statement(
    cursor: &mut Cursor<'_>,
    label: Option<String>,
    depth: Depth,
) -> Result<Kind> {
    cursor.expect("for")?;
    let mut targets = targets(cursor)?;
    cursor.expect("in")?;
    const GIVES_ROWS: [&str; 8] =
        ["execute", "select", "with", "values", "table", "insert", "update", "delete"];
    if GIVES_ROWS.iter().any(|word| cursor.is(word))
        || cursor.peek() == Some(&Token::LParen) && { cursor.is_at(1, "select") }
    {
        let tokens = cursor.take_until_word("loop")?;
        let query = statement_source(&mut cursor.inside(tokens))?;
        return Ok(Kind::ForQuery { targets, query, body: loop_body(cursor, label, depth)? });
    }
    let [Target { parts, place }] = targets.as_slice() else {
        return Err(cursor.unexpected("SELECT"));
    };
    let [name] = parts.as_slice() else {
        return Err(syntax(*place, "the loop variable of an integer loop is a plain name"));
    };
    let name = name.clone();
    let reverse = cursor.accept("reverse");
    let tokens = cursor.take_until_word("loop")?;
    let end = cursor.place();
    if !reverse && let Some((of, arguments)) = cursor_of_loop(cursor.inside(tokens)) {
        let body = loop_body(cursor, label, depth)?;
        let (target, cursor) = (targets.remove(0), of);
        return Ok(Kind::ForCursor { target, cursor, arguments: arguments?, body });
    }
    let (from, rest) = split_range(tokens, end)?;
    let mut rest = Cursor::new(&rest, end);
    let to = rest.take_until(|_, t| is_word(t, "by"));
    let to = parse_value(to, rest.place())?;
    let step = if rest.accept("by") {
        let tokens = rest.rest();
        Some(parse_value(tokens, end)?)
    } else {
        None
    };
    let from = parse_value(&from, end)?;
    let body = loop_body(cursor, label, depth)?;
    Ok(Kind::ForRange(Box::new(ForRange { name, reverse, from, to, step, body })))
}

/// `cursor` or `cursor(arguments)`; none: it is something else.
fn cursor_of_loop(mut cursor: Cursor<'_>) -> Option<(Target, Result<Vec<CallArgument>>)> {
    let mut ahead = cursor.clone();
    let place = ahead.place();
    let name = ahead.identifier().ok()?;
    if ahead.peek() == Some(&Token::LParen) {
        ahead.take_brackets().ok()?;
    }
    if !ahead.at_end() {
        return None;
    }
    let arguments = invocation(&mut cursor).map(|(_, _, given)| given.unwrap_or_default());
    Some((Target { parts: vec![name], place }, arguments))
}

/// Splits `a..b`. The tokenizer knows no `..`: it reads `1..10` as the numbers `1.` and `.10`.
pub(crate) fn split_range(
    tokens: &[TokenWithSpan],
    end: Place,
) -> Result<(Vec<TokenWithSpan>, Vec<TokenWithSpan>)> {
    let mut brackets = 0_usize;
    for (i, token) in tokens.iter().enumerate() {
        let next = tokens.get(i + 1).map(|t| &t.token);
        match (&token.token, next) {
            (Token::LParen | Token::LBracket, _) => brackets += 1,
            (Token::RParen | Token::RBracket, _) => brackets = brackets.saturating_sub(1),
            (Token::Period, Some(Token::Period)) if brackets == 0 => {
                return Ok((tokens[..i].to_vec(), tokens[i + 2..].to_vec()));
            }
            // `a..5`: a period, then the number `.5`
            (Token::Period, Some(Token::Number(digits, long)))
                if brackets == 0 && digits.starts_with('.') =>
            {
                let mut rest = tokens[i + 1..].to_vec();
                rest[0].token = Token::Number(digits[1..].to_owned(), *long);
                return Ok((tokens[..i].to_vec(), rest));
            }
            // `1..b` and `1..10`
            (Token::Number(digits, long), next) if brackets == 0 && digits.ends_with('.') => {
                let mut first = tokens[..=i].to_vec();
                first[i].token = Token::Number(digits[..digits.len() - 1].to_owned(), *long);
                let mut rest = tokens[i + 1..].to_vec();
                match next {
                    Some(Token::Period) => {
                        rest.remove(0);
                    }
                    Some(Token::Number(digits, long)) if digits.starts_with('.') => {
                        rest[0].token = Token::Number(digits[1..].to_owned(), *long);
                    }
                    _ => {}
                }
                return Ok((first, rest));
            }
            _ => {}
        }
    }
    let place = tokens.first().map_or(end, |t| place_of(t.span.start));
    Err(goes_over_nothing(place))
}

/// The error of a loop over something else than numbers, rows and a cursor.
pub(crate) fn goes_over_nothing(place: Place) -> SqlError {
    syntax(place, "FOR needs a range (1..n), a SELECT or a cursor").hint(
        "write FOR i IN 1..n LOOP, FOR r IN SELECT ... LOOP, FOR r IN cursor LOOP or FOREACH x IN \
         ARRAY a LOOP",
    )
}
