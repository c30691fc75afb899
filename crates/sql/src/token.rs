//! Tokens with places: one pass of `sqlparser`'s tokenizer over the text, and a cursor over them.
//!
//! Role         scripts, routine headers and PL/pgSQL blocks are parsed here by hand; statements
//!              and expressions are cut out as token ranges and handed to `sqlparser`
//! Invariants   I1 no text longer than [`TEXT_BYTES_MAX`] is tokenized
//!              I2 a range handed to the parser nests at most [`NESTING_MAX`] brackets and chains
//!              at most [`CHAIN_TOKENS_MAX`] tokens between commas, counted along the path from
//!              the root, and joins at most [`SETS_MAX`] SELECTs by UNION and its kin, which no
//!              comma ends: that bounds the depth of the tree it builds, and so every recursion
//!              over it, its drop included

use std::borrow::Cow;

use hotrow_transaction::catalog::{qualified, split};
use hotrow_transaction::program::Place;
use sqlparser::ast::{Expr, Query, SelectItem, SetExpr, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::collation::leave_collations_out;
use crate::error::{Advice, Result, error, from_parser, place_of, syntax, too_complex};
use crate::known_forms::write_known_forms;
use crate::marks::marks;
use crate::star_syntax;
use crate::subscripts;

/// Longest text compiled at once.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Brackets, blocks and expressions nest at most this deep.
pub const NESTING_MAX: usize = 64;
/// Tokens chained without a comma, over all open brackets.
pub const CHAIN_TOKENS_MAX: usize = 1000;

/// UNION, INTERSECT and EXCEPT, over all open brackets.
pub const SETS_MAX: usize = 250;

/// How deep the parser may go.
const DEPTH_MAX: usize = NESTING_MAX * 2;

/// Splits text into tokens without white space and comments; `origin` is where it starts.
pub fn tokenize(text: &str, origin: Place) -> Result<Vec<TokenWithSpan>> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(too_complex(origin, format!("text is longer than {TEXT_BYTES_MAX} bytes"))
            .hint("send the script in parts"));
    }
    if text.contains('\0') {
        // No name may have one: it stands between schemas and names.
        return Err(error(b"22021", origin, "invalid byte sequence for encoding \"UTF8\": 0x00"));
    }
    let dialect = PostgreSqlDialect {};
    let tokens = Tokenizer::new(&dialect, text).tokenize_with_location().map_err(|e| {
        syntax(place_of(shifted(e.location, origin)), e.message.trim_end_matches(':').to_owned())
    })?;
    let mut kept: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for mut token in tokens {
        if matches!(token.token, Token::Whitespace(_) | Token::EOF) {
            continue;
        }
        token.span.start = shifted(token.span.start, origin);
        token.span.end = shifted(token.span.end, origin);
        if is_hexadecimal(&token) {
            let message = "trailing junk after numeric literal at or near \"0x\"";
            return Err(error(b"42601", place_of(token.span.start), message));
        }
        match (kept.last_mut(), &token.token) {
            (Some(before), Token::SingleQuotedString(more)) if continues(before, &token) => {
                if let Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) =
                    &mut before.token
                {
                    text.push_str(more);
                    before.span.end = token.span.end;
                }
            }
            _ => match marks(kept.last(), &token) {
                None => kept.push(token),
                Some(marks) => {
                    let span = token.span;
                    kept.extend(marks.map(|token| TokenWithSpan { token, span }));
                }
            },
        }
    }
    Ok(kept)
}

/// Whether a token is a number as `0x1F`, which the parser takes for the bits `X'1F'`. PostgreSQL
/// has such numbers from version 16 on.
fn is_hexadecimal(token: &TokenWithSpan) -> bool {
    let Token::HexStringLiteral(digits) = &token.token else { return false };
    let (start, end) = (token.span.start, token.span.end);
    start.line == end.line && end.column - start.column == digits.len() as u64 + 2
}

/// Whether a literal goes on in another one, on a line below it.
fn continues(literal: &TokenWithSpan, more: &TokenWithSpan) -> bool {
    let is_literal =
        matches!(literal.token, Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_));
    is_literal && literal.span.end.line < more.span.start.line
}

fn shifted(location: Location, origin: Place) -> Location {
    let column = if location.line <= 1 {
        location.column + u64::from(origin.column) - 1
    } else {
        location.column
    };
    Location { line: location.line + u64::from(origin.line) - 1, column }
}

