//! Numbers of sequences: drawn from blocks that a sequence's table says are given away.
//!
//! Role         `nextval` and its kin, and the numbers that calls and statements take
//!              ([`crate::drawing`]). They are drawn before a transaction begins, or between its
//!              statements, and are no part of it: who rolls back leaves a gap, and nobody waits
//!              for anybody's commit
//! Invariants   I1 a number is given only when the table of its sequence says, in a committed
//!              transaction, that it is: a crash, or a restart, loses what is left of a block, and
//!              gives nothing twice. The block's commit is durable before the number is used
//!              I2 the table of a sequence is used by nobody else, so that the transaction which
//!              takes a block waits for no other one
//!              I3 whose transaction keeps a quiet point, because it has definitions, takes blocks
//!              there, beside it ([`AtQuietPoint`]); of sequences that it has made itself, the
//!              tables say what was given when it commits
//! Source       PostgreSQL 15, "Sequence Manipulation Functions". We differ: blocks are of our own
//!              choosing, CACHE is not

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::ids::TableId;
use hotrow_base::value::Value;
use hotrow_engine::schema::Schema;
use hotrow_sql::quoted_name;
use hotrow_transaction::catalog::{Sequence, Table};
use hotrow_transaction::outcome::SqlError;
use parking_lot::MutexGuard;

use crate::context::{Context, EnteredSession};
use crate::core::Core;
use crate::error::Error;
use crate::quietly::execute_beside;
use crate::sequences::{Counter, State};

impl Context {
    /// nextval
    pub(crate) fn next_number(&self, id: TableId) -> Result<i64, Error> {
        let number = next(&self.core, id)?;
        self.drawn().note(id, number);
        Ok(number)
    }

    /// currval; 55000 before the session's first nextval.
    pub(crate) fn current_number(&self, id: TableId, name: &str) -> Result<i64, SqlError> {
        self.drawn().current(id).ok_or_else(|| {
            let message =
                format!("currval of sequence \"{name}\" is not yet defined in this session");
            SqlError::new(b"55000", message)
        })
    }

    /// lastval; 55000 before the session's first nextval.
    pub(crate) fn last_number(&self) -> Result<i64, SqlError> {
        let last = self.drawn().last();
        last.ok_or_else(|| SqlError::new(b"55000", "lastval is not yet defined in this session"))
    }

    /// setval
    pub(crate) fn set_number(
        &self,
        id: TableId,
        number: i64,
        is_called: bool,
    ) -> Result<(), Error> {
        let core = &self.core;
        let schema = core.schema.current();
        let (table, of) = sequence(&schema, id)?;
        if !(of.min..=of.max).contains(&number) {
            let name = &table.name;
            let message =
                format!("setval: value {number} is out of bounds for sequence \"{name}\"");
            return Err(
                SqlError::new(b"22003", message + &format!(" ({}..{})", of.min, of.max)).into()
            );
        }
        let counter = core.sequences.counter(id);
        let mut state = locked(&counter)?;
        store(core, (id, &table.qualified_name()), number, is_called)?;
        *state = Some(State::new(number, is_called));
        if is_called {
            self.drawn().note(id, number);
        }
        Ok(())
    }
}

/// The table of a sequence, and what is known of it.
fn sequence(schema: &Schema, id: TableId) -> Result<(&Table, Sequence), SqlError> {
    let table = schema.catalog.tables().at(id.index());
    match table.and_then(|table| Some((table, table.sequence?))) {
        Some(found) => Ok(found),
        None => Err(SqlError::new(b"42P01", "the sequence was dropped meanwhile")),
    }
}

/// The next number of a sequence.
pub(crate) fn next(core: &Arc<Core>, id: TableId) -> Result<i64, Error> {
    next_of_many(core, id, 1).map(|numbers| numbers[0])
}

/// The next numbers of a sequence (I1), as many as wanted, or fewer, but one, where it ends.
pub(crate) fn next_of_many(
    core: &Arc<Core>,
    id: TableId,
    wanted: usize,
) -> Result<Vec<i64>, Error> {
    let schema = core.schema.current();
    let (table, of) = sequence(&schema, id)?;
    let counter = core.sequences.counter(id);
    let mut state = locked(&counter)?;
    let mut now = match *state {
        Some(now) => now,
        None => stored(core, &table.qualified_name(), &of)?,
    };
    let mut numbers = Vec::with_capacity(wanted);
    while numbers.len() < wanted {
        let number = match now.next(&of, &table.name) {
            Err(_) if !numbers.is_empty() => break,
            next => next?,
        };
        if !now.has(&of, number) {
            let until = now.block_from(&of, number, wanted - numbers.len());
            store(core, (id, &table.qualified_name()), until, true)?;
            now.take_block(until);
        }
        (now.last, now.is_called) = (number, true);
        numbers.push(number);
    }
    *state = Some(now);
    Ok(numbers)
}

