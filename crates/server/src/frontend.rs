//! Messages that clients send, read from their bytes.
//!
//! Role         a connection cuts its input into messages by their lengths and has them read here
//! Invariants   I1 no bytes make this panic or allocate more than a message's own length: every
//!              count and length is checked against what is left of the message
//! Source       PostgreSQL 15, "Message Formats". The messages that we send are encoded by pgwire;
//!              its decoder takes lengths as they come and panics on a message that is too short,
//!              which would end the server

use std::ffi::CStr;

/// A message of a client, behind its startup.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Frontend<'a> {
    /// a script
    Query(&'a str),
    /// a statement to prepare
    Parse { name: &'a str, text: &'a str, types: Vec<u32> },
    /// values for a prepared statement
    Bind(Bind<'a>),
    /// asks for parameters and columns of a statement, or columns of a portal
    Describe(Target<'a>),
    /// runs a portal; at most so many rows, or all with 0
    Execute { portal: &'a str, rows: u32 },
    /// forgets a statement or a portal
    Close(Target<'a>),
    /// the end of a pipeline
    Sync,
    /// wants what there is of answers
    Flush,
    /// says good-bye
    Terminate,
    /// rows for COPY, cut anywhere
    CopyData(&'a [u8]),
    /// there are no more rows
    CopyDone,
    /// there should be more rows, but for this
    CopyFail(&'a str),
}

/// See [`Frontend::Bind`].
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Bind<'a> {
    pub(crate) portal: &'a str,
    pub(crate) statement: &'a str,
    pub(crate) formats: Vec<i16>,
    /// none: NULL
    pub(crate) values: Vec<Option<&'a [u8]>>,
    pub(crate) result_formats: Vec<i16>,
}

/// What is described or closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target<'a> {
    Statement(&'a str),
    Portal(&'a str),
}

/// Why a message cannot be read; the connection ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Malformed(pub(crate) String);

impl<'a> Frontend<'a> {
    /// Reads a message of a kind.
    pub(crate) fn read(kind: u8, body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader { rest: body };
        let message = match kind {
            b'Q' => Self::Query(reader.text()?),
            b'P' => {
                let (name, text) = (reader.text()?, reader.text()?);
                Self::Parse { name, text, types: reader.list(4, |r| r.u32())? }
            }
            b'B' => {
                let (portal, statement) = (reader.text()?, reader.text()?);
                let formats = reader.list(2, |r| r.i16())?;
                let values = reader.list(4, Reader::value)?;
                let result_formats = reader.list(2, |r| r.i16())?;
                Self::Bind(Bind { portal, statement, formats, values, result_formats })
            }
            b'D' => Self::Describe(reader.target()?),
            b'E' => {
                let portal = reader.text()?;
                // A negative number asks for all rows, too.
                let rows = u32::try_from(reader.i32()?).unwrap_or(0);
                Self::Execute { portal, rows }
            }
            b'C' => Self::Close(reader.target()?),
            b'S' => Self::Sync,
            b'H' => Self::Flush,
            b'X' => Self::Terminate,
            b'd' => return Ok(Self::CopyData(body)),
            b'c' => Self::CopyDone,
            b'f' => Self::CopyFail(reader.text()?),
            other => {
                return Err(Malformed(format!("invalid frontend message type {other}")));
            }
        };
        if reader.rest.is_empty() {
            Ok(message)
        } else {
            Err(Malformed("invalid message format: it is longer than what it says".to_owned()))
        }
    }
}

/// Reads a startup packet's parameters: names and values in turn, ended by an empty name.
pub(crate) fn startup_parameters(body: &[u8]) -> Result<Vec<(&str, &str)>, Malformed> {
    let mut reader = Reader { rest: body };
    let mut parameters = Vec::new();
    loop {
        let name = reader.text()?;
        if name.is_empty() {
            return Ok(parameters);
        }
        parameters.push((name, reader.text()?));
    }
}

/// Reads the first message of a SASL exchange: the mechanism, and what it says.
pub(crate) fn sasl_response(body: &[u8]) -> Result<(&str, &[u8]), Malformed> {
    let mut reader = Reader { rest: body };
    let (mechanism, message) = (reader.text()?, reader.value()?);
    match message {
        Some(message) if reader.rest.is_empty() => Ok((mechanism, message)),
        _ => Err(Malformed("malformed SASL response".to_owned())),
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(too_short)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn i16(&mut self) -> Result<i16, Malformed> {
        self.take().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Result<i32, Malformed> {
        self.take().map(i32::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_be_bytes)
    }

    /// A string that ends with a zero byte.
    fn text(&mut self) -> Result<&'a str, Malformed> {
        let text = CStr::from_bytes_until_nul(self.rest).map_err(|_| too_short())?.to_bytes();
        self.rest = &self.rest[text.len() + 1..];
        std::str::from_utf8(text).map_err(|error| {
            let at = error.valid_up_to();
            let byte = text.get(at).copied().unwrap_or_default();
            Malformed(format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}"))
        })
    }

    /// A count of 16 bits and as many items of at least `least` bytes.
    fn list<T>(
        &mut self,
        least: usize,
        mut item: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let count = usize::from(u16::from_be_bytes(self.take()?));
        if count * least > self.rest.len() {
            return Err(too_short()); // I1
        }
        (0..count).map(|_| item(self)).collect()
    }

    /// A length and as many bytes, or NULL.
    fn value(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        let length = self.i32()?;
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| too_short())?;
        let (value, rest) = self.rest.split_at_checked(length).ok_or_else(too_short)?;
        self.rest = rest;
        Ok(Some(value))
    }

    fn target(&mut self) -> Result<Target<'a>, Malformed> {
        let [kind] = self.take()?;
        let name = self.text()?;
        match kind {
            b'S' => Ok(Target::Statement(name)),
            b'P' => Ok(Target::Portal(name)),
            other => Err(Malformed(format!("invalid DESCRIBE or CLOSE message subtype {other}"))),
        }
    }
}

fn too_short() -> Malformed {
    Malformed("invalid message format: it is shorter than what it says".to_owned())
}

#[cfg(test)]
mod tests;
