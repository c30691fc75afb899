//! One transaction that is run again: the session's side.

use hotrow_base::sync::facade::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock::Ticks;
use hotrow_base::interrupt::{Interrupt, Interruption};
use hotrow_transaction::frame::Frame;
use hotrow_transaction::invocation::Invocation;
use hotrow_transaction::outcome::SqlError;

use super::super::housekeeping::{ended_for, idle_for, shut_down};
use super::super::transaction::too_large;
use super::super::{Failure, InteractiveTransaction, SchemaCompanion, Statement};
use super::definitions;
use super::list::{List, Step};
use super::moment::{Halt, Moment, follows_from_rows};
use super::{Buffers, Reruns};
use crate::in_place::Savepoint;
use crate::journal::text::TextEntry;
use crate::schema::{Purpose, Quiet, Schema};
use crate::statistics::CallTime;

/// What one transaction has done, and, while it has one, its moment.
pub(super) struct Rerun {
    shared: Arc<Reruns>,
    number: u64,
    interrupt: Arc<Interrupt>,
    list: List,
    /// with which the programs of the list can be run; none: it has none yet
    schema: Option<Arc<Schema>>,
    /// with `moment`
    buffers: Option<Buffers>,
    /// the quiet point that it has; between two statements only where it holds one, or else
    /// it is what [`Reruns`] has of it
    moment: Option<Moment>,
    /// how many it has had
    moments: u32,
    holds: bool,
    /// it has definitions, and keeps its quiet point
    defines: bool,
    /// that stays in hand
    is_taken_up: bool,
    defers: bool,
    /// the number of the first entry that was only noted
    deferred_from: usize,
    ended: Option<Box<SqlError>>,
    idle_since: Ticks,
    idle_limit: Option<Duration>,
    seen: u64,
    time: CallTime,
}

impl Rerun {
    pub(super) fn new(shared: Arc<Reruns>, number: u64, interrupt: &Arc<Interrupt>) -> Self {
        Self {
            shared,
            number,
            interrupt: Arc::clone(interrupt),
            list: List::new(interrupt),
            schema: None,
            buffers: None,
            moment: None,
            moments: 0,
            holds: false,
            defines: false,
            is_taken_up: false,
            defers: false,
            deferred_from: 0,
            ended: None,
            idle_since: Ticks::now(),
            idle_limit: None,
            seen: 0,
            time: CallTime::default(),
        }
    }

