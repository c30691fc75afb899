//! A connection's bytes: messages out of what comes; what goes, collected until it is waited for.
//!
//! Invariants   I1 memory grows with what has come, not with what a length claims; a message longer
//!                 than the limit ends the connection before it is read
//!              I2 what was said is sent before the connection waits for more: answers to messages
//!                 that came together go together, and a client that waits for one gets it. What is
//!                 [held back](Held) is waited for, or more input, whichever comes first
//!              I3 an Execute is given on when it is known what follows it: a statement alone up to
//!                 its Sync is a transaction that may be repeated, several are one that may not

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, BytesMut};
use hotrow::{Horizon, SqlError};
use hotrow_base::clock::Ticks;
use hotrow_base::panics::Panicked;
use pgwire::messages::Message;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use socket2::Socket;

use crate::held::{Held, Sendable};

/// Waits for nothing.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// How often a client is looked at for another message while the log is waited for. Most logs sync
/// more often; a shorter time-out has a processor's timer set anew for each wait, where the ticks
/// of a busy system would do.
const INPUT_LOOK_EVERY: Duration = Duration::from_millis(10);
/// Bytes read at a time.
const READ_BYTES: usize = 16 << 10;
/// A socket's time-out is no shorter, unless less is left.
const LOOK_EVERY_MIN: Duration = Duration::from_millis(1);
/// How far is looked behind an Execute.
const LOOKAHEAD_BYTES_MAX: usize = 64 << 10;
/// Answers that are sent though nobody waits yet.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// A buffer that has grown beyond this is given back when it is empty.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// Why nothing more is read.
#[derive(Debug)]
pub(crate) enum Ended {
    /// the client, or whoever stops the server, has closed it
    Closed,
    /// nothing came for too long
    TimedOut,
    /// the client has said nothing for longer than its session's settings let it
    Idle(Idle),
    /// what came is no message
    Malformed(String),
    /// the client has said good-bye
    Left,
    /// the socket failed
    Failed,
    /// what it said or heard met a bug
    Panicked(Panicked),
    /// more notifications came than are kept for a client that does not take them
    Overrun(Box<SqlError>),
}

/// Where a client was when it said nothing for too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Idle {
    InTransaction,
    Outside,
}

/// What comes.
pub(crate) struct Incoming {
    /// what was read and not given on, and room behind it
    buffer: Vec<u8>,
    /// where that begins
    done: usize,
    /// where it ends
    end: usize,
    message_bytes_max: usize,
}

/// A message as it came.
#[derive(Debug)]
pub(crate) struct Raw<'a> {
    pub(crate) kind: u8,
    pub(crate) body: &'a [u8],
    /// an Execute behind which nothing else is executed before the next Sync
    pub(crate) is_last: bool,
    /// something has come behind it, and behind its Sync, that is not read yet
    pub(crate) has_more: bool,
}

impl Incoming {
    /// Messages of so many bytes at most.
    pub(crate) fn new(message_bytes_max: usize) -> Self {
        Self { buffer: Vec::new(), done: 0, end: 0, message_bytes_max }
    }

    /// Whether more has come than was read.
    pub(crate) fn has_more(&self) -> bool {
        self.end > self.done
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

    /// Waits for a message with a proof of who the client is, before that is known.
    pub(crate) fn proof(&mut self, limit: usize, out: &mut Outgoing) -> Result<&[u8], Ended> {
        let raw = self.message_of(limit, out)?;
        if raw.kind == b'p' {
            return Ok(raw.body);
        }
        let what = format!("expected SASL response, got message type {}", raw.kind);
        Err(Ended::Malformed(what))
    }

    /// Waits for a message.
    pub(crate) fn message(&mut self, out: &mut Outgoing) -> Result<Raw<'_>, Ended> {
        self.message_of(self.message_bytes_max, out)
    }

