//! PL/pgSQL blocks: parsed by hand, statements and expressions handed to `sqlparser`.
//!
//! Role         makes [`Block`]s of the tokens of a routine's body; refuses what the subset leaves
//!              out (docs/sql.md) with what to write instead
//! Invariants   I1 blocks nest at most [`NESTING_MAX`] deep, and branches at most
//!              [`BRANCHES_MAX`]: that bounds the depth of the program, in which the second arm
//!              of an IF stands in the ELSE of the first

use hotrow_transaction::catalog::qualified;
use hotrow_transaction::program::Place;
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ambiguity::Ambiguity;
use crate::anonymous::{DEFINING, DefinitionSyntax};
use crate::block_loop::{
    end_label, for_statement, foreach_statement, label, leave_statement, loop_statement,
};
use crate::call_syntax::CallSyntax;
use crate::current_row::mark_current;
use crate::cursor_syntax::{
    close_statement, cursor_declaration, fetch_statement, is_cursor, open_statement,
    statement_source,
};
use crate::dynamic_syntax::execute_statement;
use crate::endings::ending;
use crate::error::{Advice, Result, syntax, too_complex, unsupported};
use crate::exception::{handlers, stacked_diagnostics};
use crate::raise::raise;
use crate::script::{invocation, statements_of};
use crate::state::Diagnostic;
use crate::syntax::{
    Block, BlockStatement, BlockStatementKind as Kind, Body, Declaration, Into, Target, TypeName,
    TypeNameKind, VariableSyntax,
};
use crate::token::{Cursor, NESTING_MAX, is_word, parse_expression, parse_statement, parse_type};
use crate::written_subscripts::Subscripts;

/// Branches of IF and CASE one behind or in the other.
pub(crate) const BRANCHES_MAX: usize = 250;

/// How deep in a body a statement stands.
#[derive(Clone, Copy, Default)]
pub(crate) struct Depth {
    /// blocks, loops and branches around it
    blocks: usize,
    /// and branches before those
    branches: usize,
}

impl Depth {
    /// In a block of its own.
    fn inside(self) -> Self {
        Self { blocks: self.blocks + 1, branches: self.branches + 1 }
    }

    /// In a branch behind so many others.
    fn behind(self, branches: usize) -> Self {
        Self { branches: self.branches + branches, ..self }
    }

    fn check(self, place: Place) -> Result<()> {
        if self.blocks > NESTING_MAX {
            return Err(too_complex(place, "blocks are nested too deeply")
                .hint("put the inner ones into a procedure of their own"));
        }
        if self.branches > BRANCHES_MAX {
            let message = format!("there are more than {BRANCHES_MAX} branches of IF or CASE");
            return Err(too_complex(place, message)
                .hint("keep the cases in a table, and look the one up that is wanted"));
        }
        Ok(())
    }
}

/// Parses a whole body; returns it and the place of its final END.
pub(crate) fn parse_body(cursor: &mut Cursor<'_>) -> Result<(Block, Place)> {
    let mut directives = Vec::new();
    while cursor.peek() == Some(&Token::Sharp) {
        directives.push(directive(cursor)?);
    }
    let label = label(cursor)?;
    let mut block = block(cursor, label, Depth::default())?;
    block.declarations.splice(0..0, directives);
    let end = cursor.place();
    cursor.expect("end")?;
    match &block.label {
        // The routine's name, as other databases want it there.
        None if !cursor.at_end() && cursor.peek() != Some(&Token::SemiColon) => {
            cursor.identifier()?;
        }
        label => end_label(cursor, label.as_ref())?,
    }
    cursor.accept_token(&Token::SemiColon);
    if cursor.at_end() { Ok((block, end)) } else { Err(cursor.unexpected("the end of the body")) }
}

