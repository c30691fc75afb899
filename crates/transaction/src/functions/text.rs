//! Functions of texts. Characters are those of UTF-8.

#[cfg(test)]
mod tests;

use std::ops::Range;

use hotrow_base::datum::Datum;
use hotrow_base::types::DataType;
use memchr::memmem;

use super::text_pad;
use crate::bytecode::CallCode;
use crate::fault::Fault;
use crate::frame::{HEAP_BYTES_MAX, Machine};
use crate::program::Function;

/// Calls a function of texts; no argument is NULL.
pub(super) fn call(
    machine: &mut Machine,
    code: &CallCode,
    arguments: &[Datum],
) -> Result<Datum, Fault> {
    let text = arguments[0];
    let int = |i: usize| arguments.get(i).map_or(0, |argument| argument.as_int());
    machine.went(text.as_range().len as usize)?;
    Ok(match code.function {
        Function::Length if code.arguments[0].1 == DataType::Bytea => {
            Datum::int(i64::from(text.as_range().len))
        }
        Function::Length => Datum::int(char_count(machine.bytes(text)) as i64),
        Function::OctetLength => Datum::int(i64::from(text.as_range().len)),
        Function::Lower => return map_case(machine, text, Case::Lower),
        Function::Upper => return map_case(machine, text, Case::Upper),
        Function::Substring => {
            let (from, to) = part(arguments)?;
            match code.arguments[0].1 {
                DataType::Bytea => slice_bytes(text, from, to),
                _ => slice_chars(machine, text, from, to),
            }
        }
        Function::Left => {
            let end = match int(1) {
                end @ 0.. => end,
                less => (char_count(machine.bytes(text)) as i64).saturating_add(less),
            };
            slice_chars(machine, text, 0, end)
        }
        Function::Right => {
            let count = char_count(machine.bytes(text)) as i64;
            let start = if int(1) >= 0 {
                count.saturating_sub(int(1))
            } else {
                0_i64.saturating_sub(int(1))
            };
            slice_chars(machine, text, start, i64::MAX)
        }
        Function::Trim | Function::LTrim | Function::RTrim => {
            return text_pad::trim(machine, code.function, text, arguments.get(1).copied());
        }
        Function::LPad | Function::RPad => {
            let fill = arguments.get(2).copied();
            return text_pad::pad(machine, code.function == Function::LPad, text, int(1), fill);
        }
        Function::Replace => return text_pad::replace(machine, arguments),
        Function::Repeat => return text_pad::repeat(machine, text, int(1)),
        Function::Reverse => return text_pad::reverse(machine, text),
        other => unreachable!("{other:?} is not a function of texts"),
    })
}

/// position(needle IN text): of the first character, from 1; 0 if there is none.
pub(super) fn position(machine: &mut Machine, code: &CallCode) -> Result<Datum, Fault> {
    let [(text, _), (needle, _)] = code.arguments[..] else { return Ok(Datum::NULL) };
    let (text, needle) = (machine.slots[text], machine.slots[needle]);
    if text.is_null() || needle.is_null() {
        return Ok(Datum::NULL);
    }
    let (text, needle) = (text.as_range().range(), needle.as_range().range());
    let found = find_in(machine, text.clone(), needle)?;
    let before = |at: usize| &machine.heap[text.start..text.start + at];
    Ok(Datum::int(found.map_or(0, |at| char_count(before(at)) as i64 + 1)))
}

/// Appends two texts as one. Appends in place where the first one ends the heap.
pub(crate) fn concat(machine: &mut Machine, a: Datum, b: Datum) -> Result<Datum, Fault> {
    let (a, b) = (a.as_range(), b.as_range());
    let is_last = a.start as usize + a.len as usize == machine.heap.len();
    let (a_len, b_len) = (a.len as usize, b.len as usize);
    let start = if is_last && a.len > 0 {
        machine.went(b_len)?;
        machine.reserve(b_len)?;
        a.start
    } else {
        machine.went(a_len + b_len)?;
        machine.reserve(a_len + b_len)?;
        let start = machine.heap.len() as u32;
        machine.heap.extend_from_within(a.range());
        start
    };
    machine.heap.extend_from_within(b.range());
    Ok(Datum::range(start, a.len + b.len))
}

