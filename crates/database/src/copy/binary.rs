//! PostgreSQL's binary format of COPY, cut into rows and written.
//!
//! ```text
//! header   PGCOPY\n\377\r\n\0 │ flags 4 │ bytes of an extension 4 │ extension
//! row      columns 2 │ for each: bytes 4, -1 for NULL │ value
//! trailer  -1 in place of a row's columns
//! ```
//!
//! Invariants   I1 no length is believed: one beyond [`ROW_BYTES_MAX`] is refused, and memory is
//!                 taken for what has come
//!              I2 a row's lengths are looked at once, however the data is cut
//! Source       PostgreSQL 15, copyfromparse.c; as there, the trailer may be missing

use hotrow_base::types::DataType;
use hotrow_base::value::Value;
use hotrow_transaction::outcome::SqlError;

use super::ROW_BYTES_MAX;
use crate::binary::write_with_length;

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// Signature, flags and the extension's length.
const HEADER_BYTES: usize = 19;
/// A flag of PostgreSQL before version 12: rows begin with an identifier.
const WITH_OIDS: u32 = 1 << 16;
/// Flags that have to be understood.
const CRITICAL: u32 = 0xffff << 16;

/// What has come so far.
#[derive(Default)]
pub(super) struct BinaryRows {
    buffer: Vec<u8>,
    /// where the next row starts
    start: usize,
    state: State,
    /// of the row that is not complete: where its values are, and where the next length is
    cells: Vec<Option<(usize, usize)>>,
    looked: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Header,
    /// so many bytes of an extension are still to be left out
    Extension(usize),
    Rows,
    /// the trailer has come
    Ended,
}

/// What is wrong with a row, and in which of its columns.
pub(super) type Broken = (SqlError, Option<usize>);

fn malformed(message: impl Into<String>) -> Broken {
    (SqlError::new(b"22P04", message), None)
}

impl BinaryRows {
    /// More data.
    pub(super) fn push(&mut self, data: &[u8]) {
        self.buffer.drain(..self.start);
        if self.looked == self.start {
            self.cells.clear();
        }
        self.looked -= self.start;
        for cell in self.cells.iter_mut().flatten() {
            cell.0 -= self.start;
        }
        self.start = 0;
        self.buffer.extend_from_slice(data);
    }

    /// Whether a row is complete whose values [`BinaryRows::value`] gives, up to the next call.
    pub(super) fn next(&mut self, columns: usize) -> Result<bool, Broken> {
        if !self.is_past_header()? {
            return Ok(false);
        }
        if self.state == State::Ended {
            let is_over = self.start == self.buffer.len();
            let more = || malformed("received copy data after EOF marker");
            return if is_over { Ok(false) } else { Err(more()) };
        }
        if self.looked == self.start {
            let Some(&count) = self.buffer[self.start..].first_chunk() else { return Ok(false) };
            let count = i16::from_be_bytes(count);
            self.cells.clear();
            if count == -1 {
                self.state = State::Ended;
                self.start += 2;
                self.looked = self.start;
                return self.next(columns);
            }
            if usize::try_from(count) != Ok(columns) {
                let message = format!("row field count is {count}, expected {columns}");
                return Err(malformed(message));
            }
            self.looked += 2;
        }
        while self.cells.len() < columns {
            let Some(cell) = self.cell()? else { return Ok(false) };
            self.cells.push(cell);
        }
        self.start = self.looked;
        Ok(true)
    }

    /// The next value of a row: where it is, or NULL; none: it is not complete.
    #[expect(clippy::option_option, reason = "not there yet, or NULL")]
    fn cell(&mut self) -> Result<Option<Option<(usize, usize)>>, Broken> {
        let Some(&length) = self.buffer[self.looked..].first_chunk() else { return Ok(None) };
        let length = i32::from_be_bytes(length);
        let begin = self.looked + 4;
        if length == -1 {
            self.looked = begin;
            return Ok(Some(None));
        }
        let column = Some(self.cells.len());
        let Ok(length) = usize::try_from(length) else {
            return Err((SqlError::new(b"22P04", "invalid field size"), column));
        };
        if begin - self.start + length > ROW_BYTES_MAX {
            let text = format!("a row of COPY is longer than {ROW_BYTES_MAX} bytes");
            return Err((SqlError::new(b"54000", text), column));
        }
        if self.buffer.len() - begin < length {
            return Ok(None);
        }
        self.looked = begin + length;
        Ok(Some(Some((begin, length))))
    }

    /// A value of the row that is complete; none: NULL.
    pub(super) fn value(&self, column: usize) -> Option<&[u8]> {
        let (begin, length) = (*self.cells.get(column)?)?;
        self.buffer.get(begin..begin + length)
    }

    fn is_past_header(&mut self) -> Result<bool, Broken> {
        if self.state == State::Header {
            let known = self.buffer.len().min(SIGNATURE.len());
            if self.buffer[..known] != SIGNATURE[..known] {
                return Err(malformed("COPY file signature not recognized"));
            }
            if self.buffer.len() < HEADER_BYTES {
                return Ok(false);
            }
            let int = |at: usize| {
                let bytes = self.buffer[at..at + 4].try_into().unwrap_or_default();
                u32::from_be_bytes(bytes)
            };
            let (flags, extension) = (int(11), int(15));
            if flags & WITH_OIDS != 0 {
                return Err(malformed("invalid COPY file header (WITH OIDS)"));
            }
            if flags & CRITICAL != 0 {
                return Err(malformed("unrecognized critical flags in COPY file header"));
            }
            let Some(extension) = i32::try_from(extension).ok() else {
                return Err(malformed("invalid COPY file header (missing length)"));
            };
            self.state = State::Extension(extension as usize);
            (self.start, self.looked) = (HEADER_BYTES, HEADER_BYTES);
        }
        if let State::Extension(left) = self.state {
            let skipped = left.min(self.buffer.len() - self.start);
            self.start += skipped;
            self.looked = self.start;
            self.state =
                if skipped == left { State::Rows } else { State::Extension(left - skipped) };
        }
        Ok(!matches!(self.state, State::Header | State::Extension(_)))
    }

    /// There is no more: whether what has come is whole.
    pub(super) fn end(&self) -> Result<(), Broken> {
        let eof = || SqlError::new(b"22P04", "unexpected EOF in COPY data");
        match self.state {
            State::Header if self.buffer.len() < SIGNATURE.len() => {
                Err(malformed("COPY file signature not recognized"))
            }
            State::Header if self.buffer.len() < SIGNATURE.len() + 4 => {
                Err(malformed("invalid COPY file header (missing flags)"))
            }
            State::Header => Err(malformed("invalid COPY file header (missing length)")),
            State::Extension(_) => Err(malformed("invalid COPY file header (wrong length)")),
            State::Rows if self.looked > self.start => Err((eof(), Some(self.cells.len()))),
            State::Rows if self.buffer.len() > self.start => Err((eof(), None)),
            State::Rows | State::Ended => Ok(()),
        }
    }
}

/// Appends the header.
pub(super) fn write_header(out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    out.extend_from_slice(&[0; HEADER_BYTES - SIGNATURE.len()]);
}

/// Appends a row.
pub(super) fn write_row(row: &[Value], types: &[DataType], out: &mut Vec<u8>) {
    out.extend_from_slice(&(row.len() as i16).to_be_bytes()); // fewer than 2,000
    for (value, data_type) in row.iter().zip(types) {
        write_with_length(value, *data_type, out);
    }
}

/// Appends the trailer.
pub(super) fn write_trailer(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1_i16).to_be_bytes());
}
