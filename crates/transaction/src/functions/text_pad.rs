//! Functions of texts that take away or add characters.

use std::ops::Range;

use hotrow_base::datum::Datum;

use super::text::{char_count, char_offset, check_len, find_in, slice_chars};
use crate::fault::Fault;
use crate::frame::Machine;
use crate::program::Function;

/// Trims blanks, or the characters of a set, off one end or both.
pub(super) fn trim(
    machine: &mut Machine,
    function: Function,
    text: Datum,
    set: Option<Datum>,
) -> Result<Datum, Fault> {
    let (mut start, mut end) = (text.as_range().range().start, text.as_range().range().end);
    if function != Function::RTrim {
        while start < end {
            let len = char_offset(&machine.heap[start..end], 1);
            if !is_in(machine, set, start..start + len)? {
                break;
            }
            start += len;
        }
    }
    if function != Function::LTrim {
        while start < end {
            let back = machine.heap[start..end].iter().rposition(|&byte| byte & 0xc0 != 0x80);
            let last = start + back.unwrap_or(0);
            if !is_in(machine, set, last..end)? {
                break;
            }
            end = last;
        }
    }
    Ok(Datum::range(start as u32, (end - start) as u32))
}

fn is_in(
    machine: &mut Machine,
    set: Option<Datum>,
    character: Range<usize>,
) -> Result<bool, Fault> {
    match set {
        None => {
            machine.went(1)?;
            Ok(&machine.heap[character] == b" ")
        }
        Some(set) => {
            let set = set.as_range().range();
            machine.went(set.len())?;
            Ok(find_in(machine, set, character)?.is_some())
        }
    }
}

/// lpad, rpad: to exactly `n` characters; cuts longer texts at their end.
pub(super) fn pad(
    machine: &mut Machine,
    left: bool,
    text: Datum,
    n: i64,
    fill: Option<Datum>,
) -> Result<Datum, Fault> {
    let n = n.max(0);
    let have = char_count(machine.bytes(text)) as i64;
    let fill_len = fill.map_or(1, |fill| fill.as_range().len);
    if have >= n || fill_len == 0 {
        return Ok(slice_chars(machine, text, 0, n));
    }
    let missing = (n - have) as u64;
    check_len(missing.saturating_mul(4))?;
    let fill = match fill {
        Some(fill) => fill,
        None => machine.keep(b" "),
    };
    let whole = char_count(machine.bytes(fill)) as u64;
    let rest = slice_chars(machine, fill, 0, (missing % whole) as i64).as_range().range();
    let text = text.as_range().range();
    let times = (missing / whole) as usize;
    machine.reserve(text.len() + times * fill_len as usize + rest.len())?;
    let start = machine.heap.len();
    if !left {
        machine.heap.extend_from_within(text.clone());
    }
    append_times(machine, fill.as_range().range(), times)?;
    machine.heap.extend_from_within(rest);
    if left {
        machine.heap.extend_from_within(text);
    }
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

/// Appends a text so many times, in ever longer pieces. There is room.
fn append_times(machine: &mut Machine, text: Range<usize>, times: usize) -> Result<(), Fault> {
    let (start, bytes) = (machine.heap.len(), text.len() * times);
    if bytes == 0 {
        return Ok(());
    }
    machine.heap.extend_from_within(text);
    loop {
        let there = machine.heap.len() - start;
        let more = (bytes - there).min(there);
        if more == 0 {
            return Ok(());
        }
        machine.went(more)?;
        machine.heap.extend_from_within(start..start + more);
    }
}

/// replace(text, from, to)
pub(super) fn replace(machine: &mut Machine, arguments: &[Datum]) -> Result<Datum, Fault> {
    let [text, from, to] = [0, 1, 2].map(|i| arguments[i].as_range().range());
    if from.is_empty() || text.is_empty() {
        return Ok(arguments[0]);
    }
    let start = machine.heap.len();
    let mut rest = text;
    while let Some(at) = find_in(machine, rest.clone(), from.clone())? {
        machine.went(at + to.len())?;
        machine.reserve(at + to.len())?;
        machine.heap.extend_from_within(rest.start..rest.start + at);
        machine.heap.extend_from_within(to.clone());
        rest.start += at + from.len();
    }
    machine.reserve(rest.len())?;
    machine.heap.extend_from_within(rest);
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

/// repeat(text, n): empty for n < 1
pub(super) fn repeat(machine: &mut Machine, text: Datum, n: i64) -> Result<Datum, Fault> {
    let text = text.as_range().range();
    let times = u64::try_from(n).unwrap_or(0);
    let bytes = times.saturating_mul(text.len() as u64);
    check_len(bytes)?;
    machine.reserve(bytes as usize)?;
    let start = machine.heap.len();
    if bytes > 0 {
        append_times(machine, text, times as usize)?;
    }
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

/// reverse(text), by characters
pub(super) fn reverse(machine: &mut Machine, text: Datum) -> Result<Datum, Fault> {
    let range = text.as_range().range();
    machine.reserve(range.len())?;
    let start = machine.heap.len();
    let mut end = range.end;
    while end > range.start {
        let bytes = &machine.heap[range.start..end];
        let back = bytes.iter().rposition(|&byte| byte & 0xc0 != 0x80).unwrap_or(0);
        let first = range.start + back;
        machine.went(end - first)?;
        machine.heap.extend_from_within(first..end);
        end = first;
    }
    Ok(Datum::range(start as u32, range.len() as u32))
}
