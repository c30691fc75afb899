//! Planned ordered acquisition: locks in one global order, cold ones before execution and hot ones
//! in the midst of it.
//!
//! Role         the runner behind `acquisition=ordered` ("deadlock free locking" of the papers)
//! States       planned -> cold locks held -> executed, acquiring hot locks as it comes to them ->
//!              released; a wrong guess of reconnaissance: undone -> released -> planned again; a
//!              session in the way: undone -> released -> parked, its place in the queue kept ->
//!              planned again
//! Invariants   I1 of `locking`: one order of acquisition for everybody, so nobody deadlocks
//!              I2 nothing is read or written before its lock is held
//!              I3 a call whose turns were put into another order and that failed, or missed a
//!              row, is undone and run again in its own order: what its client sees is what the
//!              procedure says
//! Source       orthrus.txt 3.2 and 4; DESIGN section 1 ("hot last"). We differ: the papers sort by
//!              table and key; any order will do that all transactions share, and identities sort
//!              without looking at keys
//!
//! With `order=identity` all locks are cold. With `order=hot-last` a call that has hot locks in its
//! footprint acquires the others, runs, and acquires a hot lock when it first touches what that
//! covers, with those of the footprint that come before it in the order. A loop whose turns may
//! come in any order ([`hotrow_transaction::free_loop`]) touches the hottest rows last.

mod last_use;
mod locking;
mod turns;

#[cfg(test)]
mod kept_tests;
#[cfg(test)]
mod stress_tests;

use std::sync::Arc;

use hotrow_engine::in_place::{InPlace, Scratch};
use hotrow_engine::journal::{Commit, Committer};
use hotrow_engine::schema::{Schema, SharedSchema};
use hotrow_engine::source::Bell;
use hotrow_engine::statistics::{Activity, LockKind, LockTiming, Stopwatch};
use hotrow_engine::waits::Party;
use hotrow_engine::worker::{Call, Runner};
use hotrow_transaction::bytecode::Program;
use hotrow_transaction::frame::Frame;
use hotrow_transaction::interpret;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::Stop;
use hotrow_transaction::plan::Plan;

use crate::heat::Heat;
use crate::intents::TableLocks;
use crate::options::Settings;
use locking::{AllHeld, Held, Locking, WhileRunning};
use turns::Turns;

/// Runs the calls of one worker; see the module.
pub struct OrderedRunner {
    locking: Locking,
    turns: Turns,
    scratch: Scratch,
    committer: Committer,
    timing: LockTiming,
}

impl OrderedRunner {
    /// The runner of worker thread `number`; without `heat`, all locks are cold.
    pub fn new(
        tables: Arc<TableLocks>,
        number: usize,
        committer: Committer,
        heat: Option<Arc<Heat>>,
        settings: &Settings,
    ) -> Self {
        let scratch = Scratch::new(committer.worker());
        let timing = settings.timing;
        let locking =
            Locking::new(tables, number, heat, settings.releases_at_last_use, settings.ranges);
        Self { locking, turns: Turns::default(), scratch, committer, timing }
    }

    /// Runs the call under the locks of its footprint, and releases them, but for what is kept for
    /// the `next` one. `free`: turns of a loop
    /// may come in another order, after which the end may be [`Ran::Unsettled`], and shared locks
    /// may be released at their last use.
    fn execute(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        (next, free): (Option<&Call>, bool),
        watch: &mut Stopwatch,
    ) -> Ran {
        watch.switch(Activity::Lock);
        // A call with a key has an entry in the log even if it only reads.
        let early = free && call.invocation.key.is_empty();
        self.locking.set_beside(schema.interactive);
        let party = Party::Procedure(call.invocation.procedure);
        self.locking.begin(call.plan.footprint(), party, early);
        if let Some(resumed) = call.resumed.take() {
            self.locking.come_in(resumed);
        }
        if let Err(stop) = self.locking.acquire_cold(call.plan.footprint(), watch) {
            call.durable_in = 0;
            self.locking.release_all(None);
            return Ran::Ended(Err(stop));
        }
        watch.switch(Activity::Execute);
        let program =
            &call.procedure.as_deref().expect("only procedures that exist are run").program;
        call.frame.begin(program, &call.invocation);
        let has_hot = self.locking.has_hot();
        let moved = has_hot && free && self.turns.put_hot_last(&mut self.locking, call);
        let Self { locking, scratch, committer, .. } = self;
        let Call { invocation, procedure, frame, plan, hints, .. } = call;
        let program = &procedure.as_deref().expect("only procedures that exist are run").program;
        let footprint = plan.footprint();
        let ready = Ready { schema, invocation, program, frame, plan, hints, moved };
        let ran = if locking.changes() {
            let locking = &mut *locking;
            let missed = false;
            let protection = WhileRunning { footprint, locking, watch, committer, missed };
            ready.run(scratch, committer, protection)
        } else {
            let locking = &mut *locking;
            ready.run(scratch, committer, AllHeld { footprint, locking, watch })
        };
        watch.switch(Activity::Lock);
        let next = match &ran {
            Ran::Ended(Ok(commit)) => {
                self.locking.owner.commit_at(commit.position());
                next.map(|next| next.plan.footprint())
            }
            _ => None,
        };
        self.locking.release_all(next);
        let footprint = call.plan.footprint();
        let tables = footprint.tables().count();
        watch.note_locks(LockKind::Row, footprint.granules().len() - tables);
        watch.note_locks(LockKind::HigherLevel, tables);
        ran
    }
}