/// `#variable_conflict use_column`, and the like: a line for the compiler, before the body.
fn directive(cursor: &mut Cursor<'_>) -> Result<Declaration> {
    let place = cursor.place();
    cursor.bump();
    if !cursor.accept("variable_conflict") {
        let what = format!("#{}", cursor.identifier()?);
        return Err(unsupported(place, what, "leave it out; #variable_conflict there is"));
    }
    Ok(Declaration::Ambiguous(
        place,
        match () {
            () if cursor.accept("use_column") => Ambiguity::Column,
            () if cursor.accept("use_variable") => Ambiguity::Variable,
            () if cursor.accept("error") => Ambiguity::Error,
            () => return Err(cursor.unexpected("use_column, use_variable or error")),
        },
    ))
}

/// `[DECLARE ...] BEGIN statements`, up to END.
fn block(cursor: &mut Cursor<'_>, label: Option<String>, depth: Depth) -> Result<Block> {
    depth.check(cursor.place())?; // I1
    let mut declarations = Vec::new();
    if cursor.accept("declare") {
        while !cursor.is("begin") {
            if cursor.at_end() {
                return Err(cursor.unexpected("BEGIN"));
            }
            declarations.push(declaration(cursor)?);
        }
    }
    cursor.expect("begin")?;
    let statements = body(cursor, &["end", "exception"], depth)?;
    let handlers = handlers(cursor, depth)?;
    Ok(Block { label, declarations, statements, handlers })
}

fn declaration(cursor: &mut Cursor<'_>) -> Result<Declaration> {
    let place = cursor.place();
    let name = cursor.identifier()?;
    if cursor.accept_all(&["alias", "for"]) {
        let of = dotted(cursor)?;
        cursor.expect_token(&Token::SemiColon)?;
        return Ok(Declaration::Alias { name, place, of });
    }
    if is_cursor(cursor) {
        return cursor_declaration(cursor, name, place);
    }
    let constant = cursor.accept("constant");
    let type_place = cursor.place();
    let tokens = cursor.take_until(|_, t| {
        matches!(t, Token::Assignment | Token::Eq | Token::SemiColon)
            || is_word(t, "default")
            || is_word(t, "not")
            || is_word(t, "collate")
    });
    let type_name = type_name(cursor.inside(tokens), type_place)?;
    let not_null = cursor.accept_all(&["not", "null"]);
    let default = if cursor.accept("default")
        || cursor.accept_token(&Token::Assignment)
        || cursor.accept_token(&Token::Eq)
    {
        Some(expression_to_semicolon(cursor)?)
    } else {
        None
    };
    cursor.expect_token(&Token::SemiColon)?;
    if not_null && default.is_none() {
        return Err(syntax(
            place,
            format!("variable \"{name}\" must have a default value, since it's declared NOT NULL"),
        ));
    }
    let variable = VariableSyntax { name, place, constant, not_null, type_name, default };
    Ok(Declaration::Variable(Box::new(variable)))
}

/// A type: plain, `x%TYPE`, `t%ROWTYPE` or RECORD.
pub(crate) fn type_name(mut cursor: Cursor<'_>, place: Place) -> Result<TypeName> {
    if cursor.is("record") && cursor.peek_at(1).is_none() {
        return Ok(TypeName { place, kind: TypeNameKind::Record });
    }
    let mut ahead = cursor.clone();
    let names = ahead.take_until(|_, t| *t == Token::Mod);
    if ahead.accept_token(&Token::Mod) {
        let mut names = ahead.inside(names);
        let parts = dotted(&mut names)?;
        if !names.at_end() {
            return Err(names.unexpected("%"));
        }
        let kind = if ahead.accept("rowtype") {
            TypeNameKind::RowOf(match parts.as_slice() {
                [schema, name] => qualified(schema, name),
                parts => parts.last().cloned().unwrap_or_default(),
            })
        } else {
            ahead.expect("type")?;
            TypeNameKind::SameAs(parts)
        };
        if !ahead.at_end() {
            return Err(ahead.unexpected("the end of the type"));
        }
        return Ok(TypeName { place, kind });
    }
    if cursor.at_end() {
        return Err(cursor.unexpected("a type"));
    }
    let tokens = cursor.rest();
    let parsed = parse_type(tokens, cursor.place())?;
    Ok(TypeName { place, kind: TypeNameKind::Plain(Box::new(parsed)) })
}

