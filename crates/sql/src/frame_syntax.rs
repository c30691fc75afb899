//! Frames of windows as the parser can read them.
//!
//! Role         the parser knows no EXCLUDE, and takes an offset that begins with a text for an
//!              interval: it is shown offsets in brackets, and `EXCLUDE TIES` as a first part of
//!              PARTITION BY, with a name that nobody else has

use std::ops::Range;

use hotrow_query::Exclusion;
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::token::is_word;

/// What the name begins with that says what is left out: no name of SQL has it.
const EXCLUDED: char = '\u{4}';

const EXCLUSIONS: [(&[&str], Exclusion); 4] = [
    (&["current", "row"], Exclusion::CurrentRow),
    (&["no", "others"], Exclusion::NoOthers),
    (&["group"], Exclusion::Group),
    (&["ties"], Exclusion::Ties),
];

/// Writes frames so that the parser reads them.
pub(crate) fn write_frames(tokens: &mut Vec<TokenWithSpan>) {
    let is_frame = |t: &TokenWithSpan| {
        ["preceding", "following", "exclude"].iter().any(|word| is_word(&t.token, word))
    };
    if !tokens.iter().any(is_frame) {
        return;
    }
    let mut edits = Edits::default();
    for open in 0..tokens.len() {
        if tokens[open].token == Token::LParen
            && let Some(end) = closing(&tokens[open..])
        {
            write_frame(tokens, (open, open + end), &mut edits);
        }
    }
    edits.apply(tokens);
}

/// What changes in a statement, by the places of its tokens as they were read: it is put together
/// once, however many frames it has.
#[derive(Default)]
struct Edits {
    /// what comes before a token
    put: Vec<(usize, Vec<TokenWithSpan>)>,
    /// which tokens go
    gone: Vec<Range<usize>>,
}

impl Edits {
    fn apply(mut self, tokens: &mut Vec<TokenWithSpan>) {
        self.put.sort_by_key(|(at, _)| *at);
        self.gone.sort_by_key(|range| range.start);
        let (mut put, mut gone) = (self.put.into_iter().peekable(), self.gone.iter().peekable());
        let old = std::mem::take(tokens);
        for (at, token) in old.into_iter().enumerate() {
            while let Some((_, new)) = put.next_if(|(before, _)| *before <= at) {
                tokens.extend(new);
            }
            while gone.next_if(|range| range.end <= at).is_some() {}
            if gone.peek().is_none_or(|range| !range.contains(&at)) {
                tokens.push(token);
            }
        }
    }
}

/// Where the bracket is that closes the first token.
fn closing(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// Writes the frame of what stands between two brackets, if it has one.
fn write_frame(tokens: &[TokenWithSpan], (open, end): (usize, usize), edits: &mut Edits) {
    let mut depth = 0_usize;
    // Those that stand in no further brackets.
    let mut own = Vec::new();
    for (at, token) in tokens.iter().enumerate().take(end).skip(open + 1) {
        match token.token {
            Token::LParen | Token::LBracket => {
                own.extend((depth == 0).then_some(at));
                depth += 1;
            }
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ => own.extend((depth == 0).then_some(at)),
        }
    }
    let is = |at: usize, word: &str| is_word(&tokens[at].token, word);
    let is_any = |at: usize, words: &[&str]| words.iter().any(|word| is(at, word));
    let ends_bound = |at: usize| is_any(at, &["preceding", "following"]);
    let is_row = |at: usize| is(at, "row") && is(at - 1, "current");
    let is_end = |at: &usize| ends_bound(*at) || is_row(*at);
    let Some(last) = own.iter().copied().rfind(is_end) else { return };
    let starts = |at: &usize| *at < last && is_any(*at, &["rows", "range", "groups"]);
    let Some(units) = own.iter().copied().find(starts) else { return };
    let between = is(units + 1, "between");
    let mut bounds = Vec::new();
    let mut from = units + 1 + usize::from(between);
    for at in own.iter().copied().filter(|at| *at > units) {
        if bounds.len() == 1 + usize::from(between) {
            break;
        }
        if ends_bound(at) || is_row(at) {
            bounds.push((from, at));
            // behind AND
            from = at + 2;
        }
    }
    let Some((_, last)) = bounds.last().copied() else { return };
    let mut mark = None;
    if last + 1 < end && is(last + 1, "exclude") {
        let known = EXCLUSIONS.iter().find(|(words, _)| {
            let told = last + 2..end;
            told.len() == words.len() && told.zip(*words).all(|(at, word)| is(at, word))
        });
        let Some((words, _)) = known else { return };
        mark = Some(words.join(" "));
    }
    let plain = |at: usize, token: Token| TokenWithSpan { token, span: tokens[at].span };
    let partition =
        own.iter().copied().find(|at| is(*at, "by") && is(*at - 1, "partition") && *at < units);
    let put = mark.as_ref().map(|mark| {
        let name = Token::make_word(&format!("{EXCLUDED}{mark}"), Some('"'));
        match partition {
            Some(by) => (by + 1, vec![plain(by, name), plain(by, Token::Comma)]),
            None => {
                // Behind the name of another window.
                let first = open + 1;
                let is_name = !is_any(first, &["order", "rows", "range", "groups"]);
                let at = first + usize::from(is_name);
                let words = ["PARTITION", "BY"].map(Token::make_keyword).map(|t| plain(first, t));
                (at, words.into_iter().chain([plain(first, name)]).collect())
            }
        }
    });
    for (from, to) in bounds {
        let is_plain = is_row(to) || to == from + 1 && is(from, "unbounded");
        if !is_plain && from < to {
            edits.put.push((from, vec![plain(from, Token::LParen)]));
            edits.put.push((to, vec![plain(to, Token::RParen)]));
        }
    }
    if mark.is_some() {
        edits.gone.push(last + 1..end);
    }
    edits.put.extend(put);
}

/// Takes what is left out from where [`write_frames`] wrote it.
pub(crate) fn take_exclusion(partition_by: &mut Vec<ast::Expr>) -> Option<Exclusion> {
    let ast::Expr::Identifier(name) = partition_by.first()? else { return None };
    let told = name.value.strip_prefix(EXCLUDED)?;
    let known = EXCLUSIONS.iter().find(|(words, _)| words.join(" ") == told);
    let exclusion = known.map(|(_, exclusion)| *exclusion)?;
    partition_by.remove(0);
    Some(exclusion)
}
