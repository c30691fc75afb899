//! A date or a time as text, cut into fields.
//!
//! ```text
//! number    1999   990108   2451187.5   .25
//! time      04:05:06.789
//! date      1999-01-08   8-jan-1999   1/8/1999   jan-08-1999   and names of zones with signs
//! zone      +8   -08:00   -0800
//! word      january   pm   utc   infinity   -infinity
//! ```
//!
//! Role         knows forms only; [`super::reader`] decides what a field means by what it has read
//!              before it

use super::parse::TemporalError;
use super::words::plain_word;

/// The most fields and bytes of them, each with one behind it: PostgreSQL's limits.
const FIELDS_MAX: usize = 25;
const BYTES_MAX: usize = 128 + FIELDS_MAX;

/// What a field looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Number,
    Time,
    Date,
    Zone,
    Word,
}

/// The fields of a text, their letters small.
pub(super) struct TextFields {
    bytes: [u8; BYTES_MAX],
    used: usize,
    fields: [(Kind, u8, u8); FIELDS_MAX],
    count: usize,
}

impl TextFields {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.fields[..self.count].get(at).map(|field| field.0)
    }

    pub(super) fn get(&self, at: usize) -> (Kind, &str) {
        let (kind, start, end) = self.fields[at];
        let text = &self.bytes[usize::from(start)..usize::from(end)];
        (kind, std::str::from_utf8(text).unwrap_or_default())
    }

    /// Cuts a text into fields. What is neither of them is ignored where it is punctuation.
    pub(super) fn read(text: &str) -> Result<Self, TemporalError> {
        let mut all = Self {
            bytes: [0; BYTES_MAX],
            used: 0,
            fields: [(Kind::Number, 0, 0); FIELDS_MAX],
            count: 0,
        };
        let mut rest = Rest(text.as_bytes());
        while let Some(first) = rest.peek() {
            match first {
                byte if is_blank(byte) => rest.0 = &rest.0[1..],
                b'0'..=b'9' | b'.' | b'+' | b'-' | b'a'..=b'z' | b'A'..=b'Z' => {
                    all.field(&mut rest)?;
                }
                byte if byte.is_ascii_punctuation() => rest.0 = &rest.0[1..],
                _ => return Err(TemporalError::Syntax),
            }
        }
        Ok(all)
    }

    fn field(&mut self, rest: &mut Rest<'_>) -> Result<(), TemporalError> {
        if self.count == FIELDS_MAX {
            return Err(TemporalError::Syntax);
        }
        let start = self.used;
        let kind = match rest.peek() {
            Some(b'0'..=b'9') => self.number(rest)?,
            Some(b'.') => {
                self.push(rest)?;
                self.push_while(rest, |byte| byte.is_ascii_digit())?;
                Kind::Number
            }
            Some(b'+' | b'-') => self.signed(rest)?,
            _ => self.word(rest, start)?,
        };
        self.fields[self.count] = (kind, start as u8, self.used as u8);
        self.count += 1;
        // The byte behind a field counts, as in PostgreSQL.
        self.used += 1;
        Ok(())
    }

    fn number(&mut self, rest: &mut Rest<'_>) -> Result<Kind, TemporalError> {
        self.push_while(rest, |byte| byte.is_ascii_digit())?;
        let Some(sign @ (b':' | b'-' | b'/' | b'.')) = rest.peek() else {
            return Ok(Kind::Number);
        };
        self.push(rest)?;
        if sign == b':' {
            self.push_while(rest, |byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'))?;
            return Ok(Kind::Time);
        }
        if !rest.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            // A month's name may stand in the middle.
            self.push_while(rest, |byte| byte.is_ascii_alphanumeric() || byte == sign)?;
            return Ok(Kind::Date);
        }
        self.push_while(rest, |byte| byte.is_ascii_digit())?;
        if rest.peek() == Some(sign) {
            self.push_while(rest, |byte| byte.is_ascii_digit() || byte == sign)?;
            return Ok(Kind::Date);
        }
        Ok(if sign == b'.' { Kind::Number } else { Kind::Date })
    }

    /// A zone, or a word with a sign before it.
    fn signed(&mut self, rest: &mut Rest<'_>) -> Result<Kind, TemporalError> {
        self.push(rest)?;
        while rest.peek().is_some_and(is_blank) {
            rest.0 = &rest.0[1..];
        }
        match rest.peek() {
            Some(b'0'..=b'9') => {
                let is_of_zone =
                    |byte: u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-');
                self.push_while(rest, is_of_zone)?;
                Ok(Kind::Zone)
            }
            Some(b'a'..=b'z' | b'A'..=b'Z') => {
                self.push_while(rest, |byte| byte.is_ascii_alphabetic())?;
                Ok(Kind::Word)
            }
            _ => Err(TemporalError::Syntax),
        }
    }

    /// A word; with digits or signs behind it, a date that begins with its month, or the name of a
    /// zone, unless the word alone says something.
    fn word(&mut self, rest: &mut Rest<'_>, start: usize) -> Result<Kind, TemporalError> {
        self.push_while(rest, |byte| byte.is_ascii_alphabetic())?;
        let goes_on = match rest.peek() {
            Some(b'-' | b'/' | b'.') => true,
            Some(b'+' | b'0'..=b'9') => {
                let word = std::str::from_utf8(&self.bytes[start..self.used]).unwrap_or_default();
                plain_word(word).is_none()
            }
            _ => false,
        };
        if !goes_on {
            return Ok(Kind::Word);
        }
        let is_of_name = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'/' | b'_' | b'.' | b':')
        };
        self.push_while(rest, is_of_name)?;
        Ok(Kind::Date)
    }

    fn push(&mut self, rest: &mut Rest<'_>) -> Result<(), TemporalError> {
        let (Some((first, behind)), true) = (rest.0.split_first(), self.used + 1 < BYTES_MAX)
        else {
            return Err(TemporalError::Syntax);
        };
        self.bytes[self.used] = first.to_ascii_lowercase();
        self.used += 1;
        rest.0 = behind;
        Ok(())
    }

    fn push_while(
        &mut self,
        rest: &mut Rest<'_>,
        is_of_field: impl Fn(u8) -> bool,
    ) -> Result<(), TemporalError> {
        while rest.peek().is_some_and(&is_of_field) {
            self.push(rest)?;
        }
        Ok(())
    }
}

/// What has not been read.
struct Rest<'t>(&'t [u8]);

impl Rest<'_> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }
}

/// A blank as C has it.
const fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0B
}