    /// Fails where the transaction is over, for whatever reason.
    fn go_on(&mut self) -> Result<(), Box<SqlError>> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        self.come_back();
        let is_taken_back = self.defines && self.moment.is_none();
        let limits = [self.idle_limit, self.shared.options.idle_time_out];
        let limit = limits.into_iter().flatten().min();
        let idle = self.idle_since.elapsed();
        let why = match limit.filter(|limit| idle >= *limit) {
            _ if self.shared.is_closed() => shut_down(),
            Some(limit) => idle_for(limit),
            None if is_taken_back => {
                idle_for(Duration::new(idle.as_secs(), idle.subsec_millis() * 1_000_000))
            }
            None => return Ok(()),
        };
        Err(self.end(why))
    }

    /// The transaction is over, and nothing of it remains.
    fn end(&mut self, why: SqlError) -> Box<SqlError> {
        self.leave();
        self.list.clear();
        let why = Box::new(why);
        self.ended = Some(why.clone());
        why
    }

    /// Waits for a quiet point, unless there is one in hand.
    fn enter(&mut self) -> Result<(), Failure> {
        self.come_back();
        if self.moment.is_some() {
            return Ok(());
        }
        let began = Ticks::now();
        self.shared.committer.wait_for_room();
        let wait = self.interrupt.begin_wait();
        let goes_on = || wait.check().is_ok();
        let Some(quiet) = self.shared.schema.quiet_while(Purpose::ALONE, goes_on) else {
            let why = wait.check().err().unwrap_or(Interruption::Request);
            return Err(Failure::Statement(Box::new(why.into())));
        };
        self.moments += 1;
        let of = (quiet.schema(), self.shared.schema.generation());
        let mut moment = Moment::new(quiet.keep(), self.moments, of);
        moment.covers_all = self.list.has_run_nothing();
        self.moment = Some(moment);
        self.buffers = Some(self.shared.take_buffers(&self.interrupt));
        self.seen = self.shared.committer.seen_alone().epoch;
        self.time.wait += Ticks::now().ticks_since(began);
        if self.shared.is_closed() {
            return Err(Failure::Ended(self.end(shut_down())));
        }
        self.refuse_other_tables()
    }

    /// Ends the transaction where a table has changed that its programs use (I5).
    fn refuse_other_tables(&mut self) -> Result<(), Failure> {
        let Some(moment) = &self.moment else { return Ok(()) };
        let (tables, now) = (self.list.tables(), &moment.schema.catalog);
        let is_other = self.schema.as_ref().is_some_and(|then| {
            !Arc::ptr_eq(then, &moment.schema)
                && then.catalog.tables_changed(now).any(|table| tables.contains(&table))
        });
        if is_other {
            return Err(Failure::Ended(self.end(ended_for(Purpose::DEFINITION))));
        }
        self.schema = Some(Arc::clone(&moment.schema));
        Ok(())
    }

    /// Puts the changes so far in place, where they are not yet.
    fn get_ready(&mut self) -> Result<(), (usize, Failure)> {
        let Self { moment, buffers, list, shared, .. } = self;
        let (Some(moment), Some(buffers)) = (moment, buffers) else { return Ok(()) };
        if moment.is_ready {
            return Ok(());
        }
        moment.look_again(buffers, list, &shared.hashes);
        let repeated = moment.repeat_changes(buffers, list, &shared.hashes);
        moment.is_ready = repeated.is_ok();
        repeated.map_err(|halt| match halt {
            Halt::Overtaken => (0, Failure::Ended(self.end(overtaken()))),
            Halt::Failed(at, error) => {
                self.leave();
                (at.saturating_sub(self.deferred_from), Failure::Statement(error))
            }
        })
    }

    /// Takes up what it has kept between two statements, if nobody has taken that back.
    fn come_back(&mut self) {
        if self.moment.is_none()
            && let Some((moment, buffers)) = self.shared.come_back(self.number)
        {
            (self.moment, self.buffers) = (Some(moment), Some(buffers));
        }
    }

    /// Ends the quiet point in hand; what was done there is taken back.
    fn leave(&mut self) {
        self.come_back();
        if let (Some(moment), Some(mut buffers)) = (self.moment.take(), self.buffers.take()) {
            moment.end(&mut buffers.scratch);
            self.shared.give_back(buffers);
        }
        self.defines = false;
    }

    /// Keeps the quiet point in hand for as long as nobody else wants to go on (I6).
    fn linger(&mut self) {
        if let (Some(moment), Some(mut buffers)) = (self.moment.take(), self.buffers.take()) {
            buffers.scratch.end_statement();
            self.shared.linger(self.number, moment, buffers);
        }
    }

    /// As [`Rerun::linger`], unless the statement has more parts.
    fn linger_unless_held(&mut self) {
        if !self.holds && !self.is_taken_up {
            self.linger();
        }
        self.idle_since = Ticks::now();
    }

    fn run(
        &mut self,
        statement: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<(), Failure> {
        self.enter()?;
        let Some(moment) = &self.moment else { return Err(Failure::Outdated) };
        if moment.generation != statement.generation {
            if !self.defines {
                self.leave(); // who compiles it again may have to wait for others
            }
            return Err(Failure::Outdated);
        }
        self.get_ready().map_err(|(_, failure)| failure)?;
        let changes_max = self.shared.options.changes_max;
        let Self { moment, buffers, list, shared, .. } = self;
        let (Some(moment), Some(buffers)) = (moment, buffers) else {
            return Err(Failure::Outdated);
        };
        let (scratch, program) = (&mut buffers.scratch, statement.program());
        let ran = moment.run(scratch, program, (invocation, frame), &shared.hashes);
        if scratch.changes() > changes_max {
            return Err(self.refuse(too_large(changes_max)));
        }
        // Nothing is repeated of one that keeps its quiet point.
        if !self.defines && ran.error.as_ref().is_none_or(|error| follows_from_rows(error)) {
            let mut step = Step::new(statement, invocation);
            (step.given, step.changes, step.moment) = (ran.given, ran.changes, moment.number);
            if let Err(error) = list.push(statement, step) {
                return Err(self.refuse(error));
            }
        }
        ran.error.map_or(Ok(()), |error| Err(Failure::Statement(error)))
    }

    /// Fails a statement that has run, and takes it back with all that stands in place.
    fn refuse(&mut self, why: SqlError) -> Failure {
        if self.defines {
            return Failure::Ended(self.end(why));
        }
        self.leave();
        Failure::Statement(Box::new(why))
    }

    fn repeat_and_commit(&mut self) -> Result<u64, Box<SqlError>> {
        self.enter().map_err(|failure| match failure {
            Failure::Statement(error) | Failure::Ended(error) => error,
            Failure::Outdated => Box::new(ended_for(Purpose::DEFINITION)),
        })?;
        let Self { moment, buffers, list, shared, .. } = self;
        let (Some(moment), Some(buffers)) = (moment, buffers) else { return Ok(self.seen) };
        match moment.repeat_all(buffers, list, &shared.hashes) {
            Ok(_) => moment.commit(&mut buffers.scratch, &shared.committer),
            Err(Halt::Overtaken) => Err(Box::new(overtaken())),
            Err(Halt::Failed(_, error)) => Err(error),
        }
    }
}

