//! Strings of bits.
//!
//! Seven bits a byte, the first one highest, and behind them whether more bits follow; the last
//! byte says how many of the byte before it are bits. So what goes on stands behind what it begins
//! with, and no length has to be compared.

use std::fmt::{self, Write};

use super::{Encoded, EncodedType, Result};
use crate::value::ValueError;

/// Bits in a byte of those that a string is kept as.
const IN_BYTE: usize = 7;

/// The longest one, as PostgreSQL has it.
const BITS_MAX: usize = 83_886_080;

/// A string of bits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bits(pub Vec<bool>);

impl Bits {
    /// `101`, `b101` or `x1f`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let digits = |radix: u32, digits: &str| {
            let width = if radix == 2 { 1 } else { 4 };
            let mut bits = Vec::with_capacity(digits.len() * width);
            for digit in digits.chars() {
                let value = digit.to_digit(radix);
                let value = value.ok_or_else(|| ValueError::no_bits(digit, radix))?;
                bits.extend((0..width).rev().map(|at| value >> at & 1 == 1));
            }
            Ok(Self(bits))
        };
        match text.as_bytes() {
            [b'x' | b'X', ..] => digits(16, &text[1..]),
            [b'b' | b'B', ..] => digits(2, &text[1..]),
            _ => digits(2, text),
        }
    }

    /// The value as it is kept.
    pub fn encoded(&self, of: EncodedType) -> Encoded {
        let groups = self.0.chunks(IN_BYTE);
        let count = groups.len();
        let mut bytes: Vec<u8> = groups
            .enumerate()
            .map(|(at, group)| {
                let byte = group.iter().fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit));
                let byte = byte << (IN_BYTE - group.len());
                byte << 1 | u8::from(at + 1 < count)
            })
            .collect();
        let last = self.0.len() - count.saturating_sub(1) * IN_BYTE;
        bytes.push(last as u8);
        of.read(&bytes)
    }

    /// What bytes stand for.
    pub fn read(bytes: &[u8]) -> Self {
        let Some((last, groups)) = bytes.split_last() else { return Self::default() };
        let spare = IN_BYTE - usize::from(*last).min(IN_BYTE);
        let bit = |byte: &u8| (1..=IN_BYTE).rev().map(|at| byte >> at & 1 == 1).collect::<Vec<_>>();
        let mut bits: Vec<bool> = groups.iter().flat_map(bit).collect();
        bits.truncate((groups.len() * IN_BYTE).saturating_sub(spare));
        Self(bits)
    }

    /// As an assignment to a column of such a type has it.
    pub(super) fn fitted(self, to: EncodedType) -> Result<Self> {
        match to {
            EncodedType::Bit(bits @ 1..) if self.0.len() != bits as usize => {
                Err(ValueError::other_bits(self.0.len(), bits))
            }
            EncodedType::VarBit(bits @ 1..) if self.0.len() > bits as usize => {
                Err(ValueError::too_many_bits(bits))
            }
            _ if self.0.len() > BITS_MAX => Err(ValueError::too_many_bits(BITS_MAX as u32)),
            _ => Ok(self),
        }
    }

    /// As a written cast makes it: cut, and for a fixed length filled with zeros.
    pub(super) fn forced(mut self, to: EncodedType) -> Self {
        match to {
            EncodedType::Bit(bits @ 1..) => self.0.resize(bits as usize, false),
            EncodedType::VarBit(bits @ 1..) => self.0.truncate(bits as usize),
            _ => {}
        }
        self
    }

    /// The last bits of a number, and its sign before them.
    pub(super) fn of_integer(number: i64, bits: u32) -> Self {
        let bit = |at: u32| number >> at.min(63) & 1 == 1;
        Self((0..bits.max(1)).rev().map(bit).collect())
    }

    /// The number that the bits are, without a sign but where there are as many as it has.
    ///
    /// # Errors
    ///
    /// 22003: there are more.
    pub fn to_integer(&self, width: usize) -> Result<i64> {
        if self.0.len() > width {
            let of = if width == 32 { "integer" } else { "bigint" };
            return Err(ValueError::range_of(of));
        }
        let number = self.0.iter().fold(0_u64, |number, bit| number << 1 | u64::from(*bit));
        Ok(if width == 32 { (number as u32 as i32).into() } else { number as i64 })
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|bit| f.write_char(if *bit { '1' } else { '0' }))
    }
}
