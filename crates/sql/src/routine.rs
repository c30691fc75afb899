//! CREATE FUNCTION and CREATE PROCEDURE headers, and DO.

use std::borrow::Cow;

use hotrow_transaction::program::Place;
use sqlparser::ast::{self, BinaryOperator, Expr, Ident, Statement};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ambiguity::Ambiguity;
use crate::anonymous::{Anonymous, Holds};
use crate::block::{parse_body, type_name};
use crate::dynamic_syntax::name_parameters;
use crate::endings::find_last;
use crate::error::{Advice, Result, error, place_of, syntax, unsupported};
use crate::holds::{each_definition, each_in_block, of_block};
use crate::marks::MARK;
use crate::routine_options::{is_strict_here, path_of_body, security, setting_without_effect};
use crate::script::{Offsets, parse_script_at};
use crate::state::RESULT_ROW;
use crate::syntax::{
    Block, BlockStatement, BlockStatementKind as Kind, Declaration, Into, Mode, Parameter, Returns,
    Routine, StatementSource, Target, VariableSyntax,
};
use crate::token::{Cursor, is_word, parse_expression, parse_statement, tokenize};

/// Parses what follows CREATE [OR REPLACE].
pub(crate) fn routine(cursor: &mut Cursor<'_>, or_replace: bool) -> Result<Routine> {
    routine_with(cursor, or_replace, |tokens| Cow::Borrowed(tokens))
}

/// As [`routine`], with something done to the tokens of the body of a function that returns
/// trigger.
pub(crate) fn routine_with(
    cursor: &mut Cursor<'_>,
    or_replace: bool,
    rewrite: impl FnOnce(&[TokenWithSpan]) -> Cow<'_, [TokenWithSpan]>,
) -> Result<Routine> {
    let is_function = cursor.accept("function");
    if !is_function {
        cursor.expect("procedure")?;
    }
    let place = cursor.place();
    let name = cursor.object_name()?;
    let mut parameters = parameters(cursor)?;
    for (number, unnamed) in (1..).zip(&mut parameters) {
        if unnamed.is_unnamed() {
            unnamed.name = format!("${number}");
        }
    }
    let (mut is_strict, mut is_definer, mut written_in_sql) = (false, false, false);
    let (mut returns, mut language, mut path) = (None, None, None);
    let mut without_effect = Vec::new();
    let (mut text, mut own_text) = (None, (place, String::new()));
    while !cursor.at_end() {
        if cursor.is("returns") && !cursor.is_at(1, "null") {
            cursor.bump();
            returns = Some(parse_returns(cursor)?);
        } else if cursor.accept("language") {
            language = Some((cursor.place(), cursor.identifier_or_string()?));
        } else if cursor.accept("as") {
            let (origin, body) = body_text(cursor)?;
            text = Some((origin, tokenize(&body, origin)?));
            own_text = (origin, body);
        } else if cursor.is("return") || cursor.is("begin") && cursor.is_at(1, "atomic") {
            written_in_sql = true;
            text = Some((cursor.place(), body_in_sql(cursor)?));
        } else if cursor.accept("set") {
            match setting_without_effect(cursor)? {
                Some(name) => without_effect.push(name),
                None => path = path_of_body(cursor)?.or(path),
            }
        } else if is_function && is_strict_here(cursor) {
            is_strict = true;
        } else if let Some(definer) = security(cursor) {
            is_definer = definer;
        } else {
            attribute(cursor)?;
        }
    }
    let by_default = written_in_sql.then(|| (place, "sql".to_owned()));
    let language = check_language(language.or(by_default), cursor.place())?;
    if written_in_sql && !matches!(language, Language::Sql) {
        return Err(error(b"42P13", place, "inline SQL function body only valid for language SQL"));
    }
    let Some((origin, mut tokens)) = text else {
        return Err(syntax(cursor.place(), "no function body specified")
            .hint("write AS $$ BEGIN ... END $$"));
    };
    name_parameters(&mut tokens, |number| {
        // In SQL those that are passed have numbers, in PL/pgSQL all of them.
        let mut passed = parameters.iter().enumerate().filter(|(_, of)| of.mode != Mode::Out);
        let at = match language {
            Language::Sql => passed.nth(number.checked_sub(1)?)?.0 + 1,
            Language::PlPgSql => number,
        };
        Some(format!("${at}"))
    });
    let end = tokens.last().map_or(origin, |token| place_of(token.span.end));
    let tokens = match &returns {
        Some(Returns::Trigger) => {
            refuse_in_trigger_function(&parameters, &language, place)?;
            rewrite(&tokens)
        }
        _ => Cow::Borrowed(tokens.as_slice()),
    };
    let (mut body, end) = match language {
        Language::PlPgSql => parse_body(&mut Cursor::new(&tokens, end))?,
        Language::Sql => {
            let outs = parameters.iter().filter(|parameter| parameter.mode != Mode::In);
            let outs: Vec<&str> = outs.map(|parameter| &*parameter.name).collect();
            (parse_sql(Cursor::new(&tokens, end), end, (returns.as_ref(), &outs))?, end)
        }
    };
    if is_strict {
        body = strict(body, place, &parameters, returns.as_ref());
    }
    find_last(&mut body);
    let routine = Routine {
        name,
        place,
        or_replace,
        is_function,
        is_definer,
        is_in_sql: matches!(language, Language::Sql),
        path,
        parameters,
        returns,
        body,
        text: own_text,
        without_effect,
        end,
    };
    Ok(routine)
}

