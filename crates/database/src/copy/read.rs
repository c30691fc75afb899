//! Rows as COPY FROM reads them: cut out of a stream of bytes, then cut into cells.
//!
//! Role         written by hand: of what a CSV library gives, PostgreSQL's rules need more (whether
//!              a cell was quoted tells "" from NULL, quotes may begin inside a cell, `\.` ends the
//!              data), and the text format is none of its
//! Invariants   I1 a byte is looked at once to find the ends of rows, however the data is cut

use hotrow_sql::CopyForm;
use hotrow_transaction::outcome::SqlError;

/// Complete rows of what has come so far.
#[derive(Default)]
pub(super) struct Rows {
    buffer: Vec<u8>,
    /// where the next row starts
    start: usize,
    /// up to where there is no end of a row
    looked: usize,
    /// none: text
    quotes: Option<Quotes>,
    is_quoted: bool,
    /// the byte before was an escape
    is_escaped: bool,
    ends: Ends,
}

#[derive(Clone, Copy)]
struct Quotes {
    quote: u8,
    escape: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Ends {
    /// more may come
    #[default]
    NotYet,
    /// nothing more comes
    Here,
    /// `\.` has come: what follows is nothing
    Marked,
}

impl Rows {
    pub(super) fn new(form: &CopyForm) -> Self {
        let quotes = form.is_csv.then_some(Quotes { quote: form.quote, escape: form.escape });
        Self { quotes, ..Self::default() }
    }

    /// More data.
    pub(super) fn push(&mut self, data: &[u8]) {
        if self.ends == Ends::Marked {
            return;
        }
        self.buffer.drain(..self.start);
        self.looked -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(data);
    }

    /// There is no more.
    pub(super) fn end(&mut self) {
        if self.ends == Ends::NotYet {
            self.ends = Ends::Here;
        }
    }

    /// Bytes of a row that is not complete.
    pub(super) fn waiting(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Whether the data has ended inside quotes.
    pub(super) fn is_inside_quotes(&self) -> bool {
        self.is_quoted && self.ends == Ends::Here
    }

    /// The next complete row, without its end of line.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        if self.ends == Ends::Marked {
            return None;
        }
        let (start, end) = match self.find_end() {
            Some(end) => {
                let start = std::mem::replace(&mut self.start, end + 1);
                (start, end)
            }
            None if self.ends == Ends::Here && !self.is_quoted && self.waiting() > 0 => {
                let start = std::mem::replace(&mut self.start, self.buffer.len());
                (start, self.buffer.len())
            }
            None => return None,
        };
        let row = &self.buffer[start..end];
        let row = row.strip_suffix(b"\r").unwrap_or(row);
        if row == b"\\." {
            self.ends = Ends::Marked;
            return None;
        }
        Some(row)
    }

    fn find_end(&mut self) -> Option<usize> {
        while let Some(&byte) = self.buffer.get(self.looked) {
            self.looked += 1;
            match self.quotes {
                None if self.is_escaped => self.is_escaped = false,
                None if byte == b'\\' => self.is_escaped = true,
                Some(_) if self.is_escaped => self.is_escaped = false,
                Some(Quotes { quote, escape }) if escape != quote && byte == escape => {
                    self.is_escaped = self.is_quoted;
                }
                Some(Quotes { quote, .. }) if byte == quote => self.is_quoted = !self.is_quoted,
                _ if byte == b'\n' && !self.is_quoted => return Some(self.looked - 1),
                _ => {}
            }
        }
        None
    }
}

/// A row's cells.
#[derive(Default)]
pub(super) struct Cells {
    text: String,
    bytes: Vec<u8>,
    cells: Vec<Found>,
}

struct Found {
    end: usize,
    is_quoted: bool,
    looks_null: bool,
}

/// One cell.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) text: &'a str,
    pub(super) is_quoted: bool,
    pub(super) looks_null: bool,
}

