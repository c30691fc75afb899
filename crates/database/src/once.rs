//! Calls that take effect once: how each call with an idempotency key ended, by key.
//!
//! Role         a session asks before it sends a call; whoever ends the call tells; recovery and
//!              checkpoints fill it again, so that it outlives the process as its calls do
//! States       a key: (unknown) -> running -> ended -> (forgotten, when the window is past or too
//!              many keys are younger); running -> (unknown), when the call was not run after all
//! Invariants   I1 of two calls with one key at most one runs; the other gets its outcome
//!              I2 an ended key is told inside the gate, in the same turn as the commit: at a quiet
//!                 point every committed call's key has its outcome, so a checkpoint misses none
//!              I3 the outcomes kept are bounded in number
//! Concurrency  a shard -> under its latch

pub(crate) mod codec;

use std::collections::{HashMap, VecDeque};

use hotrow_base::clock::Ticks;
use hotrow_base::interrupt::{Interrupt, Interruption, LOOK_EVERY};
use hotrow_base::key;
use hotrow_base::sync::{EventCount, Latch};
use hotrow_base::varint::{ByteReader, put, put_bytes, put_signed};
use hotrow_engine::journal::command;
use hotrow_transaction::invocation::Arguments;
use hotrow_transaction::outcome::{NUMBERS_SPENT, SqlError};
use hotrow_transaction::program::Procedure;

use crate::config::Config;
use crate::error::advised;
use crate::reply::Reply;
use crate::rows::Rows;

/// The longest key, in bytes.
pub(crate) const KEY_BYTES_MAX: usize = 128;
const SHARDS: usize = 16;

/// What a session may do with a call.
#[derive(Debug)]
pub(crate) enum Claim {
    /// run it, and tell how it ended
    Run,
    /// nothing: it has ended so
    Ended(Reply),
    /// wait: it runs
    Running,
}

/// How a call ended, and which call it was.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// checksum of procedure and arguments
    pub(crate) call: u32,
    pub(crate) ended_us: i64,
    pub(crate) answer: Result<Rows, Box<SqlError>>,
    pub(crate) durable_in: u64,
}

#[derive(Debug)]
enum State {
    Running { call: u32 },
    Ended(Outcome),
}

impl State {
    fn call(&self) -> u32 {
        match self {
            Self::Running { call } | Self::Ended(Outcome { call, .. }) => *call,
        }
    }
}

#[derive(Default, Debug)]
struct Shard {
    by_key: HashMap<Box<[u8]>, State>,
    /// ended keys, in the order of their ends
    ended: VecDeque<(i64, Box<[u8]>)>,
}

/// By key, in shards; kept for a window of time, and shared by all sessions.
#[derive(Debug)]
pub(crate) struct Outcomes {
    shards: Box<[Latch<Shard>]>,
    keys_max: usize,
    window_us: i64,
    changed: EventCount,
}

impl Outcomes {
    /// Keeps the outcomes of `keys_max` keys, each for `window_us` microseconds.
    pub(crate) fn new(keys_max: usize, window_us: i64) -> Self {
        let shards = (0..SHARDS).map(|_| Latch::default()).collect();
        Self { shards, keys_max, window_us, changed: EventCount::new() }
    }

    /// As many, and for as long, as a database is to keep.
    pub(crate) fn of(config: &Config) -> Self {
        let window_us = i64::try_from(config.key_window.as_micros()).unwrap_or(i64::MAX / 2);
        Self::new(config.keys_max, window_us.min(i64::MAX / 2))
    }

    /// Asks whether a call may run.
    ///
    /// # Errors
    ///
    /// 22023 for a key that is empty, too long, or was used for another call.
    pub(crate) fn claim(&self, key: &[u8], call: u32, now_us: i64) -> Result<Claim, SqlError> {
        let mut shard = self.shard(key).lock();
        shard.forget(self.keys_max.div_ceil(SHARDS), now_us - self.window_us);
        match shard.by_key.get(key) {
            Some(state) if state.call() != call => Err(other_call(key)),
            Some(State::Running { .. }) => Ok(Claim::Running),
            Some(State::Ended(Outcome { answer, durable_in, .. })) => {
                Ok(Claim::Ended(Reply::new(answer.clone(), *durable_in)))
            }
            None => {
                shard.by_key.insert(key.into(), State::Running { call });
                Ok(Claim::Run)
            }
        }
    }

    /// Tells how a call ended. What it said is heard by who had it run, and by nobody who asks
    /// again.
    pub(crate) fn end(&self, key: &[u8], mut outcome: Outcome) {
        outcome.answer = outcome.answer.map(Rows::untold).map_err(|error| {
            let error = SqlError { notices: Vec::new(), ..*error };
            Box::new(error)
        });
        let mut shard = self.shard(key).lock();
        shard.ended.push_back((outcome.ended_us, key.into()));
        shard.by_key.insert(key.into(), State::Ended(outcome));
        drop(shard);
        self.changed.notify_all();
    }

