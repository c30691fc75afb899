//! What ALTER of something that has a name, and statements of materialized views, say.

use hotrow_transaction::catalog::{Deferral, kept_name, query_name, split};
use hotrow_transaction::program::Place;
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::attribute_syntax::AttributeChange;
use crate::column_syntax::{ColumnChange, UsingIndex};
use crate::domain_syntax::DomainChange;
use crate::numbers_syntax::NumbersSyntax;
use crate::token::{is_word, quoted};
use crate::written::object_name;

/// The option that stands for WITH NO DATA behind the query.
const NO_DATA: &str = "no data";

/// REFRESH MATERIALIZED VIEW
#[derive(Debug)]
pub(crate) struct RefreshSyntax {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) concurrently: bool,
    /// not WITH NO DATA
    pub(crate) is_filled: bool,
}

/// ALTER of something that has a name.
#[derive(Debug)]
pub(crate) struct AlterSyntax {
    pub(crate) kind: RelationKind,
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) if_exists: bool,
    pub(crate) what: Altering,
}

/// What ALTER says that something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RelationKind {
    /// ALTER TABLE, of whatever has columns, and of an index
    Any,
    Index,
    Sequence,
    View,
    Materialized,
    Type,
    Domain,
}

/// What ALTER says is to be another one.
#[derive(Debug)]
pub(crate) enum Altering {
    /// RENAME TO
    Name(String),
    /// RENAME CONSTRAINT from TO to
    Constraint(String, String),
    /// OWNED BY, of a sequence: the parts of a column's name, or `none`
    OwnedBy(Place, Vec<String>),
    /// ATTACH PARTITION of this name, with this bound
    Attach(String, Place, Box<ast::ForValues>),
    /// DETACH PARTITION of this name
    Detach(String, Place),
    /// how a sequence counts, or that of an identity column of this name
    Numbers(Option<String>, NumbersSyntax),
    /// ADD IDENTITY OF ROWS: a hidden key
    RowIdentity,
    /// what concerns pages of a disk, and statistics: of this column, if of one
    Storage(Option<String>),
    /// ALTER COLUMN of this name
    Column(String, ColumnChange),
    /// ADD CONSTRAINT ... USING INDEX
    UseIndex(UsingIndex),
    /// RENAME of a trigger
    Trigger(String, String),
    /// ALTER CONSTRAINT of this name: when it is checked
    Checked(String, Deferral),
    /// ALTER TYPE, of attributes
    Attributes(Vec<AttributeChange>),
    /// ALTER DOMAIN
    Domain(Box<DomainChange>),
    /// ALTER TYPE and DOMAIN ... SET SCHEMA
    Schema(String),
}

/// Where WITH [NO] DATA begins, if a statement ends with it, and whether it says NO.
pub(crate) fn data_clause(tokens: &[TokenWithSpan]) -> Option<(usize, bool)> {
    let is = |from_end: usize, word: &str| {
        let at = tokens.len().checked_sub(from_end);
        at.is_some_and(|at| is_word(&tokens[at].token, word))
    };
    match is(1, "data") {
        true if is(2, "with") => Some((tokens.len() - 2, false)),
        true if is(2, "no") && is(3, "with") => Some((tokens.len() - 3, true)),
        _ => None,
    }
}

/// Takes WITH [NO] DATA from behind the query of CREATE MATERIALIZED VIEW, and says WITH NO DATA by
/// an option, which the parser reads before the query.
pub(crate) fn with_data(tokens: &mut Vec<TokenWithSpan>) {
    let is = |tokens: &[TokenWithSpan], at: usize, word: &str| {
        tokens.get(at).is_some_and(|t: &TokenWithSpan| is_word(&t.token, word))
    };
    let is_one = is(tokens, 0, "create") && is(tokens, 1, "materialized") && tokens.len() >= 6;
    let Some((start, says_no)) = data_clause(tokens).filter(|_| is_one) else { return };
    let span = tokens[start].span;
    tokens.truncate(start);
    if says_no {
        let Some(at) = (1..tokens.len()).find(|at| is(tokens, *at, "as")) else { return };
        let has_options = (1..at).any(|at| is(tokens, at, "with"));
        let name = Token::make_word(NO_DATA, Some('"'));
        let option = [name, Token::Eq, Token::make_keyword("TRUE")];
        let (at, option) = match has_options {
            true => (at - 1, [&[Token::Comma][..], &option].concat()),
            false => {
                let begins = [Token::make_keyword("WITH"), Token::LParen];
                (at, [&begins[..], &option, &[Token::RParen]].concat())
            }
        };
        let option = option.into_iter().map(|token| TokenWithSpan { token, span });
        tokens.splice(at..at, option);
    }
}

/// Whether a materialized view is to have its rows when it is made.
pub(crate) fn has_data(written: &ast::CreateView) -> bool {
    !options_of(written).iter().any(is_no_data)
}

pub(crate) fn options_of(written: &ast::CreateView) -> &[ast::SqlOption] {
    match &written.options {
        ast::CreateTableOptions::With(options) => options,
        _ => &[],
    }
}

pub(crate) fn is_no_data(option: &ast::SqlOption) -> bool {
    matches!(option, ast::SqlOption::KeyValue { key, .. } if key.value == NO_DATA)
}

/// The INSERT that gives a materialized view its first rows, and the DROP that takes it back.
pub(crate) fn filling(written: &ast::CreateView, place: Place) -> Option<(String, String)> {
    if !written.materialized || !has_data(written) {
        return None;
    }
    let name = object_name(&written.name, place).ok()?;
    let (schema, own) = split(&name);
    let of = |own: &str| match schema {
        Some(schema) => format!("{}.{}", quoted(schema), quoted(own)),
        None => quoted(own),
    };
    let insert =
        format!("INSERT INTO {} SELECT * FROM {}", of(&kept_name(own)), of(&query_name(own)));
    Some((format!("DROP MATERIALIZED VIEW {}", of(own)), insert))
}