/// Whether a token is this unquoted word, in any case.
pub(crate) fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

/// A name in quotes, for texts of statements.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name, perhaps with its schema before it, in quotes, for texts of statements.
pub fn quoted_name(written: &str) -> String {
    match split(written) {
        (Some(schema), name) => format!("{}.{}", quoted(schema), quoted(name)),
        (None, name) => quoted(name),
    }
}

/// An identifier as SQL folds it: lower case unless quoted.
pub(crate) fn folded(value: &str, quoted: bool) -> String {
    if quoted { value.to_owned() } else { value.to_lowercase() }
}

/// A position in a token list.
#[derive(Clone)]
pub(crate) struct Cursor<'t> {
    tokens: &'t [TokenWithSpan],
    at: usize,
    end: Place,
}

impl<'t> Cursor<'t> {
    /// A cursor at the first token; `end` is the place behind the last.
    pub(crate) fn new(tokens: &'t [TokenWithSpan], end: Place) -> Self {
        Self { tokens, at: 0, end }
    }

    pub(crate) fn peek(&self) -> Option<&'t Token> {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> Option<&'t Token> {
        self.tokens.get(self.at + ahead).map(|t| &t.token)
    }

    /// Where the next token starts.
    pub(crate) fn place(&self) -> Place {
        self.tokens.get(self.at).map_or(self.end, |t| place_of(t.span.start))
    }

    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(crate) fn bump(&mut self) {
        self.at += 1;
    }

    pub(crate) fn is(&self, word: &str) -> bool {
        self.peek().is_some_and(|t| is_word(t, word))
    }

    pub(crate) fn is_at(&self, ahead: usize, word: &str) -> bool {
        self.peek_at(ahead).is_some_and(|t| is_word(t, word))
    }

    pub(crate) fn accept(&mut self, word: &str) -> bool {
        let found = self.is(word);
        self.at += usize::from(found);
        found
    }

    /// Accepts all the words in sequence, or none of them.
    pub(crate) fn accept_all(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(i, word)| self.is_at(i, word));
        self.at += if found { words.len() } else { 0 };
        found
    }

    pub(crate) fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) { Ok(()) } else { Err(self.unexpected(word)) }
    }

    pub(crate) fn accept_token(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect_token(&mut self, token: &Token) -> Result<()> {
        if self.accept_token(token) { Ok(()) } else { Err(self.unexpected(&token.to_string())) }
    }

    /// `syntax error at or near "x"`, naming what was expected.
    pub(crate) fn unexpected(&self, expected: &str) -> hotrow_transaction::outcome::SqlError {
        let message = match self.peek() {
            Some(token) => format!("syntax error at or near \"{token}\", expected {expected}"),
            None => format!("syntax error at end of input, expected {expected}"),
        };
        syntax(self.place(), message)
    }

    /// An identifier, folded.
    pub(crate) fn identifier(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(folded(&word.value, word.quote_style.is_some()))
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// A name, perhaps with its schema before it ([`hotrow_transaction::catalog::split`]).
    pub(crate) fn object_name(&mut self) -> Result<String> {
        let first = self.identifier()?;
        match self.accept_token(&Token::Period) {
            true => Ok(qualified(&first, &self.identifier()?)),
            false => Ok(first),
        }
    }

    /// The name of a routine, with its schema if it is written; PostgreSQL's own have none.
    pub(crate) fn routine_name(&mut self) -> Result<String> {
        let name = self.object_name()?;
        match split(&name) {
            (Some("pg_catalog"), own) => Ok(own.to_owned()),
            _ => Ok(name),
        }
    }

    /// The tokens up to (not including) the first one outside brackets and CASE ... END for
    /// which `stop` holds; all the rest when there is none.
    pub(crate) fn take_until(
        &mut self,
        stop: impl Fn(&Self, &Token) -> bool,
    ) -> &'t [TokenWithSpan] {
        let start = self.at;
        let (mut brackets, mut cases) = (0_usize, 0_usize);
        while let Some(token) = self.peek() {
            if brackets == 0 && cases == 0 && stop(self, token) {
                break;
            }
            match token {
                Token::LParen | Token::LBracket => brackets += 1,
                Token::RParen | Token::RBracket => brackets = brackets.saturating_sub(1),
                token if is_word(token, "case") => cases += 1,
                token if is_word(token, "end") => cases = cases.saturating_sub(1),
                // a statement never ends inside brackets: report the bracket, not what follows
                Token::SemiColon => break,
                _ => {}
            }
            self.at += 1;
        }
        &self.tokens[start..self.at]
    }

    /// The tokens up to the keyword, which is consumed.
    pub(crate) fn take_until_word(&mut self, word: &str) -> Result<&'t [TokenWithSpan]> {
        let taken = self.take_until(|_, t| is_word(t, word) || *t == Token::SemiColon);
        self.expect(word)?;
        Ok(taken)
    }

    /// The tokens of a bracketed list, whose closing bracket is consumed too.
    pub(crate) fn take_brackets(&mut self) -> Result<&'t [TokenWithSpan]> {
        self.expect_token(&Token::LParen)?;
        let taken = self.take_until(|_, t| *t == Token::RParen);
        self.expect_token(&Token::RParen)?;
        Ok(taken)
    }

    /// All the rest, which stays to be read.
    pub(crate) fn rest_ahead(&self) -> &'t [TokenWithSpan] {
        &self.tokens[self.at.min(self.tokens.len())..]
    }

    /// So many tokens, all that are left if they are fewer.
    pub(crate) fn take(&mut self, count: usize) -> &'t [TokenWithSpan] {
        let rest = self.rest_ahead();
        let taken = &rest[..count.min(rest.len())];
        self.at += taken.len();
        taken
    }

    /// All the rest.
    pub(crate) fn rest(&mut self) -> &'t [TokenWithSpan] {
        let rest = self.rest_ahead();
        self.at = self.tokens.len();
        rest
    }

    /// A cursor over tokens taken from this one; it ends where this one stands.
    pub(crate) fn inside(&self, tokens: &'t [TokenWithSpan]) -> Self {
        Self::new(tokens, self.place())
    }

    /// The items of a comma-separated list.
    pub(crate) fn split_commas(mut self) -> Vec<Self> {
        let mut items = Vec::new();
        while !self.at_end() {
            let taken = self.take_until(|_, t| *t == Token::Comma);
            items.push(self.inside(taken));
            if !self.accept_token(&Token::Comma) && !self.at_end() {
                // a stray bracket or semicolon: the item's own parser reports it
                self.bump();
            }
        }
        items
    }
}

