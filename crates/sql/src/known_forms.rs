//! What the parser does not read, in the forms that it reads.

use hotrow_base::encoded::ADDRESSES;
use hotrow_base::types::RangeKind;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::frame_syntax::write_frames;
use crate::grouping_syntax::write_groupings;
use crate::token::is_word;

/// Writes what PostgreSQL takes for the same.
pub(crate) fn write_known_forms(tokens: &mut Vec<TokenWithSpan>) {
    write_similar_as_from(tokens);
    write_names_with_arrows(tokens);
    write_digits_behind(tokens);
    write_frames(tokens);
    write_groupings(tokens);
    write_types_as_casts(tokens);
    write_null_tests(tokens);
    write_unnamed_lists(tokens);
    write_directions(tokens);
}

/// Writes `ORDER BY a USING <` as `ORDER BY a ASC`, and that with `>` as DESC.
fn write_directions(tokens: &mut Vec<TokenWithSpan>) {
    let direction = |sign: &Token| match sign {
        Token::Lt => Some("ASC"),
        Token::Gt => Some("DESC"),
        _ => None,
    };
    let mut at = 1;
    while at < tokens.len() {
        if is_word(&tokens[at - 1].token, "using")
            && let Some(word) = direction(&tokens[at].token)
        {
            tokens[at].token = Token::make_keyword(word);
            tokens.remove(at - 1);
        }
        at += 1;
    }
}

/// What queries, and changes in WITH, begin with.
const QUERIES: [&str; 8] =
    ["select", "with", "values", "table", "insert", "update", "delete", "merge"];