    fn message_of(&mut self, limit: usize, out: &mut Outgoing) -> Result<Raw<'_>, Ended> {
        self.wait_for(5, out)?;
        let length = 1 + self.length(1, limit)?;
        self.wait_for(length, out)?;
        let sync = match self.buffer[self.done] {
            b'E' => self.end_of_batch(length, out)?, // I3
            _ => None,
        };
        let start = self.done;
        self.done += length;
        let has_more = self.end > start + sync.unwrap_or(length);
        let body = &self.buffer[start + 5..start + length];
        Ok(Raw { kind: self.buffer[start], body, is_last: sync.is_some(), has_more })
    }

    /// Where the Sync ends that what comes so many bytes further on leads to, without anything that
    /// would be executed. Waits for it: a client that wants an answer sends a Sync, or a Flush.
    fn end_of_batch(&mut self, mut at: usize, out: &mut Outgoing) -> Result<Option<usize>, Ended> {
        let limit = at + LOOKAHEAD_BYTES_MAX;
        while at < limit {
            self.wait_for(at + 5, out)?;
            match self.buffer[self.done + at] {
                b'S' => return Ok(Some(at + 5)),
                // Close and Describe; what is wrong with them is told when they are read.
                b'C' | b'D' => match self.length(at + 1, self.message_bytes_max) {
                    Ok(length) => at += 1 + length,
                    Err(_) => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
        Ok(None) // I1
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
        if self.end - self.done >= bytes {
            return Ok(());
        }
        self.buffer.copy_within(self.done..self.end, 0);
        (self.done, self.end) = (0, self.end - self.done);
        if self.end == 0 && self.buffer.len() > KEPT_BYTES_MAX {
            self.buffer = Vec::new();
        }
        while self.end < bytes {
            out.flush_or_input().map_err(|_| Ended::Failed)?; // I2
            if self.buffer.len() < self.end + READ_BYTES {
                self.buffer.resize(self.end + READ_BYTES, 0); // I1
            }
            match out.channel.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(Ended::Closed),
                Ok(read) => self.end += read,
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::TimedOut => return Err(Ended::TimedOut),
                    // Of an encrypted stream that was cut off.
                    ErrorKind::UnexpectedEof => return Err(Ended::Closed),
                    _ => return Err(Ended::Failed),
                },
            }
        }
        Ok(())
    }
}

/// What goes, and the stream that both go over.
pub(crate) struct Outgoing {
    channel: Channel,
    buffer: BytesMut,
    /// where the last whole message ends in it
    whole: usize,
    /// what of it is not durable yet; none: there is no session that holds answers back
    held: Option<Held>,
    /// the stream has failed: nothing is sent any more
    is_broken: bool,
}

impl Outgoing {
    /// Answers on a stream.
    pub(crate) fn new(stream: Arc<Socket>) -> Self {
        let stream = Stream { socket: stream, deadline: None, look_every: None, wake: None };
        let (channel, buffer) = (Channel::Plain(stream), BytesMut::new());
        Self { channel, buffer, whole: 0, held: None, is_broken: false }
    }

    /// From now on answers come before they are durable.
    pub(crate) fn hold_back(&mut self, horizon: Horizon) {
        self.held = Some(Held::new(horizon));
    }

    /// A message was answered, or a part of it; `is_ready`: up to a ReadyForQuery.
    pub(crate) fn mark(&mut self, is_ready: bool) {
        if let Some(held) = self.held.as_mut().filter(|_| !self.is_broken) {
            held.mark(self.buffer.len(), is_ready);
        }
    }

    /// Whether answers are held back.
    pub(crate) fn holds_any(&self) -> bool {
        self.held.as_ref().is_some_and(Held::is_any)
    }

    /// From now on waits for what comes end at a point in time with [`Ended::TimedOut`], or at
    /// none. What has come by then stays, and one can wait on.
    pub(crate) fn wait_until(&mut self, deadline: Option<Ticks>) {
        match &mut self.channel {
            Channel::Plain(stream) => stream.deadline = deadline,
            Channel::Encrypted(tls) => tls.sock.deadline = deadline,
        }
    }

