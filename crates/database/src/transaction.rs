//! Transactions of several statements, as a session sees them: PostgreSQL's states.
//!
//! Role         what BEGIN, COMMIT and the statements between them do; the engine's part is
//!              [`hotrow_engine::interactive`]
//! States       idle -> open -> idle; open -> failed, by any error -> idle, by ROLLBACK (which
//!              COMMIT is then, too); failed -> open, by ROLLBACK TO a savepoint
//! Invariants   I1 a failed transaction without savepoints holds nothing any more
//!              I2 an error of the whole transaction (a deadlock, a time-out, a definition that
//!              came) takes the savepoints with it
//!              I3 what a transaction of BEGIN has done is committed by COMMIT alone, but for what
//!              it has read, and rows of its own temporary tables, before its first definition on
//!              an engine that locks as it goes: there it goes on as another transaction from then
//!              on

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock;
use hotrow_base::ids::TableId;
use hotrow_base::memory::MemoryAccount;
use hotrow_engine::interactive::{Failure, InteractiveTransaction, SchemaCompanion, Statement};
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::Quiet;
use hotrow_engine::statistics::CallTime;
use hotrow_sql::TransactionAccess;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Notice, SqlError};
use hotrow_transaction::program::Place;
use hotrow_transaction::program::RowLocks;

use crate::deferred::Deferred;
use crate::error::{advised, changing};
use crate::savepoints::SavepointNames;

/// Whether a session is in a transaction of several statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionState {
    /// it is not: each statement and call is a transaction
    Idle,
    /// it is
    Open,
    /// it is, and an error has ended it: only ROLLBACK, or ROLLBACK TO a savepoint, goes on
    Failed,
}

/// An open transaction of a session.
pub(crate) struct OpenTransaction {
    engine: Box<dyn InteractiveTransaction>,
    /// numbered as the engine does it
    savepoints: SavepointNames,
    state: State,
    extent: Extent,
    /// tables whose rows it may have changed since it last made way for a definition
    written: Vec<TableId>,
    /// a statement has run whose text is known only then: nobody knows what it has changed
    has_run_texts: bool,
    /// tables that it has made
    created: Vec<TableId>,
    /// constraints that are checked later
    pub(crate) deferred: Deferred,
    pub(crate) is_read_only: bool,
    /// whether it was at each savepoint
    was_read_only: Vec<bool>,
    /// what `now()` gives: the time of BEGIN
    pub(crate) now_us: i64,
}

/// What there is to do about transactions that only read.
const WRITE_OTHERWISE: &str = "Write BEGIN READ WRITE, or SET default_transaction_read_only = off.";

/// What draws numbers of sequences, as it is told.
pub(crate) const NEXT_NUMBER: &str = "nextval()";

/// Of a statement that a transaction which only reads cannot have.
pub(crate) fn read_only(what: &str) -> SqlError {
    let message = format!("cannot execute {what} in a read-only transaction");
    advised(b"25006", message, WRITE_OTHERWISE)
}

/// Of a statement that changes rows, in such a transaction.
pub(crate) fn only_reads() -> SqlError {
    advised(b"25006", "cannot write in a read-only transaction".to_owned(), WRITE_OTHERWISE)
}

/// What a transaction of several statements spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// from BEGIN to COMMIT
    Block,
    /// a batch, or what takes several statements
    Batch,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    /// a statement failed, and is undone
    Failed,
    /// nothing is left to go back to
    Over,
}

/// Where a statement of several parts began.
#[derive(Clone, Copy, Default)]
pub(crate) struct Began {
    savepoint: usize,
    /// so many events that triggers fire for later were told before
    told: u64,
}

/// How a transaction ended that was asked to commit.
pub(crate) enum Ended {
    /// durable in this epoch
    Committed(u64),
    /// it had failed before
    RolledBack,
}