/// Writes `f(a) AS (b integer)` as `f(a) AS f (b integer)`.
fn write_unnamed_lists(tokens: &mut Vec<TokenWithSpan>) {
    let mut open = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at].token {
            Token::LParen => open.push(at),
            Token::RParen => {
                let begin = open.pop().unwrap_or_default();
                let is_list = match tokens.get(at + 1..at + 5) {
                    Some([r#as, open, name, of]) => {
                        let is_query = |word| is_word(&name.token, word);
                        is_word(&r#as.token, "as")
                            && open.token == Token::LParen
                            && matches!(name.token, Token::Word(_))
                            && matches!(of.token, Token::Word(_))
                            && !QUERIES.into_iter().any(is_query)
                    }
                    _ => false,
                };
                let name = begin.checked_sub(1).map(|before| &tokens[before].token);
                if is_list && let Some(Token::Word(word)) = name {
                    let token = Token::make_word(&word.value, word.quote_style);
                    let span = tokens[at + 1].span;
                    tokens.insert(at + 2, TokenWithSpan { token, span });
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Writes `a ISNULL` and `a NOTNULL` as `a IS NULL` and `a IS NOT NULL`.
fn write_null_tests(tokens: &mut Vec<TokenWithSpan>) {
    let is_name = |all: &[TokenWithSpan], at: usize| {
        let before = at.checked_sub(1).map(|before| &all[before].token);
        let begins = before.is_none_or(|token| {
            matches!(token, Token::Period | Token::Comma | Token::LParen)
                || ["as", "function", "select"].iter().any(|word| is_word(token, word))
        });
        begins || all.get(at + 1).is_some_and(|next| next.token == Token::LParen)
    };
    let mut at = 0;
    while at < tokens.len() {
        let is_not = is_word(&tokens[at].token, "notnull");
        if (is_not || is_word(&tokens[at].token, "isnull")) && !is_name(tokens, at) {
            let span = tokens[at].span;
            let words: &[&str] = if is_not { &["IS", "NOT", "NULL"] } else { &["IS", "NULL"] };
            let word = |word: &&str| TokenWithSpan { token: Token::make_keyword(word), span };
            tokens.splice(at..=at, words.iter().map(word));
        }
        at += 1;
    }
}

/// Writes `int4range '[1,5)'` as `'[1,5)'::int4range`, and so for all types that the parser does
/// not know.
fn write_types_as_casts(tokens: &mut Vec<TokenWithSpan>) {
    let is_it = |all: &[TokenWithSpan], at: usize| {
        let is_literal = |t: &TokenWithSpan| matches!(t.token, Token::SingleQuotedString(_));
        let is_type = |t: &Token| {
            RangeKind::ALL.iter().any(|kind| is_word(t, kind.name()))
                || ADDRESSES.iter().any(|of| is_word(t, of.name()))
                || is_word(t, "citext")
        };
        let is_part = at > 0 && all[at - 1].token == Token::Period;
        all.get(at + 1).is_some_and(is_literal) && is_type(&all[at].token) && !is_part
    };
    if !(0..tokens.len()).any(|at| is_it(tokens, at)) {
        return;
    }
    let mut written = Vec::with_capacity(tokens.len() + 1);
    let mut at = 0;
    while at < tokens.len() {
        if is_it(tokens, at) {
            let cast = TokenWithSpan { token: Token::DoubleColon, span: tokens[at].span };
            written.extend([tokens[at + 1].clone(), cast, tokens[at].clone()]);
            at += 2;
        } else {
            written.push(tokens[at].clone());
            at += 1;
        }
    }
    *tokens = written;
}

/// Writes `f(a := 1)` as `f(a => 1)`.
fn write_names_with_arrows(tokens: &mut [TokenWithSpan]) {
    for at in 2..tokens.len() {
        let [before, name, sign] = &mut tokens[at - 2..=at] else { return };
        let begins = matches!(before.token, Token::LParen | Token::Comma);
        if begins && matches!(name.token, Token::Word(_)) && sign.token == Token::Assignment {
            sign.token = Token::RArrow;
        }
    }
}

/// Writes `interval(2) '1.234'` as `interval '1.234' second(2)`: where the digits come first, the
/// parser loses them.
fn write_digits_behind(tokens: &mut Vec<TokenWithSpan>) {
    let is_it = |five: &[TokenWithSpan]| {
        is_word(&five[0].token, "interval")
            && five[1].token == Token::LParen
            && matches!(five[2].token, Token::Number(..))
            && five[3].token == Token::RParen
            && matches!(five[4].token, Token::SingleQuotedString(_))
    };
    if !tokens.windows(5).any(is_it) {
        return;
    }
    let mut written = Vec::with_capacity(tokens.len() + 1);
    let mut at = 0;
    while at < tokens.len() {
        written.push(tokens[at].clone());
        if tokens.get(at..at + 5).is_some_and(is_it) {
            let second = Token::make_keyword("SECOND");
            written.push(tokens[at + 4].clone());
            written.push(TokenWithSpan { token: second, span: tokens[at + 1].span });
            written.extend_from_slice(&tokens[at + 1..at + 4]);
            at += 4;
        }
        at += 1;
    }
    *tokens = written;
}

/// Writes `substring(x SIMILAR p ESCAPE e)` as `substring(x FROM p FOR e)`, which the parser knows
/// and PostgreSQL takes for the same.
fn write_similar_as_from(tokens: &mut [TokenWithSpan]) {
    #[derive(Clone, Copy, PartialEq)]
    enum Inside {
        Substring,
        Similar,
        Other,
    }
    let mut open = Vec::new();
    for at in 0..tokens.len() {
        let word = |at: usize, word| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
        let written = match (&tokens[at].token, open.last_mut()) {
            (Token::LParen, _) => {
                let is_substring = at > 0 && word(at - 1, "substring");
                open.push(if is_substring { Inside::Substring } else { Inside::Other });
                continue;
            }
            (Token::RParen, _) => {
                open.pop();
                continue;
            }
            (_, Some(inside @ Inside::Substring)) if word(at, "similar") && !word(at + 1, "to") => {
                *inside = Inside::Similar;
                "FROM"
            }
            (_, Some(inside @ Inside::Similar)) if word(at, "escape") => {
                *inside = Inside::Other;
                "FOR"
            }
            _ => continue,
        };
        tokens[at].token = Token::make_keyword(written);
    }
}
