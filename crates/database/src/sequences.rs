//! How far sequences are, and what a session has drawn from them.
//!
//! Role         plain state of [`crate::numbers`], which has the rules
//! Concurrency  `counters` -> latched for a look-up; a counter's own lock is held while a block is
//!              taken: all who wait for it want a number of that block

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use hotrow_base::ids::TableId;
use hotrow_base::sync::Latch;
use hotrow_transaction::catalog::Sequence;
use hotrow_transaction::outcome::SqlError;

/// Numbers of the first block; each is twice the one before, up to [`BLOCK_MAX`].
const FIRST_BLOCK: i64 = 32;
const BLOCK_MAX: i64 = 1024;

/// The sequences of a database, as far as they were drawn from since it was opened.
#[derive(Default)]
pub(crate) struct Sequences {
    counters: Latch<HashMap<TableId, Arc<Counter>>>,
    /// how many numbers calls of procedures have lately taken in loops: by name, and for each draw
    taken: Latch<HashMap<String, Vec<usize>>>,
    /// of a transaction with definitions; there is one at a time
    unstored: Latch<Option<Unstored>>,
}

/// How far the numbers are given away of sequences that a transaction has made itself: their tables
/// say so when it commits.
struct Unstored {
    /// the number of the first table that is the transaction's own
    from: usize,
    numbers: BTreeMap<TableId, (i64, bool)>,
}

/// How far a sequence is; none: nobody has asked since the database was opened.
#[derive(Default)]
pub(crate) struct Counter {
    pub(crate) state: parking_lot::Mutex<Option<State>>,
}

/// How far one is.
#[derive(Clone, Copy)]
pub(crate) struct State {
    /// the last number, or the one that comes next
    pub(crate) last: i64,
    /// `last` was given
    pub(crate) is_called: bool,
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

    /// The number that the statement has drawn when it was compiled before.
    pub(crate) fn drawn_before(&mut self, sequence: TableId) -> Option<i64> {
        let (_, number) = self.before.pop_front_if(|(of, _)| *of == sequence)?;
        Some(number)
    }

    /// Notes a number that was drawn.
    pub(crate) fn note(&mut self, sequence: TableId, number: i64) {
        self.by_sequence.insert(sequence, number);
        self.last = Some(sequence);
    }

    /// Notes one that the statement would draw again.
    pub(crate) fn note_in_statement(&mut self, sequence: TableId, number: i64) {
        self.note(sequence, number);
        self.now.push((sequence, number));
    }

    /// The last number of a sequence.
    pub(crate) fn current(&self, sequence: TableId) -> Option<i64> {
        self.by_sequence.get(&sequence).copied()
    }

    /// The last number of any sequence.
    pub(crate) fn last(&self) -> Option<i64> {
        self.current(self.last?)
    }