    /// What a byte is written to by whoever wants a wait for what comes to end at once with
    /// [`Ended::TimedOut`]; none: there is no room for it.
    pub(crate) fn waker(&mut self) -> Option<Arc<UnixStream>> {
        let (wake, waker) = UnixStream::pair().ok()?;
        wake.set_nonblocking(true).and_then(|()| waker.set_nonblocking(true)).ok()?;
        match &mut self.channel {
            Channel::Plain(stream) => stream.wake = Some(wake),
            Channel::Encrypted(tls) => tls.sock.wake = Some(wake),
        }
        Some(Arc::new(waker))
    }

    /// Encrypts from now on; what was said before has been sent.
    pub(crate) fn encrypt(&mut self, config: &Arc<ServerConfig>) -> Result<(), Ended> {
        let Channel::Plain(Stream { socket, deadline, look_every, .. }) = &self.channel else {
            return Err(Ended::Malformed("it is encrypted already".to_owned()));
        };
        let connection = ServerConnection::new(Arc::clone(config)).map_err(|_| Ended::Failed)?;
        let (deadline, look_every) = (*deadline, *look_every);
        let stream = Stream { socket: Arc::clone(socket), deadline, look_every, wake: None };
        self.channel = Channel::Encrypted(Box::new(StreamOwned::new(connection, stream)));
        Ok(())
    }

    /// Whether it encrypts.
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self.channel, Channel::Encrypted(_))
    }

    /// Says a message.
    pub(crate) fn say(&mut self, message: &impl Message) {
        // What fails here is a message that is too long for the protocol.
        self.is_broken |= message.encode(&mut self.buffer).is_err();
        self.whole = self.buffer.len();
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
        self.whole = self.buffer.len();
        self.flush_some();
    }

    /// Says one byte, which is no message.
    pub(crate) fn say_byte(&mut self, byte: u8) {
        self.buffer.put_u8(byte);
        self.whole = self.buffer.len();
    }

    /// Forgets a message that was begun and will not be said to its end.
    pub(crate) fn forget_part(&mut self) {
        self.buffer.truncate(self.whole);
    }

    /// Sends all that was said, as soon as it is durable.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.mark(false);
        self.refuse_broken()?;
        self.send_durable()
    }

    /// As [`Outgoing::flush`], but gives up when something has come that was not read: it can be
    /// done meanwhile.
    fn flush_or_input(&mut self) -> io::Result<()> {
        self.mark(false);
        self.refuse_broken()?;
        // One answer goes in one piece, and who waits for it mostly sends nothing meanwhile: each
        // look is a system call.
        let mut is_one = !self.held.as_ref().is_some_and(Held::are_many);
        loop {
            let Some(held) = self.held.as_mut().filter(|held| held.is_any() && !held.is_full())
            else {
                return self.send_durable();
            };
            if is_one {
                is_one = false;
            } else {
                let bytes = held.durable_bytes();
                let is_all = !held.is_any();
                self.send(bytes)?;
                if is_all {
                    return self.send_durable();
                }
                if self.channel.has_input() {
                    return Ok(());
                }
            }
            let first = self.held.as_ref().and_then(|held| held.wait_for_first(INPUT_LOOK_EVERY));
            if let Some(Err(_)) = first {
                return self.send_durable(); // it tells what is lost
            }
        }
    }

    fn refuse_broken(&self) -> io::Result<()> {
        if self.is_broken { Err(ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }

    /// Waits until all that is held back is durable, and sends it.
    fn send_durable(&mut self) -> io::Result<()> {
        let sendable = match self.held.as_mut().filter(|held| held.is_any()) {
            None => Sendable::All,
            Some(held) => held.wait(&mut self.buffer),
        };
        // An error may have taken the place of what is lost.
        self.whole = self.whole.min(self.buffer.len());
        self.send(self.buffer.len())?;
        if sendable == Sendable::Last {
            self.is_broken = true;
            return Err(ErrorKind::BrokenPipe.into());
        }
        Ok(())
    }

    /// Sends the first bytes of the buffer.
    fn send(&mut self, bytes: usize) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let sent = self.channel.write_all(&self.buffer[..bytes]);
        if bytes < self.buffer.len() {
            self.buffer.advance(bytes);
        } else {
            self.buffer.clear();
        }
        self.whole = self.whole.saturating_sub(bytes);
        if let Some(held) = &mut self.held {
            held.sent(bytes);
        }
        if self.buffer.is_empty() && self.buffer.capacity() > 2 * KEPT_BYTES_MAX {
            self.buffer = BytesMut::new();
        }
        self.is_broken = sent.is_err();
        sent
    }

    fn flush_some(&mut self) {
        if self.buffer.len() > OUTPUT_BYTES_MAX && self.flush().is_err() {
            self.buffer.clear();
            self.whole = 0;
        }
    }
}

