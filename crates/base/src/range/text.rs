//! Ranges as text: `[1,5)`, `("a b",]`, `empty`.

use std::fmt;

use super::{Bound, Range, Result};
use crate::types::RangeKind;
use crate::value::{Value, ValueError};

const EMPTY: &str = "empty";

/// White space as PostgreSQL has it.
fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

impl Range {
    /// The range that a text stands for.
    ///
    /// # Errors
    ///
    /// 22P02: it stands for none. Else those of the bounds' texts, and of [`Range::new`].
    pub fn parse(kind: RangeKind, text: &str) -> Result<Self> {
        let malformed = |detail| ValueError::malformed_range(text, detail);
        let rest = text.trim_start_matches(is_space);
        if let Some(behind) = rest.get(EMPTY.len()..)
            && rest[..EMPTY.len()].eq_ignore_ascii_case(EMPTY)
        {
            return match behind.trim_matches(is_space) {
                "" => Ok(Self::empty(kind)),
                _ => Err(malformed("Junk after \"empty\" key word.")),
            };
        }
        let Some(inner) = rest.strip_prefix(['[', '(']) else {
            return Err(malformed("Missing left parenthesis or bracket."));
        };
        let end = || malformed("Unexpected end of input.");
        let (lower, behind) = bound_text(inner).ok_or_else(end)?;
        let Some(behind) = behind.strip_prefix(',') else {
            return Err(malformed("Missing comma after lower bound."));
        };
        let (upper, behind) = bound_text(behind).ok_or_else(end)?;
        let Some(after) = behind.strip_prefix([']', ')']) else {
            return Err(malformed("Too many commas."));
        };
        if !after.trim_matches(is_space).is_empty() {
            return Err(malformed("Junk after right parenthesis or bracket."));
        }
        let bound = |text: Option<String>, inclusive| {
            let value = text.map(|text| Value::parse(kind.element(), &text)).transpose()?;
            Ok::<_, ValueError>(Bound { value, inclusive })
        };
        let lower = bound(lower, rest.starts_with('['))?;
        Self::new(kind, lower, bound(upper, behind.starts_with(']'))?)
    }
}

/// The text of a bound, and what stands behind it, a comma or a bracket first; none: the text ends
/// before.
fn bound_text(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ']', ')']) {
        return Some((None, text));
    }
    let (mut bound, mut is_quoted) = (String::new(), false);
    let mut chars = text.char_indices().peekable();
    loop {
        match chars.next()? {
            (at, ',' | ']' | ')') if !is_quoted => return Some((Some(bound), &text[at..])),
            (_, '\\') => bound.push(chars.next()?.1),
            (_, '"') if !is_quoted => is_quoted = true,
            (_, '"') => match chars.next_if(|(_, next)| *next == '"') {
                Some(_) => bound.push('"'),
                None => is_quoted = false,
            },
            (_, other) => bound.push(other),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some([lower, upper]) = &self.bounds else { return f.write_str(EMPTY) };
        f.write_str(if lower.inclusive { "[" } else { "(" })?;
        write_bound(lower, f)?;
        f.write_str(",")?;
        write_bound(upper, f)?;
        f.write_str(if upper.inclusive { "]" } else { ")" })
    }
}

fn write_bound(bound: &Bound, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(value) = &bound.value else { return Ok(()) };
    // Of these kinds, none has quotes or backslashes in its text.
    let text = value.to_string();
    if text.contains(is_space) { write!(f, "\"{text}\"") } else { f.write_str(&text) }
}
