//! Hash, head and successor of a key, whatever its layout.

use super::{KeyBuffer, KeySink};

// Odd 64-bit constants with 32 bits set, from wyhash.
const SECRET: [u64; 3] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3];

/// The 128-bit product's halves, folded: the mixing step of wyhash and rapidhash.
#[inline(always)]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline(always)]
fn read_8(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

#[inline(always)]
fn read_4(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk| u64::from(u32::from_le_bytes(*chunk)))
}

/// Hash of a key for tables in memory, high and low bits alike usable.
///
/// The scheme is rapidhash's (after wyhash): up to 16 bytes are read as two overlapping words and
/// folded twice by a 64 x 64 -> 128 bit multiplication, about 15 instructions. It has no secret
/// seed, so the same key has the same hash in every process, and it is no defence against keys
/// chosen to collide.
#[inline]
pub fn hash(key: &[u8]) -> u64 {
    let len = key.len();
    let (a, b) = match len {
        8..=16 => (read_8(key, 0), read_8(key, len - 8)),
        4..=7 => (read_4(key, 0), read_4(key, len - 4)),
        0 => (0, 0),
        1..=3 => (u64::from(key[0]) << 16 | u64::from(key[len / 2]), u64::from(key[len - 1])),
        _ => return hash_long(key),
    };
    finish(a, b, 0, len)
}

/// The [`hash`] of a key of 4 or 8 bytes, which are the word's first ones in the order of little
/// endian; the word's others are zero. Half of the instructions of [`hash`] are about the length.
#[inline(always)]
pub fn hash_word(word: u64, len: usize) -> u64 {
    debug_assert!(matches!(len, 4 | 8), "a whole word, or half of one");
    finish(word, word, 0, len)
}

#[inline(always)]
fn finish(a: u64, b: u64, seed: u64, len: usize) -> u64 {
    let (a, b) = (a ^ SECRET[1], b ^ SECRET[0] ^ seed);
    let product = u128::from(a) * u128::from(b);
    mix(product as u64 ^ SECRET[0] ^ len as u64, (product >> 64) as u64 ^ SECRET[1])
}

fn hash_long(key: &[u8]) -> u64 {
    let (mut seed, mut at) = (SECRET[2], 0);
    while key.len() - at > 16 {
        seed = mix(read_8(key, at) ^ SECRET[1], read_8(key, at + 8) ^ seed);
        at += 16;
    }
    finish(read_8(key, key.len() - 16), read_8(key, key.len() - 8), seed, key.len())
}

/// The first 8 bytes as a big-endian integer, zero padded: orders keys like their bytes, except
/// that keys with equal heads must be compared on.
#[inline]
pub fn head(key: &[u8]) -> u64 {
    if let Some(whole) = key.first_chunk() {
        return u64::from_be_bytes(*whole);
    }
    let mut padded = [0; 8];
    padded[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(padded)
}

/// Makes `out` the smallest byte string greater than every one that starts with `prefix`. False,
/// and `out` is empty, if there is none: no prefix, or nothing but 0xFF in it.
pub fn successor_of_prefix(prefix: &[u8], out: &mut KeyBuffer) -> bool {
    out.clear();
    let Some(last) = prefix.iter().rposition(|&byte| byte != u8::MAX) else {
        return false;
    };
    out.put_slice(&prefix[..last]);
    out.put([prefix[last] + 1]);
    true
}