fn dotted(cursor: &mut Cursor<'_>) -> Result<Vec<String>> {
    let mut parts = vec![cursor.identifier()?];
    while cursor.accept_token(&Token::Period) {
        parts.push(cursor.identifier()?);
    }
    Ok(parts)
}

/// Statements up to one of the `ends`, which stays unread.
pub(crate) fn body(cursor: &mut Cursor<'_>, ends: &[&str], depth: Depth) -> Result<Body> {
    depth.check(cursor.place())?; // I1
    let mut statements = Vec::new();
    loop {
        if cursor.at_end() {
            return Err(cursor.unexpected("END"));
        }
        if ends.iter().any(|word| cursor.is(word)) {
            return Ok(statements);
        }
        let place = cursor.place();
        let kind = statement(cursor, depth.inside())?;
        statements.push(BlockStatement { place, kind });
    }
}

fn statement(cursor: &mut Cursor<'_>, depth: Depth) -> Result<Kind> {
    let label = label(cursor)?;
    let Some(Token::Word(word)) = cursor.peek() else {
        return Err(cursor.unexpected("a statement"));
    };
    let word_is = |names: &[&str]| names.iter().any(|name| cursor.is(name));
    if label.is_some() && !word_is(&["declare", "begin", "loop", "while", "for", "foreach"]) {
        return Err(cursor.unexpected("a loop or a block"));
    }
    let mut behind = 1; // the target's name
    while cursor.peek_at(behind) == Some(&Token::Period) {
        behind += 2;
    }
    let assigns =
        matches!(cursor.peek_at(behind), Some(Token::Assignment | Token::Eq | Token::LBracket));
    if word.quote_style.is_some() || assigns {
        return assignment(cursor);
    }
    match word.value.to_ascii_lowercase().as_str() {
        "null" => {
            cursor.bump();
            cursor.expect_token(&Token::SemiColon)?;
            Ok(Kind::Null)
        }
        "declare" | "begin" => {
            let inner = block(cursor, label, depth)?;
            cursor.expect("end")?;
            end_label(cursor, inner.label.as_ref())?;
            cursor.expect_token(&Token::SemiColon)?;
            Ok(Kind::Block(inner))
        }
        "if" => if_statement(cursor, depth),
        "case" => case_statement(cursor, depth),
        "for" => for_statement(cursor, label, depth),
        "foreach" => foreach_statement(cursor, label, depth),
        "loop" | "while" => loop_statement(cursor, label, depth),
        "exit" | "continue" => leave_statement(cursor),
        "raise" => raise(cursor),
        "assert" => assert_statement(cursor),
        "return" => return_statement(cursor),
        "get" => get_diagnostics(cursor),
        "perform" => perform(cursor),
        "call" => call(cursor),
        "execute" => execute_statement(cursor),
        "open" => open_statement(cursor),
        "fetch" | "move" => fetch_statement(cursor),
        "close" => close_statement(cursor),
        "commit" | "rollback" => ending(cursor),
        "select" | "insert" | "update" | "delete" | "merge" | "with" => sql_statement(cursor),
        "create" if cursor.is_at(1, "temp") || cursor.is_at(1, "temporary") => {
            whole_statement(cursor)
        }
        "drop" if cursor.is_at(1, "table") => whole_statement(cursor),
        "notify" => whole_statement(cursor),
        verb if DEFINING.contains(&verb) => definition(cursor),
        _ => Err(refused(cursor)),
    }
}

/// A definition, of which the place is kept that it has in its text.
fn definition(cursor: &mut Cursor<'_>) -> Result<Kind> {
    let place = cursor.place();
    let count = statements_of(cursor.rest_ahead()).next().map_or(0, <[TokenWithSpan]>::len);
    let tokens = cursor.take(count);
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
        return Err(cursor.unexpected("a statement"));
    };
    let verb = match &first.token {
        Token::Word(word) => word.value.to_ascii_uppercase(),
        other => other.to_string(),
    };
    let (from, to) = (first.span.start, last.span.end);
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Definition(DefinitionSyntax { verb, place, from, to }))
}

