//! CREATE FUNCTION and CREATE PROCEDURE headers, and DO.

use hotrow_transaction::program::Place;
use sqlparser::ast::{Expr, Ident, Statement};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::block::{parse_body, type_name};
use crate::error::{Advice, Result, error, place_of, syntax, unsupported};
use crate::syntax::{
    Block, BlockStatement, BlockStatementKind as Kind, Declaration, Into, Mode, Parameter, Returns,
    Routine, Target,
};
use crate::token::{Cursor, is_word, parse_expression, parse_statement, tokenize};

/// Parses what follows CREATE [OR REPLACE].
pub(crate) fn routine(cursor: &mut Cursor<'_>, or_replace: bool) -> Result<Routine> {
    let is_function = cursor.accept("function");
    if !is_function {
        cursor.expect("procedure")?;
    }
    let place = cursor.place();
    let name = cursor.object_name()?;
    let list = cursor.take_brackets()?;
    let items = cursor.inside(list).split_commas();
    let parameters = items.into_iter().map(parameter).collect::<Result<Vec<_>>>()?;
    let mut returns = None;
    let mut text = None;
    let mut language = None;
    while !cursor.at_end() {
        if cursor.is("returns") && !cursor.is_at(1, "null") {
            cursor.bump();
            returns = Some(parse_returns(cursor)?);
        } else if cursor.accept("language") {
            language = Some((cursor.place(), cursor.identifier_or_string()?));
        } else if cursor.accept("as") {
            text = Some(body_text(cursor)?);
        } else {
            attribute(cursor)?;
        }
    }
    let language = check_language(language, cursor.place())?;
    let Some((origin, text)) = text else {
        return Err(syntax(cursor.place(), "no function body specified")
            .hint("write AS $$ BEGIN ... END $$"));
    };
    let (body, end) = match language {
        Language::PlPgSql => parse_text(&text, origin)?,
        Language::Sql => parse_sql(&text, origin, returns.as_ref())?,
    };
    Ok(Routine { name, place, or_replace, is_function, parameters, returns, body, end })
}

/// DO [LANGUAGE plpgsql] $$ ... $$
pub(crate) fn anonymous(cursor: &mut Cursor<'_>) -> Result<Block> {
    let mut language = None;
    let mut text = None;
    while !cursor.at_end() {
        if cursor.accept("language") {
            language = Some((cursor.place(), cursor.identifier_or_string()?));
        } else {
            text = Some(body_text(cursor)?);
        }
    }
    let default = (cursor.place(), "plpgsql".to_owned());
    if let Language::Sql = check_language(language.or(Some(default)), cursor.place())? {
        let message = "language \"sql\" does not support inline code execution";
        return Err(error(b"0A000", cursor.place(), message));
    }
    let Some((origin, text)) = text else {
        return Err(cursor.unexpected("a body in $$"));
    };
    Ok(parse_text(&text, origin)?.0)
}

fn parse_text(text: &str, origin: Place) -> Result<(Block, Place)> {
    let tokens = tokenize(text, origin)?;
    let end = tokens.last().map_or(origin, |t| place_of(t.span.end));
    parse_body(&mut Cursor::new(&tokens, end))
}

/// In what a body is written.
enum Language {
    PlPgSql,
    Sql,
}

