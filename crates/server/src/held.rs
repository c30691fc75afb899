//! Answers that are said and not yet sent, because they are not durable yet.
//!
//! Role         an [`Outgoing`](crate::connection::Outgoing) has marks in its buffer: up to where a
//!              message was answered, and what that answer waits for. A connection goes on with the
//!              next message meanwhile
//! States       of an answer: being said -> held back -> durable -> sent; or lost: the log has
//!              failed, and an error stands in its place
//! Invariants   I1 answers are sent in their order, each when it and all before it are durable
//!              I2 as many are held back as [`HELD_MAX`], and as many bytes as the buffer may have;
//!              who would hold back more waits
//!              I3 what a client is told after an error is skipped up to ReadyForQuery: so of the
//!              answers up to one, the first that is lost is told as an error, and the rest but
//!              ReadyForQuery is left out
//! Source       flush pipelines (Johnson et al. 2010, "Aether"): a worker holds answers back, not
//!              work; here the worker is the thread of a connection

use std::collections::VecDeque;
use std::time::Duration;

use bytes::BytesMut;
use hotrow::{Error, Horizon, Owed, SqlError};
use pgwire::messages::Message;

use crate::report::{Severity, response, sql_error};

/// Answers of a connection that may be held back.
const HELD_MAX: usize = 1024;
/// What ReadyForQuery takes.
const READY_BYTES: usize = 6;

/// Where the answer to a message ends in the buffer.
#[derive(Clone, Copy, Debug)]
struct Mark {
    end: usize,
    owed: Owed,
    /// it ends with ReadyForQuery
    is_ready: bool,
}

/// The marks of a connection's buffer.
pub(crate) struct Held {
    horizon: Horizon,
    marks: VecDeque<Mark>,
    /// what was said before the first of them, and waits for nothing
    free: usize,
}

impl Held {
    /// Nothing is held back yet.
    pub(crate) fn new(horizon: Horizon) -> Self {
        Self { horizon, marks: VecDeque::new(), free: 0 }
    }

    /// What was said up to `end` is an answer, or a part of one.
    pub(crate) fn mark(&mut self, end: usize, is_ready: bool) {
        let owed = self.horizon.take_owed();
        if self.marks.is_empty() && self.horizon.has_reached(owed) {
            self.free = end;
            return;
        }
        match self.marks.back_mut() {
            Some(last) if !last.is_ready && last.owed.covers(owed) => {
                (last.end, last.is_ready) = (end, is_ready);
            }
            _ => self.marks.push_back(Mark { end, owed, is_ready }),
        }
    }

    /// Whether anything is held back.
    pub(crate) fn is_any(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Whether answers up to several ReadyForQuery are: their client sends more before it has them.
    pub(crate) fn are_many(&self) -> bool {
        self.marks.iter().filter(|mark| mark.is_ready).nth(1).is_some()
    }

    /// Whether nothing more may be held back (I2).
    pub(crate) fn is_full(&self) -> bool {
        self.marks.len() >= HELD_MAX
    }

    /// How many bytes can be sent at once: those before the first answer that is not durable.
    pub(crate) fn durable_bytes(&mut self) -> usize {
        let Self { horizon, marks, free } = self;
        while let Some(first) = marks.pop_front_if(|first| horizon.has_reached(first.owed)) {
            *free = first.end;
        }
        *free
    }

    /// So many bytes were sent, and are gone from the buffer.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.free = self.free.saturating_sub(bytes);
        self.marks.iter_mut().for_each(|mark| mark.end -= bytes);
    }

    /// Waits until all is durable; whether the buffer may be sent, after what was lost has been
    /// replaced in it.
    pub(crate) fn wait(&mut self, buffer: &mut BytesMut) -> Sendable {
        let all = self.marks.iter().fold(Owed::default(), |all, mark| all.and(mark.owed));
        match self.horizon.wait_for(all, None) {
            Some(Err(_)) => self.replace_lost(buffer),
            _ => {
                self.marks.clear();
                Sendable::All
            }
        }
    }

    /// Waits until the first answer is durable, or lost; none when it takes longer than `at_most`.
    pub(crate) fn wait_for_first(&self, at_most: Duration) -> Option<Result<(), Error>> {
        let first = self.marks.front()?;
        match self.are_many() {
            true => self.horizon.wait_patiently(first.owed, at_most),
            false => self.horizon.wait_for(first.owed, Some(at_most)),
        }
    }

    /// The log has failed: puts errors where answers are lost (I3).
    fn replace_lost(&mut self, buffer: &mut BytesMut) -> Sendable {
        let said = std::mem::take(buffer);
        let (mut start, mut has_lost) = (self.free, false);
        buffer.extend_from_slice(&said[..start]);
        for mark in std::mem::take(&mut self.marks) {
            let answer = &said[start..mark.end];
            start = mark.end;
            let lost = self.horizon.wait_for(mark.owed, None).and_then(Result::err);
            match lost {
                None if !has_lost => buffer.extend_from_slice(answer),
                Some(error) if !has_lost => {
                    say(buffer, &sql_error(error), Severity::Error);
                    has_lost = true;
                }
                _ => {}
            }
            if has_lost && mark.is_ready {
                buffer.extend_from_slice(&answer[answer.len() - READY_BYTES..]);
                has_lost = false;
            }
        }
        match has_lost {
            // Nobody knows what is still to come of the answer.
            true => Sendable::Last,
            false => {
                buffer.extend_from_slice(&said[start..]);
                Sendable::All
            }
        }
    }
}

/// What may be done with a buffer in which nothing is held back any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sendable {
    /// it may be sent
    All,
    /// it may, and nothing behind it: the rest of an answer that was lost would come
    Last,
}

fn say(buffer: &mut BytesMut, error: &SqlError, severity: Severity) {
    // An error of ours is no message that is too long for the protocol.
    let _ = response(error, severity, "").encode(buffer);
}