impl Rerun {
    /// Has all that was done so far stand in place at the quiet point in hand. Where savepoints
    /// stand there, by their numbers.
    fn stand(&mut self) -> Result<Vec<(usize, Savepoint)>, Failure> {
        self.come_back();
        let stands =
            self.moment.as_ref().is_some_and(|moment| moment.covers_all && moment.is_ready);
        if stands && self.list.savepoints().is_empty() {
            return Ok(Vec::new());
        }
        self.leave();
        self.enter()?;
        let Self { moment, buffers, list, shared, .. } = self;
        let (Some(moment), Some(buffers)) = (moment, buffers) else {
            return Err(Failure::Outdated);
        };
        match moment.repeat_all(buffers, list, &shared.hashes) {
            Ok(made) => {
                (moment.is_ready, moment.covers_all) = (true, true);
                let numbered = list.savepoints().iter().enumerate();
                let found = |(number, at): (usize, &usize)| {
                    let (_, place) = made.iter().find(|(entry, _)| entry == at)?;
                    Some((number, *place))
                };
                Ok(numbered.filter_map(found).collect())
            }
            Err(Halt::Overtaken) => Err(Failure::Ended(self.end(overtaken()))),
            Err(Halt::Failed(_, error)) => {
                self.leave();
                Err(Failure::Statement(error))
            }
        }
    }
}

impl Rerun {
    /// Has definitions be part of it behind what stands in place, with these savepoints.
    fn define_from_here(
        &mut self,
        savepoints: Vec<(usize, Savepoint)>,
        companion: Box<dyn SchemaCompanion>,
    ) -> Result<(), Failure> {
        let Some(moment) = &mut self.moment else { return Err(Failure::Outdated) };
        let of = (&self.shared.schema, &self.interrupt);
        let is_over = moment.begin_definitions(of, savepoints, companion);
        self.defines = true;
        let watched = definitions::watch(&self.shared, self.number, is_over);
        self.linger_unless_held();
        watched.map_err(|error| Failure::Ended(self.end(error)))
    }
}