impl Cells {
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Cell<'_>> {
        let mut start = 0;
        self.cells.iter().map(move |&Found { end, is_quoted, looks_null }| {
            // Delimiters are single bytes, so an end may lie inside a character.
            let text = self.text.get(start..end).unwrap_or_default();
            start = end;
            Cell { text, is_quoted, looks_null }
        })
    }

    /// Cuts a row into cells.
    pub(super) fn split(&mut self, row: &[u8], form: &CopyForm) -> Result<(), SqlError> {
        self.cells.clear();
        self.bytes.clear();
        if form.is_csv {
            self.split_csv(row, form)
        } else {
            self.split_text(row, form)
        }
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        std::mem::swap(&mut bytes, &mut self.bytes);
        match String::from_utf8(bytes) {
            Ok(text) => self.text = text,
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let byte = error.as_bytes().get(at).copied().unwrap_or_default();
                let text = format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}");
                return Err(SqlError::new(b"22021", text));
            }
        }
        let mut ends = self.cells.iter().map(|cell| cell.end);
        if ends.all(|end| self.text.is_char_boundary(end)) {
            return Ok(());
        }
        Err(SqlError::new(b"22021", "invalid byte sequence for encoding \"UTF8\""))
    }

    fn split_text(&mut self, row: &[u8], form: &CopyForm) {
        let (mut at, mut start) = (0, 0);
        loop {
            match row.get(at) {
                Some(b'\\') if at + 1 < row.len() => {
                    at += 1;
                    at += unescape(&row[at..], &mut self.bytes);
                }
                Some(&byte) if byte != form.delimiter => {
                    self.bytes.push(byte);
                    at += 1;
                }
                end => {
                    let looks_null = &row[start..at] == form.null.as_bytes();
                    self.cells.push(Found { end: self.bytes.len(), is_quoted: false, looks_null });
                    if end.is_none() {
                        return;
                    }
                    at += 1;
                    start = at;
                }
            }
        }
    }

    fn split_csv(&mut self, row: &[u8], form: &CopyForm) {
        let (mut at, mut start) = (0, 0);
        let (mut inside, mut is_quoted) = (false, false);
        loop {
            match row.get(at) {
                Some(&byte) if inside => {
                    let next = row.get(at + 1);
                    let escapes = byte == form.escape
                        && next.is_some_and(|next| *next == form.quote || *next == form.escape);
                    if escapes {
                        self.bytes.extend(next);
                        at += 1;
                    } else if byte == form.quote {
                        inside = false;
                    } else {
                        self.bytes.push(byte);
                    }
                    at += 1;
                }
                Some(&byte) if byte == form.quote => {
                    (inside, is_quoted) = (true, true);
                    at += 1;
                }
                Some(&byte) if byte != form.delimiter => {
                    self.bytes.push(byte);
                    at += 1;
                }
                end => {
                    let looks_null = &self.bytes[start..] == form.null.as_bytes();
                    self.cells.push(Found { end: self.bytes.len(), is_quoted, looks_null });
                    if end.is_none() {
                        return;
                    }
                    at += 1;
                    start = self.bytes.len();
                    is_quoted = false;
                }
            }
        }
    }
}

/// Appends what an escape sequence means, given from behind its backslash; its length.
fn unescape(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let digits = |from: &[u8], most: usize, radix: u32| {
        let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
        from.iter().take(most).take_while(is_digit).count()
    };
    let number = |digits: &[u8], radix: u32| {
        let value =
            |sum: u32, byte: &u8| sum * radix + char::from(*byte).to_digit(radix).unwrap_or(0);
        (digits.iter().fold(0, value) & 0xff) as u8
    };
    let (byte, length) = match rest[0] {
        b'b' => (0x08, 1),
        b'f' => (0x0c, 1),
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'v' => (0x0b, 1),
        b'0'..=b'7' => {
            let length = digits(rest, 3, 8);
            (number(&rest[..length], 8), length)
        }
        b'x' if digits(&rest[1..], 2, 16) > 0 => {
            let length = 1 + digits(&rest[1..], 2, 16);
            (number(&rest[1..length], 16), length)
        }
        other => (other, 1),
    };
    out.push(byte);
    length
}

#[cfg(test)]
mod tests;