    /// Gives a key back if its call was not run.
    pub(crate) fn release(&self, key: &[u8]) {
        let mut shard = self.shard(key).lock();
        if matches!(shard.by_key.get(key), Some(State::Running { .. })) {
            shard.by_key.remove(key);
            drop(shard);
            self.changed.notify_all();
        }
    }

    /// Waits while the key's call runs.
    ///
    /// # Errors
    ///
    /// Whoever waits was interrupted.
    pub(crate) fn wait(&self, key: &[u8], interrupt: &Interrupt) -> Result<(), Interruption> {
        let is_over = || {
            let shard = self.shard(key).lock();
            (!matches!(shard.by_key.get(key), Some(State::Running { .. }))).then_some(())
        };
        loop {
            let look = Ticks::from_now(LOOK_EVERY);
            if self.changed.wait_for(Some(look), is_over).is_some() {
                return Ok(());
            }
            interrupt.check()?;
        }
    }

    /// Visits all outcomes, at a quiet point.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&[u8], &Outcome)) {
        for shard in &self.shards {
            let shard = shard.lock();
            for (_, key) in &shard.ended {
                if let Some(State::Ended(outcome)) = shard.by_key.get(key) {
                    visit(key, outcome);
                }
            }
        }
    }

    fn shard(&self, key: &[u8]) -> &Latch<Shard> {
        // High bits: the maps use others.
        &self.shards[(key::hash(key) >> 60) as usize % SHARDS]
    }
}

impl Shard {
    /// Forgets outcomes older than `oldest_us`, and the oldest of more than `keys_max`.
    fn forget(&mut self, keys_max: usize, oldest_us: i64) {
        while let Some((ended_us, _)) = self.ended.front() {
            if *ended_us >= oldest_us && self.ended.len() <= keys_max {
                return;
            }
            if let Some((_, key)) = self.ended.pop_front() {
                self.by_key.remove(&key);
            }
        }
    }
}

/// What tells a call from others under one key: a checksum of procedure and arguments, the same
/// after every restart.
pub(crate) fn call_checksum(procedure: &Procedure, arguments: &Arguments) -> u32 {
    let mut bytes = procedure.name.as_bytes().to_vec();
    bytes.push(0);
    command::encode_arguments(&mut bytes, arguments, procedure.parameters());
    crc32c::crc32c(&bytes)
}

/// A log entry: a keyed call that was refused.
///
/// ```text
/// key behind its length │ call varint │ ended signed varint │ error
/// ```
pub(crate) fn encode_refusal(
    out: &mut Vec<u8>,
    key: &[u8],
    (call, ended_us): (u32, i64),
    error: &SqlError,
) {
    put_bytes(out, key);
    put(out, call.into());
    put_signed(out, ended_us);
    codec::encode_error(out, error);
}

/// Reads what [`encode_refusal`] wrote.
pub(crate) fn decode_refusal(body: &[u8]) -> Option<(&[u8], Outcome)> {
    let mut reader = ByteReader::new(body);
    let key = reader.bytes()?;
    let call = u32::try_from(reader.varint()?).ok()?;
    let ended_us = reader.signed()?;
    let answer = Err(Box::new(codec::decode_error(&mut reader)?));
    reader.is_empty().then_some((key, Outcome { call, ended_us, answer, durable_in: 0 }))
}

/// Checks a key.
pub(crate) fn check_key(key: &str) -> Result<(), SqlError> {
    if (1..=KEY_BYTES_MAX).contains(&key.len()) {
        return Ok(());
    }
    let message = format!("an idempotency key has 1 to {KEY_BYTES_MAX} bytes, not {}", key.len());
    Err(advised(b"22023", message, "A UUID or an order number will do."))
}

fn other_call(key: &[u8]) -> SqlError {
    let key = String::from_utf8_lossy(key);
    let message = format!("the idempotency key \"{key}\" was used for another call");
    advised(b"22023", message, "A key belongs to one procedure with one list of arguments.")
}

/// Whether an error is the outcome of a call, rather than a reason for which it was not run: of
/// those a repetition may end in another way.
pub(crate) fn is_outcome(error: &SqlError) -> bool {
    let class = &error.sqlstate[..2];
    if error.sqlstate == NUMBERS_SPENT {
        return false; // it is made again, with more numbers
    }
    // 42883: the procedure was dropped before the call ran.
    !matches!(class, b"08" | b"53" | b"57" | b"58" | b"XX") && error.sqlstate != *b"42883"
}

#[cfg(test)]
mod tests;