    /// DISCARD SEQUENCES
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl State {
    /// Without a block in hand.
    pub(crate) fn new(last: i64, is_called: bool) -> Self {
        Self { last, is_called, until: None, block: FIRST_BLOCK }
    }

    /// The number behind the last one; fails with 2200H at the end.
    pub(crate) fn next(&self, of: &Sequence, name: &str) -> Result<i64, SqlError> {
        if !self.is_called {
            return Ok(self.last);
        }
        of.next_after(Some(self.last), name)
    }

    /// Whether a number is of the block in hand, or begins the next one.
    pub(crate) fn has(&self, of: &Sequence, number: i64) -> bool {
        let has_wrapped = self.is_called && (number < self.last) == (of.increment > 0);
        let in_block = |until| if of.increment > 0 { number <= until } else { number >= until };
        !has_wrapped && self.until.is_some_and(in_block)
    }

    /// Takes a block that ends there; the next one is twice as long.
    pub(crate) fn take_block(&mut self, until: i64) {
        self.until = Some(until);
        self.block = BLOCK_MAX.min(self.block * 2);
    }

    /// Takes back the last of the numbers that were not used, those that follow one on the other,
    /// if no number was drawn behind them, and none was set. `before`: the last one that was used.
    pub(crate) fn give_back(&mut self, of: &Sequence, before: Option<i64>, unused: &[i64]) {
        let is_last = self.is_called && self.until.is_some() && unused.last() == Some(&self.last);
        if !is_last {
            return; // somebody has drawn behind them, or there are none
        }
        let follows =
            |last: i64, next: i64| Self::new(last, true).next(of, "").is_ok_and(|n| n == next);
        let gap = unused.windows(2).rposition(|pair| !follows(pair[0], pair[1]));
        let first = gap.map_or(0, |gap| gap + 1);
        let known = if first == 0 { before } else { Some(unused[first - 1]) };
        let number = unused[first];
        // What came before it, so that the sequence's last number is told as it was.
        let before = number.checked_sub(of.increment).filter(|_| number != of.start);
        let before = known.or(before).filter(|before| follows(*before, number));
        (self.last, self.is_called) = before.map_or((number, false), |before| (before, true));
    }

    /// The end of a block that begins with a number, and has as many as are wanted at once.
    pub(crate) fn block_from(&self, of: &Sequence, number: i64, wanted: usize) -> i64 {
        let length = self.block.max(i64::try_from(wanted).unwrap_or(i64::MAX));
        let more = of.increment.saturating_mul(length - 1);
        let whole = number.saturating_add(more);
        if of.increment > 0 { whole.min(of.max) } else { whole.max(of.min) }
    }
}

impl Sequences {
    /// How many numbers a call of this procedure takes in loops, as far as others tell.
    pub(crate) fn taken_by(&self, procedure: &str, draw: usize) -> Option<usize> {
        self.taken.lock().get(procedure)?.get(draw).copied()
    }

    /// Notes how many a call took. Fewer than others took count little: most calls are to have
    /// enough, and what they leave over may be lost.
    pub(crate) fn note_taken(&self, procedure: &str, draw: usize, count: usize) {
        if procedure.is_empty() {
            return; // a statement of its own
        }
        let mut taken = self.taken.lock();
        if !taken.contains_key(procedure) {
            taken.insert(procedure.to_owned(), Vec::new());
        }
        let Some(known) = taken.get_mut(procedure) else { return };
        if known.len() <= draw {
            known.resize(draw + 1, count);
        }
        let known = &mut known[draw];
        *known = count.max(*known - known.saturating_sub(count).div_ceil(8));
    }

    /// A transaction with definitions begins; tables from this number on are its own.
    pub(crate) fn begin_unstored(&self, from: usize) {
        *self.unstored.lock() = Some(Unstored { from, numbers: BTreeMap::new() });
    }

    /// It has ended.
    pub(crate) fn end_unstored(&self) {
        *self.unstored.lock() = None;
    }

    /// Notes how far the numbers of a sequence are given away, and whether the last one is, if the
    /// sequence is the transaction's own; whether it is.
    pub(crate) fn note_unstored(&self, sequence: TableId, last: i64, is_called: bool) -> bool {
        let mut unstored = self.unstored.lock();
        let own = unstored.as_mut().filter(|unstored| sequence.index() >= unstored.from);
        own.map(|own| own.numbers.insert(sequence, (last, is_called))).is_some()
    }

    /// What is to be stored before the transaction commits.
    pub(crate) fn take_unstored(&self) -> BTreeMap<TableId, (i64, bool)> {
        let mut unstored = self.unstored.lock();
        unstored.as_mut().map(|unstored| std::mem::take(&mut unstored.numbers)).unwrap_or_default()
    }

    /// Forgets sequences from this number on: there are none, and others may come.
    pub(crate) fn forget_from(&self, tables: usize) {
        self.counters.lock().retain(|sequence, _| sequence.index() < tables);
        if let Some(unstored) = &mut *self.unstored.lock() {
            unstored.numbers.retain(|sequence, _| sequence.index() < tables);
        }
    }

    /// How far a sequence is.
    pub(crate) fn counter(&self, sequence: TableId) -> Arc<Counter> {
        Arc::clone(self.counters.lock().entry(sequence).or_default())
    }
}
