//! Definitions of sessions: made beside calls, and put in force at a quiet point.
//!
//! Role         compiles a definition, and what it makes of the schema, while calls run on; keeps
//!              them out only to put that in force, and to look after rows that it concerns; and
//!              where it only adds a procedure, not even for that. In a
//!              transaction of several statements it is part of that, which keeps everybody else
//!              out until it ends ([`define_inside`])
//! States       made of the schema in force -> quiet point, or added without one -> put in force,
//!              if that schema is still the one; else made once more, and after [`TRIES_BESIDE`] at
//!              the quiet point
//! Invariants   I1 one definition is made at a time ([`Core::turn_to_define`]), so that what is
//!              made is hardly ever made in vain; what comes in between is a transaction's first
//!              use of a table
//! Concurrency  the turn is taken before a quiet point is asked for, and kept over it. `sources` is
//!              read without a quiet point by who has the turn, and by reports; it is written at a
//!              quiet point, or with the gate kept open, by who has the turn

use std::sync::Arc;
use std::time::Duration;

use hotrow_base::clock;
use hotrow_base::conventions::Conventions;
use hotrow_base::interrupt::Interruption;
use hotrow_engine::interactive::SchemaCompanion;
use hotrow_engine::journal::text::TextEntry;
use hotrow_engine::schema::{Purpose, Quiet, Schema};
use hotrow_sql::{
    Compiled, ScriptStatement, Sender, compile_for, refuse_not_entitled, refuse_other_routine,
    with_sender,
};
use hotrow_transaction::catalog::BOOTSTRAP;
use hotrow_transaction::outcome::{SqlError, apart};
use parking_lot::MutexGuard;

use crate::context::Context;
use crate::core::Core;
use crate::definition::{Next, Sources, make};
use crate::error::{Error, changing};
use crate::lookup::registered;
use crate::quietly::put_in_force;
use crate::reply::Reply;
use crate::role_in_force::RoleInForce;
use crate::rows::Rows;
use crate::transaction::OpenTransaction;

/// How often a definition is made beside calls before it is made at a quiet point.
const TRIES_BESIDE: u32 = 3;
/// Between two looks whether the statement that waits for its turn is to go on.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A definition of a session, to be made.
struct Wanted<'a> {
    context: &'a Context,
    statement: &'a ScriptStatement,
    /// whose it is; none: the database's own
    role: RoleInForce,
    text: String,
    now_us: i64,
}

impl<'a> Wanted<'a> {
    fn new(context: &'a Context, statement: &'a ScriptStatement) -> Self {
        // What the database does by itself is its maker's.
        let role = match statement.is_own() {
            true => None,
            false => context.role().clone(),
        };
        let conventions = Conventions::current();
        let sender = Sender { role: role.as_deref(), maker: statement.maker(), conventions };
        let text = with_sender(&statement.text, sender).into_owned();
        Self { context, statement, role, text, now_us: clock::now_us() }
    }

    /// How the log has it.
    fn entry(&self) -> TextEntry<'_> {
        TextEntry { now_us: self.now_us, place: self.statement.place, text: &self.text }
    }

    /// What it makes of a schema; none: nothing is to be done.
    fn made_of(&self, schema: &Schema) -> Result<Option<Next>, SqlError> {
        let Self { context, statement, role, .. } = self;
        apart(|| {
            let (catalog, registered) = (&schema.catalog, registered(schema));
            let definition = compile_for(catalog, &registered, statement, role.as_ref())?;
            let asked = (*statement, &definition);
            refuse_not_entitled(catalog, &registered, role.as_deref(), asked)
                .map_err(|error| of_database(error, &context.identity().database))?;
            let sources = context.core.sources.read();
            if let Compiled::CreateProcedure { procedure, .. } = &definition
                && let Some((id, old)) = schema.procedure_named(&procedure.name)
                && let Some(source) = sources.get(id)
            {
                refuse_other_routine((&old.procedure, source), (procedure, statement))?;
            }
            make(schema, &sources, definition, &self.entry())
        })
    }
}

/// Makes a definition in the transaction that a session has open.
pub(crate) fn define_inside(
    context: &Context,
    open: &mut OpenTransaction,
    statement: &ScriptStatement,
) -> Result<Rows, Error> {
    let core = &context.core;
    core.refuse_unlogged()?;
    let wanted = Wanted::new(context, statement);
    let Some(mut next) = wanted.made_of(&core.schema.current())? else {
        return Ok(Rows::default());
    };
    let rows = next.take_answer();
    let (entry, mut next) = (wanted.entry(), Some(next));
    open.define(&entry, &mut |quiet| {
        let next = next.take().ok_or_else(changing)?;
        next.put_in_force(quiet, &mut core.sources.write(), &entry)
    })?;
    Ok(rows)
}

