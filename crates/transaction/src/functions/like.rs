//! `text LIKE pattern`: `%` any characters, `_` one character, `\\` takes the next one literally.

use std::ops::Range;

use hotrow_base::datum::Datum;

use super::text;
use crate::fault::Fault;
use crate::frame::Machine;

/// Steps between two counts of how far it has come.
const STEPS: usize = 4096;

/// Whether the whole text matches. Without recursion: where a text does not go on as the pattern
/// does, it is tried again behind the last `%`, at the next place where the characters behind that
/// are found. So patterns of letters and `%` cost about as much as the text is long; those with
/// `_` may cost the text's length times that of the longest piece between two `%`.
pub(super) fn like(machine: &mut Machine, text: Datum, pattern: Datum) -> Result<bool, Fault> {
    let (text, pattern) = (text.as_range().range(), pattern.as_range().range());
    check_escape(&machine.heap[pattern.clone()])?;
    let (mut t, mut p, mut steps) = (text.start, pattern.start, 0);
    // Where to retry: behind the last `%`, and the text position it swallowed up to.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        steps += 1;
        if steps == STEPS {
            steps = 0;
            machine.went(STEPS)?;
        }
        match step(&machine.heap[t..text.end], &machine.heap[p..pattern.end]) {
            Step::Match { text: t_len, pattern: p_len } => {
                t += t_len;
                p += p_len;
                continue;
            }
            Step::Done => return Ok(true),
            Step::Any => {
                p += 1;
                retry = Some((p, t));
            }
            Step::Fail => match retry {
                Some((after, swallowed)) if swallowed < text.end => {
                    t = swallowed + char_len(machine.heap[swallowed]);
                    p = after;
                    retry = Some((p, t));
                }
                _ => return Ok(false),
            },
        }
        // Behind a `%`: its end may be anywhere, but the letters that follow must be there.
        let letters = letters(&machine.heap, p..pattern.end);
        if letters.is_empty() {
            continue;
        }
        if letters.end == pattern.end {
            let rest = &machine.heap[t.min(text.end)..text.end];
            return Ok(rest.ends_with(&machine.heap[letters]));
        }
        match text::find_in(machine, t.min(text.end)..text.end, letters.clone())? {
            None => return Ok(false),
            Some(at) => {
                retry = Some((letters.start, t + at));
                t += at + letters.len();
                p = letters.end;
            }
        }
    }
}

/// The characters at the beginning of a pattern that stand for themselves.
fn letters(heap: &[u8], pattern: Range<usize>) -> Range<usize> {
    let is_special = |byte: &u8| matches!(byte, b'%' | b'_' | b'\\');
    let len = heap[pattern.clone()].iter().position(is_special).unwrap_or(pattern.len());
    pattern.start..pattern.start + len
}

enum Step {
    Match { text: usize, pattern: usize },
    Any,
    Done,
    Fail,
}

/// What the first character of a pattern says to the first one of a text.
fn step(text: &[u8], pattern: &[u8]) -> Step {
    match (pattern, text) {
        ([], []) => Step::Done,
        ([], _) => Step::Fail,
        ([b'%', ..], _) => Step::Any,
        (_, []) => Step::Fail,
        ([b'_', ..], [first, ..]) => Step::Match { text: char_len(*first), pattern: 1 },
        ([b'\\', wanted, ..], [byte, ..]) if wanted == byte => Step::Match { text: 1, pattern: 2 },
        ([b'\\', ..], _) => Step::Fail,
        ([wanted, ..], [byte, ..]) if wanted == byte => Step::Match { text: 1, pattern: 1 },
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
