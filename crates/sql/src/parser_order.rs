//! Tokens in the order in which the parser reads them, where PostgreSQL takes them in others, too.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::alter_syntax::data_clause;
use crate::like_syntax::leave_usual_name_out;
use crate::token::is_word;

/// A statement's tokens with the options of sequences in the order in which the parser takes them;
/// PostgreSQL takes them in any.
pub(crate) fn in_parsers_order(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    let mut ordered = tokens.to_vec();
    if word(0, "drop") && word(1, "index") && word(2, "concurrently") {
        // Nobody waits for it beyond a quiet point, however it is said.
        ordered.remove(2);
    }
    if word(0, "create") && (word(1, "index") || word(2, "index")) {
        // Partitions have the indexes of their table in any case.
        let is_only =
            |of: &[TokenWithSpan]| is_word(&of[0].token, "on") && is_word(&of[1].token, "only");
        if let Some(at) = ordered.windows(2).position(is_only) {
            ordered.remove(at + 1);
        }
    }
    if word(0, "alter") && word(1, "table") {
        leave_usual_sequence_out(&mut ordered);
    }
    if !word(0, "create") && !word(0, "alter") {
        return ordered;
    }
    if word(1, "sequence") || word(2, "sequence") {
        sort_options(&mut ordered);
        return ordered;
    }
    for at in 1..ordered.len() {
        if is_word(&ordered[at - 1].token, "identity") && ordered[at].token == Token::LParen {
            let length = ordered[at..].iter().position(|t| t.token == Token::RParen).unwrap_or(0);
            sort_options(&mut ordered[at + 1..at + length.max(1)]);
        }
    }
    ordered
}

/// Leaves `SEQUENCE NAME name` out of ADD GENERATED AS IDENTITY, where it says nothing.
fn leave_usual_sequence_out(tokens: &mut Vec<TokenWithSpan>) {
    let is = |at: usize, known: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, known));
    let Some(at) = (2..tokens.len()).find(|at| is(*at, "sequence")) else { return };
    let Some(alter) = (2..at).find(|at| is(*at, "alter")) else { return };
    let column = if is(alter + 1, "column") { alter + 2 } else { alter + 1 };
    leave_usual_name_out(tokens, (alter - 1, column), at);
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

/// Gives options of views that stand without a value the one that they have then:
/// `WITH (security_barrier)`.
pub(crate) fn with_values_of_options(tokens: &mut Vec<TokenWithSpan>) {
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    if !is(0, "create") || !(1..5).any(|at| is(at, "view")) {
        return;
    }
    let end = (1..tokens.len()).find(|at| is(*at, "as")).unwrap_or(tokens.len());
    let Some(with) = (1..end).find(|at| is(*at, "with")) else { return };
    for at in (with + 2..end).rev() {
        let ends = matches!(tokens[at].token, Token::Comma | Token::RParen);
        let begins = matches!(tokens[at - 2].token, Token::Comma | Token::LParen);
        if ends && begins && matches!(tokens[at - 1].token, Token::Word(_)) {
            let span = tokens[at].span;
            let value = [Token::Eq, Token::make_keyword("TRUE")];
            tokens.splice(at..at, value.map(|token| TokenWithSpan { token, span }));
        }
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

/// The name, which no client gives, of the query whose columns CREATE TABLE names.
pub(crate) const COLUMNS_OF_QUERY: &str = "columns of query";

/// Brings the names of columns in `CREATE TABLE name (a, b) AS query`, which the parser takes for
/// columns without types, to where it reads names: `AS SELECT * FROM (query) AS name (a, b)`.
pub(crate) fn columns_of_query(tokens: &mut Vec<TokenWithSpan>) {
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    let is_token = |at: usize, token: &Token| tokens.get(at).is_some_and(|t| t.token == *token);
    if !is(0, "create") || !(1..4).any(|at| is(at, "table")) {
        return;
    }
    let Some(open) = tokens.iter().position(|t| t.token == Token::LParen) else { return };
    if (1..open).any(|at| is(at, "as")) {
        return;
    }
    let mut close = open + 1;
    while matches!(tokens.get(close).map(|t| &t.token), Some(Token::Word(_)))
        && is_token(close + 1, &Token::Comma)
    {
        close += 2;
    }
    let is_list = matches!(tokens.get(close).map(|t| &t.token), Some(Token::Word(_)));
    close += 1;
    if !is_list || !is_token(close, &Token::RParen) {
        return;
    }
    let Some(query) = (close..tokens.len()).find(|at| is(*at, "as")).map(|at| at + 1) else {
        return;
    };
    if is(query, "execute") {
        return;
    }
    let data = data_clause(tokens).map_or(tokens.len(), |(at, _)| at);
    let span = tokens[open].span;
    let own = |token| TokenWithSpan { token, span };
    let list = tokens[open..=close].to_vec();
    let begins = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
    let mut written: Vec<_> = begins.into_iter().map(own).collect();
    written.push(own(Token::LParen));
    written.extend_from_slice(&tokens[query..data]);
    written.extend([
        own(Token::RParen),
        own(Token::make_keyword("AS")),
        own(Token::make_word(COLUMNS_OF_QUERY, Some('"'))),
    ]);
    written.extend(list);
    tokens.splice(query..data, written);
    tokens.drain(open..=close);
}