/// The texts of definitions, and how far sequences are, as they were before definitions of a
/// transaction that may be rolled back.
pub(crate) struct TakenBack {
    core: Arc<Core>,
    /// by how many definitions the transaction had made; none: there was no first one yet
    noted: Vec<(usize, Sources)>,
}

impl TakenBack {
    pub(crate) fn new(core: &Arc<Core>) -> Self {
        Self { core: Arc::clone(core), noted: Vec::new() }
    }
}

impl Drop for TakenBack {
    fn drop(&mut self) {
        if !self.noted.is_empty() {
            self.core.sequences.end_unstored();
        }
    }
}

impl SchemaCompanion for TakenBack {
    fn note(&mut self, definitions: usize) {
        if self.noted.is_empty() {
            let tables = self.core.schema.current().catalog.tables().len();
            self.core.sequences.begin_unstored(tables);
        }
        self.noted.retain(|(made, _)| *made != definitions);
        self.noted.push((definitions, self.core.sources.read().clone()));
    }

    fn take_back(&mut self, definitions: usize) {
        if let Some(at) = self.noted.iter().position(|(made, _)| *made == definitions) {
            *self.core.sources.write() = self.noted[at].1.clone();
            self.noted.truncate(at + 1);
        }
        self.core.sequences.forget_from(self.core.schema.current().catalog.tables().len());
    }
}

/// Executes a definition of a session, which is a transaction of its own.
pub(crate) fn define(context: &Context, statement: &ScriptStatement) -> Result<Rows, Error> {
    let core = &context.core;
    core.refuse_unlogged()?;
    let _turn = core.turn_to_define(context)?;
    let wanted = Wanted::new(context, statement);
    let entry = wanted.entry();
    // A refusal tells of definitions that are in force, and so does that there is nothing to do.
    let told = |found: Result<Option<Next>, SqlError>| {
        context.settle_found(found.map(|_| Rows::default()).map_err(Error::from))
    };
    for _ in 0..TRIES_BESIDE {
        // In this order: a schema that is newer than its number is only made of once more.
        let generation = core.schema.generation();
        let next = match wanted.made_of(&core.schema.current()) {
            Ok(Some(next)) => next,
            found => return told(found),
        };
        if next.adds_only() {
            match add(context, next, generation, &entry) {
                Some(rows) => return rows,
                None => continue,
            }
        }
        let quiet = core.quiet_unless(Purpose::DEFINITION, Some(&context.interrupt))?;
        if core.schema.generation() == generation {
            return finish(context, quiet, next, &entry);
        }
    }
    let quiet = core.quiet_unless(Purpose::DEFINITION, Some(&context.interrupt))?;
    match wanted.made_of(&quiet.schema()) {
        Ok(Some(next)) => finish(context, quiet, next, &entry),
        found => {
            drop(quiet);
            told(found)
        }
    }
}

/// Adds what was made of the schema with this number, while calls run; none: another schema came
/// meanwhile, or there is no room.
fn add(
    context: &Context,
    mut next: Next,
    made_of: u64,
    entry: &TextEntry<'_>,
) -> Option<Result<Rows, Error>> {
    let core = &context.core;
    let rows = next.take_answer();
    let tell = || core.alone.lock().definition_beside(entry);
    Some(match next.add((&core.schema, made_of), &core.sources, entry, tell)? {
        Ok(durable_in) => context.settle(Reply::new(Ok(rows), durable_in)),
        Err(error) => Err(error.into()),
    })
}

/// Puts in force what was made of the schema of this quiet point, and ends that.
fn finish(
    context: &Context,
    quiet: Quiet<'_>,
    next: Next,
    entry: &TextEntry<'_>,
) -> Result<Rows, Error> {
    let core = &context.core;
    let reply = {
        let (mut sources, mut alone) = (core.sources.write(), core.alone.lock());
        alone.heed(Some(&context.interrupt));
        let reply = put_in_force(&quiet, &mut sources, &mut alone, next, entry);
        alone.heed(None);
        reply
    };
    drop(quiet);
    context.settle(reply)
}

/// An error that names the database, of which the catalog does not know what clients call it.
fn of_database(mut error: SqlError, name: &str) -> SqlError {
    if error.message == format!("permission denied for database {BOOTSTRAP}") {
        error.message = format!("permission denied for database {name}");
    }
    error
}

impl Core {
    /// Waits until no other definition is being made, as for a lock.
    fn turn_to_define(&self, context: &Context) -> Result<MutexGuard<'_, ()>, Error> {
        let interrupt = &context.interrupt;
        let deadline = interrupt.lock_deadline();
        loop {
            if let Some(turn) = self.definer.try_lock_for(LOOK_EVERY) {
                return Ok(turn);
            }
            let check: Result<(), Interruption> = interrupt.check_wait(deadline);
            check.map_err(SqlError::from)?;
        }
    }
}
