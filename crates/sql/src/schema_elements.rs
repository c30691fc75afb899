//! CREATE SCHEMA with elements.
//!
//! ```text
//! CREATE SCHEMA [IF NOT EXISTS] name  element ...
//!   element    CREATE {TABLE | VIEW | INDEX | SEQUENCE | TRIGGER} ... | GRANT ...
//! ```
//!
//! Role         makes of it a block of definitions, which is done whole or not at all: the schema,
//!              and then its elements, whose bare names are looked for in it first
//! Source       PostgreSQL 15, `transformCreateSchemaStmt`: what refers to others comes behind them

use hotrow_transaction::catalog::split;
use hotrow_transaction::program::Place;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::anonymous::{Anonymous, DefinitionSyntax, Holds};
use crate::error::{Result, error, place_of, syntax, unsupported};
use crate::syntax::{Block, BlockStatement, BlockStatementKind as Kind};
use crate::token::{Cursor, is_word};

/// What elements make, in the order in which they are made.
const ELEMENTS: [&str; 6] = ["sequence", "table", "view", "index", "trigger", "grant"];

/// Parses CREATE SCHEMA, if elements stand in it; `text_of` gives the text that tokens were.
pub(crate) fn schema_with_elements(
    tokens: &[TokenWithSpan],
    end: Place,
    text_of: &impl Fn(&[TokenWithSpan]) -> String,
) -> Result<Option<Anonymous>> {
    let mut cursor = Cursor::new(tokens, end);
    if !cursor.accept_all(&["create", "schema"]) {
        return Ok(None);
    }
    let starts = starts_of_elements(tokens);
    let Some(&first) = starts.first() else { return Ok(None) };
    let place = cursor.place();
    if cursor.accept_all(&["if", "not", "exists"]) {
        let message = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
        return Err(error(b"0A000", place_of(tokens[first].span.start), message));
    }
    if cursor.is("authorization") || cursor.is_at(1, "authorization") {
        let advice = "create the schema, then what stands in it, and say whose that is";
        return Err(unsupported(place, "elements of a schema with AUTHORIZATION", advice));
    }
    let schema = cursor.identifier()?;
    let ends = starts.iter().skip(1).copied().chain([tokens.len()]);
    let mut elements = Vec::new();
    for (from, to) in starts.iter().copied().zip(ends) {
        let element = &tokens[from..to];
        let kind = kind_of(element)?;
        refuse_other_schema(&schema, Cursor::new(element, end), ELEMENTS[kind])?;
        elements.push((kind, element));
    }
    elements.sort_by_key(|(kind, _)| *kind);
    let all = [&tokens[..first]].into_iter().chain(elements.into_iter().map(|(_, of)| of));
    let statements = all.map(definition).collect();
    let block = Block { label: None, declarations: Vec::new(), statements, handlers: Vec::new() };
    let origin = place_of(tokens[0].span.start);
    let of = Anonymous::new(block, (text_of(tokens), origin), Holds::Definitions);
    Ok(Some(Anonymous { may_end: false, schema: Some(schema), ..of }))
}

/// Where elements begin: CREATE and GRANT, outside of brackets, but for WITH GRANT OPTION.
fn starts_of_elements(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let (mut depth, mut starts) = (0_usize, Vec::new());
    for (at, TokenWithSpan { token, .. }) in tokens.iter().enumerate().skip(2) {
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_option = is_word(&tokens[at - 1].token, "with");
        let begins = is_word(token, "create") || is_word(token, "grant") && !is_option;
        // `schema create` would be a name, which is reserved.
        if depth == 0 && begins && at > 2 {
            starts.push(at);
        }
    }
    starts
}

/// The place of an element's kind among [`ELEMENTS`].
fn kind_of(element: &[TokenWithSpan]) -> Result<usize> {
    let head = element.iter().take(4).map(|of| &of.token);
    let is = |word: &str| head.clone().any(|token| is_word(token, word));
    let own = if is_word(&element[0].token, "grant") { Some("grant") } else { None };
    let kind = ELEMENTS.iter().position(|kind| match own {
        Some(grant) => *kind == grant,
        None => *kind != "grant" && is(kind),
    });
    let at = element.get(1).unwrap_or(&element[0]);
    kind.filter(|_| !is("materialized")).ok_or_else(|| {
        let text = at.token.to_string();
        syntax(place_of(at.span.start), format!("syntax error at or near \"{text}\""))
    })
}

/// Fails where an element is to stand in another schema, or is of what stands there.
fn refuse_other_schema(schema: &str, mut cursor: Cursor<'_>, kind: &str) -> Result<()> {
    let before = match kind {
        "grant" => return Ok(()),
        "index" | "trigger" => "on",
        kind => kind,
    };
    while !cursor.accept(before) {
        if cursor.at_end() {
            return Ok(());
        }
        cursor.bump();
    }
    let _ = cursor.accept("only") || cursor.accept_all(&["if", "not", "exists"]);
    let place = cursor.place();
    let name = cursor.object_name()?;
    match split(&name).0 {
        Some(other) if other != schema => {
            let message = format!(
                "CREATE specifies a schema ({other}) different from the one being created \
                 ({schema})"
            );
            Err(error(b"42P15", place, message))
        }
        _ => Ok(()),
    }
}

fn definition(tokens: &[TokenWithSpan]) -> BlockStatement {
    let (from, to) = (tokens[0].span.start, tokens[tokens.len() - 1].span.end);
    let (verb, place) = (tokens[0].token.to_string().to_uppercase(), place_of(from));
    let kind = Kind::Definition(DefinitionSyntax { verb, place, from, to });
    BlockStatement { place, kind }
}