/// What is open in one bracket.
#[derive(Clone, Copy, Default)]
struct Level {
    /// tokens since its last comma
    chained: usize,
    /// JOINs that wait for their ON or USING: `a JOIN b JOIN c ON ... ON ...` nests
    joins: usize,
    /// set operations
    sets: usize,
}

/// Refuses ranges whose tree could be deep (I2).
fn check_depth(tokens: &[TokenWithSpan]) -> Result<()> {
    let mut open = vec![Level::default()];
    // of all that are open
    let mut all = Level::default();
    let mut last = None;
    for token in tokens {
        let closes = matches!(token.token, Token::RParen | Token::RBracket) && open.len() > 1;
        if closes {
            let closed = open.pop().unwrap_or_default();
            all.chained -= closed.chained;
            all.joins -= closed.joins;
            all.sets -= closed.sets;
        }
        let level = open.last_mut().expect("the root level is never closed");
        match &token.token {
            Token::LParen | Token::LBracket => open.push(Level::default()),
            Token::Comma => {
                let sets = level.sets;
                let ended = std::mem::replace(level, Level { sets, ..Level::default() });
                all.chained -= ended.chained;
                all.joins -= ended.joins;
            }
            word => {
                level.chained += 1;
                all.chained += 1;
                if is_set_operation(word) {
                    level.sets += 1;
                    all.sets += 1;
                } else if is_word(word, "join") && !last.is_some_and(|last| is_word(last, "cross"))
                {
                    level.joins += 1;
                    all.joins += 1;
                } else if level.joins > 0 && (is_word(word, "on") || is_word(word, "using")) {
                    level.joins -= 1;
                    all.joins -= 1;
                }
            }
        }
        if open.len() + all.joins > NESTING_MAX || all.chained > CHAIN_TOKENS_MAX {
            return Err(too_complex(place_of(token.span.start), "expression is too complex")
                .hint("compute parts of it in variables first"));
        }
        if all.sets > SETS_MAX {
            let message = format!("more than {SETS_MAX} queries are combined by UNION and its kin");
            return Err(too_complex(place_of(token.span.start), message)
                .hint("combine parts of them in statements of their own"));
        }
        last = Some(&token.token);
    }
    Ok(())
}