impl InteractiveTransaction for Rerun {
    fn can_define(&self) -> bool {
        true
    }

    fn begin_definitions(&mut self, companion: Box<dyn SchemaCompanion>) -> Result<(), Failure> {
        self.go_on().map_err(Failure::Ended)?;
        if self.defines {
            return Ok(());
        }
        let savepoints = self.stand()?;
        self.define_from_here(savepoints, companion)
    }

    fn take_over(
        &mut self,
        other: &mut dyn InteractiveTransaction,
        companion: Box<dyn SchemaCompanion>,
    ) -> Result<(), Failure> {
        self.go_on().map_err(Failure::Ended)?;
        other.stay_for_handing_over(true).map_err(Failure::Statement)?;
        let entered = self.enter();
        let _ = other.stay_for_handing_over(false); // which is never refused
        entered?;
        let (mut part, places) =
            other.hand_over().map_err(|error| Failure::Ended(self.end(*error)))?;
        let (Some(moment), Some(buffers)) = (&mut self.moment, &mut self.buffers) else {
            return Err(Failure::Outdated);
        };
        buffers.scratch.exchange(&mut part);
        (moment.is_ready, moment.covers_all) = (true, true);
        let mut savepoints = Vec::with_capacity(places.len());
        for place in places {
            let number = self.list.savepoint().map_err(|error| Failure::Ended(self.end(error)))?;
            savepoints.push((number, place));
        }
        self.define_from_here(savepoints, companion)
    }

    fn defines(&self) -> bool {
        self.defines
    }

