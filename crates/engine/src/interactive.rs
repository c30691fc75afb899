//! Interactive transactions: statements that come one by one, from a session that thinks meanwhile.
//!
//! Role         [`Interactive`] and [`InteractiveTransaction`] are what sessions use of an engine
//!              that locks (or tracks) as it goes; [`Slots`] makes both of any [`Locks`]. Knows no
//!              SQL text and no names of savepoints
//! States       of a transaction: holds nothing -> reading -> changed -> committed, or ended; a
//!              statement runs on its session's thread, inside the gate; between two statements the
//!              transaction is **parked**: outside the gate, with its locks, and its changes in
//!              place with the undo log beside them
//! Invariants   I1 a slot's work is touched by who holds its latch and is inside the gate as the
//!              slot's worker, or at a quiet point. The session holds the latch only for a
//!              statement, and never while it waits at the gate; so others can end what is parked
//!              I2 who is ended learns why at its next statement, and nothing of it remains
//!              I3 a transaction locks whatever it touches in every table, and before the first
//!              statement that uses a table in a way that no procedure does, a quiet point makes
//!              that use known to planned calls; nobody is ended for it
//!              I4 each statement is atomic
//!              I5 who waits for a lock inside a statement makes way for a quiet point: the
//!              statement is undone, leaves the gate, and is repeated behind the quiet point.
//!              Else whoever it waits for, parked, and kept from its next statement by the quiet
//!              point, would keep that from coming
//!              I6 a statement that comes first, and is undone because of others, is repeated
//!              unseen: its client has seen nothing yet. A call of a procedure that comes first is
//!              planned, besides ([`ahead`])
//! Concurrency  a slot's `work` -> I1; `phase` -> stored by who holds the latch, read by anyone as
//!              a hint, which a quiet point makes exact
//! Source       the wait for old transactions at a definition is PostgreSQL's, its bound is ours:
//!              a quiet point holds everybody up

mod ahead;
mod housekeeping;
mod rerun;
mod slots;
mod transaction;

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::ids::{ProcedureId, TableId};
use hotrow_base::interrupt::Interrupt;
use hotrow_log::position::Position;
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::compiled::CompiledProcedure;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::granule::TableUse;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::{Conflict, SqlError};
use hotrow_transaction::plan::Footprint;
use hotrow_transaction::plan::PlanProgram;

use crate::in_place::{Part, Savepoint};
use crate::journal::text::TextEntry;
use crate::protection::Protection;
use crate::schema::Quiet;
use crate::statistics::{CallTime, Stopwatch};
use crate::waits::Party;

pub use rerun::{RerunOptions, Reruns};
pub use slots::Slots;

/// An engine's interactive transactions.
pub trait Interactive: Send + Sync {
    /// Begins one: 53300 when as many are open as can be, 57P01 when the engine ends. Its waits
    /// for locks end when `interrupt` says so.
    fn begin(
        self: Arc<Self>,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Box<dyn InteractiveTransaction>, SqlError>;

    /// How many are open, and how many can be.
    fn places(&self) -> (usize, usize);

    /// Ends all of them and begins none any more.
    fn close(&self);
}

/// A statement, compiled.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// what to run
    pub runs: Runs<'a>,
    /// how it uses tables
    pub uses: &'a [(TableId, TableUse)],
    /// the generation of the schema it was compiled for
    pub generation: u64,
}

/// What a statement runs.
#[derive(Clone, Copy, Debug)]
pub enum Runs<'a> {
    /// a program of its own
    Program(&'a Arc<Program>),
    /// a procedure
    Call(ProcedureId, &'a CompiledProcedure),
}

impl<'a> Statement<'a> {
    /// What to run.
    pub fn program(&self) -> &'a Program {
        match self.runs {
            Runs::Program(program) => program,
            Runs::Call(_, procedure) => &procedure.program,
        }
    }

    /// Of a call: how it is planned, and what it is to those who wait for it.
    fn call(&self) -> Option<(&'a PlanProgram, Party)> {
        match self.runs {
            Runs::Program(_) => None,
            Runs::Call(id, procedure) => Some((&procedure.plan, Party::Procedure(id))),
        }
    }
}

/// Why a statement did nothing.
#[derive(Clone, Debug)]
pub enum Failure {
    /// the schema has changed: compile it again
    Outdated,
    /// it failed or was interrupted, and is undone; the transaction is as before it
    Statement(Box<SqlError>),
    /// the transaction was ended, by this statement's conflict or by somebody else meanwhile;
    /// nothing of it remains
    Ended(Box<SqlError>),
}

