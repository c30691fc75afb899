//! Constraints that are checked, and triggers that fire, behind the statements that they are for.

use hotrow_base::types::SqlType;
use hotrow_base::value::Value;
use hotrow_sql::firing;
use hotrow_transaction::catalog::split;
use hotrow_transaction::deferred::{Pending, as_told};
use hotrow_transaction::outcome::{Notice, SqlError};

use super::{REPETITIONS_MAX, SessionTransaction, is_conflict};
use crate::context::Context;
use crate::deferred::{FEW_VALUES, Fires, Left, Look};
use crate::error::Error;
use crate::parts::run_in;
use crate::prepare::{prepare_one, prepare_own};
use crate::prepared::Prepared;
use crate::rows::Rows;
use crate::transaction::{OpenTransaction, TransactionState};

/// Triggers that fire behind their statements, and whose programs a session keeps.
const FIRINGS_MAX: usize = 16;

impl SessionTransaction {
    /// SET CONSTRAINTS of these names, or of all; false: no transaction is open.
    pub(crate) fn set_constraints(
        &mut self,
        context: &Context,
        names: &[String],
        is_deferred: bool,
    ) -> Result<bool, Error> {
        let Some(open) = &mut self.open else { return Ok(false) };
        let schema = context.core.schema.current();
        let catalog = &schema.catalog;
        let mut named = Vec::new();
        for name in names {
            let path = context.path();
            let found = match split(name) {
                (Some(schema), name) => catalog.constraints_named(schema, name),
                (None, name) => path
                    .schemas()
                    .map(|schema| catalog.constraints_named(schema, name))
                    .find(|found| !found.is_empty())
                    .unwrap_or_default(),
            };
            if found.is_empty() {
                let message = format!("constraint \"{}\" does not exist", split(name).1);
                return Err(SqlError::new(b"42704", message).into());
            }
            for (table, name, deferral) in found {
                if !deferral.is_deferrable() {
                    let message = format!("constraint \"{name}\" is not deferrable");
                    return Err(SqlError::new(b"42809", message).into());
                }
                named.push((table, name));
            }
        }
        match names.is_empty() {
            true => open.set_constraints(None, is_deferred),
            false => named.into_iter().for_each(|of| open.set_constraints(Some(of), is_deferred)),
        }
        self.check_deferred(context, false)?;
        Ok(true)
    }

