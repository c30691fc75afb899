//! Bytes in words: byte `i` in bits `8 * (i % 8)` of word `i / 8`.

use super::{Word, Words};
use crate::datum::Datum;

const BLANKS: u64 = 0x2020_2020_2020_2020;

/// Hands out bytes as words: the whole ones, then the rest, zero padded, if there is one.
#[inline(always)]
pub(crate) fn for_each_word_of(bytes: &[u8], mut visit: impl FnMut(usize, u64)) {
    let (whole, rest) = bytes.as_chunks::<8>();
    for (i, chunk) in whole.iter().enumerate() {
        visit(i, u64::from_le_bytes(*chunk));
    }
    if !rest.is_empty() {
        visit(whole.len(), word_bytes(rest));
    }
}

/// Hands out at most `limit` bytes as words, blank padded up to `limit`.
#[inline(always)]
pub(crate) fn for_each_padded_word(bytes: &[u8], limit: usize, mut visit: impl FnMut(usize, u64)) {
    let (whole, rest) = bytes.as_chunks::<8>();
    for (i, chunk) in whole.iter().enumerate() {
        visit(i, u64::from_le_bytes(*chunk));
    }
    let mut rest = rest;
    for i in whole.len()..limit.div_ceil(8) {
        visit(i, blank_padded(rest, limit - i * 8));
        rest = &[];
    }
}

/// Up to 8 bytes as one word, zero padded.
#[inline]
pub(crate) fn word_bytes(bytes: &[u8]) -> u64 {
    if let Some(whole) = bytes.first_chunk::<8>() {
        return u64::from_le_bytes(*whole);
    }
    // Two halves that overlap: the bytes in both are the same, so that OR joins them.
    let len = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (len - 4));
    }
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return 0 };
    let middle = u64::from(bytes[len / 2]) << (8 * (len / 2));
    u64::from(first) | middle | u64::from(last) << (8 * (len - 1))
}

/// `count` bytes (at most 8) as one word, blank padded behind `bytes`, zero behind `count`.
#[inline]
pub(crate) fn blank_padded(bytes: &[u8], count: usize) -> u64 {
    let held = bytes.len().min(8);
    word_bytes(bytes) | (BLANKS & low_bytes(count) & !low_bytes(held))
}

/// A mask of the lowest `count` bytes of a word.
#[inline]
fn low_bytes(count: usize) -> u64 {
    if count >= 8 { u64::MAX } else { (1 << (8 * count)) - 1 }
}

/// Appends `len` bytes that start at a word boundary; bytes behind the row's end read as 0.
#[inline(always)]
pub(super) fn append_bytes<W: Words + ?Sized>(
    row: &W,
    word: usize,
    len: usize,
    heap: &mut Vec<u8>,
) -> Datum {
    append_words(row.words().get(word..).unwrap_or(&[]), len, heap)
}

/// As [`append_bytes`], without the blanks at the end.
#[inline(always)]
pub(super) fn append_trimmed<W: Words + ?Sized>(
    row: &W,
    word: usize,
    len: usize,
    heap: &mut Vec<u8>,
) -> Datum {
    let words = row.words().get(word..).unwrap_or(&[]);
    let last = len.saturating_sub(1);
    let last_byte = words.get(last / 8).map_or(0, |word| word.load() >> (last % 8 * 8));
    if last_byte as u8 == b' ' {
        return append_trimmed_slowly(words, len, heap);
    }
    append_words(words, len, heap)
}

/// Words that a short text is copied as, whatever its length.
const SHORT: usize = 4;

/// Appends the first `len` bytes of `words`.
#[inline(always)]
pub(super) fn append_words<T: Word>(words: &[T], len: usize, heap: &mut Vec<u8>) -> Datum {
    let start = heap.len();
    let Some(short) = words.first_chunk::<SHORT>().filter(|_| len <= SHORT * 8) else {
        return append_many(words, len, heap);
    };
    if heap.capacity() - start < SHORT * 8 {
        return append_many(words, len, heap);
    }
    let room = heap.spare_capacity_mut().as_mut_ptr().cast::<[u8; 8]>();
    for (i, word) in short.iter().enumerate() {
        // SAFETY: `i < SHORT`, and there is room for `SHORT` words; bytes need no alignment.
        // JUSTIFICATION: `read_text` of examples/row_key_cost.
        unsafe { room.add(i).write(word.load().to_le_bytes()) };
    }
    // SAFETY: the loop has written `SHORT * 8` bytes behind `start`, and `len` is no more.
    // JUSTIFICATION: as above.
    unsafe { heap.set_len(start + len) };
    Datum::range(start as u32, len as u32)
}

