//! `text LIKE pattern`: `%` any characters, `_` one character, `\` takes the next one literally.

use super::text;
use crate::interpret::Fault;

/// Whether the whole text matches. Linear but for the last `%`, from which it retries; the classic
/// algorithm needs no recursion.
pub(super) fn like(text: &[u8], pattern: &[u8]) -> Result<bool, Fault> {
    if let Some(literal) = contained(pattern) {
        return Ok(text::find(text, literal).is_some());
    }
    check_escape(pattern)?;
    let (mut t, mut p) = (0, 0);
    // Where to retry: behind the last `%`, and the text position it swallowed up to.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match step(text, t, pattern, p) {
            Step::Match { text: t_len, pattern: p_len } => {
                t += t_len;
                p += p_len;
            }
            Step::Any => {
                p += 1;
                retry = Some((p, t));
            }
            Step::Done => return Ok(true),
            Step::Fail => match retry {
                Some((after, swallowed)) if swallowed < text.len() => {
                    t = swallowed + char_len(text[swallowed]);
                    p = after;
                    retry = Some((p, t));
                }
                _ => return Ok(false),
            },
        }
    }
}

/// The literal text of a pattern that asks only whether a text contains it: `%literal%`.
fn contained(pattern: &[u8]) -> Option<&[u8]> {
    let literal = pattern.strip_prefix(b"%")?.strip_suffix(b"%")?;
    let is_literal = !literal.iter().any(|byte| matches!(byte, b'%' | b'_' | b'\\'));
    is_literal.then_some(literal)
}

enum Step {
    Match { text: usize, pattern: usize },
    Any,
    Done,
    Fail,
}

fn step(text: &[u8], t: usize, pattern: &[u8], p: usize) -> Step {
    let next = text.get(t);
    match (pattern.get(p), next) {
        (None, None) => Step::Done,
        (None, Some(_)) => Step::Fail,
        (Some(b'%'), _) => Step::Any,
        (Some(_), None) => Step::Fail,
        (Some(b'_'), Some(&first)) => Step::Match { text: char_len(first), pattern: 1 },
        (Some(b'\\'), Some(byte)) if pattern.get(p + 1) == Some(byte) => {
            Step::Match { text: 1, pattern: 2 }
        }
        (Some(b'\\'), Some(_)) => Step::Fail,
        (Some(wanted), Some(byte)) if wanted == byte => Step::Match { text: 1, pattern: 1 },
        _ => Step::Fail,
    }
}

/// Bytes of the character that starts with `first`.
fn char_len(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

fn check_escape(pattern: &[u8]) -> Result<(), Fault> {
    let trailing = pattern.iter().rev().take_while(|&&byte| byte == b'\\').count();
    if trailing % 2 == 1 {
        return Err(Fault::new(b"22025", "LIKE pattern must not end with escape character"));
    }
    Ok(())
}
