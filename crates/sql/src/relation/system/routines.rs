//! What a routine's own text says, for the system catalog: parts of it as they were written.

use hotrow_base::quote::{identifier as quoted, literal};
use hotrow_base::types::SqlType;
use hotrow_transaction::program::{Procedure, ResultColumn};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::token::{is_word, tokenize};

use super::SystemContext;
use super::texts::{format_type, type_number};

/// Parts of CREATE FUNCTION or CREATE PROCEDURE.
#[derive(Default)]
pub(super) struct Written {
    /// what stands in its body's string; of a body without one: its text
    pub(super) body: String,
    /// the body is a string, and no statement of the standard's form
    pub(super) is_string: bool,
    /// CREATE FUNCTION, and not CREATE PROCEDURE
    pub(super) is_function: bool,
    /// LANGUAGE
    pub(super) language: String,
    /// IMMUTABLE `i`, STABLE `s`, VOLATILE `v`
    pub(super) volatility: &'static str,
    pub(super) is_strict: bool,
    pub(super) is_definer: bool,
    /// between the brackets behind its name, where these say more than names and types
    pub(super) parameters: Option<String>,
    /// SET name TO value: as pg_proc has them
    pub(super) settings: Vec<String>,
}

/// Reads a routine's text, which was compiled before.
pub(super) fn written(source: &str) -> Written {
    let mut written = Written { volatility: "v", ..Written::default() };
    let Ok(tokens) = tokenize(source, Default::default()) else { return written };
    written.parameters = parameters(source);
    let head = tokens.iter().take(4); // behind CREATE OR REPLACE
    written.is_function = head.clone().any(|token| is_word(&token.token, "function"));
    let mut at = behind_brackets(&tokens);
    while let Some(token) = tokens.get(at).map(|token| &token.token) {
        let next = tokens.get(at + 1).map(|token| &token.token);
        match token {
            of if is_word(of, "language") => {
                let name = next.map(Token::to_string).unwrap_or_default();
                written.language = name.trim_matches(['"', '\'']).to_ascii_lowercase();
                at += 1;
            }
            of if is_word(of, "immutable") => written.volatility = "i",
            of if is_word(of, "stable") => written.volatility = "s",
            of if is_word(of, "strict") => written.is_strict = true,
            of if is_word(of, "returns") && next.is_some_and(|next| is_word(next, "null")) => {
                written.is_strict = true;
            }
            of if is_word(of, "definer") => written.is_definer = true,
            of if is_word(of, "set") => {
                let values = tokens[(at + 3).min(tokens.len())..].chunks(2);
                let is_last =
                    |of: &[TokenWithSpan]| of.get(1).is_none_or(|t| t.token != Token::Comma);
                let count = values.clone().position(is_last).map_or(0, |last| last + 1);
                let values =
                    values.take(count).filter_map(|of| Some(of.first()?.token.to_string()));
                let values: Vec<_> = values.map(|of| of.trim_matches('\'').to_owned()).collect();
                if let (Some(name), false) = (next, values.is_empty()) {
                    written.settings.push(format!("{name}={}", values.join(", ")));
                }
                at += 1 + 2 * count;
            }
            of if is_word(of, "as") => {
                if let Some(body) = next.and_then(string) {
                    written.body = body;
                    written.is_string = true;
                    at += 1;
                }
            }
            of if is_word(of, "begin") => {
                let inner = tokens[(at + 2).min(tokens.len())..].iter();
                let inner = inner.map(|token| token.token.to_string());
                let mut inner: Vec<String> = inner.collect();
                inner.truncate(
                    inner.iter().rposition(|t| t.eq_ignore_ascii_case("end")).unwrap_or(0),
                );
                written.body = inner.join(" ");
                break;
            }
            of if is_word(of, "return") => {
                let rest = tokens[at + 1..].iter().map(|token| token.token.to_string());
                let rest = rest.collect::<Vec<_>>().join(" ");
                written.body = format!("SELECT {}", rest.trim_end_matches([';', ' ']));
                break;
            }
            _ => {}
        }
        at += 1;
    }
    written
}