/// [`append_words`] of a text that is long, at the end of its row, or needs the heap to grow. Bytes
/// behind the words, which only a racing reader asks for, are 0.
#[inline(never)]
fn append_many<T: Word>(words: &[T], len: usize, heap: &mut Vec<u8>) -> Datum {
    let (start, count) = (heap.len(), len.div_ceil(8));
    // At least the room that a short text asks for, so that the next one finds it.
    heap.reserve(count.max(SHORT) * 8);
    let held = &words[..count.min(words.len())];
    let room = heap.spare_capacity_mut().as_mut_ptr().cast::<[u8; 8]>();
    for (i, word) in held.iter().enumerate() {
        // SAFETY: `i < count`, and room for `count` words was reserved.
        // JUSTIFICATION: `read_long_text` of examples/row_key_cost.
        unsafe { room.add(i).write(word.load().to_le_bytes()) };
    }
    // SAFETY: the loop has written all words of `held` behind `start`.
    // JUSTIFICATION: as above.
    unsafe { heap.set_len(start + (held.len() * 8).min(len)) };
    heap.resize(start + len, 0);
    Datum::range(start as u32, len as u32)
}

/// Whether the bytes from a word boundary on equal `bytes`.
pub(crate) fn bytes_equal<W: Words + ?Sized>(row: &W, word: usize, bytes: &[u8]) -> bool {
    bytes
        .chunks(8)
        .enumerate()
        .all(|(i, chunk)| row.word(word + i) & low_bytes(chunk.len()) == word_bytes(chunk))
}

/// Length without trailing blanks of the up to 8 bytes in a word.
#[inline]
pub(crate) fn trimmed_len_of_word(word: u64, len: usize) -> usize {
    let differing = (word ^ BLANKS) & low_bytes(len);
    8 - differing.leading_zeros() as usize / 8
}

/// Appends the first `len` bytes of `words`, 0 behind their end, without trailing blanks.
#[inline(never)]
fn append_trimmed_slowly<T: Word>(words: &[T], len: usize, heap: &mut Vec<u8>) -> Datum {
    let held = |i: usize| {
        let word = words.get(i).map_or(0, Word::load);
        trimmed_len_of_word(word, len - i * 8)
    };
    let last = (0..len.div_ceil(8)).rev().map(|i| (i, held(i))).find(|&(_, held)| held > 0);
    append_many(words, last.map_or(0, |(i, held)| i * 8 + held), heap)
}

/// `bytes` without trailing blanks.
#[inline(always)]
pub(crate) fn trim_blanks(bytes: &[u8]) -> &[u8] {
    match bytes {
        [.., b' '] => trim_blanks_slowly(bytes),
        _ => bytes,
    }
}

#[inline(never)]
fn trim_blanks_slowly(bytes: &[u8]) -> &[u8] {
    let kept = bytes.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &bytes[..kept]
}

/// The part of a UTF-8 text that a varchar of `limit` characters keeps: all of it, or what is left
/// when only blanks are cut off; `None` if more than blanks would be lost (SQL standard 9.2).
#[inline]
pub(crate) fn fit_characters(bytes: &[u8], limit: u32) -> Option<&[u8]> {
    // A character has at least one byte.
    if bytes.len() <= limit as usize {
        return Some(bytes);
    }
    let is_start = |byte: u8| byte & 0xc0 != 0x80;
    let cut = bytes
        .iter()
        .enumerate()
        .filter(|&(_, &byte)| is_start(byte))
        .nth(limit as usize)
        .map_or(bytes.len(), |(position, _)| position);
    bytes[cut..].iter().all(|&byte| byte == b' ').then_some(&bytes[..cut])
}
