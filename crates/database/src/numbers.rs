//! Numbers of sequences: drawn from blocks that a sequence's table says are given away.
//!
//! Role         `nextval` and its kin, and the numbers that calls and statements take as parameters
//!              behind their own ([`Procedure::draws`]). They are drawn before a transaction
//!              begins, or between its statements, and are no part of it: who rolls back leaves a
//!              gap, and nobody waits for anybody's commit
//! Invariants   I1 a number is given only when the table of its sequence says, in a committed
//!              transaction, that it is: a crash, or a restart, loses what is left of a block, and
//!              gives nothing twice. The block's commit is durable before the number is used
//!              I2 the table of a sequence is used by nobody else, so that the transaction which
//!              takes a block waits for no other one
//! Concurrency  `counters` -> latched for a look-up; a counter's own lock is held while a block is
//!              taken: all who wait for it want a number of that block
//! Source       PostgreSQL 15, "Sequence Manipulation Functions". We differ: blocks are of our own
//!              choosing, CACHE is not

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use hotrow_base::datum::Datum;
use hotrow_base::ids::TableId;
use hotrow_base::sync::Latch;
use hotrow_base::value::Value;
use hotrow_engine::schema::Schema;
use hotrow_sql::quoted;
use hotrow_transaction::catalog::{Sequence, Table};
use hotrow_transaction::invocation::Arguments;
use hotrow_transaction::outcome::SqlError;
use hotrow_transaction::program::Procedure;

use crate::database::Inner;
use crate::error::{Error, advised};
use crate::session::Session;

/// Numbers of the first block; each is twice the one before, up to [`BLOCK_MAX`].
const FIRST_BLOCK: i64 = 32;
const BLOCK_MAX: i64 = 1024;

/// The sequences of a database, as far as they were drawn from since it was opened.
#[derive(Default)]
pub(crate) struct Sequences {
    counters: Latch<HashMap<TableId, Arc<Counter>>>,
}

/// How far a sequence is; none: nobody has asked since the database was opened.
#[derive(Default)]
struct Counter {
    state: parking_lot::Mutex<Option<State>>,
}

#[derive(Clone, Copy)]
struct State {
    /// the last number, or the one that comes next
    last: i64,
    /// `last` was given
    is_called: bool,
    /// the end of the block in hand; none: there is no block
    until: Option<i64>,
    block: i64,
}

/// What a session has drawn.
#[derive(Default)]
pub(crate) struct Drawn {
    by_sequence: HashMap<TableId, i64>,
    last: Option<TableId>,
    /// by the statement, since it was compiled last
    now: Vec<(TableId, i64)>,
    /// by the statement before that: what it draws first
    before: VecDeque<(TableId, i64)>,
}

impl Drawn {
    /// A statement begins.
    pub(crate) fn begin(&mut self) {
        self.now.clear();
        self.before.clear();
    }

    /// It begins anew, compiled for another schema, and draws the same numbers.
    pub(crate) fn begin_again(&mut self) {
        self.before.extend(self.now.drain(..));
    }

    fn drawn_before(&mut self, sequence: TableId) -> Option<i64> {
        let (_, number) = self.before.pop_front_if(|(of, _)| *of == sequence)?;
        Some(number)
    }

    fn note(&mut self, sequence: TableId, number: i64) {
        self.by_sequence.insert(sequence, number);
        self.last = Some(sequence);
    }