/// The statements of a function in SQL, as those of a block: the last one is what it returns.
fn parse_sql(text: &str, origin: Place, returns: Option<&Returns>) -> Result<(Block, Place)> {
    let tokens = tokenize(text, origin)?;
    let end = tokens.last().map_or(origin, |token| place_of(token.span.end));
    let mut cursor = Cursor::new(&tokens, end);
    let mut statements: Vec<(Place, Box<Statement>)> = Vec::new();
    while !cursor.at_end() {
        if cursor.accept_token(&Token::SemiColon) {
            continue;
        }
        let place = cursor.place();
        let tokens = cursor.take_until(|_, token| *token == Token::SemiColon);
        statements.push((place, Box::new(parse_statement(tokens, cursor.place())?)));
    }
    let last = match returns {
        None | Some(Returns::Void) => None,
        Some(_) => Some(statements.pop().ok_or_else(|| {
            error(b"42P13", end, "return type mismatch in function declared to return a value")
                .detail("Function's final statement must be SELECT or change rows RETURNING.")
        })?),
    };
    let mut block = Block {
        label: None,
        declarations: Vec::new(),
        statements: Vec::new(),
        handlers: Vec::new(),
    };
    for (place, statement) in statements {
        let kind = match *statement {
            Statement::Query(_) => Kind::Perform(statement),
            _ => Kind::Sql { statement, into: None },
        };
        block.statements.push(BlockStatement { place, kind });
    }
    let Some((place, statement)) = last else { return Ok((block, end)) };
    let mut add = |kind| block.statements.push(BlockStatement { place, kind });
    match returns {
        Some(Returns::Scalar(type_name)) => {
            // No name of SQL has a question mark, so nothing else is called so.
            let name = "?result?";
            let target = Target { parts: vec![name.to_owned()], place };
            let into = Some(Into { strict: false, targets: vec![target] });
            add(Kind::Sql { statement, into });
            add(Kind::Return(Some(Expr::Identifier(Ident::with_quote('"', name)))));
            block.declarations.push(Declaration {
                name: name.to_owned(),
                place,
                constant: false,
                not_null: false,
                type_name: type_name.clone(),
                default: None,
            });
        }
        Some(Returns::Record) => {
            let hint = "write RETURNS TABLE (name type, ...), or LANGUAGE plpgsql";
            return Err(unsupported(place, "a record of a function in SQL", hint));
        }
        _ => add(Kind::ReturnQuery(statement)),
    }
    Ok((block, end))
}

fn check_language(language: Option<(Place, String)>, end: Place) -> Result<Language> {
    match language {
        None => Err(syntax(end, "no language specified").hint("write LANGUAGE plpgsql")),
        Some((_, language)) if language.eq_ignore_ascii_case("plpgsql") => Ok(Language::PlPgSql),
        Some((_, language)) if language.eq_ignore_ascii_case("sql") => Ok(Language::Sql),
        Some((place, language)) => Err(unsupported(
            place,
            format!("language \"{language}\""),
            "write LANGUAGE plpgsql AS $$ BEGIN ... END $$, or LANGUAGE sql",
        )),
    }
}

impl Cursor<'_> {
    fn identifier_or_string(&mut self) -> Result<String> {
        if let Some(Token::SingleQuotedString(text)) = self.peek() {
            self.bump();
            return Ok(text.clone());
        }
        self.identifier()
    }
}

/// The body and the place of its first character.
fn body_text(cursor: &mut Cursor<'_>) -> Result<(Place, String)> {
    let mut origin = cursor.place();
    let text = match cursor.peek() {
        Some(Token::DollarQuotedString(body)) => {
            let tag = body.tag.as_ref().map_or(0, |tag| tag.chars().count());
            origin.column += tag as u32 + 2;
            body.value.clone()
        }
        Some(Token::SingleQuotedString(body)) => {
            origin.column += 1;
            body.clone()
        }
        _ => return Err(cursor.unexpected("a body in $$")),
    };
    cursor.bump();
    Ok((origin, text))
}

