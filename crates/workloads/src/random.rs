//! Randomness that is a function of seed and place, and the strings benchmarks are filled with.
//!
//! Role         every row and every worker has its own stream, keyed by what it is, so that rows do
//!              not depend on which thread makes them (invariant I1 of [`crate::workload`])

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
