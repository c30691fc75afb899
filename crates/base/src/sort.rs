//! Sorting that can be interrupted.
//!
//! Role         orders numbers of rows by whatever a client asked for. The standard library's sorts
//!              cannot be left in between, and may panic where a comparison changes its mind
//! Source       merge sort: runs that are short enough to be sorted at once, by the standard
//!              library, and merged two by two

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

/// Numbers sorted or merged between two looks, at most: some milliseconds.
const NUMBERS_MAX: usize = 8192;
/// Bytes of what they stand for, at most, unless one alone has more.
const BYTES_MAX: usize = 1 << 20;

/// Sorts numbers by `compare`; which of two equal ones comes first is theirs. `bytes`: what a
/// comparison may have to go over of a number's row.
///
/// # Errors
///
/// Those of `look`, which is asked every few milliseconds whether to go on; the numbers are in any
/// order then, and may be there twice.
pub fn sort_numbers<E>(
    numbers: &mut Vec<u32>,
    bytes: impl Fn(u32) -> usize,
    compare: impl Fn(u32, u32) -> Ordering,
    mut look: impl FnMut() -> Result<(), E>,
) -> Result<(), E> {
    let compare = |a: u32, b: u32| compare(a, b).then(a.cmp(&b));
    if run_len(numbers, &bytes) == numbers.len() {
        numbers.sort_unstable_by(|a, b| compare(*a, *b));
        return Ok(()); // as nearly always, and without an allocation
    }
    let mut ends = Vec::new();
    let mut start = 0;
    while start < numbers.len() {
        let end = start + run_len(&numbers[start..], &bytes);
        numbers[start..end].sort_unstable_by(|a, b| compare(*a, *b));
        ends.push(end);
        start = end;
        if start < numbers.len() {
            look()?;
        }
    }
    let mut merged = Vec::new();
    while ends.len() > 1 {
        merged.clear();
        merged.reserve_exact(numbers.len());
        let mut start = 0;
        for pair in ends.chunks(2) {
            let (middle, end) = (pair[0], pair[pair.len() - 1]);
            let runs = [&numbers[start..middle], &numbers[middle..end]];
            merge(runs, &mut merged, &bytes, &compare, &mut look)?;
            start = end;
        }
        std::mem::swap(numbers, &mut merged);
        ends = ends.chunks(2).map(|pair| pair[pair.len() - 1]).collect();
    }
    Ok(())
}

/// How many of the first numbers are sorted at once.
fn run_len(numbers: &[u32], bytes: &impl Fn(u32) -> usize) -> usize {
    let mut sum = 0_usize;
    let is_in = |number: &&u32| {
        sum = sum.saturating_add(bytes(**number));
        sum <= BYTES_MAX
    };
    numbers.iter().take(NUMBERS_MAX).take_while(is_in).count().max(1).min(numbers.len())
}

/// Appends two sorted runs as one.
fn merge<E>(
    [mut left, mut right]: [&[u32]; 2],
    merged: &mut Vec<u32>,
    bytes: &impl Fn(u32) -> usize,
    compare: &impl Fn(u32, u32) -> Ordering,
    look: &mut impl FnMut() -> Result<(), E>,
) -> Result<(), E> {
    let (mut count, mut gone) = (0, 0_usize);
    while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
        if compare(*a, *b).is_lt() {
            merged.push(*a);
            left = left_rest;
        } else {
            merged.push(*b);
            right = right_rest;
        }
        count += 1;
        gone = gone.saturating_add(bytes(*a).min(bytes(*b)));
        if count >= NUMBERS_MAX || gone >= BYTES_MAX {
            (count, gone) = (0, 0);
            look()?;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}
