//! Binary search among a node's heads.

use hotrow_base::sync::facade::atomic::{AtomicU64, Ordering::Relaxed};
use std::hint::select_unpredictable;

/// The first index whose head is not less than `head`.
#[inline(always)]
pub(super) fn lower_bound(heads: &[AtomicU64], head: u64) -> usize {
    partition(heads, |word| word < head)
}

/// The first index whose head is greater than `head`.
#[inline(always)]
pub(super) fn upper_bound(heads: &[AtomicU64], head: u64) -> usize {
    partition(heads, |word| word <= head)
}

/// Words that [`border_in`] may look at.
pub(super) const BORDER_WINDOW: usize = 63;

/// [`partition`] of the first `count`, 32 to 63, of the words: most nodes, most of the time. All
/// places are constants or masked, so nothing is checked.
#[inline(always)]
pub(super) fn border_in(
    words: &[AtomicU64; BORDER_WINDOW],
    count: usize,
    before: impl Fn(u64) -> bool,
) -> usize {
    debug_assert!((32..64).contains(&count), "else the windows do not meet");
    let last = words[(count & 31) + 1..].first_chunk();
    let (Some(lower), Some(upper)) = (words.first_chunk(), last) else { return 0 };
    let window = select_unpredictable(before(words[31].load(Relaxed)), upper, lower);
    (halve_31(window, before) - words.as_ptr().addr()) / size_of::<AtomicU64>()
}

/// How many words, all at the front, are `before` what is looked for. No branch depends on a
/// comparison's outcome: a random key would mispredict every other one. Most nodes hold 16 to 127
/// entries; for them all steps are laid out, three instructions each: the windows are arrays of
/// known sizes, so no index needs a check.
#[inline(always)]
pub(super) fn partition(words: &[AtomicU64], before: impl Fn(u64) -> bool) -> usize {
    let left_out = match words.len() {
        32..64 => first_window::<31>(words, &before).map(|at| halve_31(at, &before)),
        16..32 => first_window::<15>(words, &before).map(|at| halve_15(at, &before)),
        64..128 => first_window::<63>(words, &before)
            .map(|at| halve_31(halve::<63, 31>(at, &before), &before)),
        _ => None,
    };
    match left_out {
        // From the address, because the windows know their place only so.
        Some(end) => (end - words.as_ptr().addr()) / size_of::<AtomicU64>(),
        None => words.partition_point(|word| before(word.load(Relaxed))),
    }
}

/// The first or the last `W` of `W + 1` to `2 * W + 1` words: where the border is.
#[inline(always)]
fn first_window<const W: usize>(
    words: &[AtomicU64],
    before: impl Fn(u64) -> bool,
) -> Option<&[AtomicU64; W]> {
    let (lower, upper) = (words.first_chunk()?, words.last_chunk()?);
    let right = before(words.get(W)?.load(Relaxed));
    Some(select_unpredictable(right, upper, lower))
}

/// The half of `W` = 2 * `H` + 1 words where the border is.
#[inline(always)]
fn halve<const W: usize, const H: usize>(
    window: &[AtomicU64; W],
    before: impl Fn(u64) -> bool,
) -> &[AtomicU64; H] {
    const { assert!(W == 2 * H + 1) };
    let halves = (window.first_chunk::<H>(), window.last_chunk::<H>());
    let (Some(lower), Some(upper)) = halves else { unreachable!("both are shorter") };
    select_unpredictable(before(window[H].load(Relaxed)), upper, lower)
}

/// The address of the border within the window.
#[inline(always)]
fn halve_31(window: &[AtomicU64; 31], before: impl Fn(u64) -> bool) -> usize {
    halve_15(halve::<31, 15>(window, &before), before)
}

/// As [`halve_31`].
#[inline(always)]
fn halve_15(window: &[AtomicU64; 15], before: impl Fn(u64) -> bool) -> usize {
    let window = halve::<7, 3>(halve::<15, 7>(window, &before), &before);
    let [last] = halve::<3, 1>(window, &before);
    let place = std::ptr::from_ref(last).addr();
    place + usize::from(before(last.load(Relaxed))) * size_of::<AtomicU64>()
}