/// What a database keeps beside its schema, which definitions change with it.
pub trait SchemaCompanion: Send {
    /// Notes how it is, when the transaction has made so many definitions.
    fn note(&mut self, definitions: usize);

    /// Takes it back to how it was when there were so many; the schema is so already.
    fn take_back(&mut self, definitions: usize);
}

/// One transaction, in the hands of one session. Dropped, it is rolled back.
pub trait InteractiveTransaction: Send {
    /// Runs a statement, whose result is in `frame` then. Waits for locks.
    ///
    /// # Errors
    ///
    /// See [`Failure`].
    fn execute(
        &mut self,
        statement: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<(), Failure>;

    /// Has the statements from here to [`InteractiveTransaction::let_go`] see one state, where each
    /// would else see that of its moment: they are parts of one. Whether everybody else waits
    /// until then, so that none of them may wait for anybody.
    fn hold(&mut self) -> bool {
        false
    }

    /// See [`InteractiveTransaction::hold`].
    fn let_go(&mut self) {}

    /// Has changes that follow only noted, up to [`InteractiveTransaction::settle`], where what
    /// they give is of no interest; whether it does.
    fn defer(&mut self) -> bool {
        false
    }

    /// Runs what was noted.
    ///
    /// # Errors
    ///
    /// As of [`InteractiveTransaction::execute`], with the number of the change that failed.
    fn settle(&mut self) -> Result<(), (usize, Failure)> {
        Ok(())
    }

    /// Whether definitions can be part of it.
    fn can_define(&self) -> bool {
        false
    }

    /// Has definitions be part of it from here on; nobody else goes on before it ends. What
    /// `companion` keeps goes back with the definitions that are taken back. Does nothing where it
    /// has begun to.
    ///
    /// # Errors
    ///
    /// As of [`InteractiveTransaction::execute`]. 0A000 where it cannot.
    fn begin_definitions(&mut self, companion: Box<dyn SchemaCompanion>) -> Result<(), Failure> {
        drop(companion);
        Err(Failure::Statement(Box::new(SqlError::new(b"0A000", "no definitions in it"))))
    }

    /// As [`InteractiveTransaction::begin_definitions`], of one that has not begun: behind what
    /// another one has done, which is over then, and whose changes and savepoints become its own.
    ///
    /// # Errors
    ///
    /// As of that. `other` goes on where [`Failure::Statement`] is told.
    fn take_over(
        &mut self,
        other: &mut dyn InteractiveTransaction,
        companion: Box<dyn SchemaCompanion>,
    ) -> Result<(), Failure> {
        drop((other, companion));
        Err(Failure::Statement(Box::new(SqlError::new(b"0A000", "no definitions in it"))))
    }

    /// Whether a quiet point is to come while it holds what it holds, for it to be
    /// [handed over](InteractiveTransaction::hand_over) there.
    ///
    /// # Errors
    ///
    /// Why it cannot be; it goes on.
    fn stay_for_handing_over(&mut self, _stays: bool) -> Result<(), Box<SqlError>> {
        Err(Box::new(SqlError::new(b"0A000", "it cannot be handed over")))
    }

    /// At a quiet point: gives away what it has changed, and its savepoints, and lets go of all.
    ///
    /// # Errors
    ///
    /// Why the transaction was ended before.
    fn hand_over(&mut self) -> Result<(Part, Vec<Savepoint>), Box<SqlError>> {
        Err(Box::new(SqlError::new(b"0A000", "it cannot be handed over")))
    }

    /// Whether it has begun definitions.
    fn defines(&self) -> bool {
        false
    }

    /// Has `put_in_force` make a definition, whose text is given.
    ///
    /// # Errors
    ///
    /// Those of `put_in_force`, and as of [`InteractiveTransaction::execute`].
    fn define(
        &mut self,
        _entry: &TextEntry<'_>,
        _put_in_force: &mut dyn FnMut(&Quiet<'_>) -> Result<(), SqlError>,
    ) -> Result<(), Failure> {
        Err(Failure::Statement(Box::new(SqlError::new(b"0A000", "no definitions in it"))))
    }

    /// Of one that defines: has its quiet point stay in hand, so that nobody ends it meanwhile, up
    /// to [`InteractiveTransaction::put_down`].
    ///
    /// # Errors
    ///
    /// Why the transaction was ended.
    fn take_up(&mut self) -> Result<(), Box<SqlError>> {
        Ok(())
    }

    /// See [`InteractiveTransaction::take_up`].
    fn put_down(&mut self) {}

    /// Makes a savepoint behind those there are; they are numbered from 0.
    ///
    /// # Errors
    ///
    /// Why the transaction was ended.
    fn savepoint(&mut self) -> Result<usize, Box<SqlError>>;

    /// Takes everything back that was done since a savepoint, which stays; later ones go.
    ///
    /// # Errors
    ///
    /// Why the transaction was ended.
    fn rollback_to(&mut self, savepoint: usize) -> Result<(), Box<SqlError>>;

    /// Forgets a savepoint and all later ones.
    fn release(&mut self, savepoint: usize);

    /// Commits; in which epoch the transaction and all it saw are durable.
    ///
    /// # Errors
    ///
    /// Why the transaction was ended, or 58030 when the log has failed; nothing of it remains.
    fn commit(&mut self) -> Result<u64, Box<SqlError>>;

    /// Takes everything back and lets go of everything.
    fn rollback(&mut self);

    /// Begins again after a conflict ended it, as old as it was, so that it gets through some day.
    fn begin_again(&mut self);

    /// Says whether more statements are to be expected, which may change what was read.
    fn expect_more(&mut self, expects: bool);

    /// Limits how long it may be idle between two statements, to less than the engine allows.
    fn limit_idle(&mut self, most: Option<Duration>);

    /// In which epoch all that the transaction saw so far is durable.
    fn seen(&self) -> u64;

    /// Where the time of the last statement went.
    fn time(&self) -> CallTime;
}

/// Whether a transaction has been undone because of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// it begins
    First,
    /// it was undone, and has kept its age
    Again,
}

/// What an engine holds for one interactive transaction at a time.
pub trait Locks: Send + 'static {
    /// How records are protected while a statement runs.
    type Protection<'a>: Protection
    where
        Self: 'a;

