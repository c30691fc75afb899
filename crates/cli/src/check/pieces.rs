//! The statements of a file that was written for psql.
//!
//! Role         cuts a text at its semicolons, and leaves out what is psql's own: meta-commands,
//!              and the rows behind a COPY FROM STDIN. It knows quotes and comments, and no SQL
//! Invariants   I1 each statement keeps its place, so that one that is refused does not keep the
//!              others from being read

use crate::statement_end::{after_comment, dollar_quote};

/// A part of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece<'t> {
    /// where it begins, in bytes
    pub(super) at: usize,
    /// its text
    pub(super) text: &'t str,
    /// what it is
    pub(super) kind: PieceKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PieceKind {
    /// without its semicolon
    Statement,
    /// `\i file` and the like, a line
    MetaCommand,
    /// what follows COPY FROM STDIN, up to `\.`
    Rows,
}

/// The pieces of a text, in their order.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    // Where the statement begins that is being read; none: nothing but blanks and comments so far.
    let mut begun: Option<usize> = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if let Some(comment) = comment(rest) {
            at += comment;
            continue;
        }
        match c {
            ';' => {
                let statement = begun.take().map(|from| statement(text, from, at));
                at += 1;
                let Some(statement) = statement else { continue };
                found.push(statement);
                if takes_rows(statement.text) {
                    let length = rows(&text[at..]);
                    found.push(Piece { at, text: &text[at..at + length], kind: PieceKind::Rows });
                    at += length;
                }
            }
            '\\' => {
                // What was typed before it on the line, as before \gset, is a statement to psql.
                found.extend(begun.take().map(|from| statement(text, from, at)));
                let line = rest.split('\n').next().unwrap_or(rest);
                found.push(Piece { at, text: line.trim_end(), kind: PieceKind::MetaCommand });
                at += line.len();
            }
            c => {
                if !c.is_whitespace() {
                    begun.get_or_insert(at);
                }
                at += quoted(text, at).unwrap_or(c.len_utf8());
            }
        }
    }
    found.extend(begun.map(|from| statement(text, from, text.len())));
    found
}

fn statement(text: &str, from: usize, to: usize) -> Piece<'_> {
    Piece { at: from, text: text[from..to].trim_end(), kind: PieceKind::Statement }
}

/// The length of a comment at the start of a text; one that is not closed goes on to the end.
fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("--") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    let is_one = rest.starts_with("/*");
    is_one.then(|| after_comment(rest).map_or(rest.len(), |after| rest.len() - after.len()))
}

/// The length of a quoted text that begins at a place, to the end where it is not closed.
fn quoted(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let end = match rest.chars().next()? {
        '"' => rest[1..].find('"').map(|end| end + 2),
        '\'' if is_escaped(text, at) => escaped_end(rest),
        '\'' => rest[1..].find('\'').map(|end| end + 2),
        '$' if !is_in_name(&text[..at]) => {
            let quote = dollar_quote(rest)?;
            rest[quote.len()..].find(quote).map(|end| end + 2 * quote.len())
        }
        _ => return None,
    };
    Some(end.unwrap_or(rest.len()))
}

/// Whether a quote opens an `E'...'`, in which a backslash hides what is behind it.
fn is_escaped(text: &str, at: usize) -> bool {
    let before = text[..at].strip_suffix(['e', 'E']);
    before.is_some_and(|before| !is_in_name(before))
}

/// Whether a text ends in a name or number, which goes on with letters and `$`.
fn is_in_name(before: &str) -> bool {
    before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

fn escaped_end(rest: &str) -> Option<usize> {
    let mut hidden = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if hidden => hidden = false,
            '\\' => hidden = true,
            '\'' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Whether a statement is COPY ... FROM STDIN, whose rows follow.
fn takes_rows(statement: &str) -> bool {
    let words: Vec<_> = statement.split_whitespace().map(str::to_ascii_lowercase).collect();
    words.first().is_some_and(|first| first == "copy")
        && words.windows(2).any(|two| two[0] == "from" && two[1].trim_end_matches('(') == "stdin")
}

/// The length of the rows at the start of a text, with the line `\.` that ends them.
fn rows(rest: &str) -> usize {
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        length += line.len();
        if line.trim_end() == "\\." {
            break;
        }
    }
    length
}

#[cfg(test)]
mod tests;
