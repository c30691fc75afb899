//! Functions of texts that take away or add characters.

use hotrow_base::datum::Datum;

use super::text::{char_count, char_offset, check_len, find, slice_chars};
use crate::frame::Machine;
use crate::interpret::Fault;
use crate::program::Function;

/// Trims blanks, or the characters of a set, off one end or both.
pub(super) fn trim(
    machine: &Machine,
    function: Function,
    text: Datum,
    set: Option<Datum>,
) -> Datum {
    let bytes = machine.bytes(text);
    let set = set.map_or(&b" "[..], |set| machine.bytes(set));
    let (mut start, mut end) = (0, bytes.len());
    if function != Function::RTrim {
        while start < end {
            let len = char_offset(&bytes[start..end], 1);
            if !is_in(set, &bytes[start..start + len]) {
                break;
            }
            start += len;
        }
    }
    if function != Function::LTrim {
        while start < end {
            let back = bytes[start..end].iter().rposition(|&byte| byte & 0xc0 != 0x80);
            let last = start + back.unwrap_or(0);
            if !is_in(set, &bytes[last..end]) {
                break;
            }
            end = last;
        }
    }
    Datum::range(text.as_range().start + start as u32, (end - start) as u32)
}

fn is_in(set: &[u8], character: &[u8]) -> bool {
    find(set, character).is_some()
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
    check_len((n as u64).saturating_mul(4))?;
    let fill = fill.unwrap_or_else(|| machine.keep(b" "));
    let start = machine.heap.len();
    if !left {
        machine.heap.extend_from_within(text.as_range().range());
    }
    let mut missing = n - have;
    let whole = char_count(machine.bytes(fill)) as i64;
    while missing > 0 {
        let piece = slice_chars(machine, fill, 0, missing).as_range();
        machine.heap.extend_from_within(piece.range());
        missing -= whole;
    }
    if left {
        machine.heap.extend_from_within(text.as_range().range());
    }
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

/// replace(text, from, to)
pub(super) fn replace(machine: &mut Machine, arguments: &[Datum]) -> Result<Datum, Fault> {
    let [text, from, to] = [0, 1, 2].map(|i| arguments[i].as_range());
    if from.len == 0 || text.len == 0 {
        return Ok(arguments[0]);
    }
    let start = machine.heap.len();
    let mut rest = text.range();
    while let Some(at) = find(&machine.heap[rest.clone()], &machine.heap[from.range()]) {
        machine.heap.extend_from_within(rest.start..rest.start + at);
        machine.heap.extend_from_within(to.range());
        machine.check_heap()?;
        rest.start += at + from.len as usize;
    }
    machine.heap.extend_from_within(rest);
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

/// repeat(text, n): empty for n < 1
pub(super) fn repeat(machine: &mut Machine, text: Datum, n: i64) -> Result<Datum, Fault> {
    let range = text.as_range();
    let times = u64::try_from(n).unwrap_or(0);
    check_len(times.saturating_mul(u64::from(range.len)))?;
    let start = machine.heap.len();
    if range.len > 0 {
        for _ in 0..times {
            machine.heap.extend_from_within(range.range());
        }
    }
    machine.check_heap()?;
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

/// reverse(text), by characters
pub(super) fn reverse(machine: &mut Machine, text: Datum) -> Datum {
    let range = text.as_range();
    let start = machine.heap.len();
    let mut end = range.range().end;
    while end > range.start as usize {
        let bytes = &machine.heap[range.start as usize..end];
        let back = bytes.iter().rposition(|&byte| byte & 0xc0 != 0x80).unwrap_or(0);
        let first = range.start as usize + back;
        machine.heap.extend_from_within(first..end);
        end = first;
    }
    Datum::range(start as u32, range.len)
}