/// RETURN expression, or BEGIN ATOMIC statements END: as the statements that a text has.
fn body_in_sql(cursor: &mut Cursor<'_>) -> Result<Vec<TokenWithSpan>> {
    if cursor.accept("return") {
        return Ok(returned(cursor.rest()));
    }
    let place = cursor.place();
    cursor.bump();
    cursor.bump();
    let rest = cursor.rest_ahead();
    let Some(end) = end_of_atomic(rest) else {
        return Err(syntax(place, "BEGIN ATOMIC has no END"));
    };
    let body = cursor.take(end);
    cursor.bump();
    let statements = body.split(|t| t.token == Token::SemiColon);
    let mut written: Vec<TokenWithSpan> = Vec::new();
    for statement in statements.filter(|statement| !statement.is_empty()) {
        match &statement[0].token {
            word if is_word(word, "return") => written.extend(returned(&statement[1..])),
            _ => written.extend_from_slice(statement),
        }
        let span = statement[statement.len() - 1].span;
        written.push(TokenWithSpan { token: Token::SemiColon, span });
    }
    Ok(written)
}

/// `RETURN value` as the query that gives it.
fn returned(value: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let span = value.first().map_or_else(sqlparser::tokenizer::Span::empty, |first| first.span);
    let select = TokenWithSpan { token: Token::make_keyword("SELECT"), span };
    [select].into_iter().chain(value.iter().cloned()).collect()
}

/// Where the END of BEGIN ATOMIC stands among the tokens behind that.
pub(crate) fn end_of_atomic(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut cases = 0_usize;
    tokens.iter().position(|TokenWithSpan { token, .. }| {
        let ends = is_word(token, "end");
        let found = ends && cases == 0;
        cases = cases + usize::from(is_word(token, "case")) - usize::from(ends && cases > 0);
        found
    })
}

/// `DO [LANGUAGE plpgsql] $$ ... $$`
pub(crate) fn anonymous(cursor: &mut Cursor<'_>) -> Result<Anonymous> {
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
    let block = parse_text(&text, origin)?.0;
    let mut holds = of_block(&block);
    each_in_block(&block, &mut |statement, _| {
        if matches!(statement.kind, Kind::End { .. }) {
            holds = Holds::Definitions; // no program ends a transaction before its end
        }
    });
    if holds != Holds::Definitions {
        return Ok(Anonymous::new(block, (String::new(), origin), holds));
    }
    let offsets = Offsets::new(&text, origin);
    each_definition(&block, &mut |definition| {
        let range = offsets.of(definition.from)..offsets.of(definition.to);
        parse_script_at(text.get(range).unwrap_or_default(), definition.place).map(drop)
    })?;
    Ok(Anonymous::new(block, (text, origin), holds))
}

