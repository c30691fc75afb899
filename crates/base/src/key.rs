//! Index keys: byte strings whose order is the order of the values they encode.
//!
//! Role         hash index, B+-tree, lock names, plans and routing all see keys as these bytes only
//! Invariants   I1 memcomparable: comparing two keys of one layout as bytes compares their values,
//!                 part by part; NULL is greatest, -0 equals 0, NaN is greater than all floats, and
//!                 texts compare by bytes, char(n) as if padded with blanks
//!              I2 prefix-free: no key of a layout is a proper prefix of another one, so padding
//!                 with zeros to whole words keeps order and distinctness
//!              I3 the first parts of a key are a key of the layout of those parts (key prefixes)
//!              I4 a key has at most `KEY_BYTES_MAX` bytes
//!
//! | type | bytes |
//! |---|---|
//! | boolean | 1 |
//! | smallint, integer, bigint, date, timestamps | big-endian, 2, 4, 8, 4, 8 bytes, sign flipped |
//! | numeric | as an integer of 8 (precision <= 18) or 16 bytes |
//! | real, double precision | 4, 8 bytes; negative values complemented, others sign flipped |
//! | text, varchar, bytea | 0x00 written 0x00 0xFF; end 0x00 0x00 |
//! | numeric without a precision, ranges | their bytes without the last two, as those of a text |
//! | char(n) | n, blank padded |
//! | uuid | 16 |
//!
//! Instructions for a key of int4, int2, int4, the call included (callgrind on
//! `examples/row_key_cost`, baseline x86-64): encode from values 74, from a row 81, compare with
//! a row 119, hash 28. Keys of integers alone take the short way of `plain`; without it the first
//! three were 145, 114 and 142. The target of 40 is missed: a part costs 20 to 24, loop included.
//!
//! An integer or numeric of at most 8 bytes that is NOT NULL can be descending: all of its bits are
//! complemented, so that greater values come first.
//!
//! A part that may be NULL starts with a marker: 0x01 and the value, or 0x02 alone for NULL.

mod buffer;
mod decode;
mod encode;
mod error;
mod hash;
mod layout;
mod plain;
mod row;

#[cfg(test)]
mod tests;

pub use buffer::{ArenaKey, KEY_BYTES_INLINE, KeyBuffer, KeySink};
pub use error::KeyError;
pub use hash::{hash, hash_word, head, successor_of_prefix};
pub use layout::{KeyLayout, KeyPart};

/// Bytes in the longest key.
pub const KEY_BYTES_MAX: usize = 512;
