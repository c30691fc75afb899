//! Entries: what one transaction did, as bytes that say their kind, time and length.
//!
//! Role         written by workers into their own buffers, read back out of a block's runs. The
//!              log knows the kinds by number and the bodies by length; engines give them meaning
//! Invariants   I1  decoding reads no byte outside the given slice and allocates nothing, whatever
//!                  the bytes say
//!
//! ```text
//! ┌───────────────┬────────┬──────────────┬────────┬─────────────┐
//! │ length varint │ kind 1 │ time varint  │ body   │ checksum 4  │
//! └───────────────┴────────┴──────────────┴────────┴─────────────┘
//!                  ◀──────── length bytes ────────▶
//!  ◀──────────────── covered by the checksum ─────▶
//! ```

#[cfg(test)]
mod tests;

use crate::checksum::checksum;
use hotrow_base::varint::{self, ByteReader};
use std::ops::Range;

/// What an entry's body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A procedure call: procedure and arguments.
    Command = 1,
    /// After-images of what a transaction changed.
    Values = 2,
    /// The text of an ad-hoc statement.
    Statement = 3,
    /// The text of a definition (DDL).
    Definition = 4,
    /// The outcome of a refused call that has an idempotency key.
    Refusal = 5,
}

impl Kind {
    /// All kinds, ascending.
    pub const ALL: [Self; 5] =
        [Self::Command, Self::Values, Self::Statement, Self::Definition, Self::Refusal];

    /// The kind's number in the log.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The kind of a number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// The kind's name, for dumps.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Values => "values",
            Self::Statement => "statement",
            Self::Definition => "definition",
            Self::Refusal => "refusal",
        }
    }
}

/// One entry as it is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The worker that appended it.
    pub worker: u16,
    /// Its time within the block's epoch.
    pub time: u64,
    /// What the body is.
    pub kind: Kind,
    /// The engine's bytes.
    pub body: &'a [u8],
}

/// Where an entry lies in the bytes it was decoded from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntrySpan {
    pub worker: u16,
    pub time: u64,
    pub kind: Kind,
    pub body: Range<usize>,
}

impl EntrySpan {
    pub(crate) fn view<'a>(&self, bytes: &'a [u8]) -> Entry<'a> {
        let body = &bytes[self.body.clone()];
        Entry { worker: self.worker, time: self.time, kind: self.kind, body }
    }
}

const CHECKSUM_BYTES: usize = 4;
/// Seven bits a byte: 64 bits need ten.
const VARINT_BYTES_MAX: usize = 10;

/// Appends an entry to `buffer`; `body` appends its bytes.
pub(crate) fn encode(buffer: &mut Vec<u8>, time: u64, kind: Kind, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = buffer.len();
    buffer.push(0); // most lengths fit one byte; `put_length` makes room for others
    buffer.push(kind.number());
    varint::put(buffer, time);
    body(buffer);
    put_length(buffer, begin);
    let checksum = checksum(&buffer[begin..]);
    buffer.extend_from_slice(&checksum.to_le_bytes());
}

/// Puts the length of what follows the byte at `begin` in its place, moving what follows when the
/// length needs more than that byte.
fn put_length(buffer: &mut Vec<u8>, begin: usize) {
    let length = (buffer.len() - begin - 1) as u64;
    if let Ok(short @ 0..0x80) = u8::try_from(length) {
        buffer[begin] = short;
        return;
    }
    let end = buffer.len();
    varint::put(buffer, length);
    let width = buffer.len() - end;
    let mut bytes = [0; VARINT_BYTES_MAX];
    bytes[..width].copy_from_slice(&buffer[end..]);
    buffer.truncate(end + width - 1);
    buffer.copy_within(begin + 1..end, begin + width);
    buffer[begin..begin + width].copy_from_slice(&bytes[..width]);
}

/// Decodes the entry of `worker` at `at`: where it lies, and where the next one begins. An error
/// says what is wrong.
pub(crate) fn decode(
    bytes: &[u8],
    at: usize,
    worker: u16,
) -> Result<(EntrySpan, usize), &'static str> {
    let (length, inside) = take_varint(bytes, at).ok_or("an entry's length is cut off")?;
    let length = usize::try_from(length).map_err(|_| "an entry's length is impossible")?;
    let room = (bytes.len() - inside).checked_sub(CHECKSUM_BYTES).ok_or("an entry is cut off")?;
    if length > room {
        return Err("an entry is longer than its run");
    }
    let end = inside + length;
    if checksum(&bytes[at..end]) != read_u32(bytes, end) {
        return Err("an entry's checksum is wrong");
    }
    let kind = bytes[inside..end].first().copied().and_then(Kind::from_number);
    let kind = kind.ok_or("an entry's kind is unknown")?;
    let (time, body) =
        take_varint(&bytes[..end], inside + 1).ok_or("an entry's time is cut off")?;
    Ok((EntrySpan { worker, time, kind, body: body..end }, end + CHECKSUM_BYTES))
}

/// The varint at `at` and where it ends; `None` if it is cut off or greater than 64 bits.
fn take_varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut reader = ByteReader::new(bytes.get(at..)?);
    let value = reader.varint()?;
    Some((value, bytes.len() - reader.rest().len()))
}

/// The little-endian number at `at`, which lies inside `bytes`.
pub(crate) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The little-endian number at `at`, which lies inside `bytes`.
pub(crate) fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