/// Takes back numbers that were drawn one after the other and not used, as far as nobody has drawn
/// one since.
pub(crate) fn give_back(core: &Core, id: TableId, (used, unused): (&[i64], &[i64])) {
    let schema = core.schema.current();
    let Ok((_, of)) = sequence(&schema, id) else { return };
    let counter = core.sequences.counter(id);
    let Ok(mut state) = locked(&counter) else { return };
    if let Some(now) = &mut *state {
        now.give_back(&of, used.last().copied(), unused);
    }
}

/// The last number that a sequence has given; none: there is none yet.
pub(crate) fn last(core: &Core, id: TableId) -> Option<i64> {
    let counter = core.sequences.counter(id);
    let state = locked(&counter).ok()?;
    state.filter(|state| state.is_called).map(|state| state.last)
}

/// What the table of a sequence says.
fn stored(core: &Arc<Core>, name: &str, of: &Sequence) -> Result<State, Error> {
    let text = format!("SELECT last_value, is_called FROM {} WHERE only", quoted_name(name));
    let found = match HAS_QUIET_POINT.get() {
        true => execute_beside(core, &text)?.answer?,
        false => (core.run_own)(core, &text, &[])?,
    };
    Ok(match found.iter().next() {
        Some([Value::BigInt(last), Value::Bool(is_called)]) => State::new(*last, *is_called),
        _ => State::new(of.start, false),
    })
}

/// Has the table of a sequence say how far its numbers were given away: a transaction of its own.
fn store(
    core: &Arc<Core>,
    (id, name): (TableId, &str),
    last: i64,
    is_called: bool,
) -> Result<(), Error> {
    if HAS_QUIET_POINT.get() {
        if core.sequences.note_unstored(id, last, is_called) {
            return Ok(()); // I3
        }
        let reply =
            execute_beside(core, &storing(name, &last.to_string(), &is_called.to_string()))?;
        core.wait_for_seen(reply.durable_in)?; // I1
        return reply.answer.map(drop).map_err(Error::from);
    }
    let text = storing(name, "$1", "$2");
    (core.run_own)(core, &text, &[Value::BigInt(last), Value::Bool(is_called)]).map(drop)
}

/// What has a sequence's table say how far it is.
pub(crate) fn storing(name: &str, last: &str, is_called: &str) -> String {
    let name = quoted_name(name);
    format!(
        "INSERT INTO {name} (only, last_value, is_called) VALUES (true, {last}, {is_called}) \
         ON CONFLICT (only) \
         DO UPDATE SET last_value = excluded.last_value, is_called = excluded.is_called"
    )
}

/// How far a sequence is, to be changed. Whoever waits with it for the quiet point of this thread
/// would have it wait for ever.
fn locked(counter: &Counter) -> Result<MutexGuard<'_, Option<State>>, SqlError> {
    if !HAS_QUIET_POINT.get() {
        return Ok(counter.state.lock());
    }
    counter.state.try_lock_for(PATIENCE).ok_or_else(|| {
        let message = "another session draws numbers of the sequence, and waits for this one";
        SqlError::new(b"55P03", message)
    })
}

/// How long a thread with a quiet point waits for a sequence.
const PATIENCE: Duration = Duration::from_secs(1);

thread_local! {
    /// this thread's session has a quiet point in hand
    static HAS_QUIET_POINT: Cell<bool> = const { Cell::new(false) };
}

/// Has numbers be taken at the quiet point of this thread's session, and its schema be seen.
#[must_use = "dropping it ends that"]
pub(crate) struct AtQuietPoint(
    #[expect(dead_code, reason = "what counts is its drop")] EnteredSession,
);

impl AtQuietPoint {
    pub(crate) fn begin(context: &Context) -> Self {
        HAS_QUIET_POINT.set(true);
        Self(context.enter())
    }
}

impl Drop for AtQuietPoint {
    fn drop(&mut self) {
        HAS_QUIET_POINT.set(false);
    }
}