    /// Takes what triggers have said that fired behind their statements.
    pub(crate) fn take_said(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.said)
    }

    /// The end of a statement, behind a look at what it has violated and must not, and what fires
    /// behind it.
    pub(super) fn checked(
        &mut self,
        context: &Context,
        done: Result<Rows, Error>,
    ) -> Result<Rows, Error> {
        let mut rows = done?;
        self.check_deferred(context, false)?;
        rows.notices_mut().append(&mut self.said);
        Ok(rows)
    }

    /// Fires triggers, and looks again at constraints that statements have found violated: all
    /// before COMMIT, else those that are not deferred any more. Fails with the error of the first
    /// constraint that still is violated, or of the first trigger that fails.
    pub(super) fn check_deferred(&mut self, context: &Context, at_end: bool) -> Result<(), Error> {
        loop {
            let Some(open) = self.with_work_left() else { return Ok(()) };
            let due = open.deferred.take_due(&context.core.schema.current().catalog, at_end);
            let (events, due): (Vec<_>, Vec<_>) =
                due.into_iter().partition(|left| left.pending.is_event);
            if events.is_empty() {
                return self.look_again(context, due);
            }
            // What they do may violate constraints, or mend them, and have others fire.
            open.deferred.put_back(due);
            self.fire_all(context, events)?;
        }
    }

    /// The open transaction, if it goes on and has left something.
    fn with_work_left(&mut self) -> Option<&mut OpenTransaction> {
        let is_open = |open: &&mut OpenTransaction| {
            open.state() == TransactionState::Open && !open.deferred.is_empty()
        };
        self.open.as_mut().filter(is_open)
    }

    fn look_again(&mut self, context: &Context, due: Vec<Left>) -> Result<(), Error> {
        let looked = self.first_violated(context, &due);
        let Some(open) = &mut self.open else { return Ok(()) };
        let failed = match looked {
            Ok(None) => {
                let savepoints = open.savepoint_count();
                open.deferred.pass(due, savepoints);
                return Ok(());
            }
            Ok(Some(number)) => as_told(due[number].said.clone()).into(),
            Err(failed) => failed,
        };
        open.deferred.put_back(due);
        Err(failed)
    }

    /// Fires triggers for events, in their order.
    fn fire_all(&mut self, context: &Context, mut events: Vec<Left>) -> Result<(), Error> {
        for at in 0..events.len() {
            let fired = self.fire_one(context, &events[at].pending);
            let Some(open) = &mut self.open else { return fired };
            if let Err(failed) = fired {
                let not_fired = events.split_off(at);
                let savepoints = open.savepoint_count();
                open.deferred.has_fired(events, savepoints);
                open.deferred.put_back(not_fired);
                return Err(failed);
            }
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        let savepoints = open.savepoint_count();
        open.deferred.has_fired(events, savepoints);
        Ok(())
    }

    /// Fires a trigger for an event.
    fn fire_one(&mut self, context: &Context, event: &Pending) -> Result<(), Error> {
        let schema = context.core.schema.current();
        let known = self.firings.iter().position(|(of, _)| of.is_for(&schema.catalog, event));
        let (fires, known) = match known.map(|at| self.firings.swap_remove(at)) {
            Some((fires, prepared)) => (Some(fires), Some(prepared)),
            None => (Fires::of(&schema.catalog, event), None),
        };
        let Some(fires) = fires else { return Ok(()) }; // it was dropped
        let values = fires.values(event)?;
        let prepared = match known {
            Some(prepared) => prepared,
            None => {
                let statement = firing(fires.table, &fires.trigger, fires.event);
                let types = fires.types.iter().map(|of| Some(SqlType::Scalar(*of)));
                prepare_one(context, self, statement, &types.collect::<Vec<_>>())?
            }
        };
        let fired = self.look(context, &prepared, &values);
        self.firings.push((fires, prepared));
        if self.firings.len() > FIRINGS_MAX {
            self.firings.remove(0);
        }
        self.said.append(fired?.notices_mut());
        Ok(())
    }

    /// The first of these that still is.
    fn first_violated(&mut self, context: &Context, due: &[Left]) -> Result<Option<usize>, Error> {
        let mut by_constraint: Vec<(&Pending, Vec<usize>)> = Vec::new();
        for (number, Left { pending, .. }) in due.iter().enumerate() {
            let is_same = |of: &Pending| (of.table, &of.name) == (pending.table, &pending.name);
            match by_constraint.iter_mut().find(|(of, _)| is_same(of)) {
                Some((_, numbers)) => numbers.push(number),
                None => by_constraint.push((pending, vec![number])),
            }
        }
        let mut first = None;
        for (pending, numbers) in by_constraint {
            let look = Look::at(&context.core.schema.current().catalog, pending);
            let Some(look) = look else { continue }; // the constraint was dropped
            let values = numbers.iter().map(|number| look.values(&due[*number].pending));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            let found = match numbers.len() <= FEW_VALUES {
                true => self.first_of_few(context, &look, &values)?,
                false => self.first_of_many(context, &look, &values)?,
            };
            first = found.map(|at| numbers[at]).into_iter().chain(first).min();
        }
        Ok(first)
    }

    /// The first of a constraint's values for which it is violated.
    fn first_of_few(
        &mut self,
        context: &Context,
        look: &Look,
        all: &[Vec<Value>],
    ) -> Result<Option<usize>, Error> {
        let mut queries = Vec::with_capacity(look.queries.len());
        for (text, gives_row) in &look.queries {
            queries.push((prepare_own(context, self, text, &[])?, *gives_row));
        }
        'values: for (at, values) in all.iter().enumerate() {
            for (query, gives_row) in &queries {
                if self.look(context, query, values)?.is_empty() == *gives_row {
                    continue 'values;
                }
            }
            return Ok(Some(at));
        }
        Ok(None)
    }

    /// The same by one query, which takes lists of the values.
    fn first_of_many(
        &mut self,
        context: &Context,
        look: &Look,
        all: &[Vec<Value>],
    ) -> Result<Option<usize>, Error> {
        let types: Vec<_> = look.types.iter().map(|of| Some(SqlType::Array(*of))).collect();
        let query = prepare_own(context, self, &look.of_many, &types)?;
        let list = |column: usize| all.iter().map(|values| values[column].clone()).collect();
        let lists: Vec<_> =
            (0..look.types.len()).map(|column| Value::Array(list(column))).collect();
        let rows = self.look(context, &query, &lists)?;
        Ok(match rows.values() {
            [Value::BigInt(number)] => usize::try_from(number - 1).ok(),
            _ => None,
        })
    }

    fn look(
        &mut self,
        context: &Context,
        query: &Prepared,
        values: &[Value],
    ) -> Result<Rows, Error> {
        let taken = self.take_up(context);
        let Self { open, frame, .. } = self;
        let rows = match open {
            Some(open) => run_in(context, (query, values), open.now_us, frame, open),
            None => Ok(Rows::default()),
        };
        self.put_down(taken);
        rows
    }

    /// Does something, where no transaction is open, in one that checks constraints and fires
    /// triggers before it commits: a batch's, whose end is its COMMIT, else one of its own, again
    /// after a conflict.
    pub(crate) fn checking(
        &mut self,
        context: &Context,
        mut act: impl FnMut(&mut Self) -> Result<Rows, Error>,
    ) -> Result<Rows, Error> {
        if self.in_batch {
            self.begin_unless_open(context)?;
            return act(self);
        }
        let mut repetitions = 0;
        loop {
            self.begin_unless_open(context)?;
            let done = act(self);
            let done = done.and_then(|mut rows| {
                rows.notices_mut().append(&mut self.commit_own(context)?);
                Ok(rows)
            });
            self.abandon();
            match done {
                Err(error) if is_conflict(&error) && repetitions < REPETITIONS_MAX => {
                    self.pause(repetitions)?;
                    repetitions += 1;
                }
                done => return done,
            }
        }
    }
}
