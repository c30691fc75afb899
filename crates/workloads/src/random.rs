//! Randomness that is a function of seed and place, and the strings benchmarks are filled with.
//!
//! Role         every row and every worker has its own stream, keyed by what it is, so that rows do
//!              not depend on which thread makes them (invariant I1 of [`crate::workload`])

use std::ops::RangeInclusive;

use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};

/// The stream of `place` number `index` under `seed`; different places give unrelated streams.
#[inline]
pub fn stream(seed: u64, place: u64, index: u64) -> SmallRng {
    SmallRng::seed_from_u64(mix(mix(seed ^ place.rotate_left(32)).wrapping_add(index)))
}

/// A bijection of 64 bits that spreads every input bit over all output bits (SplitMix64's).
#[inline]
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Whether something with this probability, in percent, happens.
#[inline]
pub fn happens(rng: &mut SmallRng, percent: f64) -> bool {
    rng.random::<f64>() * 100.0 < percent
}

/// A number of the range, each as likely as any other. The range has less than 2^64 numbers.
///
/// Lemire, "Fast random integer generation in an interval" (2019): the high half of a random word
/// times the size of the range; words that would favour some numbers are drawn again, which is so
/// rare that most calls draw one word and divide nothing.
#[inline(always)]
pub fn uniform(rng: &mut SmallRng, range: RangeInclusive<u64>) -> u64 {
    let (from, to) = range.into_inner();
    let size = to - from + 1;
    let product = u128::from(rng.next_u64()) * u128::from(size);
    if (product as u64) < size {
        return from + redraw(rng, product, size);
    }
    from + (product >> 64) as u64
}

/// [`uniform`] where the first word may be one that favours.
#[cold]
#[inline(never)]
fn redraw(rng: &mut SmallRng, mut product: u128, size: u64) -> u64 {
    let favouring = size.wrapping_neg() % size;
    while (product as u64) < favouring {
        product = u128::from(rng.next_u64()) * u128::from(size);
    }
    (product >> 64) as u64
}

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Appends `count` characters drawn from `alphabet`.
///
/// Reads a random word as a fraction and takes eight digits of it in base `alphabet.len()`: the
/// last digit still has 2^16 steps to choose among, so no character is favoured by more than 0.1 %.
pub fn string(rng: &mut SmallRng, alphabet: &[u8], count: usize, out: &mut Vec<u8>) {
    let base = alphabet.len() as u128;
    let mut left = count;
    while left > 0 {
        let mut fraction = rng.next_u64();
        for _ in 0..left.min(8) {
            let product = u128::from(fraction) * base;
            out.push(alphabet[(product >> 64) as usize]);
            fraction = product as u64;
        }
        left -= left.min(8);
    }
}

/// Appends an a-string (TPC-C 4.3.2.2): `min` to `max` random letters and digits.
pub fn alphanumeric(rng: &mut SmallRng, min: usize, max: usize, out: &mut Vec<u8>) {
    let count = if min == max { min } else { rng.random_range(min..=max) };
    string(rng, ALPHANUMERIC, count, out);
}

/// Appends an n-string (TPC-C 4.3.2.2): `count` random digits.
pub fn digits(rng: &mut SmallRng, count: usize, out: &mut Vec<u8>) {
    string(rng, &ALPHANUMERIC[..10], count, out);
}

#[cfg(test)]
mod tests {
    use super::{redraw, stream, uniform};

    #[test]
    fn uniform_numbers_are_in_range_and_all_as_likely() {
        let mut rng = stream(1, 2, 3);
        for size in [1, 2, 3, 10, 62] {
            let mut counts = vec![0_i64; size];
            for _ in 0..10_000 * size {
                counts[uniform(&mut rng, 5..=size as u64 + 4) as usize - 5] += 1;
            }
            // Five standard deviations of 100.
            assert!(counts.iter().all(|count| (count - 10_000).abs() < 500), "{counts:?}");
        }
        let (least, most) = (u64::MAX - 1, u64::MAX);
        assert!((0..99).all(|_| (least..=most).contains(&uniform(&mut rng, least..=most))));
    }

    #[test]
    fn words_that_favour_are_drawn_again() {
        let mut rng = stream(1, 2, 3);
        // Of 2^64 words, 3 * 2^62 numbers leave 2^62 over: those with a low half below that.
        let size = 3 << 62;
        assert_eq!(redraw(&mut rng, 7 << 64 | 1 << 62, size), 7);
        let (low, draws) = (u128::from(u64::MAX >> 2), 3_000);
        let drawn = (0..draws).map(|_| redraw(&mut rng, 7 << 64 | low, size));
        let (again, above) = drawn.fold((0, 0), |(again, above), number| {
            assert!(number < size);
            (again + u64::from(number != 7), above + u64::from(number >= size / 2))
        });
        assert_eq!(again, draws);
        assert!(above.abs_diff(draws / 2) < 150, "{above} of {draws} in the upper half");
    }
}