/// Attributes that change nothing here, and those that are refused.
fn attribute(cursor: &mut Cursor<'_>) -> Result<()> {
    let place = cursor.place();
    for harmless in ["immutable", "stable", "volatile", "leakproof"] {
        if cursor.accept(harmless) {
            return Ok(());
        }
    }
    if cursor.accept_all(&["called", "on", "null", "input"])
        || cursor.accept_all(&["not", "leakproof"])
        || cursor.accept_all(&["security", "invoker"])
        || cursor.accept_all(&["security", "definer"])
    {
        return Ok(());
    }
    if cursor.accept("parallel") || cursor.accept("cost") || cursor.accept("rows") {
        cursor.bump();
        return Ok(());
    }
    if cursor.is("strict") || cursor.is("returns") {
        return Err(unsupported(
            place,
            "STRICT (RETURNS NULL ON NULL INPUT)",
            "test the parameters: IF x IS NULL THEN RETURN NULL; END IF;",
        ));
    }
    for refused in ["set", "window", "transform", "support", "external"] {
        if cursor.is(refused) {
            return Err(unsupported(
                place,
                format!("{} in CREATE FUNCTION", refused.to_uppercase()),
                "leave it out",
            ));
        }
    }
    if cursor.is("begin") || cursor.is("return") {
        return Err(unsupported(
            place,
            "a body written in SQL",
            "write LANGUAGE plpgsql AS $$ BEGIN ... END $$",
        ));
    }
    Err(cursor.unexpected("AS, LANGUAGE or RETURNS"))
}

fn parameter(mut cursor: Cursor<'_>) -> Result<Parameter> {
    let mode = if cursor.accept("inout") || cursor.accept_all(&["in", "out"]) {
        Mode::InOut
    } else if cursor.accept("out") {
        Mode::Out
    } else {
        cursor.accept("in");
        Mode::In
    };
    if cursor.is("variadic") {
        return Err(unsupported(cursor.place(), "VARIADIC", "pass an array parameter"));
    }
    let place = cursor.place();
    let name = cursor.identifier()?;
    let type_place = cursor.place();
    if cursor.at_end() {
        return Err(unsupported(place, "a parameter without a name", "write name and type"));
    }
    let tokens = cursor
        .take_until(|_, t| matches!(t, Token::Eq | Token::Assignment) || is_word(t, "default"));
    let type_name = type_name(cursor.inside(tokens), type_place)?;
    let mut default = None;
    if !cursor.at_end() {
        cursor.bump(); // = or := or DEFAULT
        if mode == Mode::Out {
            let message = "only input parameters can have default values";
            return Err(error(b"42P13", place, message));
        }
        let end = cursor.place();
        default = Some(parse_expression(cursor.rest(), end)?);
    }
    Ok(Parameter { mode, name, place, type_name, default })
}

/// What follows RETURNS.
fn parse_returns(cursor: &mut Cursor<'_>) -> Result<Returns> {
    if cursor.accept("void") {
        return Ok(Returns::Void);
    }
    if cursor.is("record") {
        cursor.bump();
        return Ok(Returns::Record);
    }
    if cursor.is("trigger") {
        return Err(unsupported(
            cursor.place(),
            "a trigger function",
            "write the statements into the procedures that change the table",
        ));
    }
    if cursor.accept("table") {
        let list = cursor.take_brackets()?;
        let mut columns = Vec::new();
        for mut item in cursor.inside(list).split_commas() {
            let place = item.place();
            let name = item.identifier()?;
            let type_place = item.place();
            let tokens: &[TokenWithSpan] = item.rest();
            columns.push((name, place, type_name(item.inside(tokens), type_place)?));
        }
        if columns.is_empty() {
            return Err(error(b"42601", cursor.place(), "RETURNS TABLE needs columns"));
        }
        return Ok(Returns::Table(columns));
    }
    let is_set = cursor.accept("setof");
    let place = cursor.place();
    const ENDS: &[&str] = &[
        "language",
        "as",
        "immutable",
        "stable",
        "volatile",
        "called",
        "strict",
        "security",
        "parallel",
        "cost",
        "rows",
        "leakproof",
        "not",
        "set",
        "returns",
        "begin",
        "return",
        "window",
        "transform",
        "support",
        "external",
    ];
    let tokens = cursor.take_until(|_, t| ENDS.iter().any(|word| is_word(t, word)));
    let type_name = type_name(cursor.inside(tokens), place)?;
    Ok(if is_set { Returns::SetOf(type_name) } else { Returns::Scalar(type_name) })
}