    /// Begins a transaction, which holds nothing.
    fn begin(&mut self, attempt: Attempt);

    /// Whether more statements are to be expected, which may change what was read: from a BEGIN
    /// that is not READ ONLY on.
    fn expect_more(&mut self, expects: bool);

    /// Waits from now on end when this says so, with
    /// [`Conflict::Interrupt`](hotrow_transaction::outcome::Conflict::Interrupt).
    fn heed(&mut self, interrupt: &Arc<Interrupt>);

    /// For a statement.
    fn protection(&mut self) -> Self::Protection<'_>;

    /// How records are protected while a call runs whose footprint is held.
    type Ahead<'a>: Protection
    where
        Self: 'a;

    /// Whether planned calls run beside, so that a transaction's first call is one, too.
    fn plans(&self) -> bool;

    /// Takes all that a call is planned to touch, before it runs, as planned calls do and in their
    /// order; nothing is held so far. From now on the transaction waits as one of theirs, until
    /// [`Locks::end_ahead`]; it may be chosen to give way all the same.
    fn hold_ahead(
        &mut self,
        footprint: &Footprint,
        uses: &[(TableId, TableUse)],
    ) -> Result<(), Conflict>;

    /// For the call whose footprint is held. What was not foreseen and is not free is
    /// [`Stop::Replan`](hotrow_transaction::outcome::Stop::Replan).
    fn ahead(&mut self) -> Self::Ahead<'_>;

    /// The call has run, or is undone: what is held stays.
    fn end_ahead(&mut self);

    /// What the transaction is to those who ask who waits for whom.
    fn set_party(&mut self, party: Party);

    /// What its time is measured with.
    fn watch(&mut self) -> &mut Stopwatch;

    /// Whether waits are refused from now on, with
    /// [`Conflict::Busy`](hotrow_transaction::outcome::Conflict::Busy).
    fn hurry(&mut self, hurries: bool);

    /// The greatest position of a transaction that this one follows.
    fn met(&self) -> Position;

    /// Whether anything is held.
    fn holds_any(&self) -> bool;

    /// Whether somebody waits for what is held, or is refused it and comes back for it.
    fn is_awaited(&self) -> bool;

    /// Whether somebody is known to wait for what is held.
    fn has_waiters(&self) -> bool;

    /// Whether the policy has chosen the transaction to give way, which it learns otherwise only
    /// when it asks for something.
    fn is_doomed(&self) -> bool;

    /// Lets go of everything, as a transaction that stands there in the serial order, or of one
    /// that was undone.
    fn release_all(&mut self, position: Option<Position>);
}