    /// DISCARD SEQUENCES
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl State {
    /// The number behind the last one; fails with 2200H at the end.
    fn next(&self, of: &Sequence, name: &str) -> Result<i64, SqlError> {
        if !self.is_called {
            return Ok(self.last);
        }
        let next = self.last.checked_add(of.increment);
        match next.filter(|next| (of.min..=of.max).contains(next)) {
            Some(next) => Ok(next),
            None if of.cycle => Ok(if of.increment > 0 { of.min } else { of.max }),
            None => {
                let (end, value) =
                    if of.increment > 0 { ("maximum", of.max) } else { ("minimum", of.min) };
                let message =
                    format!("nextval: reached {end} value of sequence \"{name}\" ({value})");
                Err(advised(b"2200H", message, "Have it CYCLE, or begin anew with setval."))
            }
        }
    }

    /// Whether a number is of the block in hand, or begins the next one.
    fn has(&self, of: &Sequence, number: i64) -> bool {
        let has_wrapped = self.is_called && (number < self.last) == (of.increment > 0);
        let in_block = |until| if of.increment > 0 { number <= until } else { number >= until };
        !has_wrapped && self.until.is_some_and(in_block)
    }

    /// The end of a block that begins with a number.
    fn block_from(&self, of: &Sequence, number: i64) -> i64 {
        let more = of.increment.saturating_mul(self.block - 1);
        let whole = number.saturating_add(more);
        if of.increment > 0 { whole.min(of.max) } else { whole.max(of.min) }
    }
}

impl Sequences {
    fn counter(&self, sequence: TableId) -> Arc<Counter> {
        Arc::clone(self.counters.lock().entry(sequence).or_default())
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

impl Session {
    /// Puts the numbers that a procedure draws behind its arguments.
    pub(crate) fn draw_for(
        &self,
        procedure: &Procedure,
        arguments: &mut Arguments,
    ) -> Result<(), Error> {
        for &sequence in &procedure.draws {
            let before = self.drawn().drawn_before(sequence);
            let number = before.map_or_else(|| next(self.shared(), sequence), Ok)?;
            let mut drawn = self.drawn();
            drawn.note(sequence, number);
            drawn.now.push((sequence, number));
            arguments.datums.push(Datum::int(number));
        }
        Ok(())
    }

    /// nextval
    pub(crate) fn next_number(&self, id: TableId) -> Result<i64, Error> {
        let number = next(self.shared(), id)?;
        self.drawn().note(id, number);
        Ok(number)
    }

    /// currval; 55000 before the session's first nextval.
    pub(crate) fn current_number(&self, id: TableId, name: &str) -> Result<i64, SqlError> {
        let drawn = self.drawn();
        drawn.by_sequence.get(&id).copied().ok_or_else(|| {
            let message =
                format!("currval of sequence \"{name}\" is not yet defined in this session");
            SqlError::new(b"55000", message)
        })
    }

    /// lastval; 55000 before the session's first nextval.
    pub(crate) fn last_number(&self) -> Result<i64, SqlError> {
        let drawn = self.drawn();
        let last = drawn.last.and_then(|id| drawn.by_sequence.get(&id).copied());
        last.ok_or_else(|| SqlError::new(b"55000", "lastval is not yet defined in this session"))
    }

    /// setval
    pub(crate) fn set_number(
        &self,
        id: TableId,
        number: i64,
        is_called: bool,
    ) -> Result<(), Error> {
        let inner = self.shared();
        let schema = inner.schema.current();
        let (table, of) = sequence(&schema, id)?;
        if !(of.min..=of.max).contains(&number) {
            let name = &table.name;
            let message =
                format!("setval: value {number} is out of bounds for sequence \"{name}\"");
            return Err(
                SqlError::new(b"22003", message + &format!(" ({}..{})", of.min, of.max)).into()
            );
        }
        let counter = inner.sequences.counter(id);
        let mut state = counter.state.lock();
        store(inner, &table.name, number, is_called)?;
        *state = Some(State { last: number, is_called, until: None, block: FIRST_BLOCK });
        if is_called {
            self.drawn().note(id, number);
        }
        Ok(())
    }
}

/// Puts the numbers that a procedure draws behind its arguments.
pub(crate) fn draw(
    inner: &Arc<Inner>,
    procedure: &Procedure,
    arguments: &mut Arguments,
) -> Result<(), Error> {
    for &id in &procedure.draws {
        arguments.datums.push(Datum::int(next(inner, id)?));
    }
    Ok(())
}

/// The next number of a sequence (I1).
fn next(inner: &Arc<Inner>, id: TableId) -> Result<i64, Error> {
    let schema = inner.schema.current();
    let (table, of) = sequence(&schema, id)?;
    let counter = inner.sequences.counter(id);
    let mut state = counter.state.lock();
    let mut now = match *state {
        Some(now) => now,
        None => stored(inner, &table.name, &of)?,
    };
    let number = now.next(&of, &table.name)?;
    if !now.has(&of, number) {
        let until = now.block_from(&of, number);
        store(inner, &table.name, until, true)?;
        now.until = Some(until);
        now.block = BLOCK_MAX.min(now.block * 2);
    }
    (now.last, now.is_called) = (number, true);
    *state = Some(now);
    Ok(number)
}

/// The last number that a sequence has given; none: there is none yet.
pub(crate) fn last(inner: &Inner, id: TableId) -> Option<i64> {
    let counter = inner.sequences.counter(id);
    let state = counter.state.lock();
    state.filter(|state| state.is_called).map(|state| state.last)
}

/// What the table of a sequence says.
fn stored(inner: &Arc<Inner>, name: &str, of: &Sequence) -> Result<State, Error> {
    let text = format!("SELECT last_value, is_called FROM {} WHERE only", quoted(name));
    let session = Session::new(Arc::clone(inner));
    let found = session.execute_prepared(&session.prepare_own(&text)?, &[])?.rows;
    let begun = State { last: of.start, is_called: false, until: None, block: FIRST_BLOCK };
    Ok(match found.iter().next() {
        Some([Value::BigInt(last), Value::Bool(is_called)]) => {
            State { last: *last, is_called: *is_called, ..begun }
        }
        _ => begun,
    })
}

/// Has the table of a sequence say how far its numbers were given away: a transaction of its own.
fn store(inner: &Arc<Inner>, name: &str, last: i64, is_called: bool) -> Result<(), Error> {
    let text = format!(
        "INSERT INTO {} (only, last_value, is_called) VALUES (true, $1, $2) ON CONFLICT (only) \
         DO UPDATE SET last_value = excluded.last_value, is_called = excluded.is_called",
        quoted(name)
    );
    let session = Session::new(Arc::clone(inner));
    let store = session.prepare_own(&text)?;
    session.execute_prepared(&store, &[Value::BigInt(last), Value::Bool(is_called)]).map(drop)
}
