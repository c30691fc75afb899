//! Variable-length integers, and a reader of byte strings made with them.
//!
//! Role         log entries and checkpoints; whoever reads foreign bytes reads them with
//!              [`ByteReader`], which gives `None` where they end too early and never panics
//! Source       LEB128; signed numbers in zigzag order (0, -1, 1, -2 ...), as Protocol Buffers have
//!              them

#[cfg(test)]
mod tests;

/// Appends a number in 7 bits a byte, the lowest first.
#[inline]
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number; near to 0 it is short.
#[inline]
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, (value << 1 ^ value >> 63) as u64);
}

/// Appends a 128-bit signed number; near to 0 it is short.
pub fn put_wide(out: &mut Vec<u8>, value: i128) {
    let mut rest = (value << 1 ^ value >> 127) as u128;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends bytes behind their length.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads a byte string from its front.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    /// A reader of all of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What was not read yet.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether all was read.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (&taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(taken)
    }

    /// What [`put`] appended; `None` also for more than 64 bits.
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        let wide = self.unsigned(u64::BITS)?;
        u64::try_from(wide).ok()
    }

    /// What [`put_signed`] appended.
    #[inline]
    pub fn signed(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// What [`put_wide`] appended.
    pub fn wide(&mut self) -> Option<i128> {
        let value = self.unsigned(u128::BITS)?;
        Some((value >> 1) as i128 ^ -((value & 1) as i128))
    }

    /// What [`put_bytes`] appended.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }

    fn unsigned(&mut self, bits: u32) -> Option<u128> {
        let mut value = 0;
        for shift in (0..bits).step_by(7) {
            let byte = self.byte()?;
            let part = u128::from(byte & 0x7f);
            if shift + 7 > bits && part >> (bits - shift) != 0 {
                return None;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}
