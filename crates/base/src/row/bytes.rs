//! Bytes in words: byte `i` in bits `8 * (i % 8)` of word `i / 8`.

use super::Words;

const BLANKS: u64 = 0x2020_2020_2020_2020;

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
pub(crate) fn append_bytes<W: Words + ?Sized>(
    row: &W,
    word: usize,
    len: usize,
    heap: &mut Vec<u8>,
) {
    let start = heap.len();
    // Room for whole words first, so that each of them is one store.
    heap.resize(start + len.next_multiple_of(8), 0);
    let (chunks, _) = heap[start..].as_chunks_mut::<8>();
    for (i, chunk) in chunks.iter_mut().enumerate() {
        *chunk = row.word(word + i).to_le_bytes();
    }
    heap.truncate(start + len);
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

/// Length without trailing blanks of `len` bytes that start at a word boundary.
pub(crate) fn trimmed_len<W: Words + ?Sized>(row: &W, word: usize, len: usize) -> usize {
    for i in (0..len.div_ceil(8)).rev() {
        let held = trimmed_len_of_word(row.word(word + i), len - i * 8);
        if held > 0 {
            return i * 8 + held;
        }
    }
    0
}

/// `bytes` without trailing blanks.
#[inline]
pub(crate) fn trim_blanks(bytes: &[u8]) -> &[u8] {
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
