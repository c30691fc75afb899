//! Addresses of devices: six bytes or eight, as they are.

use std::fmt;

use super::{Encoded, EncodedType, Result};
use crate::value::ValueError;

/// What stands in the middle of an address of six bytes that was made one of eight.
const FILLING: [u8; 2] = [0xFF, 0xFE];

/// An address: the last two bytes of eight are none of one that has six.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Device {
    bytes: [u8; 8],
    length: usize,
}

impl Device {
    /// An address of six or eight bytes.
    pub fn new(given: &[u8]) -> Option<Self> {
        let mut bytes = [0; 8];
        let length = given.len();
        bytes.get_mut(..length).filter(|_| matches!(length, 6 | 8))?.copy_from_slice(given);
        Some(Self { bytes, length })
    }

    pub(super) fn parse(text: &str, of: EncodedType) -> Result<Self> {
        let read = digits_of(text.trim_ascii());
        let read = read.and_then(|bytes| Self::new(&bytes));
        let read = read.ok_or_else(|| ValueError::syntax(of.into(), text))?;
        match of {
            EncodedType::MacAddr if read.length == 8 => Err(ValueError::syntax(of.into(), text)),
            of => read.become_one_of(of),
        }
    }

    /// What bytes stand for.
    pub fn read(bytes: &[u8]) -> Self {
        Self::new(bytes).unwrap_or(Self { bytes: [0; 8], length: 6 })
    }

    /// The value as it is kept.
    pub fn encoded(self) -> Encoded {
        let of = if self.length == 6 { EncodedType::MacAddr } else { EncodedType::MacAddr8 };
        of.read(self.bytes())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(super) fn become_one_of(self, to: EncodedType) -> Result<Self> {
        let [a, b, c, d, e, f, g, h] = self.bytes;
        Ok(match (self.length, to) {
            (6, EncodedType::MacAddr8) => {
                let [fill, up] = FILLING;
                Self { bytes: [a, b, c, fill, up, d, e, f], length: 8 }
            }
            (8, EncodedType::MacAddr) => {
                if [d, e] != FILLING {
                    return Err(ValueError::device_of_eight_bytes());
                }
                Self { bytes: [a, b, c, f, g, h, 0, 0], length: 6 }
            }
            _ => self,
        })
    }

    /// Both addresses, byte by byte; of one length.
    pub(super) fn joined(self, other: Self, join: impl Fn(u8, u8) -> u8) -> Self {
        let mut joined = self;
        for (byte, other) in joined.bytes.iter_mut().zip(other.bytes) {
            *byte = join(*byte, other);
        }
        joined
    }

    /// The maker's part, with zeros behind it.
    pub(super) fn maker(self) -> Self {
        let [a, b, c, ..] = self.bytes;
        Self { bytes: [a, b, c, 0, 0, 0, 0, 0], ..self }
    }

    /// As part of an address of IPv6.
    pub(super) const fn with_seventh_bit(mut self) -> Self {
        self.bytes[0] |= 2;
        self
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.bytes().iter().enumerate() {
            write!(f, "{}{byte:02x}", if at == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}

/// Bytes of two digits, all apart by one sign, or some of them together: `08:00:2b:01:02:03`,
/// `08002b-010203`, `0800.2b01.0203`.
fn digits_of(text: &str) -> Option<Vec<u8>> {
    let signs = || text.chars().filter(|c| matches!(c, ':' | '-' | '.'));
    let sign = signs().next().unwrap_or(':');
    if signs().any(|other| other != sign) {
        return None;
    }
    let parts: Vec<_> = text.split(sign).collect();
    let mut bytes = Vec::with_capacity(8);
    for part in &parts {
        let is_apart = parts.len() >= 6;
        let is_whole = part.len() % 2 == 0 || is_apart && part.len() == 1;
        if part.is_empty() || !is_whole || !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        if part.len() == 1 {
            bytes.push(u8::from_str_radix(part, 16).ok()?);
            continue;
        }
        for at in (0..part.len()).step_by(2) {
            bytes.push(u8::from_str_radix(&part[at..at + 2], 16).ok()?);
        }
    }
    Some(bytes)
}