fn is_set_operation(word: &Token) -> bool {
    ["union", "intersect", "except", "minus"].iter().any(|known| is_word(word, known))
}

fn parser_over(tokens: &[TokenWithSpan], depth_max: usize) -> Result<Parser<'static>> {
    static DIALECT: PostgreSqlDialect = PostgreSqlDialect {};
    check_depth(tokens)?;
    let mut tokens = tokens.to_vec();
    leave_collations_out(&mut tokens)?;
    write_known_forms(&mut tokens);
    subscripts::put_in_brackets(&mut tokens);
    Ok(Parser::new(&DIALECT).with_recursion_limit(depth_max).with_tokens_with_locations(tokens))
}

fn finish<T>(
    mut parser: Parser<'_>,
    parsed: std::result::Result<T, ParserError>,
    end: Place,
) -> Result<T> {
    let node = parsed.map_err(|e| from_parser(e, end))?;
    let next = parser.next_token();
    if next.token == Token::EOF {
        Ok(node)
    } else {
        let place = place_of(next.span.start);
        Err(syntax(place, format!("syntax error at or near \"{}\"", next.token)))
    }
}

/// Parses all the tokens as one expression; `end` is the place behind them.
pub(crate) fn parse_expression(tokens: &[TokenWithSpan], end: Place) -> Result<Expr> {
    let mut parser = parser_over(tokens, DEPTH_MAX)?;
    let parsed = parser.parse_expr();
    finish(parser, parsed, end)
}

/// Parses an expression that a catalog keeps as text; errors are of `place`.
pub(crate) fn expression_of_text(text: &str, place: Place) -> Result<Expr> {
    parse_expression(&tokenize(text, Place { line: 1, column: 1 })?, place)
}

/// How deep the parser may go into a statement. Those that may begin with others (EXPLAIN EXPLAIN
/// ..., IF ... THEN IF ...) nest without brackets, and each level takes some 25 KB of the stack
/// where an optimiser has done little: a thread's 2 MiB would be gone before [`DEPTH_MAX`].
fn depth_max(tokens: &[TokenWithSpan]) -> usize {
    const HOLD_NO_OTHERS: [&str; 9] =
        ["select", "with", "values", "insert", "update", "delete", "create", "alter", "drop"];
    // One EXPLAIN is no nest yet.
    let is_plain = |token: &Token| !is_word(token, "explain") && !is_word(token, "verbose");
    let explained = tokens.iter().take(2).position(|token| is_plain(&token.token));
    let is_flat = tokens.get(explained.unwrap_or_default()).is_none_or(|first| {
        first.token == Token::LParen || HOLD_NO_OTHERS.iter().any(|w| is_word(&first.token, w))
    });
    if is_flat { DEPTH_MAX } else { DEPTH_MAX / 8 }
}

/// FOR NO KEY UPDATE as FOR UPDATE and FOR KEY SHARE as FOR SHARE, which the parser knows: no lock
/// here is of a row's key alone.
fn without_key_locks(tokens: &[TokenWithSpan]) -> Cow<'_, [TokenWithSpan]> {
    let word = |at: usize, word| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    let is_left_out = |at: usize| {
        let is_share = |at| word(at, "for") && word(at + 1, "key") && word(at + 2, "share");
        let is_update = |at: usize| {
            let is_no_key = word(at + 1, "no") && word(at + 2, "key");
            word(at, "for") && is_no_key && word(at + 3, "update")
        };
        at > 0 && (is_share(at - 1) || is_update(at - 1) || at > 1 && is_update(at - 2))
    };
    let mut left_out = (0..tokens.len()).filter(|at| word(*at, "key") && is_left_out(*at));
    if left_out.next().is_none() {
        return Cow::Borrowed(tokens);
    }
    let kept = (0..tokens.len()).filter(|at| !is_left_out(*at));
    Cow::Owned(kept.map(|at| tokens[at].clone()).collect())
}

/// What the name of an expression begins with where the parser knows names only ([`unnamed`]): no
/// name of SQL has it.
const UNNAMED: char = '\u{1}';
/// And that of the condition behind them.
const CONDITION: char = '\u{2}';

