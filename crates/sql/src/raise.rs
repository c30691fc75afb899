//! RAISE: levels, format strings, condition names and USING options.

use hotrow_transaction::outcome::NoticeLevel;
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::Token;

use crate::block::expression_to_semicolon;
use crate::error::{Advice, Result, error, unsupported};
use crate::syntax::{BlockStatementKind as Kind, RaiseSyntax};
use crate::token::{Cursor, is_word, parse_expression};

/// Condition names that RAISE and ERRCODE accept, with their codes.
const CONDITIONS: &[(&str, &[u8; 5])] = &[
    ("raise_exception", b"P0001"),
    ("no_data_found", b"P0002"),
    ("too_many_rows", b"P0003"),
    ("assert_failure", b"P0004"),
    ("case_not_found", b"20000"),
    ("data_exception", b"22000"),
    ("string_data_right_truncation", b"22001"),
    ("numeric_value_out_of_range", b"22003"),
    ("null_value_not_allowed", b"22004"),
    ("datetime_field_overflow", b"22008"),
    ("division_by_zero", b"22012"),
    ("invalid_parameter_value", b"22023"),
    ("invalid_text_representation", b"22P02"),
    ("integrity_constraint_violation", b"23000"),
    ("restrict_violation", b"23001"),
    ("not_null_violation", b"23502"),
    ("foreign_key_violation", b"23503"),
    ("unique_violation", b"23505"),
    ("check_violation", b"23514"),
    ("exclusion_violation", b"23P01"),
    ("invalid_transaction_state", b"25000"),
    ("insufficient_privilege", b"42501"),
    ("undefined_table", b"42P01"),
    ("undefined_column", b"42703"),
    ("insufficient_resources", b"53000"),
    ("program_limit_exceeded", b"54000"),
    ("object_not_in_prerequisite_state", b"55000"),
    ("object_in_use", b"55006"),
    ("lock_not_available", b"55P03"),
    ("query_canceled", b"57014"),
];

/// What RAISE may be short of an error.
const LEVELS: &[(&str, NoticeLevel)] = &[
    ("debug", NoticeLevel::Debug),
    ("log", NoticeLevel::Log),
    ("info", NoticeLevel::Info),
    ("notice", NoticeLevel::Notice),
    ("warning", NoticeLevel::Warning),
];

/// The code of a condition name or a five-character code.
pub(crate) fn sqlstate(text: &str, place: Place) -> Result<[u8; 5]> {
    if let Some((_, code)) = CONDITIONS.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)) {
        return Ok(**code);
    }
    match <[u8; 5]>::try_from(text.as_bytes()) {
        Ok(code) if code.iter().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase()) => Ok(code),
        _ => Err(error(b"42704", place, format!("unrecognized exception condition \"{text}\""))
            .hint("write a five-character code, for example ERRCODE = 'P0001'")),
    }
}

/// `RAISE [level] ['format' [, argument]...] [USING option = value, ...];`
pub(crate) fn raise(cursor: &mut Cursor<'_>) -> Result<Kind> {
    cursor.expect("raise")?;
    if cursor.peek() == Some(&Token::SemiColon) {
        return Err(unsupported(
            cursor.place(),
            "RAISE without parameters",
            "there are no EXCEPTION blocks to raise from again",
        ));
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
                syntax.arguments.push(parse_expression(tokens, cursor.place())?);
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
        if !["message", "detail", "hint", "errcode"].contains(&name.as_str()) {
            return Err(unsupported(
                place,
                format!("RAISE option \"{name}\""),
                "use MESSAGE, DETAIL, HINT and ERRCODE",
            ));
        }
        if !cursor.accept_token(&Token::Eq) {
            cursor.expect_token(&Token::Assignment)?;
        }
        let tokens = cursor.take_until(|_, t| matches!(t, Token::Comma | Token::SemiColon));
        let value = if tokens.is_empty() {
            expression_to_semicolon(cursor)?
        } else {
            parse_expression(tokens, cursor.place())?
        };
        syntax.options.push((name, value, place));
        if !cursor.accept_token(&Token::Comma) {
            return Ok(());
        }
    }
}