    fn define(
        &mut self,
        entry: &TextEntry<'_>,
        put_in_force: &mut dyn FnMut(&Quiet<'_>) -> Result<(), SqlError>,
    ) -> Result<(), Failure> {
        self.go_on().map_err(Failure::Ended)?;
        let (Some(moment), Some(buffers)) = (&mut self.moment, &mut self.buffers) else {
            return Err(Failure::Outdated);
        };
        let made = moment.define(&mut buffers.scratch, entry, put_in_force);
        self.schema = Some(Arc::clone(&moment.schema));
        self.linger_unless_held();
        made.map_err(|error| Failure::Statement(Box::new(error)))
    }

    fn take_up(&mut self) -> Result<(), Box<SqlError>> {
        if self.defines {
            self.go_on()?;
            self.is_taken_up = true;
        }
        Ok(())
    }

    fn put_down(&mut self) {
        if std::mem::take(&mut self.is_taken_up) {
            self.linger_unless_held();
        }
    }

    fn execute(
        &mut self,
        statement: Statement<'_>,
        invocation: &Invocation,
        frame: &mut Frame,
    ) -> Result<(), Failure> {
        self.go_on().map_err(Failure::Ended)?;
        if self.defers {
            let step = Step::new(statement, invocation);
            let noted = self.list.push(statement, step);
            frame.begin(statement.program(), invocation); // which tells of nothing
            return noted.map_err(|error| Failure::Statement(Box::new(error)));
        }
        if !self.defines {
            self.list.refuse_more().map_err(|error| Failure::Statement(Box::new(error)))?;
        }
        self.time = CallTime::default();
        let began = Ticks::now();
        let ran = self.run(statement, invocation, frame);
        self.linger_unless_held();
        let taken = Ticks::now().ticks_since(began);
        self.time.execute = taken.saturating_sub(self.time.wait);
        ran
    }

    fn hold(&mut self) -> bool {
        self.holds = true;
        true
    }

    fn let_go(&mut self) {
        self.holds = false;
        self.linger_unless_held();
    }

    fn defer(&mut self) -> bool {
        if self.defines {
            return false; // nothing is ever repeated
        }
        self.leave(); // what is noted is not in place
        (self.defers, self.deferred_from) = (true, self.list.entries().len());
        // What is noted is compiled for this one, or for a later one: then I5 ends it.
        self.schema.get_or_insert_with(|| self.shared.schema.current());
        true
    }

    fn settle(&mut self) -> Result<(), (usize, Failure)> {
        self.defers = false;
        self.go_on().map_err(|error| (0, Failure::Ended(error)))?;
        self.enter().map_err(|failure| (0, failure))?;
        let settled = self.get_ready();
        self.linger_unless_held();
        settled
    }

    fn savepoint(&mut self) -> Result<usize, Box<SqlError>> {
        self.go_on()?;
        self.idle_since = Ticks::now();
        let number = self.list.savepoint().map_err(|error| self.end(error))?;
        if let (true, Some(moment), Some(buffers)) = (self.defines, &mut self.moment, &self.buffers)
        {
            moment.mark(number, &buffers.scratch);
        }
        self.linger_unless_held();
        Ok(number)
    }

    fn rollback_to(&mut self, savepoint: usize) -> Result<(), Box<SqlError>> {
        self.go_on()?;
        if self.defines {
            if let (Some(moment), Some(buffers)) = (&mut self.moment, &mut self.buffers) {
                moment.take_back_to_mark(savepoint, &mut buffers.scratch);
            }
            self.linger_unless_held();
        } else {
            self.leave();
        }
        self.defers = false;
        self.idle_since = Ticks::now();
        self.list.rollback_to(savepoint);
        Ok(())
    }

    fn release(&mut self, savepoint: usize) {
        self.list.release(savepoint);
        if self.defines {
            self.come_back();
            if let Some(moment) = &mut self.moment {
                moment.forget_marks(savepoint);
            }
            self.linger_unless_held();
        }
    }

    fn commit(&mut self) -> Result<u64, Box<SqlError>> {
        self.go_on()?;
        let committed = match &mut self.moment {
            Some(moment) if self.defines => match &mut self.buffers {
                Some(buffers) => {
                    moment.commit_definitions(&mut buffers.scratch, &self.shared.committer)
                }
                None => Ok(self.seen),
            },
            _ if self.list.is_one_look() => Ok(self.seen),
            Some(moment) if moment.covers_all && moment.is_ready => {
                let (committer, scratch) = (&self.shared.committer, &mut self.buffers);
                let scratch = scratch.as_mut().map(|buffers| &mut buffers.scratch);
                scratch.map_or(Ok(self.seen), |scratch| moment.commit(scratch, committer))
            }
            _ => {
                self.leave();
                self.repeat_and_commit()
            }
        };
        self.leave();
        self.list.clear();
        committed.inspect_err(|error| self.ended = Some(error.clone()))
    }

    fn rollback(&mut self) {
        self.leave();
        self.defers = false;
        self.list.clear();
    }

    fn begin_again(&mut self) {
        self.rollback();
        (self.ended, self.schema) = (None, None);
        self.idle_since = Ticks::now();
    }

    fn expect_more(&mut self, _: bool) {}

    fn limit_idle(&mut self, most: Option<Duration>) {
        self.idle_limit = most;
    }

    fn seen(&self) -> u64 {
        self.seen
    }

    fn time(&self) -> CallTime {
        self.time
    }
}

impl Drop for Rerun {
    fn drop(&mut self) {
        self.leave();
        self.shared.open.fetch_sub(1, Ordering::Relaxed); // a count, which orders nothing
    }
}

/// 40001
fn overtaken() -> SqlError {
    let message = "could not serialize access due to a concurrent transaction";
    let mut error = SqlError::new(b"40001", message);
    let detail = "What a statement of the transaction had shown is not so any more: rows that it \
                  depends on were changed meanwhile. The transaction was rolled back.";
    error.detail = Some(detail.to_owned());
    error.hint = Some("Repeat the transaction.".to_owned());
    error
}
