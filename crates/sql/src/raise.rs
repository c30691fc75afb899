//! RAISE: levels, format strings and USING options.

use hotrow_transaction::outcome::NoticeLevel;
use hotrow_transaction::program::ErrorPart;
use sqlparser::tokenizer::Token;

use crate::block::{expression_to_semicolon, parse_value};
use crate::condition::sqlstate;
use crate::error::{Result, error};
use crate::syntax::{BlockStatementKind as Kind, RaiseSyntax};
use crate::token::{Cursor, is_word};

/// What RAISE may be short of an error.
const LEVELS: &[(&str, NoticeLevel)] = &[
    ("debug", NoticeLevel::Debug),
    ("log", NoticeLevel::Log),
    ("info", NoticeLevel::Info),
    ("notice", NoticeLevel::Notice),
    ("warning", NoticeLevel::Warning),
];

/// What USING says of an error besides its texts.
const PARTS: &[(&str, ErrorPart)] = &[
    ("column", ErrorPart::Column),
    ("constraint", ErrorPart::Constraint),
    ("datatype", ErrorPart::DataType),
    ("schema", ErrorPart::Schema),
    ("table", ErrorPart::Table),
];

/// The part of an error that an option of USING names.
pub(crate) fn part_named(option: &str) -> Option<ErrorPart> {
    PARTS.iter().find(|(name, _)| *name == option).map(|(_, part)| *part)
}

/// `RAISE [level] ['format' [, argument]...] [USING option = value, ...];`
pub(crate) fn raise(cursor: &mut Cursor<'_>) -> Result<Kind> {
    cursor.expect("raise")?;
    if cursor.peek() == Some(&Token::SemiColon) {
        cursor.bump();
        return Ok(Kind::RaiseAgain);
    }
    let level = LEVELS.iter().find(|(name, _)| cursor.accept(name)).map(|(_, level)| *level);
    if level.is_none() {
        cursor.accept("exception");
    }
    let mut syntax = RaiseSyntax {
        level,
        format: None,
        arguments: Vec::new(),
        condition: None,
        options: Vec::new(),
    };
    head(cursor, &mut syntax)?;
    if cursor.accept("using") {
        using(cursor, &mut syntax)?;
    }
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Raise(Box::new(syntax)))
}

fn head(cursor: &mut Cursor<'_>, syntax: &mut RaiseSyntax) -> Result<()> {
    let place = cursor.place();
    match cursor.peek() {
        Some(Token::SingleQuotedString(format) | Token::EscapedStringLiteral(format)) => {
            cursor.bump();
            syntax.format = Some(format.clone());
            while cursor.accept_token(&Token::Comma) {
                let tokens = cursor.take_until(|_, t| {
                    matches!(t, Token::Comma | Token::SemiColon) || is_word(t, "using")
                });
                syntax.arguments.push(parse_value(tokens, cursor.place())?);
            }
        }
        Some(Token::Word(word)) if !cursor.is("using") => {
            cursor.bump();
            if word.value.eq_ignore_ascii_case("sqlstate") {
                let Some(Token::SingleQuotedString(code)) = cursor.peek() else {
                    return Err(cursor.unexpected("a code in quotes"));
                };
                cursor.bump();
                syntax.condition = Some((code.clone(), sqlstate(code, place)?));
            } else {
                syntax.condition = Some((word.value.clone(), sqlstate(&word.value, place)?));
            }
        }
        _ => {}
    }
    Ok(())
}

fn using(cursor: &mut Cursor<'_>, syntax: &mut RaiseSyntax) -> Result<()> {
    loop {
        let place = cursor.place();
        let name = cursor.identifier()?;
        if !["message", "detail", "hint", "errcode"].contains(&name.as_str())
            && part_named(&name).is_none()
        {
            return Err(error(
                b"42601",
                place,
                format!("unrecognized RAISE statement option \"{name}\""),
            ));
        }
        if !cursor.accept_token(&Token::Eq) {
            cursor.expect_token(&Token::Assignment)?;
        }
        let tokens = cursor.take_until(|_, t| matches!(t, Token::Comma | Token::SemiColon));
        let value = if tokens.is_empty() {
            expression_to_semicolon(cursor)?
        } else {
            parse_value(tokens, cursor.place())?
        };
        syntax.options.push((name, value, place));
        if !cursor.accept_token(&Token::Comma) {
            return Ok(());
        }
    }
}