impl OpenTransaction {
    pub(crate) fn new(
        engine: Box<dyn InteractiveTransaction>,
        extent: Extent,
        is_read_only: bool,
        memory: &Arc<MemoryAccount>,
    ) -> Self {
        Self {
            engine,
            savepoints: SavepointNames::default(),
            state: State::Open,
            extent,
            written: Vec::new(),
            has_run_texts: false,
            created: Vec::new(),
            deferred: Deferred::new(memory),
            is_read_only,
            was_read_only: Vec::new(),
            now_us: clock::now_us(),
        }
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// BEGIN inside; whether it is a block already.
    pub(crate) fn begin_block(&mut self, access: TransactionAccess) -> bool {
        if self.extent == Extent::Block {
            return true;
        }
        self.extent = Extent::Block;
        self.is_read_only |= access == TransactionAccess::ReadOnly;
        self.engine.expect_more(!self.is_read_only);
        false
    }

    /// Fails with 25P02 or 25006 where no definition can be made.
    pub(crate) fn refuse_definition(&self, what: &str) -> Result<(), Box<SqlError>> {
        self.refuse_failed()?;
        if self.is_read_only {
            return Err(Box::new(read_only(what)));
        }
        Ok(())
    }

    /// Whether definitions can be part of it as it is.
    pub(crate) fn can_define(&self) -> bool {
        self.engine.can_define()
    }

    /// Whether it has definitions.
    pub(crate) fn defines(&self) -> bool {
        self.engine.defines()
    }

    /// Has definitions be part of it from here on.
    pub(crate) fn begin_definitions(
        &mut self,
        companion: Box<dyn SchemaCompanion>,
    ) -> Result<(), Box<SqlError>> {
        self.engine.begin_definitions(companion).map_err(|failure| self.failed_by(failure))
    }

    /// Makes a definition in it.
    pub(crate) fn define(
        &mut self,
        entry: &TextEntry<'_>,
        put_in_force: &mut dyn FnMut(&Quiet<'_>) -> Result<(), SqlError>,
    ) -> Result<(), Box<SqlError>> {
        self.engine.define(entry, put_in_force).map_err(|failure| self.failed_by(failure))
    }

    /// See [`InteractiveTransaction::take_up`].
    pub(crate) fn take_up(&mut self) -> Result<(), Box<SqlError>> {
        match self.state {
            State::Over => Ok(()), // which is told elsewhere
            State::Open | State::Failed => self.engine.take_up().map_err(|error| self.over(error)),
        }
    }

    /// See [`InteractiveTransaction::put_down`].
    pub(crate) fn put_down(&mut self) {
        self.engine.put_down();
    }

    /// Has definitions be part of it from here on, by going on as a transaction of another kind.
    pub(crate) fn begin_definitions_as(
        &mut self,
        mut engine: Box<dyn InteractiveTransaction>,
        companion: Box<dyn SchemaCompanion>,
    ) -> Result<(), Box<SqlError>> {
        let taken = engine.take_over(&mut *self.engine, companion);
        taken.map_err(|failure| self.failed_by(failure))?;
        self.engine = engine;
        Ok(())
    }

    fn failed_by(&mut self, failure: Failure) -> Box<SqlError> {
        match failure {
            Failure::Statement(error) => error,
            Failure::Ended(error) => self.over(error),
            Failure::Outdated => Box::new(changing()),
        }
    }

    /// Commits what was done so far and goes on behind it, so that a definition can be made which
    /// is no part of it; the epoch in which that is durable. Fails with 25001 where more went with
    /// it than rows of tables that the transaction has made, which nobody can have counted on yet:
    /// I3.
    pub(crate) fn make_way(&mut self, what: &str) -> Result<u64, Box<SqlError>> {
        self.refuse_definition(what)?;
        let is_own = |table: &TableId| self.created.contains(table);
        let is_kept_by_savepoint = !self.written.is_empty() && !self.savepoints.is_empty();
        if is_kept_by_savepoint || !self.written.iter().all(is_own) || self.has_run_texts {
            let message =
                format!("{what} cannot run in a transaction that has changed rows before");
            let hint = "What was done before would be committed with it: write COMMIT first, or \
                        begin with the definitions.";
            return Err(Box::new(advised(b"25001", message, hint)));
        }
        let durable_in = self.engine.commit().map_err(|error| self.over(error))?;
        self.written.clear();
        self.has_run_texts = false;
        self.engine.begin_again();
        for _ in 0..self.savepoints.len() {
            self.engine.savepoint().map_err(|error| self.over(error))?;
        }
        Ok(durable_in)
    }

    /// Notes that tables were made that go with the session.
    pub(crate) fn has_created(&mut self, created: impl Iterator<Item = TableId>) {
        self.created.extend(created);
    }

    pub(crate) fn state(&self) -> TransactionState {
        match self.state {
            State::Open => TransactionState::Open,
            State::Failed | State::Over => TransactionState::Failed,
        }
    }

    /// See [`InteractiveTransaction::seen`].
    pub(crate) fn seen(&self) -> u64 {
        self.engine.seen()
    }

    /// See [`InteractiveTransaction::limit_idle`].
    pub(crate) fn limit_idle(&mut self, most: Option<Duration>) {
        self.engine.limit_idle(most);
    }

    /// Notes that something failed, which has changed nothing.
    pub(crate) fn fail(&mut self) {
        if self.state == State::Open {
            self.state = State::Failed;
        }
        if self.savepoints.is_empty() && self.state == State::Failed {
            self.engine.rollback(); // I1
            self.state = State::Over;
        }
    }

    /// Fails with 25P02 in a transaction that has failed.
    pub(crate) fn refuse_failed(&self) -> Result<(), SqlError> {
        match self.state {
            State::Open => Ok(()),
            State::Failed | State::Over => Err(failed()),
        }
    }

    /// Runs a statement; none when it must be compiled again.
    pub(crate) fn execute(
        &mut self,
        statement: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<Option<()>, Box<SqlError>> {
        if self.is_read_only && statement.program().row_locks != RowLocks::Shared {
            return Err(Box::new(read_only("SELECT FOR UPDATE")));
        }
        if self.is_read_only && statement.program().has_dynamic() {
            let message = "EXECUTE in a read-only transaction of a text that is known only then";
            return Err(Box::new(advised(b"25006", message.to_owned(), WRITE_OTHERWISE)));
        }
        for (table, _) in statement.uses.iter().filter(|(_, usage)| usage.is_written()) {
            if self.is_read_only {
                return Err(Box::new(only_reads()));
            }
            if !self.written.contains(table) {
                self.written.push(*table);
            }
        }
        self.has_run_texts |= statement.program().has_dynamic();
        match self.engine.execute(statement, invocation, frame) {
            Ok(()) => {
                self.deferred.note(frame.take_pending(), self.savepoints.len())?;
                Ok(Some(()))
            }
            Err(Failure::Outdated) => Ok(None),
            Err(Failure::Statement(error)) => Err(error),
            Err(Failure::Ended(error)) => Err(self.over(error)),
        }
    }

    /// See [`InteractiveTransaction::hold`].
    pub(crate) fn hold(&mut self) -> bool {
        self.engine.hold()
    }

    /// See [`InteractiveTransaction::let_go`].
    pub(crate) fn let_go(&mut self) {
        self.engine.let_go();
    }

    /// See [`InteractiveTransaction::defer`].
    pub(crate) fn defer(&mut self) -> bool {
        self.engine.defer()
    }

    /// Runs what was noted; the number of the change that fails comes with its error.
    pub(crate) fn settle(&mut self) -> Result<(), (usize, Box<SqlError>)> {
        self.engine.settle().map_err(|(at, failure)| (at, self.failed_by(failure)))
    }

    /// Where the time of the last statement went.
    pub(crate) fn time(&self) -> CallTime {
        self.engine.time()
    }

    /// COMMIT
    pub(crate) fn commit(mut self) -> Result<Ended, Box<SqlError>> {
        match self.state {
            State::Open => self.engine.commit().map(Ended::Committed),
            State::Failed | State::Over => Ok(Ended::RolledBack),
        }
    }

    /// SAVEPOINT
    pub(crate) fn savepoint(&mut self, name: String) -> Result<(), Box<SqlError>> {
        let number = self.engine.savepoint().map_err(|error| self.over(error))?;
        debug_assert_eq!(number, self.savepoints.len(), "both sides count alike");
        self.savepoints.push(name);
        self.was_read_only.push(self.is_read_only);
        Ok(())
    }

    /// Begins a statement of several parts.
    pub(crate) fn begin_part(&mut self) -> Result<Began, Box<SqlError>> {
        let told = self.deferred.told();
        let began = self.engine.savepoint().map(|savepoint| Began { savepoint, told });
        began.map_err(|error| self.over(error))
    }

    /// Ends it: what its parts have done stays, or is taken back.
    pub(crate) fn end_part(&mut self, began: Began, stays: bool) {
        if self.state == State::Over {
            return; // nothing is left of the whole transaction
        }
        if !stays {
            self.deferred.forget_behind(began.told);
        }
        let began = began.savepoint;
        if !stays && let Err(error) = self.engine.rollback_to(began) {
            self.over(error);
            return;
        }
        self.engine.release(began);
    }

    /// ROLLBACK TO
    pub(crate) fn rollback_to(&mut self, name: &str, place: Place) -> Result<(), Box<SqlError>> {
        if self.state == State::Over {
            return Err(Box::new(failed())); // I2
        }
        let number = self.named(name, place)?;
        self.engine.rollback_to(number).map_err(|error| self.over(error))?;
        self.deferred.end_savepoint(number, false);
        self.is_read_only = self.was_read_only[number];
        self.forget_savepoints(number + 1);
        self.state = State::Open;
        Ok(())
    }

    /// RELEASE
    pub(crate) fn release(&mut self, name: &str, place: Place) -> Result<(), Box<SqlError>> {
        let number = self.named(name, place)?;
        self.engine.release(number);
        self.deferred.end_savepoint(number, true);
        self.is_read_only = self.was_read_only[number];
        self.forget_savepoints(number);
        Ok(())
    }

    fn forget_savepoints(&mut self, from: usize) {
        self.savepoints.truncate(from);
        self.was_read_only.truncate(from);
    }

    /// SET TRANSACTION READ ONLY or READ WRITE, up to the end of the savepoint that it is behind.
    pub(crate) fn set_read_only(&mut self, is_read_only: bool) -> Result<(), Box<SqlError>> {
        if !is_read_only && self.was_read_only.last() == Some(&true) {
            let message = "cannot set transaction read-write mode inside a read-only transaction";
            return Err(Box::new(SqlError::new(b"25001", message.to_owned())));
        }
        self.is_read_only = is_read_only;
        Ok(())
    }

    /// So many savepoints there are to go back to.
    pub(crate) fn savepoint_count(&self) -> usize {
        self.savepoints.len()
    }

    /// SET CONSTRAINTS of a constraint, or of all
    pub(crate) fn set_constraints(&mut self, of: Option<(TableId, String)>, is_deferred: bool) {
        self.deferred.set(of, is_deferred, self.savepoints.len());
    }

    fn over(&mut self, error: Box<SqlError>) -> Box<SqlError> {
        self.savepoints.clear();
        self.was_read_only.clear();
        self.state = State::Over;
        error
    }

    /// The number of the youngest savepoint with this name.
    fn named(&self, name: &str, place: Place) -> Result<usize, Box<SqlError>> {
        self.savepoints.find(name).ok_or_else(|| {
            let mut error = SqlError::new(b"3B001", format!("savepoint \"{name}\" does not exist"));
            error.place = place;
            Box::new(error)
        })
    }
}

fn failed() -> SqlError {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    advised(b"25P02", message.to_owned(), "Write ROLLBACK, then repeat the transaction.")
}

/// The error of what needs a transaction of several statements.
pub(crate) fn outside(verb: &str) -> SqlError {
    let message = format!("{verb} can only be used in transaction blocks");
    advised(b"25P01", message, "Write BEGIN first.")
}

/// The error of what cannot be in one.
pub(crate) fn inside(what: &str) -> SqlError {
    let message = format!("{what} cannot run inside a transaction block");
    advised(b"25001", message, "Write COMMIT or ROLLBACK first.")
}

/// What is said where an isolation level is asked for that there is no need for.
pub(crate) fn notice_serializable() -> Notice {
    let message = "all transactions are serializable, whatever level is asked for";
    Notice::new(SqlError::new(b"00000", message))
}

/// What is said where a lock is asked for that there is no need for.
pub(crate) fn notice_locks() -> Notice {
    let message = "LOCK TABLE holds nobody off: transactions are serializable, as if each had \
                   locked what it uses";
    Notice::new(SqlError::new(b"00000", message))
}

/// The warning of a BEGIN inside, and of a COMMIT or ROLLBACK outside.
pub(crate) fn warning_inside() -> Notice {
    Notice::warning(SqlError::new(b"25001", "there is already a transaction in progress"))
}

/// See [`warning_inside`].
pub(crate) fn warning_outside() -> Notice {
    Notice::warning(SqlError::new(b"25P01", "there is no transaction in progress"))
}
