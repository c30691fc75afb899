//! A connection's bytes: messages out of what comes; what goes, collected until it is waited for.
//!
//! Invariants   I1 memory grows with what has come, not with what a length claims; a message longer
//!                 than the limit ends the connection before it is read
//!              I2 what was said is sent before the connection waits for more: answers to messages
//!                 that came together go together, and a client that waits for one gets it
//!              I3 an Execute is given on when it is known what follows it: a statement alone up to
//!                 its Sync is a transaction that may be repeated, several are one that may not

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use bytes::{BufMut, BytesMut};
use pgwire::messages::Message;

/// Bytes read at a time.
const READ_BYTES: usize = 16 << 10;
/// Answers that are sent though nobody waits yet.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// Why nothing more is read.
#[derive(Debug)]
pub(crate) enum Ended {
    /// the client, or whoever stops the server, has closed it
    Closed,
    /// nothing came for too long
    TimedOut,
    /// what came is no message
    Malformed(String),
    /// the socket failed
    Failed,
}

/// What comes.
pub(crate) struct Incoming {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// what of the buffer was read
    done: usize,
    message_bytes_max: usize,
}

/// A message as it came.
#[derive(Debug)]
pub(crate) struct Raw<'a> {
    pub(crate) kind: u8,
    pub(crate) body: &'a [u8],
    /// an Execute behind which nothing else is executed before the next Sync
    pub(crate) is_last: bool,
}

impl Incoming {
    /// Messages of a stream.
    pub(crate) fn new(stream: TcpStream, message_bytes_max: usize) -> Self {
        Self { stream, buffer: Vec::new(), done: 0, message_bytes_max }
    }

    /// The stream, to change its settings.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Waits for a packet without a kind: a length and as much as it says.
    pub(crate) fn packet(&mut self, limit: usize, out: &mut Outgoing) -> Result<&[u8], Ended> {
        self.wait_for(4, out)?;
        let length = self.length(0, limit)?;
        self.wait_for(length, out)?;
        let start = self.done;
        self.done += length;
        Ok(&self.buffer[start + 4..start + length])
    }

    /// Waits for a message.
    pub(crate) fn message(&mut self, out: &mut Outgoing) -> Result<Raw<'_>, Ended> {
        self.wait_for(5, out)?;
        let length = 1 + self.length(1, self.message_bytes_max)?;
        self.wait_for(length, out)?;
        let is_last = self.buffer[self.done] == b'E' && self.ends_batch(length, out)?; // I3
        let start = self.done;
        self.done += length;
        let body = &self.buffer[start + 5..start + length];
        Ok(Raw { kind: self.buffer[start], body, is_last })
    }

    /// Whether what comes so many bytes further on leads to a Sync without anything that would be
    /// executed. Waits for it: a client that wants an answer sends a Sync, or a Flush.
    fn ends_batch(&mut self, mut at: usize, out: &mut Outgoing) -> Result<bool, Ended> {
        loop {
            self.wait_for(at + 5, out)?;
            match self.buffer[self.done + at] {
                b'S' => return Ok(true),
                // Close and Describe; what is wrong with them is told when they are read.
                b'C' | b'D' => match self.length(at + 1, self.message_bytes_max) {
                    Ok(length) => at += 1 + length,
                    Err(_) => return Ok(false),
                },
                _ => return Ok(false),
            }
        }
    }

    /// A length, which counts itself, so many bytes further on.
    fn length(&self, at: usize, limit: usize) -> Result<usize, Ended> {
        let bytes = self.buffer[self.done + at..].first_chunk().copied().unwrap_or_default();
        let length = usize::try_from(i32::from_be_bytes(bytes)).ok();
        match length.filter(|length| *length >= 4) {
            Some(length) if length <= limit => Ok(length),
            Some(length) => Err(Ended::Malformed(format!(
                "a message of {length} bytes is longer than the limit of {limit}"
            ))),
            None => Err(Ended::Malformed("invalid message length".to_owned())),
        }
    }

    /// Waits until so many bytes are there that were not read.
    fn wait_for(&mut self, bytes: usize, out: &mut Outgoing) -> Result<(), Ended> {
        if self.buffer.len() - self.done >= bytes {
            return Ok(());
        }
        self.buffer.drain(..self.done);
        self.done = 0;
        while self.buffer.len() < bytes {
            out.flush().map_err(|_| Ended::Failed)?; // I2
            let there = self.buffer.len();
            self.buffer.resize(there + READ_BYTES, 0); // I1
            let read = self.stream.read(&mut self.buffer[there..]);
            self.buffer.truncate(there + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => return Err(Ended::Closed),
                Ok(_) => {}
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Err(Ended::TimedOut),
                    _ => return Err(Ended::Failed),
                },
            }
        }
        Ok(())
    }
}

/// What goes.
pub(crate) struct Outgoing {
    stream: TcpStream,
    buffer: BytesMut,
    /// the stream has failed: nothing is sent any more
    is_broken: bool,
}

impl Outgoing {
    /// Answers on a stream.
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: BytesMut::new(), is_broken: false }
    }

    /// Says a message.
    pub(crate) fn say(&mut self, message: &impl Message) {
        // What fails here is a message that is too long for the protocol.
        self.is_broken |= message.encode(&mut self.buffer).is_err();
        self.flush_some();
    }

    /// Says a message whose body `write` appends.
    pub(crate) fn say_by(&mut self, kind: u8, write: impl FnOnce(&mut BytesMut)) {
        self.buffer.put_u8(kind);
        let start = self.buffer.len();
        self.buffer.put_i32(0);
        write(&mut self.buffer);
        match i32::try_from(self.buffer.len() - start) {
            Ok(length) => {
                self.buffer[start..start + 4].copy_from_slice(&length.to_be_bytes());
            }
            Err(_) => self.is_broken = true,
        }
        self.flush_some();
    }

    /// Says one byte, which is no message.
    pub(crate) fn say_byte(&mut self, byte: u8) {
        self.buffer.put_u8(byte);
    }

    /// Sends all that was said.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.is_broken {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let sent = self.stream.write_all(&self.buffer);
        self.buffer.clear();
        self.is_broken = sent.is_err();
        sent
    }

    fn flush_some(&mut self) {
        if self.buffer.len() > OUTPUT_BYTES_MAX && self.flush().is_err() {
            self.buffer.clear();
        }
    }
}