/// Statements of PL/pgSQL that the subset leaves out, and what to write instead.
pub(crate) fn refused(cursor: &Cursor<'_>) -> hotrow_transaction::outcome::SqlError {
    const ADVICE: &[(&str, &str)] = &[
        ("savepoint", "a call is one transaction: RAISE EXCEPTION undoes it"),
        ("copy", "load data outside of procedures"),
    ];
    let Some(Token::Word(word)) = cursor.peek() else {
        return cursor.unexpected("a statement");
    };
    match ADVICE.iter().find(|(name, _)| word.value.eq_ignore_ascii_case(name)) {
        Some((name, hint)) => unsupported(cursor.place(), name.to_ascii_uppercase(), *hint),
        None => cursor.unexpected("a statement"),
    }
}

/// The error of a definition in a routine, which is compiled before anything is defined.
pub(crate) fn no_definition(written: &DefinitionSyntax) -> hotrow_transaction::outcome::SqlError {
    const ADVICE: &[(&str, &str)] = &[
        ("TRUNCATE", "write DELETE FROM table"),
        ("CREATE", "tables and indexes are made outside of procedures"),
        ("ALTER", "tables and indexes are changed outside of procedures"),
        ("DROP", "tables and indexes are dropped outside of procedures"),
        ("LOCK", "the engine locks by itself: leave it out"),
    ];
    let found = ADVICE.iter().find(|(verb, _)| *verb == written.verb);
    let hint = found.map_or("send it by itself, or in a DO block", |(_, hint)| *hint);
    unsupported(written.place, &written.verb, hint)
}

/// Parses an expression of a body, which PostgreSQL takes for what stands behind SELECT:
/// `count(*) > 0 FROM t WHERE a = 1` is the value of that query.
pub(crate) fn parse_value(tokens: &[TokenWithSpan], end: Place) -> Result<ast::Expr> {
    let parsed = parse_expression(tokens, end);
    let (Err(_), Some(first)) = (&parsed, tokens.first()) else { return parsed };
    let mut depth = 0_i32;
    let is_clause = |token: &TokenWithSpan| {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth -= 1,
            _ => {}
        }
        depth == 0 && ["from", "where", "order", "limit"].iter().any(|w| is_word(&token.token, w))
    };
    if !tokens.iter().any(is_clause) {
        return parsed;
    }
    let mut query = Vec::with_capacity(tokens.len() + 3);
    let put = |token| TokenWithSpan { token, span: first.span };
    query.extend([put(Token::LParen), put(Token::make_keyword("SELECT"))]);
    query.extend_from_slice(tokens);
    query.push(put(Token::RParen));
    parse_expression(&query, end).or(parsed)
}

pub(crate) fn expression_to_semicolon(cursor: &mut Cursor<'_>) -> Result<ast::Expr> {
    let tokens = cursor.take_until(|_, t| *t == Token::SemiColon);
    parse_value(tokens, cursor.place())
}

pub(crate) fn expression_to_word(cursor: &mut Cursor<'_>, word: &str) -> Result<ast::Expr> {
    let tokens = cursor.take_until_word(word)?;
    parse_value(tokens, cursor.place())
}

pub(crate) fn target(cursor: &mut Cursor<'_>) -> Result<Target> {
    let place = cursor.place();
    Ok(Target { parts: dotted(cursor)?, place })
}

pub(crate) fn targets(cursor: &mut Cursor<'_>) -> Result<Vec<Target>> {
    let mut all = vec![target(cursor)?];
    while cursor.accept_token(&Token::Comma) {
        all.push(target(cursor)?);
    }
    Ok(all)
}

