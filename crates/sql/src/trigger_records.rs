//! OLD and NEW as rows, in the text of a trigger's function: `NEW.*`, and what compares two rows.
//!
//! Role         writes the fields out, which are known once a table is: `VALUES (OLD.*)`,
//!              `OLD.* IS DISTINCT FROM NEW.*`, `OLD IS DISTINCT FROM NEW`. One record as a whole
//!              is left as it is: it is a variable

use std::borrow::Cow;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::token::is_word;

/// Functions that take a row as one value.
const OF_ROWS: [&str; 3] = ["to_json", "to_jsonb", "row_to_json"];

/// OLD or NEW at a place of a text.
struct Mention {
    /// with `.*` behind it
    is_star: bool,
    tokens: usize,
}

/// The text with the fields of OLD and NEW written out.
pub(crate) fn with_fields<'t>(
    tokens: &'t [TokenWithSpan],
    fields: &[String],
) -> Cow<'t, [TokenWithSpan]> {
    let (mut written, mut at, mut is_other) = (Vec::with_capacity(tokens.len()), 0, false);
    while at < tokens.len() {
        let Some(mention) = mention(tokens, at) else {
            written.push(tokens[at].clone());
            at += 1;
            continue;
        };
        let behind = at + mention.tokens;
        if let Some(operator) = comparison(tokens, behind, mention.is_star)
            && let Some(other) = self::mention(tokens, behind + operator)
            && (mention.is_star == other.is_star)
        {
            let right = behind + operator;
            in_brackets(&mut written, &tokens[at], fields);
            written.extend_from_slice(&tokens[behind..right]);
            in_brackets(&mut written, &tokens[right], fields);
            (at, is_other) = (right + other.tokens, true);
            continue;
        }
        if mention.is_star && !is_argument(tokens, at, behind) {
            list(&mut written, &tokens[at], fields);
        } else {
            written.push(tokens[at].clone());
        }
        is_other |= mention.is_star;
        at = behind;
    }
    if is_other { Cow::Owned(written) } else { Cow::Borrowed(tokens) }
}

fn mention(tokens: &[TokenWithSpan], at: usize) -> Option<Mention> {
    let is = |at: usize, token: &Token| tokens.get(at).is_some_and(|known| known.token == *token);
    let word = &tokens.get(at)?.token;
    let is_field = at.checked_sub(1).is_some_and(|before| is(before, &Token::Period));
    if !(is_word(word, "old") || is_word(word, "new")) || is_field {
        return None;
    }
    match is(at + 1, &Token::Period) {
        true if is(at + 2, &Token::Mul) => Some(Mention { is_star: true, tokens: 3 }),
        true => None,
        false => Some(Mention { is_star: false, tokens: 1 }),
    }
}

/// How many tokens an operator has that compares rows; none: there is none.
fn comparison(tokens: &[TokenWithSpan], at: usize, is_star: bool) -> Option<usize> {
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    if is(at, "is") {
        let not = usize::from(is(at + 1, "not"));
        let compares = is(at + 1 + not, "distinct") && is(at + 2 + not, "from");
        return compares.then_some(3 + not);
    }
    // `NEW = OLD` may be an assignment.
    let is_sign = matches!(tokens.get(at)?.token, Token::Eq | Token::Neq);
    (is_sign && is_star).then_some(1)
}

/// Whether it is all that a function takes which takes a row.
fn is_argument(tokens: &[TokenWithSpan], at: usize, behind: usize) -> bool {
    let is_last = tokens.get(behind).is_some_and(|token| token.token == Token::RParen);
    let before = at.checked_sub(2).and_then(|from| tokens.get(from..at));
    is_last
        && before.is_some_and(|before| {
            before[1].token == Token::LParen
                && OF_ROWS.iter().any(|name| is_word(&before[0].token, name))
        })
}

fn in_brackets(written: &mut Vec<TokenWithSpan>, record: &TokenWithSpan, fields: &[String]) {
    let sign = |token| TokenWithSpan { token, span: record.span };
    written.push(sign(Token::LParen));
    list(written, record, fields);
    written.push(sign(Token::RParen));
}

fn list(written: &mut Vec<TokenWithSpan>, record: &TokenWithSpan, fields: &[String]) {
    let sign = |token| TokenWithSpan { token, span: record.span };
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            written.push(sign(Token::Comma));
        }
        let (value, quote_style, keyword) = (field.clone(), Some('"'), Keyword::NoKeyword);
        let field = Token::Word(Word { value, quote_style, keyword });
        written.extend([record.clone(), sign(Token::Period), sign(field)]);
    }
}