fn refuse_in_trigger_function(
    parameters: &[Parameter],
    language: &Language,
    place: Place,
) -> Result<()> {
    if matches!(language, Language::Sql) {
        return Err(error(b"42P13", place, "SQL functions cannot return type trigger")
            .hint("write LANGUAGE plpgsql"));
    }
    if !parameters.is_empty() {
        let message = "trigger functions cannot have declared arguments";
        return Err(error(b"42P13", place, message).hint(
            "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.",
        ));
    }
    Ok(())
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
fn parse_sql(
    mut cursor: Cursor<'_>,
    end: Place,
    (returns, outs): (Option<&Returns>, &[&str]),
) -> Result<Block> {
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
        Some(Returns::Void) => None,
        None if outs.is_empty() => None,
        _ => Some(statements.pop().ok_or_else(|| {
            error(b"42P13", end, "return type mismatch in function declared to return a value")
                .detail("Function's final statement must be SELECT or change rows RETURNING.")
        })?),
    };
    // In SQL a column's name means the column, be there a parameter of that name or not.
    let mut block = Block {
        label: None,
        declarations: vec![Declaration::Ambiguous(end, Ambiguity::Column)],
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
    let Some((place, statement)) = last else { return Ok(block) };
    let mut add = |kind| block.statements.push(BlockStatement { place, kind });
    match returns {
        // What the last statement gives is what the OUT parameters come to.
        None | Some(Returns::Scalar(_) | Returns::Record) if !outs.is_empty() => {
            let targets = outs.iter().map(|name| Target { parts: vec![(*name).to_owned()], place });
            let into = Some(Into { strict: false, targets: targets.collect() });
            add(Kind::Sql { statement, into });
        }
        Some(Returns::Scalar(type_name)) => {
            // No name of SQL has a question mark, so nothing else is called so.
            let name = RESULT_ROW;
            let target = Target { parts: vec![name.to_owned()], place };
            let into = Some(Into { strict: false, targets: vec![target] });
            add(Kind::Sql { statement, into });
            add(Kind::Return(Some(Expr::Identifier(Ident::with_quote('"', name)))));
            block.declarations.push(Declaration::Variable(Box::new(VariableSyntax {
                name: name.to_owned(),
                place,
                constant: false,
                not_null: false,
                type_name: type_name.clone(),
                default: None,
            })));
        }
        Some(Returns::Record) => {
            let hint = "write RETURNS TABLE (name type, ...), or LANGUAGE plpgsql";
            return Err(unsupported(place, "a record of a function in SQL", hint));
        }
        _ => add(Kind::ReturnQuery(StatementSource::Written(statement))),
    }
    Ok(block)
}

/// A body that returns nothing where a parameter is NULL.
fn strict(body: Block, place: Place, parameters: &[Parameter], returns: Option<&Returns>) -> Block {
    let given = parameters.iter().filter(|parameter| parameter.mode != Mode::Out);
    let is_null = |parameter: &Parameter| {
        let name = Expr::Identifier(Ident::with_quote('"', &parameter.name));
        Expr::IsNull(Box::new(name))
    };
    let any = given.map(is_null).reduce(|left, right| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::Or,
        right: Box::new(right),
    });
    let Some(any) = any else { return body };
    let has_outs = parameters.iter().any(|parameter| parameter.mode != Mode::In);
    let null = || Expr::Value(ast::Value::Null.with_empty_span());
    let value = matches!(returns, Some(Returns::Scalar(_)) if !has_outs).then(null);
    let statement = |kind| BlockStatement { place, kind };
    let leaves = vec![statement(Kind::Return(value))];
    let asks = Kind::If { arms: vec![(any, leaves)], otherwise: Vec::new() };
    Block {
        label: None,
        declarations: Vec::new(),
        statements: vec![statement(asks), statement(Kind::Block(body))],
        handlers: Vec::new(),
    }
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
    {
        return Ok(());
    }
    if cursor.accept("parallel") || cursor.accept("cost") || cursor.accept("rows") {
        cursor.bump();
        return Ok(());
    }
    if cursor.is("strict") || cursor.is("returns") {
        return Err(error(b"42P13", place, "invalid attribute in procedure definition"));
    }
    for refused in ["window", "transform", "support", "external"] {
        if cursor.is(refused) {
            return Err(unsupported(
                place,
                format!("{} in CREATE FUNCTION", refused.to_uppercase()),
                "leave it out",
            ));
        }
    }
    Err(cursor.unexpected("AS, LANGUAGE or RETURNS"))
}

/// The parameters of a routine, in brackets.
pub(crate) fn parameters(cursor: &mut Cursor<'_>) -> Result<Vec<Parameter>> {
    let list = cursor.take_brackets()?;
    cursor.inside(list).split_commas().into_iter().map(parameter).collect()
}

/// A parameter, `[mode] [name] type [DEFAULT value]`, or with the mode behind the name; the name of
/// one without is a dollar sign.
pub(crate) fn parameter(mut cursor: Cursor<'_>) -> Result<Parameter> {
    let is_variadic = matches!(cursor.peek(), Some(Token::Word(word)) if word.value == MARK);
    if is_variadic {
        cursor.bump();
        cursor.bump(); // what the mark is made of
    }
    let written_mode = parse_mode(&mut cursor);
    let place = cursor.place();
    let is_type_alone = {
        let mut ahead = cursor.clone();
        let tokens = ahead.take_until(|_, token| is_default(token));
        let place = ahead.place();
        type_name(ahead.inside(tokens), place).is_ok()
    };
    let (name, later_mode) = match is_type_alone {
        true => ("$".to_owned(), None),
        false => {
            let name = cursor.identifier()?;
            (name, parse_mode(&mut cursor).filter(|_| written_mode.is_none()))
        }
    };
    let mode = written_mode.or(later_mode).unwrap_or(Mode::In);
    let type_place = cursor.place();
    let tokens = cursor.take_until(|_, token| is_default(token));
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
    Ok(Parameter { mode, name, place, type_name, default, is_variadic })
}

/// IN, OUT or INOUT, if one stands here.
fn parse_mode(cursor: &mut Cursor<'_>) -> Option<Mode> {
    if cursor.accept("inout") || cursor.accept_all(&["in", "out"]) {
        return Some(Mode::InOut);
    }
    if cursor.accept("out") {
        return Some(Mode::Out);
    }
    cursor.accept("in").then_some(Mode::In)
}

/// Whether a default follows.
fn is_default(token: &Token) -> bool {
    matches!(token, Token::Eq | Token::Assignment) || is_word(token, "default")
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
        cursor.bump();
        return Ok(Returns::Trigger);
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
