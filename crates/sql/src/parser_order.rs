//! Tokens in the order in which the parser reads them, where PostgreSQL takes them in others, too.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::token::is_word;

/// A statement's tokens with the options of sequences in the order in which the parser takes them;
/// PostgreSQL takes them in any.
pub(crate) fn in_parsers_order(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    let mut ordered = tokens.to_vec();
    if !word(0, "create") && !word(0, "alter") {
        return ordered;
    }
    if word(1, "sequence") || word(2, "sequence") {
        sort_options(&mut ordered);
        return ordered;
    }
    for at in 1..tokens.len() {
        if word(at - 1, "identity") && tokens[at].token == Token::LParen {
            let length = tokens[at..].iter().position(|t| t.token == Token::RParen).unwrap_or(0);
            sort_options(&mut ordered[at + 1..at + length.max(1)]);
        }
    }
    ordered
}

/// Sorts what follows the first option's word by the words that options begin with.
fn sort_options(tokens: &mut [TokenWithSpan]) {
    const ORDER: &[&str] =
        &["as", "increment", "minvalue", "maxvalue", "start", "cache", "cycle", "owned"];
    let rank = |at: usize| {
        let is_no = is_word(&tokens[at].token, "no");
        let named = tokens.get(at + usize::from(is_no))?;
        let rank = ORDER.iter().position(|word| is_word(&named.token, word))?;
        let follows_no = at > 0 && is_word(&tokens[at - 1].token, "no");
        (!follows_no).then_some(rank)
    };
    let starts: Vec<(usize, usize)> =
        (0..tokens.len()).filter_map(|at| Some((rank(at)?, at))).collect();
    let Some(&(_, first)) = starts.first() else { return };
    let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([tokens.len()]);
    let mut options: Vec<(usize, Vec<TokenWithSpan>)> = starts
        .iter()
        .zip(ends)
        .map(|(&(rank, at), end)| (rank, tokens[at..end].to_vec()))
        .collect();
    options.sort_by_key(|(rank, _)| *rank);
    let sorted = options.into_iter().flat_map(|(_, option)| option);
    for (place, token) in tokens[first..].iter_mut().zip(sorted) {
        *place = token;
    }
}

/// Brings WITH [LOCAL | CASCADED] CHECK OPTION, which stands behind a view's query, to where the
/// parser reads it: `WITH (check_option = ...)` before the query.
pub(crate) fn with_check_option(tokens: &mut Vec<TokenWithSpan>) {
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    let end = tokens.len();
    let view = (1..end.min(5)).any(|at| is(at, "view"));
    if !view || end < 6 || !is(end - 1, "option") || !is(end - 2, "check") {
        return;
    }
    let (start, way) = match () {
        () if is(end - 3, "with") => (end - 3, "cascaded"),
        () if is(end - 3, "local") && is(end - 4, "with") => (end - 4, "local"),
        () if is(end - 3, "cascaded") && is(end - 4, "with") => (end - 4, "cascaded"),
        () => return,
    };
    let Some(before) = (1..start).find(|at| is(*at, "as")) else { return };
    let span = tokens[start].span;
    tokens.truncate(start);
    let word = |word| Token::make_word(word, None);
    let option = [
        Token::make_keyword("WITH"),
        Token::LParen,
        word("check_option"),
        Token::Eq,
        word(way),
        Token::RParen,
    ];
    tokens.splice(before..before, option.map(|token| TokenWithSpan { token, span }));
}
