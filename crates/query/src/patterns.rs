//! Functions of regular expressions.
//!
//! Role         what they give for what they are asked; [`pattern`] finds matches
//! Invariants   I1 no list of matches grows without being charged

use std::ops::{ControlFlow, Range};

use hotrow_base::interrupt::current;
use hotrow_base::memory::Charge;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::pattern::{self, Flags, Pattern, similar};

use crate::Row;
use crate::functions::{PatternFunction, PatternRows};
use crate::host::{integer, text};

/// Bytes of a value in a list that grows: it is there twice.
const ENTRY_BYTES: usize = 3 * size_of::<Value>();

/// A function's value; NULL where an argument is NULL.
pub(crate) fn value(function: PatternFunction, arguments: &[Value]) -> Result<Value, SqlError> {
    use PatternFunction as F;
    if function == F::SimilarToEscape {
        return match arguments {
            [Value::Text(pattern)] => similar::expression(pattern, "\\").map(Value::Text),
            [Value::Text(pattern), Value::Text(escape)] => {
                similar::expression(pattern, escape).map(Value::Text)
            }
            _ => Ok(Value::Null),
        };
    }
    let [Value::Text(whole), Value::Text(pattern), rest @ ..] = arguments else {
        return Ok(Value::Null);
    };
    if rest.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let given = |at: usize| rest.get(at).and_then(text).unwrap_or_default();
    match function {
        F::Like => {
            let flags = flags_of("regexp_like", given(0))?;
            pattern::with(pattern, flags, whole, |it| it.is_in(whole).map(Value::Bool))
        }
        F::Match => {
            let flags = match flags_of("regexp_match", given(0)) {
                Err(mut error) if error.message.contains("global") => {
                    error.hint = Some("Use the regexp_matches function instead.".to_owned());
                    return Err(error);
                }
                flags => flags?,
            };
            pattern::with(pattern, flags, whole, |it| match it.find(whole, 0)? {
                None => Ok(Value::Null),
                Some(found) => groups(it, whole, &found),
            })
        }
        F::SplitToArray => {
            let flags = flags_of("regexp_split_to_array", given(0))?;
            split(whole, pattern, flags).map(|(parts, _charge)| Value::Array(parts))
        }
        F::Count => {
            let from = start(whole, rest.first())?;
            let flags = flags_of("regexp_count", given(1))?;
            let mut count = 0;
            each(whole, pattern, flags, from, |_, _| {
                count += 1;
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(Value::Int(count))
        }
        F::Place => place(whole, pattern, rest),
        F::Part => {
            let from = start(whole, rest.first())?;
            let number = positive("n", rest.get(1))?;
            let flags = flags_of("regexp_substr", given(2))?;
            let group = group_number(rest.get(3))?;
            let found = nth(whole, pattern, flags, (from, number, group))?;
            Ok(found.map_or(Value::Null, |found| part(whole, found)))
        }
        F::Replace => replace(whole, pattern, rest),
        F::Substring => first_part(whole, pattern),
        F::SimilarToEscape => Ok(Value::Null),
        F::SimilarSubstring => first_part(whole, &similar::expression(pattern, given(0))?),
    }
}

/// The rows of a function, and what they are charged; none where an argument is NULL.
pub(crate) fn rows(
    function: PatternRows,
    arguments: &[Value],
) -> Result<(Vec<Row>, Charge), SqlError> {
    let mut charge = current::charge();
    let [Value::Text(whole), Value::Text(pattern), rest @ ..] = arguments else {
        return Ok((Vec::new(), charge));
    };
    if rest.iter().any(Value::is_null) {
        return Ok((Vec::new(), charge));
    }
    let flags = rest.first().and_then(text).unwrap_or_default();
    if function == PatternRows::Split {
        let (parts, charge) = split(whole, pattern, flags_of("regexp_split_to_table", flags)?)?;
        return Ok((parts.into_iter().map(|part| vec![part]).collect(), charge));
    }
    let flags = Flags::read(flags)?;
    let mut rows = Vec::new();
    each(whole, pattern, flags, 0, |it, found| {
        let row = groups(it, whole, &found)?;
        charge.add(row.bytes() + 2 * ENTRY_BYTES)?;
        rows.push(vec![row]);
        Ok(if flags.all { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok((rows, charge))
}

/// Flags of a function that cannot go on behind the first match, or always does.
fn flags_of(function: &str, flags: &str) -> Result<Flags, SqlError> {
    let flags = Flags::read(flags)?;
    if flags.all {
        let message = format!("{function}() does not support the \"global\" option");
        return Err(SqlError::new(b"22023", message));
    }
    Ok(flags)
}

fn each(
    whole: &str,
    pattern: &str,
    flags: Flags,
    from: usize,
    give: impl FnMut(&mut Pattern, Range<usize>) -> Result<ControlFlow<()>, SqlError>,
) -> Result<(), SqlError> {
    pattern::with(pattern, flags, whole, |it| it.each(whole, from, give))
}

fn part(whole: &str, range: Range<usize>) -> Value {
    Value::Text(whole[range].to_owned())
}

/// A match's groups as an array, its whole if it has none.
fn groups(it: &mut Pattern, whole: &str, found: &Range<usize>) -> Result<Value, SqlError> {
    let groups = it.groups_of(whole, found)?;
    let told = if groups.len() > 1 { &groups[1..] } else { &groups[..] };
    let bytes = |group: &Option<Range<usize>>| group.as_ref().map_or(0, Range::len);
    current::charge().add(told.iter().map(|group| ENTRY_BYTES + bytes(group)).sum())?;
    let shown = |group: &Option<Range<usize>>| match group {
        Some(range) => part(whole, range.clone()),
        None => Value::Null,
    };
    Ok(Value::Array(told.iter().map(shown).collect()))
}

/// The first group of the first match, its whole if it has none.
fn first_part(whole: &str, pattern: &str) -> Result<Value, SqlError> {
    pattern::with(pattern, Flags::default(), whole, |it| {
        let Some(found) = it.find(whole, 0)? else { return Ok(Value::Null) };
        let groups = it.groups_of(whole, &found)?;
        let told = groups.get(1).cloned().unwrap_or(Some(found));
        Ok(told.map_or(Value::Null, |range| part(whole, range)))
    })
}

/// The parts between matches, and what they are charged. Empty matches at the ends or right behind
/// another match part nothing.
fn split(whole: &str, pattern: &str, flags: Flags) -> Result<(Vec<Value>, Charge), SqlError> {
    let (mut parts, mut charge) = (Vec::new(), current::charge());
    let (mut behind, mut last_end) = (0, 0);
    each(whole, pattern, flags, 0, |_, found| {
        if found.start < whole.len() && found.end > last_end {
            charge.add(ENTRY_BYTES + found.start - behind)?;
            parts.push(part(whole, behind..found.start));
            behind = found.end;
        }
        last_end = found.end;
        Ok(ControlFlow::Continue(()))
    })?;
    charge.add(ENTRY_BYTES + whole.len() - behind)?;
    parts.push(part(whole, behind..whole.len()));
    Ok((parts, charge))
}

/// Where a group of the match with a number is.
fn nth(
    whole: &str,
    pattern: &str,
    flags: Flags,
    (from, number, group): (usize, i64, usize),
) -> Result<Option<Range<usize>>, SqlError> {
    let (mut left, mut found) = (number, None);
    each(whole, pattern, flags, from, |it, range| {
        left -= 1;
        if left > 0 {
            return Ok(ControlFlow::Continue(()));
        }
        if group <= it.groups() {
            found = it.groups_of(whole, &range)?.swap_remove(group);
        }
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

fn place(whole: &str, pattern: &str, rest: &[Value]) -> Result<Value, SqlError> {
    let from = start(whole, rest.first())?;
    let number = positive("n", rest.get(1))?;
    let end = rest.get(2).and_then(integer).unwrap_or(0);
    if !matches!(end, 0 | 1) {
        return Err(bad("endoption", end));
    }
    let flags = flags_of("regexp_instr", rest.get(3).and_then(text).unwrap_or_default())?;
    let group = group_number(rest.get(4))?;
    let found = nth(whole, pattern, flags, (from, number, group))?;
    let place = found.map_or(0, |found| {
        let at = if end == 1 { found.end } else { found.start };
        whole[..at].chars().count() + 1
    });
    Ok(Value::Int(place as i32)) // a text has fewer than 2^31 characters
}

fn replace(whole: &str, pattern: &str, rest: &[Value]) -> Result<Value, SqlError> {
    let new = rest.first().and_then(text).unwrap_or_default();
    let is_counted = rest.get(1).is_some_and(|given| integer(given).is_some());
    let (mut from, mut which, mut flags) = (0, Some(1), Flags::default());
    if is_counted {
        from = start(whole, rest.get(1))?;
        let number = rest.get(2).and_then(integer);
        if let Some(number) = number.filter(|number| *number < 0) {
            return Err(bad("n", number));
        }
        flags = Flags::read(rest.get(3).and_then(text).unwrap_or_default())?;
        which = number.map_or(Some(1), |n| u64::try_from(n).ok().filter(|n| *n > 0));
    } else if let Some(given) = rest.get(1).and_then(text) {
        flags = Flags::read(given).map_err(|mut error| {
            if given.starts_with(|first: char| first.is_ascii_digit()) {
                let hint = "If you meant to use regexp_replace() with a start parameter, cast the \
                            fourth argument to integer explicitly.";
                error.hint = Some(hint.to_owned());
            }
            error
        })?;
        which = if flags.all { None } else { Some(1) };
    }
    pattern::with(pattern, flags, whole, |it| {
        it.replaced(whole, new, (from, which)).map(Value::Text)
    })
}

fn bad(parameter: &str, value: i64) -> SqlError {
    let message = format!("invalid value for parameter \"{parameter}\": {value}");
    SqlError::new(b"22023", message)
}

/// An argument that counts from 1, and is 1 unless told.
fn positive(parameter: &str, given: Option<&Value>) -> Result<i64, SqlError> {
    let number = given.and_then(integer).unwrap_or(1);
    if number < 1 { Err(bad(parameter, number)) } else { Ok(number) }
}

/// Where the character with a number begins; behind the end where there is none.
fn start(whole: &str, given: Option<&Value>) -> Result<usize, SqlError> {
    let number = positive("start", given)?;
    let mut places = whole.char_indices().map(|(at, _)| at).chain([whole.len()]);
    let at = usize::try_from(number - 1).ok().and_then(|before| places.nth(before));
    Ok(at.unwrap_or(whole.len() + 1))
}

fn group_number(given: Option<&Value>) -> Result<usize, SqlError> {
    let number = given.and_then(integer).unwrap_or(0);
    usize::try_from(number).map_err(|_| bad("subexpr", number))
}