/// concat(...): NULLs count as empty. All arguments are texts.
pub(super) fn concat_all(machine: &mut Machine, code: &CallCode) -> Result<Datum, Fault> {
    let start = machine.heap.len();
    for &(slot, _) in &code.arguments {
        push_piece(machine, machine.slots[slot])?;
    }
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

/// concat_ws(separator, ...): those that are not NULL, with the separator between them. All
/// arguments are texts.
pub(super) fn join(machine: &mut Machine, code: &CallCode) -> Result<Datum, Fault> {
    let [(separator, _), texts @ ..] = &*code.arguments else { return Ok(Datum::NULL) };
    let separator = machine.slots[*separator];
    if separator.is_null() {
        return Ok(Datum::NULL);
    }
    let start = machine.heap.len();
    let mut is_first = true;
    for &(slot, _) in texts {
        let text = machine.slots[slot];
        if !text.is_null() {
            if !is_first {
                push_piece(machine, separator)?;
            }
            push_piece(machine, text)?;
            is_first = false;
        }
    }
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

/// Appends a text to the one at the end of the heap.
fn push_piece(machine: &mut Machine, text: Datum) -> Result<(), Fault> {
    if !text.is_null() {
        let piece = text.as_range().range();
        machine.went(piece.len())?;
        machine.reserve(piece.len())?;
        machine.heap.extend_from_within(piece);
    }
    Ok(())
}

/// Characters in a UTF-8 text.
pub(super) fn char_count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// Byte offset of character `n`, or the text's length.
pub(super) fn char_offset(bytes: &[u8], n: usize) -> usize {
    // A character has at least one byte.
    if n >= bytes.len() {
        return bytes.len();
    }
    let (mut at, mut left) = (0, n);
    for chunk in bytes.as_chunks::<8>().0 {
        let starts = chars_in(u64::from_le_bytes(*chunk));
        if starts > left {
            break;
        }
        left -= starts;
        at += 8;
    }
    let starts = bytes[at..].iter().enumerate().filter(|&(_, &byte)| byte & 0xc0 != 0x80);
    starts.map(|(i, _)| at + i).nth(left).unwrap_or(bytes.len())
}

/// 1 in each byte of a word.
const ONES: u64 = u64::MAX / 255;

/// Characters that start in 8 bytes.
fn chars_in(word: u64) -> usize {
    // Bytes 0b10......; the product's highest byte is their sum.
    let inner = (word >> 7) & !(word >> 6) & ONES;
    8 - (inner.wrapping_mul(ONES) >> 56) as usize
}

/// Up to so many bytes of text, times bytes of what is looked for, the simple way is the faster.
const SIMPLE_MAX: usize = 4096;
/// Bytes of text looked through between two looks at the interrupt: some milliseconds.
const PIECE_BYTES: usize = 4 << 20;

/// Position of the first `needle` in a text, both ranges of the heap, relative to the text: in time
/// that grows as the text does.
#[inline(always)]
pub(super) fn find_in(
    machine: &mut Machine,
    text: Range<usize>,
    needle: Range<usize>,
) -> Result<Option<usize>, Fault> {
    if text.len().saturating_mul(needle.len()) <= SIMPLE_MAX {
        return Ok(find(&machine.heap[text], &machine.heap[needle]));
    }
    find_in_long(machine, text, needle)
}

#[cold]
fn find_in_long(
    machine: &mut Machine,
    text: Range<usize>,
    needle: Range<usize>,
) -> Result<Option<usize>, Fault> {
    let overlap = needle.len().saturating_sub(1);
    let mut start = text.start;
    loop {
        let end = text.end.min(start.saturating_add(PIECE_BYTES.max(2 * needle.len())));
        machine.went(end - start)?;
        let found = memmem::find(&machine.heap[start..end], &machine.heap[needle.clone()]);
        if let Some(at) = found {
            return Ok(Some(start + at - text.start));
        }
        if end == text.end {
            return Ok(None);
        }
        start = end - overlap;
    }
}

/// Position of the first `needle`, whose first byte is looked for in 8 bytes at once.
pub(super) fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let Some(&first) = needle.first() else { return Some(0) };
    let starts = (bytes.len() + 1).checked_sub(needle.len())?;
    let Some(last) = starts.checked_sub(8) else {
        return (0..starts).find(|&at| bytes[at..].starts_with(needle));
    };
    let (chunks, _) = bytes[..last].as_chunks::<8>();
    for (i, chunk) in chunks.iter().enumerate() {
        let found = find_in_word(bytes, needle, first, i * 8, *chunk);
        if found.is_some() {
            return found;
        }
    }
    // The rest as one or two words, which may overlap with the ones before: those found nothing.
    let whole = chunks.len() * 8;
    let at = |at: usize| find_in_word(bytes, needle, first, at, *bytes[at..].first_chunk()?);
    at(whole).or_else(|| at(last))
}

/// Position of the first `needle` that starts in `chunk`, which are the bytes from `at` on.
#[inline(always)]
fn find_in_word(
    bytes: &[u8],
    needle: &[u8],
    first: u8,
    at: usize,
    chunk: [u8; 8],
) -> Option<usize> {
    let differing = u64::from_le_bytes(chunk) ^ (ONES * u64::from(first));
    // Of the bits set, the lowest stands in a byte that is zero; higher ones may not.
    let mut zeros = differing.wrapping_sub(ONES) & !differing & (ONES << 7);
    while zeros != 0 {
        let start = at + zeros.trailing_zeros() as usize / 8;
        if bytes[start..].starts_with(needle) {
            return Some(start);
        }
        zeros &= zeros - 1;
    }
    None
}

/// Characters `start..end` (from 0) of a text, which share its bytes.
pub(super) fn slice_chars(machine: &Machine, text: Datum, start: i64, end: i64) -> Datum {
    let bytes = machine.bytes(text);
    let offset = |n: i64| char_offset(bytes, usize::try_from(n).unwrap_or(0));
    let (from, to) = (offset(start), offset(end));
    Datum::range(text.as_range().start + from as u32, to.saturating_sub(from) as u32)
}

/// substring(text, start [, count]): which characters, or bytes, from 0, and up to which. They
/// count from 1 in SQL; a start before the text uses up count.
fn part(arguments: &[Datum]) -> Result<(i64, i64), Fault> {
    let start = arguments[1].as_int();
    let end = match arguments.get(2) {
        None => i64::MAX,
        Some(count) if count.as_int() < 0 => {
            return Err(Fault::new(b"22011", "negative substring length not allowed"));
        }
        Some(count) => start.saturating_add(count.as_int()),
    };
    Ok((start.max(1) - 1, end.max(1) - 1))
}

fn slice_bytes(bytes: Datum, from: i64, to: i64) -> Datum {
    let range = bytes.as_range();
    let within = |at: i64| u32::try_from(at).unwrap_or(u32::MAX).min(range.len);
    let (from, to) = (within(from), within(to));
    Datum::range(range.start + from, to.saturating_sub(from))
}

#[derive(Clone, Copy)]
enum Case {
    Lower,
    Upper,
}

/// Bytes whose case is mapped between two looks at the interrupt.
const CASE_BYTES: usize = 1 << 20;

fn map_case(machine: &mut Machine, text: Datum, case: Case) -> Result<Datum, Fault> {
    let range = text.as_range().range();
    let start = machine.heap.len();
    if machine.bytes(text).is_ascii() {
        machine.reserve(range.len())?;
        machine.heap.extend_from_within(range.clone());
        let copy = &mut machine.heap[start..];
        match case {
            Case::Lower => copy.make_ascii_lowercase(),
            Case::Upper => copy.make_ascii_uppercase(),
        }
        return Ok(Datum::range(start as u32, range.len() as u32));
    }
    let mut at = range.start;
    while at < range.end {
        let len = case_piece(&machine.heap[at..range.end]);
        machine.went(len)?;
        // A character in another case may take more bytes.
        let _copies = machine.borrow(4 * len)?;
        let piece = String::from_utf8_lossy(&machine.heap[at..at + len]);
        let mapped: String = piece.chars().map(|c| mapped(c, case)).collect();
        machine.reserve(mapped.len())?;
        machine.heap.extend_from_slice(mapped.as_bytes());
        at += len;
    }
    Ok(Datum::range(start as u32, (machine.heap.len() - start) as u32))
}

/// A character in another case: one character, as in PostgreSQL. `ß` has no such capital letter,
/// and stays; a sigma is the same one at the end of a word.
fn mapped(c: char, case: Case) -> char {
    match case {
        Case::Lower => c.to_lowercase().next().unwrap_or(c),
        Case::Upper => {
            let mut upper = c.to_uppercase();
            match (upper.next(), upper.next()) {
                (Some(one), None) => one,
                _ => c,
            }
        }
    }
}

/// How many of the first bytes of a text are mapped at a time. A cut lies between two letters or
/// digits of ASCII, or blanks, so that it does not part the bytes of a character.
fn case_piece(bytes: &[u8]) -> usize {
    let ends = |byte: u8| byte.is_ascii_alphanumeric() || byte == b' ';
    let cut = |pair: &[u8]| ends(pair[0]) && ends(pair[1]);
    let behind = bytes.get(CASE_BYTES..).unwrap_or_default();
    match behind.windows(2).position(cut) {
        Some(at) => CASE_BYTES + at + 1,
        None => bytes.len(),
    }
}

/// Refuses a text of more bytes than a call may have.
pub(super) fn check_len(bytes: u64) -> Result<(), Fault> {
    if bytes > HEAP_BYTES_MAX as u64 / 4 {
        return Err(Fault::new(b"54000", "requested length too large"));
    }
    Ok(())
}