fn assignment(cursor: &mut Cursor<'_>) -> Result<Kind> {
    let target = target(cursor)?;
    let subscripts = subscripts_of_target(cursor)?;
    if !cursor.accept_token(&Token::Assignment) {
        cursor.expect_token(&Token::Eq)?;
    }
    let value = expression_to_semicolon(cursor)?;
    cursor.expect_token(&Token::SemiColon)?;
    Ok(match subscripts {
        Some(subscripts) => Kind::AssignElement { target, subscripts, value },
        None => Kind::Assign { target, value },
    })
}

/// The brackets behind a target; none: it has none.
fn subscripts_of_target(cursor: &mut Cursor<'_>) -> Result<Option<Subscripts>> {
    let place = cursor.place();
    let tokens = cursor.take_until(|_, token| *token != Token::LBracket);
    let Some(first) = tokens.first() else { return Ok(None) };
    // Behind any name.
    let name = TokenWithSpan { token: Token::make_word("x", Some('"')), span: first.span };
    let whole: Vec<_> = [name].into_iter().chain(tokens.iter().cloned()).collect();
    match parse_expression(&whole, cursor.place())? {
        ast::Expr::CompoundFieldAccess { access_chain, .. } => {
            Subscripts::of_chain(&access_chain, place)
        }
        _ => Err(syntax(place, "this is no subscript")),
    }
}

fn if_statement(cursor: &mut Cursor<'_>, depth: Depth) -> Result<Kind> {
    cursor.expect("if")?;
    let mut arms = Vec::new();
    let mut otherwise = Vec::new();
    loop {
        let condition = expression_to_word(cursor, "then")?;
        let depth = depth.behind(arms.len());
        arms.push((condition, body(cursor, &["elsif", "elseif", "else", "end"], depth)?));
        if cursor.accept("elsif") || cursor.accept("elseif") {
            continue;
        }
        if cursor.accept("else") {
            otherwise = body(cursor, &["end"], depth.behind(1))?;
        }
        cursor.expect("end")?;
        cursor.expect("if")?;
        cursor.expect_token(&Token::SemiColon)?;
        return Ok(Kind::If { arms, otherwise });
    }
}

fn case_statement(cursor: &mut Cursor<'_>, depth: Depth) -> Result<Kind> {
    cursor.expect("case")?;
    let operand =
        if cursor.is("when") { None } else { Some(expression_before(cursor, &["when"])?) };
    let mut arms = Vec::new();
    while cursor.accept("when") {
        let tokens = cursor.take_until_word("then")?;
        let mut values = Vec::new();
        if operand.is_some() {
            for item in cursor.inside(tokens).split_commas() {
                let mut item = item;
                let tokens = item.rest();
                values.push(parse_value(tokens, item.place())?);
            }
        } else {
            values.push(parse_value(tokens, cursor.place())?);
        }
        let depth = depth.behind(arms.len());
        arms.push((values, body(cursor, &["when", "else", "end"], depth)?));
    }
    if arms.is_empty() {
        return Err(cursor.unexpected("WHEN"));
    }
    let depth = depth.behind(arms.len());
    let otherwise = if cursor.accept("else") { Some(body(cursor, &["end"], depth)?) } else { None };
    cursor.expect("end")?;
    cursor.expect("case")?;
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Case { operand, arms, otherwise })
}

fn expression_before(cursor: &mut Cursor<'_>, words: &[&str]) -> Result<ast::Expr> {
    let tokens = cursor.take_until(|_, t| words.iter().any(|w| is_word(t, w)));
    parse_value(tokens, cursor.place())
}

fn assert_statement(cursor: &mut Cursor<'_>) -> Result<Kind> {
    cursor.expect("assert")?;
    let tokens = cursor.take_until(|_, t| matches!(t, Token::Comma | Token::SemiColon));
    let condition = parse_value(tokens, cursor.place())?;
    let message = if cursor.accept_token(&Token::Comma) {
        Some(expression_to_semicolon(cursor)?)
    } else {
        None
    };
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Assert(Box::new((condition, message))))
}