/// The statement that makes a routine, as PostgreSQL writes it; of a body of the standard's form as
/// it was written.
pub(super) fn definition(
    context: &SystemContext<'_>,
    procedure: &Procedure,
    source: &str,
) -> String {
    let written = written(source);
    if !written.is_string {
        return source.to_owned();
    }
    let kind = if written.is_function { "FUNCTION" } else { "PROCEDURE" };
    let name = format!("{}.{}", quoted(procedure.schema()), quoted(procedure.shown_name()));
    let parameters = written.parameters.unwrap_or_else(|| arguments_text(context, procedure));
    let mut text = format!("CREATE OR REPLACE {kind} {name}({parameters})\n");
    if written.is_function {
        text += &format!(" RETURNS {}\n", result_text(context, procedure));
    }
    text += &format!(" LANGUAGE {}\n", quoted(&written.language));
    let volatility = match written.volatility {
        "i" => Some("IMMUTABLE"),
        "s" => Some("STABLE"),
        _ => None,
    };
    let strict = written.is_strict.then_some("STRICT");
    let definer = written.is_definer.then_some("SECURITY DEFINER");
    let words: Vec<_> = [volatility, strict, definer].into_iter().flatten().collect();
    if !words.is_empty() {
        text += &format!(" {}\n", words.join(" "));
    }
    for setting in &written.settings {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let values: Vec<_> = value.split(", ").map(literal).collect();
        text += &format!(" SET {} TO {}\n", quoted(name), values.join(", "));
    }
    // A tag that the body does not have.
    let mut tag = if written.is_function { "$function" } else { "$procedure" }.to_owned();
    while written.body.contains(&tag) {
        tag += "x";
    }
    text += &format!("AS {tag}${}{tag}$\n", written.body);
    text
}

/// What a routine gives, as RETURNS says it.
pub(super) fn result_text(context: &SystemContext<'_>, procedure: &Procedure) -> String {
    let columns = procedure.result.iter();
    let type_of = |column: &ResultColumn| type_text(context, SqlType::Scalar(column.data_type));
    let named = |column: &ResultColumn| format!("{} {}", quoted(&column.name), type_of(column));
    match (procedure.result.as_slice(), procedure.returns_set) {
        ([], false) if procedure.trigger.is_some() => "trigger".to_owned(),
        ([], false) => "void".to_owned(),
        ([one], false) => type_of(one),
        (_, false) => "record".to_owned(),
        // Of SETOF a type; its column is called as the function is.
        ([one], true) if one.name == procedure.shown_name() => format!("SETOF {}", type_of(one)),
        (_, true) => format!("TABLE({})", columns.map(named).collect::<Vec<_>>().join(", ")),
    }
}

/// What a routine takes.
pub(super) fn arguments_text(context: &SystemContext<'_>, procedure: &Procedure) -> String {
    let named = procedure.given().iter().map(|slot| {
        let of = type_text(context, slot.sql_type);
        let is_unnamed = slot.name.starts_with('$');
        if is_unnamed { of } else { format!("{} {of}", quoted(&slot.name)) }
    });
    let mut named: Vec<String> = named.collect();
    if let Some(last) = named.last_mut().filter(|_| procedure.is_variadic) {
        last.insert_str(0, "VARIADIC ");
    }
    named.join(", ")
}

/// A type as its reader has to name it, without a precision: those of routines have none.
fn type_text(context: &SystemContext<'_>, of: SqlType) -> String {
    format_type(context, type_number(of), -1).unwrap_or_else(|| of.to_string())
}

/// The token behind the brackets of its parameters.
fn behind_brackets(tokens: &[TokenWithSpan]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => return at + 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    tokens.len()
}

fn string(token: &Token) -> Option<String> {
    match token {
        Token::DollarQuotedString(of) => Some(of.value.clone()),
        Token::SingleQuotedString(of) | Token::EscapedStringLiteral(of) => Some(of.clone()),
        _ => None,
    }
}

/// What stands between the brackets behind the name, where that is more than names and types.
fn parameters(source: &str) -> Option<String> {
    let start = source.find('(')? + 1;
    let (mut depth, mut quote) = (1, None);
    let end = source[start..].char_indices().find_map(|(at, letter)| {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(start + at)
    })?;
    let text = source[start..end].trim();
    let says_more = |word: &str| {
        let word = word.to_ascii_lowercase();
        matches!(word.as_str(), "out" | "inout" | "default" | "variadic" | ":=")
    };
    let is_more = text.contains('=') || text.split_whitespace().any(says_more);
    is_more.then(|| text.to_owned())
}
