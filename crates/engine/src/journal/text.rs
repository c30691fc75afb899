//! Text entries: definitions and statements outside procedures, as they were typed.
//!
//! ```text
//! now signed varint │ line varint │ column varint │ text, to the end of the entry
//! ```

use hotrow_base::varint::{ByteReader, put, put_signed};
use hotrow_transaction::program::Place;

/// A statement that ran at a quiet point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextEntry<'a> {
    /// what now() was, microseconds since 2000-01-01 UTC
    pub now_us: i64,
    /// where the statement stood in its script
    pub place: Place,
    /// the statement
    pub text: &'a str,
}

impl<'a> TextEntry<'a> {
    /// Appends the entry.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_signed(out, self.now_us);
        put(out, self.place.line.into());
        put(out, self.place.column.into());
        out.extend_from_slice(self.text.as_bytes());
    }

    /// Reads an entry. `None`: these bytes are none.
    pub fn decode(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let now_us = reader.signed()?;
        let line = u32::try_from(reader.varint()?).ok()?;
        let column = u32::try_from(reader.varint()?).ok()?;
        let text = std::str::from_utf8(reader.rest()).ok()?;
        Some(Self { now_us, place: Place { line, column }, text })
    }
}