/// Plain or encrypted.
enum Channel {
    Plain(Stream),
    Encrypted(Box<StreamOwned<ServerConnection, Stream>>),
}

impl Channel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(into),
            Self::Encrypted(tls) => tls.read(into),
        }
    }

    /// Whether something has come that was not read; or the stream has ended.
    fn has_input(&self) -> bool {
        let socket = match self {
            Self::Plain(stream) => &stream.socket,
            Self::Encrypted(tls) => &tls.sock.socket,
        };
        let mut look = [PollFd::new(&**socket, PollFlags::IN)];
        poll(&mut look, Some(&NOW)).is_ok_and(|ready| ready > 0)
    }

    fn write_all(&mut self, from: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.write_all(from),
            Self::Encrypted(tls) => tls.write_all(from).and_then(|()| tls.flush()),
        }
    }
}

/// A socket that others may shut down.
struct Stream {
    socket: Arc<Socket>,
    /// until when it waits for what comes; none: for ever
    deadline: Option<Ticks>,
    /// the socket's own time-out, after which it is looked whether the deadline has passed
    look_every: Option<Duration>,
    /// what it wakes by, too
    wake: Option<UnixStream>,
}

impl Stream {
    /// Has the socket look up before the deadline. Deadlines move with each message and mostly stay
    /// as far away, so half of what is left will do for the next ones, too, and few messages cost
    /// a system call.
    fn look_up_within(&mut self, left: Duration) -> io::Result<()> {
        if self.look_every.is_none_or(|every| every > left) {
            let every = (left / 2).max(LOOK_EVERY_MIN).min(left);
            self.socket.set_read_timeout(Some(every))?;
            self.look_every = Some(every);
        }
        Ok(())
    }
}

impl Stream {
    /// Waits until something has come, or it is woken, or the deadline has passed.
    fn wait_or_wake(&self, wake: &UnixStream) -> io::Result<()> {
        let mut look =
            [PollFd::new(&*self.socket, PollFlags::IN), PollFd::new(wake, PollFlags::IN)];
        loop {
            let left = self.deadline.map(Ticks::remaining);
            let timeout = left.map(|left| Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            });
            match poll(&mut look, timeout.as_ref()) {
                Ok(0) => return Err(ErrorKind::TimedOut.into()),
                Ok(_) if !look[0].revents().is_empty() => return Ok(()),
                Ok(_) => {
                    let mut scrap = [0; 64];
                    while (&*wake).read(&mut scrap).is_ok_and(|read| read == scrap.len()) {}
                    return Err(ErrorKind::TimedOut.into());
                }
                Err(error) if error == rustix::io::Errno::INTR => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(wake) = &self.wake {
            self.wait_or_wake(wake)?;
        }
        loop {
            if let Some(left) = self.deadline.map(Ticks::remaining) {
                if left.is_zero() {
                    return Err(ErrorKind::TimedOut.into());
                }
                self.look_up_within(left)?;
            }
            match (&*self.socket).read(into) {
                Err(error) if is_time_out(&error) => self.look_every = None,
                read => return read,
            }
            if self.deadline.is_none() {
                self.socket.set_read_timeout(None)?;
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        (&*self.socket).write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.socket).flush()
    }
}

/// What a socket says when its time-out has passed.
fn is_time_out(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
