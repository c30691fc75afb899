//! Bracket expressions: `[a-z]`, `[^[:space:]]`.

use std::iter::Peekable;
use std::str::Chars;

use crate::outcome::SqlError;

use super::read::{escaped_char, invalid, written};
use super::tree::Flags;

const UNBALANCED: &str = "brackets [] not balanced";
const RANGE: &str = "invalid character range";

/// What is in a bracket expression.
enum Member {
    One(char),
    /// as the library writes it
    Class(&'static str),
}

/// The class that `\d` and its kin are.
pub(super) fn escaped_class(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => "\\s",
        'S' => "\\S",
        'w' => "[\\w]",
        'W' => "[^\\w]",
        _ => return None,
    })
}

fn named(name: &str, any_case: bool) -> Option<&'static str> {
    const LETTERS: &str = "[\\w&&[^_\\d]]";
    Some(match name {
        "lower" | "upper" if any_case => LETTERS,
        "alnum" => "[\\w&&[^_]]",
        "alpha" => LETTERS,
        "ascii" => "[\\x00-\\x7f]",
        "blank" => "[ \\t]",
        "cntrl" => "[\\x00-\\x1f\\x7f]",
        "digit" => "[0-9]",
        "graph" => "[\\x21-\\x7e]",
        "lower" => "[\\p{Ll}]",
        "print" => "[\\x20-\\x7e]",
        "punct" => "[[:punct:]]",
        "space" => "\\s",
        "upper" => "[\\p{Lu}]",
        "word" => "[\\w]",
        "xdigit" => "[0-9A-Fa-f]",
        _ => return None,
    })
}

/// The text between `[:` and `:]`.
fn enclosed(left: &mut Peekable<Chars<'_>>, sign: char) -> Result<String, SqlError> {
    left.next();
    let mut name = String::new();
    loop {
        match left.next() {
            None => return Err(invalid(UNBALANCED)),
            Some(c) if c == sign && left.next_if_eq(&']').is_some() => return Ok(name),
            Some(c) => name.push(c),
        }
    }
}

fn member(left: &mut Peekable<Chars<'_>>, flags: Flags) -> Result<Member, SqlError> {
    let Some(c) = left.next() else { return Err(invalid(UNBALANCED)) };
    match (c, left.peek().copied()) {
        ('[', Some(':')) => {
            let name = enclosed(left, ':')?;
            let class = named(&name, flags.any_case);
            class.map(Member::Class).ok_or_else(|| invalid("invalid character class"))
        }
        ('[', Some(sign @ ('.' | '='))) => {
            let name = enclosed(left, sign)?;
            let mut chars = name.chars();
            match (chars.next(), chars.next()) {
                (Some(one), None) => Ok(Member::One(one)),
                _ => Err(invalid("invalid collating element")),
            }
        }
        ('\\', letter) => {
            let Some(letter) = letter else { return Err(invalid(UNBALANCED)) };
            left.next();
            match escaped_class(letter) {
                Some(class) => Ok(Member::Class(class)),
                None => escaped_char(letter, left).map(Member::One),
            }
        }
        (c, _) => Ok(Member::One(c)),
    }
}

/// A bracket expression, behind its opening bracket, as the library writes it.
pub(super) fn read(left: &mut Peekable<Chars<'_>>, flags: Flags) -> Result<String, SqlError> {
    let is_negated = left.next_if_eq(&'^').is_some();
    let mut members = String::new();
    let mut is_first = true;
    loop {
        match left.peek() {
            None => return Err(invalid(UNBALANCED)),
            Some(']') if !is_first => break,
            Some(_) => is_first = false,
        }
        let first = member(left, flags)?;
        let mut ahead = left.clone();
        let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
        if !is_range {
            match first {
                Member::One(c) => members.push_str(&written(c)),
                Member::Class(class) => members.push_str(class),
            }
            continue;
        }
        left.next();
        match (first, member(left, flags)?) {
            (Member::One(from), Member::One(to)) if from <= to => {
                members.push_str(&format!("{}-{}", written(from), written(to)));
            }
            _ => return Err(invalid(RANGE)),
        }
    }
    left.next();
    Ok(match (is_negated, flags.within_lines) {
        (false, _) => format!("[{members}]"),
        (true, false) => format!("[^{members}]"),
        (true, true) => format!("[^{members}\\n]"),
    })
}