fn return_statement(cursor: &mut Cursor<'_>) -> Result<Kind> {
    cursor.expect("return")?;
    let kind = if cursor.accept("query") {
        let tokens = cursor.take_until(|_, t| *t == Token::SemiColon);
        Kind::ReturnQuery(statement_source(&mut cursor.inside(tokens))?)
    } else {
        let next = cursor.accept("next");
        let value = match cursor.peek() {
            Some(Token::SemiColon) => None,
            _ => Some(expression_to_semicolon(cursor)?),
        };
        if next { Kind::ReturnNext(value) } else { Kind::Return(value) }
    };
    cursor.expect_token(&Token::SemiColon)?;
    Ok(kind)
}

fn get_diagnostics(cursor: &mut Cursor<'_>) -> Result<Kind> {
    cursor.expect("get")?;
    cursor.accept("current");
    if cursor.is("stacked") {
        return stacked_diagnostics(cursor);
    }
    cursor.expect("diagnostics")?;
    let mut all = Vec::new();
    loop {
        let target = target(cursor)?;
        if !cursor.accept_token(&Token::Assignment) {
            cursor.expect_token(&Token::Eq)?;
        }
        let item = match () {
            () if cursor.accept("row_count") => Diagnostic::RowCount,
            () if cursor.accept("pg_context") => Diagnostic::Context,
            () => {
                return Err(unsupported(
                    cursor.place(),
                    "this diagnostics item",
                    "ROW_COUNT and PG_CONTEXT are those that there are",
                ));
            }
        };
        all.push((target, item));
        if !cursor.accept_token(&Token::Comma) {
            break;
        }
    }
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Diagnostics(all))
}

fn call(cursor: &mut Cursor<'_>) -> Result<Kind> {
    cursor.expect("call")?;
    let tokens = cursor.take_until(|_, t| *t == Token::SemiColon);
    let (name, place, arguments) = invocation(&mut cursor.inside(tokens))?;
    cursor.expect_token(&Token::SemiColon)?;
    let arguments = arguments.unwrap_or_default();
    Ok(Kind::Call(Box::new(CallSyntax { name, arguments, place })))
}

fn perform(cursor: &mut Cursor<'_>) -> Result<Kind> {
    let tokens = cursor.take_until(|_, t| *t == Token::SemiColon);
    let mut tokens = tokens.to_vec();
    tokens[0].token = Token::make_keyword("SELECT");
    let query = parse_statement(&tokens, cursor.place())?;
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Perform(Box::new(query)))
}

/// CREATE TEMP TABLE, DROP TABLE of one, and NOTIFY.
fn whole_statement(cursor: &mut Cursor<'_>) -> Result<Kind> {
    let tokens = cursor.take_until(|_, t| *t == Token::SemiColon);
    let statement = Box::new(parse_statement(tokens, cursor.place())?);
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Sql { statement, into: None })
}

/// SELECT, INSERT, UPDATE or DELETE, whose INTO clause may stand in several places.
fn sql_statement(cursor: &mut Cursor<'_>) -> Result<Kind> {
    let tokens = cursor.take_until(|_, t| *t == Token::SemiColon);
    let end = cursor.place();
    let mut scan = Cursor::new(tokens, end);
    let mut kept = Vec::new();
    loop {
        kept.extend_from_slice(scan.take_until(|_, t| is_word(t, "into")));
        let is_of_change = kept.last().is_some_and(|before| {
            is_word(&before.token, "insert") || is_word(&before.token, "merge")
        });
        if !is_of_change || !scan.is("into") {
            break;
        }
        kept.extend_from_slice(&tokens[kept.len()..=kept.len()]);
        scan.bump();
    }
    let into = if scan.accept("into") {
        let strict = scan.accept("strict");
        let targets = targets(&mut scan)?;
        kept.extend_from_slice(scan.rest());
        Some(Into { strict, targets })
    } else {
        None
    };
    mark_current(&mut kept);
    let statement = Box::new(parse_statement(&kept, end)?);
    cursor.expect_token(&Token::SemiColon)?;
    Ok(Kind::Sql { statement, into })
}