/// Writes `ON CONFLICT (lower(a)) WHERE b` as one list of names, the only one that the parser knows
/// there: expressions, and then the condition, are names that have their text.
fn conflict_targets(tokens: Cow<'_, [TokenWithSpan]>) -> Cow<'_, [TokenWithSpan]> {
    let word = |at: usize, word| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    let begins = |at: usize| {
        let is_list = |at: usize| tokens.get(at).is_some_and(|t| t.token == Token::LParen);
        word(at, "on") && word(at + 1, "conflict") && is_list(at + 2)
    };
    let Some(open) = (0..tokens.len()).find(|at| begins(*at)).map(|at| at + 2) else {
        return tokens;
    };
    let name = |mark: char, from: &[TokenWithSpan]| {
        let text: Vec<String> = from.iter().map(|token| as_written(&token.token)).collect();
        let token = Token::make_word(&format!("{mark}{}", text.join(" ")), Some('"'));
        TokenWithSpan { token, span: from[0].span }
    };
    let mut plain = tokens[..=open].to_vec();
    let (mut at, mut depth, mut from) = (open + 1, 0_usize, open + 1);
    while at < tokens.len() {
        let is_end = depth == 0 && tokens[at].token == Token::RParen;
        if is_end || depth == 0 && tokens[at].token == Token::Comma {
            match &tokens[from..at] {
                [] => {}
                [one] if matches!(one.token, Token::Word(_)) => plain.push(one.clone()),
                more => plain.push(name(UNNAMED, more)),
            }
            if is_end {
                break;
            }
            plain.push(tokens[at].clone());
            from = at + 1;
        }
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    let mut rest = (at + 1).min(tokens.len());
    let is_action =
        |at: &usize| word(*at, "do") && (word(at + 1, "nothing") || word(at + 1, "update"));
    if word(rest, "where")
        && let Some(end) = (rest + 2..tokens.len()).find(is_action)
    {
        let comma = TokenWithSpan { token: Token::Comma, span: tokens[rest].span };
        plain.extend([comma, name(CONDITION, &tokens[rest + 1..end])]);
        rest = end;
    }
    plain.extend(tokens.get(at).cloned());
    plain.extend_from_slice(&tokens[rest..]);
    Cow::Owned(plain)
}

/// A token as it may be read again.
pub(crate) fn as_written(token: &Token) -> String {
    match token {
        Token::Word(word) if word.quote_style.is_some() => quoted(&word.value),
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        other => other.to_string(),
    }
}

/// What stands in a list of names.
pub(crate) enum Listed {
    Name(String),
    Expression(Expr),
    Condition(Expr),
}

/// Reads what stands in the list of ON CONFLICT.
pub(crate) fn conflict_part(name: &sqlparser::ast::Ident, place: Place) -> Result<Listed> {
    let parse = |text: &str| parse_expression(&tokenize(text, place)?, place);
    if let Some(text) = name.value.strip_prefix(UNNAMED) {
        return parse(text).map(Listed::Expression);
    }
    if let Some(text) = name.value.strip_prefix(CONDITION) {
        return parse(text).map(Listed::Condition);
    }
    Ok(Listed::Name(folded(&name.value, name.quote_style.is_some())))
}

/// A query that is nothing but the list of what it gives.
pub(crate) fn selection_of(items: Vec<SelectItem>, place: Place) -> Result<Box<Query>> {
    let Statement::Query(mut query) = parse_statement(&tokenize("SELECT 1", place)?, place)? else {
        return Err(syntax(place, "a query is no query"));
    };
    if let SetExpr::Select(select) = &mut *query.body {
        select.projection = items;
    }
    Ok(query)
}

/// Parses all the tokens as one statement.
pub(crate) fn parse_statement(tokens: &[TokenWithSpan], end: Place) -> Result<Statement> {
    let plain = conflict_targets(without_key_locks(tokens));
    let starred = star_syntax::as_fields(&plain);
    let plain = starred.as_deref().unwrap_or(&plain);
    let subscripted = subscripts::as_names(plain);
    let plain = subscripted.as_deref().unwrap_or(plain);
    let mut parser = parser_over(plain, depth_max(tokens))?;
    let parsed = parser.parse_statement();
    let mut statement = finish(parser, parsed, end)?;
    if subscripted.is_some() {
        subscripts::as_columns(&mut statement)?;
    }
    Ok(statement)
}

/// Parses all the tokens as a data type.
pub(crate) fn parse_type(tokens: &[TokenWithSpan], end: Place) -> Result<sqlparser::ast::DataType> {
    let mut parser = parser_over(tokens, DEPTH_MAX)?;
    let parsed = parser.parse_data_type();
    finish(parser, parsed, end)
}