impl Runner for OrderedRunner {
    fn lock_timing(&self) -> LockTiming {
        self.timing
    }

    fn prepare(&mut self, schema: &Schema, call: &mut Call) {
        call.plan_ahead(schema, &mut self.scratch);
    }

    fn resolve(&mut self, schema: &Schema, call: &mut Call) {
        call.resolve_hints(schema);
    }

    fn attempt(
        &mut self,
        schema: &Schema,
        call: &mut Call,
        next: Option<&Call>,
        watch: &mut Stopwatch,
    ) -> Result<(), Stop> {
        if call.attempts > 0 {
            call.plan_again(schema, &mut self.scratch, watch)?;
        }
        let mut ran = self.execute(schema, call, (next, call.attempts == 0), watch);
        if let Ran::Unsettled = ran {
            call.plan_again(schema, &mut self.scratch, watch)?;
            ran = self.execute(schema, call, (next, false), watch);
        }
        watch.switch(Activity::Execute);
        match ran {
            Ran::Ended(ended) => call.end(ended, self.locking.owner.met(), &self.committer),
            Ran::Unsettled => unreachable!("turns came in the procedure's order"),
        }
    }

    fn between_turns(&mut self, shared: &SharedSchema) {
        self.locking.keep_heat(shared);
        self.locking.release_unused();
    }

    fn let_go(&mut self) {
        self.locking.release_inherited();
    }

    fn set_bell(&mut self, bell: Arc<dyn Bell>) {
        self.locking.let_park(bell);
    }

    fn parked_at(&self) -> u64 {
        self.locking.parked_at()
    }

    fn is_due(&mut self, lock: u64) -> bool {
        self.locking.is_due(lock)
    }

    fn leave_line(&mut self, lock: u64) {
        self.locking.leave_line(lock);
    }
}

/// A call whose frame has begun and whose cold locks are held.
struct Ready<'a> {
    schema: &'a Schema,
    invocation: &'a Invocation,
    program: &'a Program,
    frame: &'a mut Frame,
    plan: &'a Plan,
    hints: &'a [u64],
    /// turns come in another order than the procedure's
    moved: bool,
}

impl Ready<'_> {
    fn run<P: Held>(self, scratch: &mut Scratch, committer: &Committer, protection: P) -> Ran {
        let Self { schema, invocation, program, frame, plan, hints, moved } = self;
        let mut access = InPlace::new(schema, scratch, protection).with_hints(hints);
        let ran = interpret::run(program, 0, frame, &mut access, &mut plan.keys());
        let unsettled = match ran {
            Ok(()) => access.protection().has_missed(),
            Err(stop) => stop == Stop::Error,
        };
        let met = access.protection().met();
        let early = access.protection().commit();
        let committed = match (ran, early) {
            (Ok(()), _) if moved && unsettled => Err(Stop::Error),
            (Ok(()), Some(commit)) => Ok(commit),
            (Ok(()), None) => access.commit_at(committer, met, invocation),
            (Err(stop), _) => Err(stop),
        };
        match committed {
            Ok(commit) => {
                access.commit();
                Ran::Ended(Ok(commit))
            }
            Err(stop) => {
                access.undo();
                if moved && unsettled { Ran::Unsettled } else { Ran::Ended(Err(stop)) }
            }
        }
    }
}

/// How a run ended.
enum Ran {
    /// as the call ends, or is to be repeated
    Ended(Result<Commit, Stop>),
    /// undone: in another order than the procedure's it did not end as it may end in its own (I3)
    Unsettled,
}
